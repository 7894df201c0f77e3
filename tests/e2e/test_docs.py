"""What the documents teach is true: the worked example of docs/contract.md, word for word, on the real world and host."""

from __future__ import annotations

import importlib
import random
import re
from pathlib import Path

import pytest
from minds import worked_example

from lawbook.core.hypothesis import find_rule_citations
from lawbook.core.record import RESET, Action, Record, Status
from lawbook.core.results import ProgramError
from lawbook.minds.base import judge_by_citations
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify
from lawbook.worlds.process import WorldProcess


def test_the_worked_example_of_the_contract_verifies_on_random_walks_over_several_lakes() -> None:
    hypothesis = worked_example()
    with Host() as host:
        program = host.load(hypothesis.files)
        assert not isinstance(program, ProgramError), program.reason
        endings: set[Status] = set()
        for seed in range(4):
            record = Record(levels=1)
            choice = random.Random(seed)
            with WorldProcess(f"gym:FrozenLake-v1?size=4&map_seed={seed}") as world:
                record.extend(None, world.reset())
                while len(record) < 12 and not record.is_won:
                    if record.needs_reset:
                        record.extend(RESET, world.reset())
                        continue
                    action = Action(choice.choice(world.spec.actions))
                    record.extend(action, world.step(action))
            endings |= {trajectory.last.status for trajectory in record}
            verdict = verify(program, record)
            assert verdict.admissible, verdict.reason
            assert verdict.replayed > 10
    assert Status.OVER in endings


def test_the_worked_example_is_faithful_to_its_rulebook_by_the_mechanical_trace() -> None:
    found = find_rule_citations(worked_example())
    assert found.rules == ("R1", "R2", "R3", "R4") and found.questions == ("Q1",)
    assert judge_by_citations(worked_example()).faithful


DOCUMENTS = [Path(__file__).parents[2] / "README.md", *sorted((Path(__file__).parents[2] / "docs").glob("*.md"))]
IMPORT = re.compile(r"^from (lawbook[\w.]*) import ([\w, ]+)$", re.MULTILINE)
SOURCE_FILE = re.compile(r"\blawbook/[\w/]+\.(?:py|csv|md)\b")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_what_documents_import_and_point_at_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for module, names in IMPORT.findall(text):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip()), f"{module} has no {name.strip()}"
    for path in SOURCE_FILE.findall(text):
        assert (DOCUMENTS[0].parent / path).is_file(), path
