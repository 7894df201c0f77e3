"""Who writes events of a run: the session and what it is made of; an import of a recording writes a ledger of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import lawbook
from lawbook.ledger.events import EVENT_KINDS

HERE = Path(lawbook.__path__[0])
IMPORT = HERE / "arc" / "recording_io.py"


def list_writes(source: str) -> list[int]:
    """Lines that append or write an event, by what is written (`X.append(NoteEvent(...))`) or where (`ledger.write(x)`)."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "append_verdict", "write")
        and (_is_log(node.func.value) or any(_tells_event(argument) for argument in node.args))
    ]


def _is_log(receiver: ast.expr) -> bool:
    name = receiver.attr if isinstance(receiver, ast.Attribute) else receiver.id if isinstance(receiver, ast.Name) else ""
    return name.lstrip("_") in ("event_log", "ledger")


def _tells_event(argument: ast.expr) -> bool:
    names = {part.id for part in ast.walk(argument) if isinstance(part, ast.Name)}
    return not names.isdisjoint({"EventKind", *(event_class.__name__ for event_class in EVENT_KINDS)})


def test_nobody_outside_runs_appends_an_event() -> None:
    source = "log.append(EventKind.NOTE, {})\nlog.append(NoteEvent(''))\nself._ledger.write(x)\nrows.append(1)\nfile.write(x)\n"
    assert list_writes(source) == [1, 2, 3]
    writers = {path for path in HERE.rglob("*.py") if list_writes(path.read_text(encoding="utf-8"))}
    assert HERE / "runs" / "session.py" in writers
    assert {path for path in writers if path.parent != HERE / "runs"} == {IMPORT}


def test_the_operations_of_a_door_do_not_know_who_dispatches_them() -> None:
    for name in ("actions", "views", "status", "operations", "context"):
        assert "agents.api.dispatcher" not in (HERE / "agents" / "api" / f"{name}.py").read_text(encoding="utf-8")
