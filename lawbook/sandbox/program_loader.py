"""A program's text becomes functions: its files as importable modules, the contract checked. Runs in the worker."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from lawbook.core.record import Action
from lawbook.sandbox.fault_report import SubgoalError
from lawbook.sandbox.return_types import ContractError, as_bool

REQUIRED = ("initial_state", "step", "render", "is_goal")
OPTIONAL = ("is_over", "actions", "key", "heuristic", "plan")
UPDATE = "update"
"""Optional too where programs may leave things open; under other protocols a function of that name is the program's own."""


class Engine:
    """The contract's functions of a loaded program; the optional ones are None where it does not define them."""

    initial_state: Callable[[dict[str, Any]], Any]
    step: Callable[[Any, Action], Any]
    render: Callable[[Any], Any]
    is_goal: Callable[[Any], Any]
    is_over: Callable[[Any], Any] | None
    actions: Callable[[Any], Any] | None
    key: Callable[[Any], Any] | None
    heuristic: Callable[[Any], Any] | None
    plan: Callable[[Any], Any] | None
    update: Callable[[Any, Mapping[str, Any]], Any] | None = None

    def __init__(self, module: ModuleType, file: str, *, may_update: bool = False) -> None:
        """Raise ContractError (kind load) when a function is missing or is none."""
        for name in (*REQUIRED, *OPTIONAL, *([UPDATE] if may_update else [])):
            function = getattr(module, name, None)
            if function is None and name in REQUIRED:
                raise ContractError("load", f"{file} does not define {name}; the contract asks for {', '.join(REQUIRED)}.")
            if function is not None and not callable(function):
                raise ContractError("load", f"{name} in {file} is a {type(function).__name__}, not a function.")
            setattr(self, name, function)
        self.globals = vars(module)


def load_program(files: Mapping[str, str], engine: str, *, may_update: bool = False) -> Engine:
    """Import the module in the file `engine`, with the other files as modules beside it. Raises whatever the program raises."""
    if engine not in files:
        raise ContractError("load", f"There is no file {engine}.")
    for file in files:
        name = file.removesuffix(".py")
        if name in sys.stdlib_module_names or name in ("numpy", "perception"):
            raise ContractError("load", f"{file} has the name of a module of Python, or of numpy or perception; rename it.")
    offer_modules(files)
    return Engine(importlib.import_module(engine.removesuffix(".py")), engine, may_update=may_update)


def offer_modules(files: Mapping[str, str]) -> None:
    """Let these files (name -> source) be imported in this process, as modules beside those that Python finds."""
    sys.meta_path.insert(0, _SourceImporter(files))


def compile_subgoal(source: str, engine: Engine) -> Callable[[Any], bool]:
    """Compile the function `subgoal(state)` that `source` defines; it sees the names of the program.

    Raises SubgoalError, and so does the function.
    """
    namespace = dict(engine.globals)
    try:
        exec(compile(source, SUBGOAL, "exec", dont_inherit=True), namespace)  # noqa: S102 - the reason this process exists
        function = namespace.get("subgoal")
        if not callable(function):
            raise ContractError("load", "A subgoal is the source of a function `def subgoal(state) -> bool`.")
    except BaseException as error:
        raise SubgoalError from error

    def subgoal(state: Any) -> bool:
        try:
            return as_bool(function(state), function)
        except MemoryError:
            raise
        except BaseException as error:
            raise SubgoalError from error

    return subgoal


SUBGOAL = "subgoal.py"


class _SourceImporter:
    """Finds and runs modules out of a mapping of file name -> source (a finder and loader of importlib)."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if path is None and f"{name}.py" in self._files:
            return importlib.machinery.ModuleSpec(name, self, origin=f"{name}.py")  # type: ignore[arg-type]
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        file = f"{module.__name__}.py"
        exec(compile(self._files[file], file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the reason this process exists
