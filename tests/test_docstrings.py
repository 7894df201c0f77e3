"""Docstrings of everything public: there is one, and its first line says what a function does, as an order.

A helper's docstring that a newcomer opens first must not make a riddle of it: none begins with What, Where or Who, a function's
begins with a verb in the imperative ("Return the ...", not "The ..." or "Returns ..."), a class's or a property's may be a noun.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "lawbook"
PACKAGES = ("core", "verification", "planning", "runs", "sandbox", "worlds", "minds")
COPIED = {f"minds/induce/{name}.py" for name in ("beliefs", "layers", "looks", "nearby", "predicates", "walker", "watcher")}
"""Copied word for word into every program that the built-in mind writes, where docstrings count as description."""
ALLOWED: dict[str, int] = {}
"""File -> how many of its docstrings still break the rule. It only shrinks: with fewer, the test asks for the new number."""
GAMES = "worlds/demo/"
"""Our own games: their base classes say what each method means, and they say it by their rules."""
RIDDLES = {"what", "where", "who"}
_OTHER_WORDS = """
a about above after again all alone also always an and another any anything are as at away before behind below besides
between beyond both but by each either else empty enough every everything exactly few files first for frames from half
has have here how if in inside into is it its last less many more most much must nearest neither never no nobody none
nor not nothing now of off on one ones only or other others our out outside over own per same seconds several since so
some something steps such than that the their them then there these they this those three through to together too two
under until up was were when whenever whether which while whoever whole whose why will with within without would yet you
your
"""
NOT_A_VERB = RIDDLES | set(_OTHER_WORDS.split())


def iterate_docstrings(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Iterate over (name, kind, docstring) of a module and of everything public in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield "<module>", "module", ast.get_docstring(tree)
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        prefix, parent = stack.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
                if any(decorator.endswith(("overload", ".setter")) for decorator in decorators):
                    continue
                is_noun = isinstance(node, ast.ClassDef) or any("property" in decorator for decorator in decorators)
                yield prefix + node.name, "noun" if is_noun else "function", ast.get_docstring(node)
                if isinstance(node, ast.ClassDef):
                    stack.append((f"{prefix}{node.name}.", node))


def find_fault(kind: str, docstring: str | None) -> str | None:
    """Say in what way a docstring breaks the rule, or None."""
    if not docstring:
        return "has no docstring"
    first_word = re.split(r"[^\w'-]", docstring, maxsplit=1)[0]
    if first_word.lower() in RIDDLES:
        return f"begins with {first_word}"
    if kind != "function":
        return None
    if not first_word[:1].isupper():
        return f"begins with {docstring.split()[0]!r}, which is no verb with a capital letter"
    is_third_person = re.search(r"[^s]s$", first_word) is not None
    return f"begins with {first_word}, which is no imperative" if first_word.lower() in NOT_A_VERB or is_third_person else None


def find_faults(path: Path) -> list[str]:
    """Find every docstring of a file that breaks the rule, each as a sentence."""
    findings = ((name, find_fault(kind, docstring)) for name, kind, docstring in iterate_docstrings(path))
    return [f"{name} {fault}" for name, fault in findings if fault]


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_of_public_names(package: str) -> None:
    failures = []
    for path in sorted((ROOT / package).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        faults = [] if file in COPIED or file.startswith(GAMES) else find_faults(path)
        if len(faults) > ALLOWED.get(file, 0):
            failures += [f"{file}: {fault}" for fault in faults]
        elif len(faults) < ALLOWED.get(file, 0):
            failures.append(f"{file}: only {len(faults)} are left; write that number into ALLOWED, or take the file out")
    assert not failures, "\n".join(failures)


def test_every_exempted_file_exists() -> None:
    assert not [file for file in (*ALLOWED, *COPIED) if not (ROOT / file).is_file()]


@pytest.mark.parametrize(
    ("kind", "docstring", "is_right"),
    [
        ("function", "Return the frame, H x W uint8.", True),
        ("function", "Pass it on.", True),
        ("function", "Returns the frame.", False),
        ("function", "The frame.", False),
        ("function", "Whether it is shown.", False),
        ("function", "(row, col) of it.", False),
        ("function", "`frame` as text.", False),
        ("function", "frame as text.", False),
        ("function", "What is shown.", False),
        ("function", None, False),
        ("noun", "The frame, H x W uint8.", True),
        ("noun", "Where it is.", False),
        ("module", "Who asks.", False),
        ("module", "", False),
    ],
)
def test_the_rule(kind: str, docstring: str | None, is_right: bool) -> None:
    assert (find_fault(kind, docstring) is None) == is_right
