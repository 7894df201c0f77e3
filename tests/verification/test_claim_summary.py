"""What a program claims of the record, counted by hand; a simplification that loses one is refused, and the audit counts again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from minds import Scripted, replaced, worked_example

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import Action, Observation, Record, Status, freeze
from lawbook.core.results import ClaimSummary, OpenRuleCount, ProgramError, VerdictKind
from lawbook.ledger.events import VerdictEvent
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host, Program
from lawbook.verification.claim_summary import summarise_claims

ONE = Action(1)
COUNTER = """
import numpy as np
def initial_state(observation): return 0, {known}
def step(state, action): return state[0] + 1, state[1]
def render(state):
    frame = np.full((1, 3), state[0], np.int16)
    frame[0, 2] = 9
    if not state[1]:
        frame[0, 0] = -1
    if state[0] == 2:
        frame[0, 2] = {last}
    return frame
def is_goal(state): return {goal}
def update(state, observation): return state[0], {learns}
"""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def write(known: bool = False, last: int = 9, goal: str = "False", learns: str = "state[1]") -> dict[str, str]:
    return {ENGINE: COUNTER.format(known=known, last=last, goal=goal, learns=learns)}


def load(host: Host, **settings: object) -> Program:
    program = host.load(write(**settings), (1, 2))  # type: ignore[arg-type]
    assert not isinstance(program, ProgramError), program
    return program


def make_record(n_steps: int = 3) -> Record:
    record = Record(levels=1)
    for k in range(n_steps + 1):
        record.extend(ONE if k else None, Observation((freeze(np.array([[k, k, 9]], np.uint8)),), Status.RUNNING, 0, (1,)))
    return record


def test_what_is_open_is_counted_by_rule(host: Host) -> None:
    """Renderings 0 to 3: cell 0 open in all of them under U1, cell 2 in rendering 2 under U2, which rendering 3 claims."""
    claims = summarise_claims(load(host, last=-2), make_record())
    assert claims == ClaimSummary((OpenRuleCount(1, 3, 3, 0), OpenRuleCount(2, 1, 0, 1)), n_changed=6, n_changed_claimed=3)


def test_what_an_update_has_seen_is_claimed_then(host: Host) -> None:
    claims = summarise_claims(load(host, learns='observation["frame"][0, 0] > 0'), make_record())
    assert isinstance(claims, ClaimSummary)
    assert claims.rules == (OpenRuleCount(1, 1, 1, 1),) and (claims.n_changed, claims.n_changed_claimed) == (6, 5)


def test_claims_lost_and_won_are_those_of_cells_and_of_statuses(host: Host) -> None:
    wide, narrow = load(host, known=True), load(host, last=-2, goal="None")
    lost = summarise_claims(narrow, make_record(), wide)
    assert isinstance(lost, ClaimSummary)
    assert (lost.n_lost, lost.n_won, lost.lost_at) == (4 + 1 + 4, 0, (0, 0))
    won = summarise_claims(wide, make_record(), narrow)
    assert isinstance(won, ClaimSummary) and (won.n_lost, won.n_won, won.lost_at) == (0, 9, None)
    same = summarise_claims(narrow, make_record(), narrow)
    assert isinstance(same, ClaimSummary) and (same.n_lost, same.n_won) == (0, 0)


def test_a_completing_step_counts_by_its_status_alone(host: Host) -> None:
    record = make_record(2)
    record.extend(ONE, Observation((freeze(np.array([[7, 7, 7]], np.uint8)),), Status.COMPLETED, 1, (1,)))
    claims = summarise_claims(load(host, goal="state[0] == 3"), record)
    assert isinstance(claims, ClaimSummary) and claims.n_changed == 4


LAKE = "gym:FrozenLake-v1?size=4"


def propose_all(tmp_path: Path, host: Host, *proposals: tuple[Decision, Hypothesis]) -> list[VerdictEvent]:
    """Two probes, then these proposals one after the other; returns their verdicts. The run is audited strictly."""
    with start_run(RunConfig(LAKE, protocol="belief"), tmp_path, host=host, mind=Scripted([])) as (folder, session):
        for action in (2, 2, 4):
            session.probe(Action(action), "what does it do?")
        for decision, hypothesis in proposals:
            session.propose(Proposal(decision, hypothesis.rulebook, hypothesis.files, "as it is"))
        told = [event.data for event in session.event_log.ledger if isinstance(event.data, VerdictEvent)]
    audit = audit_run(folder, strict=True)
    assert audit.holds, audit
    return told


def test_a_simplification_that_loses_a_claim_is_refused_and_the_audit_counts_again(tmp_path: Path, host: Host) -> None:
    open_render = "    return grid\n\n\ndef here"
    everything = replaced(worked_example(), open_render, "    return grid  # a long remark of no use: U1\n\n\ndef here")
    everything = replaced(
        everything, "import numpy as np", "import numpy as np\n\nUNUSED = 'x' * 100\nUNUSED_TOO = UNUSED + UNUSED"
    )
    everything = Hypothesis("U1. What lies there shows nowhere.\n" + everything.rulebook, everything.files)
    less = replaced(worked_example(), open_render, "    return np.where(grid == 1, -1, grid.astype(np.int16))  # U1\n\n\ndef here")
    less = Hypothesis("U1. What lies there shows nowhere.\n" + less.rulebook, less.files)
    same = replaced(everything, "\n\nUNUSED = 'x' * 100\nUNUSED_TOO = UNUSED + UNUSED", "")
    first, lost, kept = propose_all(
        tmp_path, host, (Decision.REVISE_RULEBOOK, everything), (Decision.SIMPLIFY, less), (Decision.SIMPLIFY, same)
    )
    assert first.verdict.admissible and first.verdict.claims is not None and first.verdict.claims.n_won == 0
    assert lost.verdict.outcome is VerdictKind.REFUSED and "must lose no claim" in lost.verdict.reason
    assert lost.verdict.claims is not None and lost.verdict.claims.n_lost == 16, "four holes in four renderings"
    assert kept.verdict.admissible and kept.verdict.claims is not None and kept.verdict.claims.n_lost == 0
