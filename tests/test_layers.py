"""The order of the packages, and names that nothing shares: read from the source, nothing is imported.

Imports go down the list LAYERS and nowhere else, not even inside a function. Packages of one line do not import each other.
"""

from __future__ import annotations

import ast
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import lawbook

PACKAGE = Path(lawbook.__file__).parent
LAYERS = (
    ("errors",),
    ("core",),
    ("ledger", "sandbox", "worlds", "minds", "protocols"),
    ("scoring",),
    ("verification",),
    ("planning",),
    ("runs",),
    ("view",),
    ("arc",),
    ("audit",),
    ("agents",),
    ("experiments",),
    ("cli",),
)
"""Low to high."""

ROOT_FILES = {"__init__.py", "__main__.py", "errors.py", "py.typed"}
"""What may lie at the root of the package, beside the packages of LAYERS."""

PROGRAM_MODULES = {
    f"lawbook.minds.induce.{name}" for name in ("beliefs", "layers", "looks", "nearby", "predicates", "walker", "watcher")
}
"""Source that the induction writes into its programs. It is data: nothing of the package shares a namespace with it."""

PARTICIPLES = {
    "told", "parted", "seen", "given", "found", "shown", "written", "came", "gone", "held", "kept", "lost", "made", "met",
    "sent", "said", "taken", "thought", "drawn", "heard", "known", "laid", "asked", "looked", "judged", "rolled", "begun",
    "broken", "chosen", "fallen", "hidden", "spoken", "stood", "built", "caught", "done", "felt", "left", "meant", "paid",
    "spent", "tried",
}  # fmt: skip


def iterate_sources(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Name of every module under `root` (a package folder), and its syntax tree."""
    for path in sorted(root.rglob("*.py")):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), ast.parse(path.read_text(encoding="utf-8"))


def find_imports(module: str, nodes: Iterator[ast.AST], modules: set[str]) -> Iterator[tuple[int, str]]:
    """Line and name of every module of the package that these nodes import; `from lawbook.core import record` is of record."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in modules:
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively; write the whole name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules or node.module in modules:
                    yield node.lineno, whole if whole in modules else str(node.module)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def iterate_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: not the bodies of functions, nor what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not is_type_checking(node):
            yield node
            yield from iterate_at_import(node)


def find_layer(module: str) -> tuple[int, str]:
    """Rank and name of the package that a module is of. The root itself is below everything, `__main__` above."""
    name = (*module.split("."), "")[1]
    if name in ("", "__main__"):
        return (-1 if name == "" else len(LAYERS)), name
    ranks = [rank for rank, names in enumerate(LAYERS) if name in names]
    assert ranks, f"{module}: no place in LAYERS"
    return ranks[0], name


def find_upward_imports(root: Path) -> list[str]:
    sources = dict(iterate_sources(root))
    wrong = []
    for module, tree in sources.items():
        rank, name = find_layer(module)
        for line, target in find_imports(module, ast.walk(tree), set(sources)):
            target_rank, target_name = find_layer(target)
            if target_name != name and target_rank >= rank:
                wrong.append(f"{module}:{line} imports {target}")
    return wrong


def find_circles(root: Path) -> list[str]:
    """Modules that import themselves through others; lazy imports inside functions do not count."""
    sources = dict(iterate_sources(root))
    graph = {
        module: {target for _, target in find_imports(module, iterate_at_import(tree), set(sources))}
        for module, tree in sources.items()
    }
    finished: set[str] = set()
    circles = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            circles.append(" -> ".join((*path[path.index(module) :], module)))
        elif module not in finished:
            for target in sorted(graph[module]):
                visit(target, (*path, module))
            finished.add(module)

    for module in graph:
        visit(module, ())
    return circles


def find_shared_names(root: Path) -> list[str]:
    """Names of modules and public classes that two have; packages may be called as a module, games and commands as they like."""
    modules, classes = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    packages = {".".join((root.name, *path.parent.relative_to(root).parts)) for path in root.rglob("__init__.py")}
    for module, tree in iterate_sources(root):
        if module not in packages and not module.startswith((f"{root.name}.worlds.demo.", f"{root.name}.cli.")):
            modules[module.rpartition(".")[2]].append(module)
        if module not in PROGRAM_MODULES:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    classes[node.name].append(module)
    return [f"{name}: {places}" for named in (modules, classes) for name, places in named.items() if len(places) > 1]


def find_participles(root: Path) -> list[str]:
    return [
        f"{module}:{node.lineno} {node.name}"
        for module, tree in iterate_sources(root)
        if module not in PROGRAM_MODULES
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in PARTICIPLES
    ]


def find_strays(root: Path) -> list[str]:
    allowed = ROOT_FILES | {name for names in LAYERS[1:] for name in names} | {"__pycache__"}
    return sorted({path.name for path in root.iterdir()} - allowed)


CHECKS = (find_upward_imports, find_circles, find_shared_names, find_participles, find_strays)


@pytest.mark.parametrize("check", CHECKS)
def test_the_package_keeps_its_order(check) -> None:
    assert check(PACKAGE) == []


@pytest.mark.parametrize(
    ("check", "file", "text"),
    [
        (find_upward_imports, "core/record.py", "from lawbook.runs.state import State"),
        (find_upward_imports, "core/record.py", "def load():\n    import lawbook.cli.main"),
        (find_upward_imports, "view/costs.py", "from lawbook.arc import remote"),
        (find_upward_imports, "worlds/process.py", "def load():\n    from lawbook.sandbox import host"),
        (find_upward_imports, "errors.py", "from lawbook.core import record"),
        (find_circles, "core/record.py", "from lawbook.core import results"),
        (find_shared_names, "planning/state.py", ""),
        (find_shared_names, "planning/planner.py", "class Host:\n    pass"),
        (find_participles, "planning/planner.py", "def _told():\n    pass"),
        (find_strays, "helpers.py", ""),
    ],
)
def test_what_is_planted_is_seen(tmp_path: Path, check, file: str, text: str) -> None:
    root = tmp_path / "lawbook"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__", "static"))
    with (root / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{text}\n")
    assert len(check(root)) == 1
