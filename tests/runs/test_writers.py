"""Who writes events of a run: the session and what it is made of; an import of a recording writes a ledger of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import lawbook

HERE = Path(lawbook.__path__[0])
IMPORT = HERE / "arc" / "recording_io.py"


def list_writes(source: str) -> list[int]:
    """Lines that append an event: `X.append(EventKind..., ...)`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and node.args
        and any(isinstance(part, ast.Name) and part.id == "EventKind" for part in ast.walk(node.args[0]))
    ]


def test_nobody_outside_runs_appends_an_event() -> None:
    assert list_writes("log.append(EventKind.NOTE, {})\nrows.append(1)\n") == [1]
    writers = {path for path in HERE.rglob("*.py") if list_writes(path.read_text(encoding="utf-8"))}
    assert HERE / "runs" / "session.py" in writers
    assert {path for path in writers if path.parent != HERE / "runs"} == {IMPORT}


def test_the_operations_of_a_door_do_not_know_who_dispatches_them() -> None:
    for name in ("actions", "views", "status", "operations", "context"):
        assert "agents.api.dispatcher" not in (HERE / "agents" / "api" / f"{name}.py").read_text(encoding="utf-8")
