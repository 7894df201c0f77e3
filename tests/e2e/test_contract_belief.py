"""What docs/contract.md teaches about the unknown: its three programs, word for word, in worlds that nobody can foresee."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from minds import DOCS, Scripted

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.core.record import RESET
from lawbook.core.results import RunOutcome
from lawbook.ledger.events import ObserveEvent, VerdictEvent
from lawbook.minds.base import judge_by_citations
from lawbook.runs import loops
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host

SECTIONS = {"bar": "### A bar of hidden length", "fog": "### Fog, and a map", "lamps": "### A sequence that only"}


def read_example(name: str) -> Hypothesis:
    text = (DOCS / "contract.md").read_text(encoding="utf-8")
    section = text[text.index(SECTIONS[name]) :]
    match = re.search(r"```markdown\n(.*?)```.*?```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    return Hypothesis(match[1], {ENGINE: match[2]})


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.mark.parametrize("name", SECTIONS)
def test_the_examples_win_without_one_wrong_prediction(tmp_path: Path, host: Host, name: str) -> None:
    example = read_example(name)
    config = RunConfig(f"py:contract_worlds:SOURCE/{name}", protocol="belief", budget=80)
    with start_run(config, tmp_path, host=host, mind=Scripted([example])) as (folder, session):
        loops.play(session)
        events = [event.data for event in session.event_log.ledger]
        assert session.state.outcome is RunOutcome.WON, session.state.outcome
        assert session.state.n_mismatches == 0
        assert len(session.state.accepted_versions) == 1
        assert all(event.verdict.admissible for event in events if isinstance(event, VerdictEvent) and event.about == "proposal")
        resets = [event for event in events if isinstance(event, ObserveEvent) and event.action == RESET]
        assert bool(resets) == (name == "fog"), "the map of one attempt is what the next one needs"
    assert audit_run(folder, strict=True).holds


@pytest.mark.parametrize("name", SECTIONS)
def test_every_rule_is_cited(name: str) -> None:
    judgement = judge_by_citations(read_example(name))
    assert judgement.faithful, judgement.reason


@pytest.mark.parametrize("name", ["bar", "fog"])
def test_memento3_lets_none_of_them_act(tmp_path: Path, host: Host, name: str) -> None:
    config = RunConfig(f"py:contract_worlds:SOURCE/{name}", budget=12)
    with start_run(config, tmp_path, host=host, mind=Scripted([read_example(name)])) as (_, session):
        loops.play(session)
        assert not any(member.admissible for member in session.state.members)
