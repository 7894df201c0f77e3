"""The pages' templates: whatever a run, a mind or a world wrote is text in them; and what they need is loaded only for a page."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path

import pytest
from lakes import LAKE, NO_HOLES, STILL_NO_HOLES, TRUE
from minds import Scripted

from lawbook.ledger.events import IntendEvent, PlanEvent
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.view import compare_page, html_report, html_templates, plain_html
from lawbook.view.rulebook_diff import RuleChange

EVIL = "\"'><script>alert(1)</script>\u202e"
SHOWN = "&#34;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e"


@pytest.fixture(scope="module")
def ledger(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Of a run with wrong, refused and true proposals, plans, boards, and two members."""
    mind = Scripted([NO_HOLES, STILL_NO_HOLES, TRUE])
    with start_run(RunConfig(LAKE, population=2), tmp_path_factory.mktemp("runs"), host=host, mind=mind) as (folder, session):
        play(session)
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        yield ledger


def poisoned(value: object) -> object:
    """The same with EVIL for every text in it, except for what the templates decide by and what says that it is markup."""
    if isinstance(value, Enum) or hasattr(value, "__html__"):
        return value
    if isinstance(value, str):
        return EVIL
    if isinstance(value, Mapping):
        return {poisoned(key): poisoned(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        if isinstance(value, RuleChange):
            return RuleChange(value.mark, EVIL, EVIL)
        return value if hasattr(value, "_fields") else type(value)(poisoned(one) for one in value)
    if not hasattr(value, "__dict__"):
        return value
    changed = copy.copy(value)
    for name, one in vars(value).items():
        if isinstance(one, PlanEvent):  # a typed event: the ids and numbers in it are ours
            object.__setattr__(changed, name, replace(one, question=EVIL, method=EVIL))
        elif isinstance(one, IntendEvent):
            object.__setattr__(changed, name, replace(one, question=EVIL))
        elif name != "kind":
            object.__setattr__(changed, name, poisoned(one))
    return changed


class Shape(HTMLParser):
    """Every tag of a page with the names of its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *(name for name, _ in attributes)))


def compare(ledger: Ledger) -> str:
    return compare_page.render([("one", ledger.path), ("two", ledger.path)])


@pytest.mark.parametrize(
    ("name", "module", "render", "fields"),
    [
        ("run.html", plain_html, plain_html.render_body, 40),
        ("report.html", html_report, html_report.render, 2),
        ("compare.html", compare_page, compare, 40),
    ],
)
def test_a_script_in_every_field_of_a_template_is_text(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, name: str, module: object, render: Callable[[Ledger], str], fields: int
) -> None:
    given: dict[str, object] = {}

    def keep(template: str, **values: object) -> str:
        assert template == name
        given.update(values)
        return html_templates.render_template(template, **values)

    monkeypatch.setattr(module, "render_template", keep)
    harmless = render(ledger)
    assert "alert(1)" not in harmless
    harmful = html_templates.render_template(name, **{key: poisoned(value) for key, value in given.items()})
    assert "<script>alert" not in harmful and "\u202e" not in harmful
    assert harmful.count(SHOWN) >= fields and harmful.count("alert(1)") == harmful.count(SHOWN)
    assert Shape(harmful).found - Shape(harmless).found <= {("path", "class", "d"), ("polyline", "class", "points")}  # empty before


def test_every_template_is_tried_above_and_escapes() -> None:
    assert {path.name for path in html_templates.TEMPLATES.iterdir()} == {"run.html", "report.html", "compare.html"}
    for text in map(Path.read_text, html_templates.TEMPLATES.iterdir()):
        assert "|safe" not in text.replace(" ", "") and "autoescape" not in text


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(KeyError):
        html_templates.render_template("report.html", title="a run")


def test_what_draws_is_loaded_only_when_something_is_drawn() -> None:
    code = (
        "import sys, lawbook.cli.main, lawbook.cli.play, lawbook.cli.view\n"
        "from lawbook.view import compare_page, export_images, html_report, live_display\n"
        "sys.exit(', '.join({'PIL', 'jinja2', 'markupsafe'} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr == ""
