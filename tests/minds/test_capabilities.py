"""What minds and sources say of themselves: declared on their interface, and anybody's that say nothing still work."""

from __future__ import annotations

import ast
from pathlib import Path

from minds import Scripted

import lawbook
from lawbook.core.plugins import PackagedSource
from lawbook.minds.base import DrivingMind, ExceptionCounter, FreeMind, PictureMindSource, is_driver, is_free
from lawbook.minds.registry import load_mind_source, make_mind

HIDDEN = ("drives", "free", "exceptions", "pictures", "package")


def test_our_minds_say_what_they_are() -> None:
    induce, coder = make_mind("induce"), make_mind("coder:claude")
    assert isinstance(induce, FreeMind | ExceptionCounter) and is_free(induce) and not is_driver(induce)
    assert isinstance(coder, DrivingMind) and is_driver(coder) and not is_free(coder)
    source = load_mind_source("llm")
    assert isinstance(source, PictureMindSource) and source.pictures and isinstance(source, PackagedSource)


def test_a_mind_that_says_nothing_is_asked_and_not_twice() -> None:
    mind = Scripted()
    assert not is_driver(mind) and not is_free(mind) and not isinstance(mind, ExceptionCounter)
    assert not is_driver(None) and not is_free(None)


def test_nothing_is_looked_up_behind_an_interface() -> None:
    for path in Path(lawbook.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
                assert not (isinstance(node.args[1], ast.Constant) and node.args[1].value in HIDDEN), f"{path}:{node.lineno}"
