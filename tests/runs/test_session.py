"""Session and loop on a real world, host, ledger and git: what is accepted, what is sent, in which order, what survives."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lakes import DOWN, LAKE, LEFT, NO_GOAL, NO_HOLES, RIGHT, TRUE, UP, bodies, images, run, told, without_plans
from minds import Scripted, replaced

from lawbook.audit.report import audit_run
from lawbook.core import validation
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger
from lawbook.core.record import RESET, Action, ActionKind, Status
from lawbook.core.results import Judgement, NoPlan, Plan, Prediction, Probe, ProgramError, RunOutcome, Subgoal, VerdictKind
from lawbook.errors import RefusedError, UsageError
from lawbook.ledger import contents
from lawbook.ledger.events import DrawEvent, EventKind, NoPlanEvent, StoredProposal
from lawbook.ledger.git_versions import GitVersions
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import Worker

# -- the loop ---------------------------------------------------------------------------------------------------------------


def test_a_true_hypothesis_walks_straight_to_the_goal(tmp_path: Path, host: Host) -> None:
    mind = Scripted([TRUE])
    state, events, _ = run(tmp_path, host, mind)
    assert state.outcome is RunOutcome.WON
    assert state.n_actions == 6 and state.n_mismatches == 0
    assert [case.trigger for case in mind.cases] == [Trigger.START] and mind.judged == [TRUE]  # a predicted action asks nothing
    assert bodies(events, EventKind.PLAN)[0]["certified"]


def test_every_prediction_is_in_the_ledger_before_its_observation(tmp_path: Path, host: Host) -> None:
    _, events, _ = run(tmp_path, host, Scripted([TRUE]))
    intend = None
    for event in events:
        if event.kind is EventKind.INTEND:
            intend = event.body
        elif event.kind is EventKind.OBSERVE and event.body["action"] is not None:
            assert intend is not None and intend["action"] == event.body["action"]
            frame, status = intend["predictions"]["0"]
            assert status == event.body["status"]
            assert status == Status.COMPLETED or frame == event.body["frames"][-1]
            intend = None


def test_the_first_wrong_prediction_stops_the_plan_and_comes_back_as_the_thing_to_explain(tmp_path: Path, host: Host) -> None:
    mind = Scripted([NO_HOLES, TRUE])
    state, events, _ = run(tmp_path, host, mind, seed=1)
    assert state.outcome is RunOutcome.WON
    # Blind to holes, it walks straight into one; after that everything is predicted.
    assert state.n_mismatches == 1 == sum(body["about"] == "prediction" for body in bodies(events, EventKind.VERDICT))
    asked = next(case for case in mind.cases if case.trigger is Trigger.MISMATCH)
    assert not asked.admissible and asked.hypothesis == NO_HOLES
    assert asked.verdict is not None and asked.verdict.counterexample is not None
    assert asked.verdict.counterexample.expected is Status.OVER and asked.verdict.counterexample.predicted is Status.RUNNING
    resets = [body for body in bodies(events, EventKind.INTEND) if body["sort"] == ActionKind.RESET]
    assert len(resets) == 1 and not resets[0]["predictions"]
    assert state.n_actions == sum(state.actions_per_level.values()) == len(bodies(events, EventKind.INTEND))


def test_a_falsified_hypothesis_never_steers(tmp_path: Path, host: Host) -> None:
    """It can never be mended here: only probes follow, as many as the allowance holds, then the run is stuck."""
    state, events, _ = run(tmp_path, host, Scripted([NO_HOLES], [Probe(UP, "does it move?")]), budget=60)
    assert state.outcome is RunOutcome.STUCK
    fell = next(i for i, event in enumerate(events) if event.kind is EventKind.VERDICT and event.body["about"] == "prediction")
    after = [body for body in bodies(events[fell:], EventKind.INTEND) if body["sort"] != ActionKind.RESET]
    assert len(after) == 10 and all(body["sort"] == ActionKind.PROBE and not body["predictions"] for body in after)
    refused = [body["verdict"]["reason"] for body in bodies(events[fell:], EventKind.VERDICT)]
    assert any("refused before" in reason or "unchanged" in reason for reason in refused)


def test_without_a_goal_the_mind_is_asked_once_for_each_state_and_explores(tmp_path: Path, host: Host) -> None:
    lower_right = Subgoal("def subgoal(state): return (state.row, state.column) == (3, 2)", "what lies beyond?")
    mind = Scripted([NO_GOAL, TRUE], [lower_right, *[Probe(RIGHT, "does the last cell do anything?")] * 9])
    state, events, _ = run(tmp_path, host, mind)
    assert state.outcome is RunOutcome.WON and state.n_actions == 6
    whys = [case.trigger for case in mind.cases]
    assert whys == [Trigger.START, Trigger.NO_PLAN, Trigger.EXPLORE, Trigger.NO_PLAN, Trigger.EXPLORE]
    assert [body["sort"] for body in bodies(events, EventKind.INTEND)] == ["plan"] * 5 + ["probe"]
    assert bodies(events, EventKind.INTEND)[0]["question"] == "what lies beyond?"


def test_a_mind_that_sees_no_way_on_may_start_the_level_anew(tmp_path: Path, host: Host) -> None:
    lost = Probe(RESET, "nothing can be won from here")
    state, events, _ = run(tmp_path, host, Scripted([NO_GOAL], [Probe(RIGHT, "?"), lost, Probe(RIGHT, "?"), *[lost] * 9]), budget=9)
    sorts = [body["sort"] for body in bodies(events, EventKind.INTEND)]
    assert sorts[:4] == ["probe", "reset", "probe", "reset"]
    assert state.outcome is RunOutcome.STUCK and state.n_actions == 4  # a second reset in a row is refused, again and again
    assert bodies(events, EventKind.INTEND)[1]["question"] == lost.question


def test_the_budget_is_the_end(tmp_path: Path, host: Host) -> None:
    state, events, _ = run(tmp_path, host, Scripted([NO_GOAL], [Probe(UP, "?")]), budget=7)
    assert state.outcome is RunOutcome.BUDGET and state.n_actions == 7
    assert bodies(events, EventKind.CLOSE)[0]["outcome"] == "budget"


def test_vanilla_asks_for_no_model(tmp_path: Path, host: Host) -> None:
    mind = Scripted([], [Probe(RIGHT, "?"), Probe(DOWN, "?")])
    state, events, _ = run(tmp_path, host, mind, protocol="vanilla", budget=40)
    assert state.outcome is RunOutcome.BUDGET and state.n_actions == 40  # into the first hole, again and again
    assert not bodies(events, EventKind.PROPOSE)
    assert {case.trigger for case in mind.cases} == {Trigger.EXPLORE}


def test_no_rulebook_is_the_same_loop_without_the_book(tmp_path: Path, host: Host) -> None:
    mind = Scripted([Hypothesis("", TRUE.files)], judge=lambda _: Judgement(False, {}, "never asked"))
    state, events, _ = run(tmp_path, host, mind, protocol="no-rulebook")
    assert state.outcome is RunOutcome.WON and state.n_actions == 6
    assert bodies(events, EventKind.PROPOSE)[0]["rulebook"] is None


def test_an_unfaithful_program_is_refused(tmp_path: Path, host: Host) -> None:
    unfaithful = replaced(TRUE, "# R3", "# the holes")
    mind = Scripted([unfaithful, TRUE])
    state, events, _ = run(tmp_path, host, mind)
    verdicts = [body["verdict"]["outcome"] for body in bodies(events, EventKind.VERDICT)]
    assert verdicts == [VerdictKind.UNFAITHFUL, VerdictKind.ADMISSIBLE]
    assert state.outcome is RunOutcome.WON
    assert "R3" in mind.cases[1].verdict.reason  # type: ignore[union-attr]


def test_unusable_explorations_end_as_stuck_not_in_a_loop(tmp_path: Path, host: Host) -> None:
    nowhere = Subgoal("def subgoal(state): return False", "?")
    state, events, _ = run(tmp_path, host, Scripted([NO_GOAL], [nowhere]))
    assert state.outcome is RunOutcome.STUCK and state.n_actions == 0
    broken = Subgoal("def subgoal(state): return state.nonsense", "?")
    state, events, _ = run(tmp_path, host, Scripted([NO_GOAL], [broken]))
    assert state.outcome is RunOutcome.STUCK
    assert "subgoal itself fails" in bodies(events, EventKind.VERDICT)[-1]["verdict"]["reason"]
    assert state.members[0].admissible  # a bad subgoal says nothing against the program


def test_a_program_that_fails_only_when_it_is_searched_is_falsified_and_the_run_goes_on(tmp_path: Path, host: Host) -> None:
    trap = replaced(TRUE, "row = min(", "assert state.column < 2 or action.id == 3\n    row = min(")
    state, events, _ = run(tmp_path, host, Scripted([trap, TRUE]))
    assert state.outcome is RunOutcome.WON and state.n_actions == 6
    assert any("While planning" in body["verdict"]["reason"] for body in bodies(events, EventKind.VERDICT))


def test_such_a_program_proposed_again_and_again_ends_in_probes(tmp_path: Path, host: Host) -> None:
    trap = replaced(TRUE, "row = min(", "assert state.column < 2 or action.id == 3\n    row = min(")
    other = replaced(trap, "# R2: the edge stops it", "# R2")
    state, _, _ = run(tmp_path, host, Scripted([trap, other], [Probe(UP, "?")]), budget=30)
    assert state.outcome in (RunOutcome.STUCK, RunOutcome.BUDGET)


# -- the population ------------------------------------------------------------------------------------------------------------


class Rivals(Scripted):
    """Member i starts from the i-th hypothesis; when it is wrong it takes the true one."""

    def propose(self, case):  # type: ignore[no-untyped-def]
        from minds import as_proposal

        self.cases.append(case)
        if case.trigger in (Trigger.LEVEL, Trigger.NO_PLAN, Trigger.SIMPLIFY):
            return Proposal(Decision.RETAIN)
        return as_proposal(case, TRUE if case.history else self.hypotheses[case.member])


def test_every_member_is_checked_on_every_transition_whoever_drives(tmp_path: Path, host: Host) -> None:
    backwards = replaced(TRUE, "1: (0, -1), 2: (1, 0)", "1: (1, 0), 2: (0, -1)")  # knows the goal, not the moves
    state, events, path = run(tmp_path, host, Rivals([TRUE, backwards]), population=2, seed=3)
    assert state.outcome is RunOutcome.WON
    wrong = [body["member"] for body in bodies(events, EventKind.VERDICT) if body["about"] == "prediction"]
    assert wrong == [1]
    for body in bodies(events, EventKind.INTEND):
        assert set(body["predictions"]) <= {"0", "1"} and "0" in body["predictions"]
    draws = bodies(events, EventKind.DRAW)
    assert draws[0]["classes"] == [[0], [1]]
    assert {entry.tag for entry in GitVersions(path / "memory").log()} == {"m0-i1", "m1-i1", "m1-i2"}


def test_members_learn_who_drove_and_what_was_sent(tmp_path: Path, host: Host) -> None:
    mind = Rivals([TRUE, NO_HOLES])
    for seed in range(8):
        mind.cases.clear()
        state, *_ = run(tmp_path, host, mind, population=2, seed=seed)
        assert state.outcome is RunOutcome.WON
        told = [case for case in mind.cases if case.trigger is Trigger.MISMATCH]
        for case in told:
            assert case.member == 1 and case.rivals == (TRUE,)
            assert case.peer_actions and all(news.driver in (0, 1) and news.kind == ActionKind.PLAN for news in case.peer_actions)


def test_identical_plans_are_one_class(tmp_path: Path, host: Host) -> None:
    _, events, _ = run(tmp_path, host, Rivals([TRUE, TRUE, TRUE]), population=3)
    assert bodies(events, EventKind.DRAW)[0]["classes"] == [[0, 1, 2]]


# -- the operations ------------------------------------------------------------------------------------------------------------


def test_the_gate_holds_against_a_caller_who_wants_around_it(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, budget=40), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        with pytest.raises(RefusedError, match="No admissible hypothesis"):
            session.execute([RIGHT])
        with pytest.raises(RefusedError, match="no admissible program"):
            session.plan()
        for action in (Action(9), Action(0), Action(1, 0, 0), Action(-1)):
            with pytest.raises(RefusedError):
                session.probe(action, "is it let through?")
        with pytest.raises(RefusedError, match="question"):
            session.probe(RIGHT, "")
        with pytest.raises(RefusedError, match="since this level began"):
            session.reset("for no reason")
        assert session.state.n_actions == 0 and session.state.intent is None
        verdict = session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, {"other.py": "x = 1"}))
        assert verdict.outcome is VerdictKind.REFUSED and "world_model_engine.py" in verdict.reason
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files)).admissible
        with pytest.raises(RefusedError, match="not predicted to end in the goal"):
            session.execute([RIGHT, RIGHT])
        with pytest.raises(RefusedError, match="predicted to end the level"):
            session.execute([DOWN, RIGHT, RIGHT])  # into a hole on the way
        with pytest.raises(RefusedError, match="left in the budget"):
            session.execute([LEFT] * 41)
        with pytest.raises(RefusedError, match="nothing to execute"):
            session.execute([])
        assert session.state.n_actions == 0
        corner = Subgoal("def subgoal(state): return (state.row, state.column) == (0, 2)", "what is there?")
        sent = session.execute([RIGHT, RIGHT], corner)
        assert sent.actions == (RIGHT, RIGHT) and not sent.halt_reason
        assert isinstance(session.plan(), Plan)
        assert isinstance(session.plan(subgoal=Subgoal("def subgoal(state): return state.row == 7", "?")), NoPlan)
        session.probe(DOWN, "is it safe?")
        session.probe(RIGHT, "a hole?")
        assert session.record.needs_reset
        with pytest.raises(RefusedError, match="only a reset"):
            session.probe(LEFT, "still alive?")
        session.reset("drowned")
        assert session.state.n_actions == 5
        session.finish(RunOutcome.FINISHED, "enough")
        with pytest.raises(RefusedError, match="has ended"):
            session.probe(LEFT, "after the end?")


def test_what_was_verified_cannot_be_changed_in_place(tmp_path: Path, host: Host) -> None:
    """A mind is shown the very hypothesis that stands; edited there, it would be taken for one of which only the prose changed."""
    with start_run(RunConfig(LAKE, budget=40), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        given = dict(TRUE.files)
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, given)).admissible
        given["world_model_engine.py"] = "nonsense"
        shown = session.build_case(0).hypothesis
        assert shown == TRUE
        with pytest.raises(TypeError):
            shown.files["world_model_engine.py"] = "nonsense"  # type: ignore[index, union-attr]
        assert session.verify().admissible


def test_probes_without_a_model_come_from_the_allowance(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, budget=100), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        for _ in range(10):
            session.probe(LEFT, "?")
        with pytest.raises(RefusedError, match="All 10 actions"):
            session.probe(LEFT, "?")
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files)).admissible
        for _ in range(5):
            session.probe(LEFT, "predicted now")
        assert session.state.n_unpredicted == 10


def test_a_mind_that_proposes_nothing_needs_a_protocol_without_a_model(tmp_path: Path, host: Host) -> None:
    mind = Scripted()
    mind.proposes = False
    with pytest.raises(UsageError, match="vanilla"), start_run(RunConfig(LAKE), tmp_path, host=host, mind=mind):
        pass


def test_one_history_with_two_outcomes_ends_the_run_with_both(tmp_path: Path, host: Host) -> None:
    mind = Scripted([], [Probe(Action(1), "?"), Probe(Action(2), "the end?"), Probe(Action(1), "?")] * 10)
    state, events, _ = run(tmp_path, host, mind, world="py:fickle_worlds:SOURCE/fickle", protocol="vanilla", budget=400)
    assert state.outcome is RunOutcome.NONDETERMINISTIC
    sentence = bodies(events, EventKind.CLOSE)[0]["sentence"]
    assert "not deterministic" in sentence and "trajectory 0" in sentence


def test_what_a_door_can_ask_changes_nothing(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, budget=40), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        assert (
            session.get_status().due == (0,)
            and session.get_status().admissible == ()
            and session.get_status().unpredicted_left == 10
        )
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, NO_HOLES.rulebook, NO_HOLES.files)).admissible
        session.probe(DOWN, "what is there?")
        session.probe(RIGHT, "a hole?")
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files)).admissible
        events = len(session.event_log.ledger)
        standing = session.get_status()
        assert (standing.status, standing.n_actions, standing.actions_left, standing.admissible) == (Status.OVER, 2, 38, (0,))
        assert (
            session.get_observation() is session.record.current.last
            and session.get_observation(0, 0) is session.record.current.first
        )
        assert [version.outcome for version in session.get_history()] == [VerdictKind.ADMISSIBLE, VerdictKind.ADMISSIBLE]
        assert session.load_version(1) == NO_HOLES and session.load_version(2) == TRUE
        assert "+R3. Entering a cell with code 1 ends the game." in session.diff_versions(1, 2)
        shown = session.simulate([DOWN, RIGHT], trajectory=0, step=0)
        assert [seen.status for seen in shown] == [Status.RUNNING, Status.OVER]
        assert (shown[0].frame == session.get_observation(0, 1).frame).all()
        for refused in (lambda: session.get_observation(3), lambda: session.load_version(9), lambda: session.diff_versions(1, 9)):
            with pytest.raises(RefusedError):
                refused()
        assert len(session.event_log.ledger) == events and session.verify().admissible


# -- what survives -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_cut_at_any_commit_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every kind of thing in it: a mismatch, a reset, a refusal, a wonder, a subgoal, probes, a plan, the win."""
    middle = Subgoal("def subgoal(state): return (state.row, state.column) == (2, 2)", "what is there?")
    nowhere = Subgoal("def subgoal(state): return False", "?")
    explores = [*[nowhere] * 4, Probe(UP, "an edge?"), middle, *[nowhere] * 3, Probe(DOWN, "more ice?"), Probe(RIGHT, "the end?")]

    def mind() -> Scripted:
        return Scripted([replaced(TRUE, "# R3", "# unfaithful"), NO_HOLES, NO_GOAL], explores)

    found = images(monkeypatch, tmp_path)
    state, events, _ = run(tmp_path / "whole", host, mind(), budget=40)
    monkeypatch.undo()
    assert state.outcome is RunOutcome.WON and state.n_actions == 11
    want = told(events)
    found.pop(len(events))  # there the run had ended
    assert len(found) > 30
    for length, image in found.items():
        with resume_run(RunFolder.open(image), host=host, mind=mind()) as session:
            play(session)
            got = told(list(session.event_log.ledger))
            assert session.event_log.ledger.check() is None
        # A plan that was found and not yet begun is found again: its event may stand twice, under another number.
        assert without_plans(got) == without_plans(want), f"crashed after {length} events"


def cut_in_a_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Host) -> RunFolder:
    """What is on disk where a crash came between the second and the third action of the plan that wins."""
    found = images(monkeypatch, tmp_path)
    _, events, _ = run(tmp_path / "whole", host, Scripted([TRUE]))
    monkeypatch.undo()
    third = [event.seq for event in events if event.kind is EventKind.INTEND][2]
    return RunFolder.open(found[max(length for length in found if length <= third)])


def test_a_resumed_run_knows_what_was_planned(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with resume_run(cut_in_a_plan(monkeypatch, tmp_path, host), host=host, mind=Scripted([TRUE])) as session:
        ahead, n_before = list(session.ahead), session.state.n_actions
        assert n_before in (1, 2) and len(ahead) == 6 - n_before
        assert [prediction.status for prediction in ahead] == [Status.RUNNING] * (len(ahead) - 1) + [Status.COMPLETED]
        play(session)
        seen = [observation for _, observation in session.record.current.steps][n_before:]
        assert [prediction.status for prediction in ahead] == [observation.status for observation in seen]
        assert all((one.frame == two.frame).all() for one, two in zip(ahead[:-1], seen[:-1], strict=True))


@pytest.mark.parametrize("part", ["frame", "status"])
def test_a_program_that_answers_otherwise_after_a_resume_is_caught_before_anything_is_sent(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    folder, step = cut_in_a_plan(monkeypatch, tmp_path, host), Worker.step

    def step_otherwise(worker: Worker, action: Action, *_: object) -> Prediction | ProgramError:
        prediction = step(worker, action)
        assert isinstance(prediction, Prediction)
        return prediction._replace(status=Status.OVER) if part == "status" else prediction._replace(frame=prediction.frame ^ 1)

    with resume_run(folder, host=host, mind=Scripted([TRUE])) as session:
        n_before = session.state.n_actions
        monkeypatch.setattr(Worker, "step", step_otherwise)
        result = session.continue_plan()
        assert result.actions == () and result.falsified == (0,) and session.state.n_actions == n_before
        verdict = session.state.members[0].verdict
        assert verdict is not None and verdict.fault is not None and verdict.fault.kind == "unrepeatable"
        assert not session.state.members[0].admissible and session.state.active_plan is None


def test_who_is_asked_why_nobody_has_a_plan_is_still_asked_after_a_crash(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two members are asked; the crash comes once the first has answered."""
    found = images(monkeypatch, tmp_path)
    _, events, _ = run(tmp_path / "whole", host, Scripted([NO_GOAL], [Probe(UP, "?")]), population=2, budget=3)
    monkeypatch.undo()
    asked = next(event for event in events if event.kind is EventKind.DRAW)
    assert asked.body == {"classes": [], "drawn": None, "plan": None, "asked": [0, 1]} and asked.data == NoPlanEvent((0, 1))
    answer = next(event for event in events[asked.seq :] if event.kind is EventKind.VERDICT)
    folder = RunFolder.open(found[answer.seq + 1])
    mind = Scripted([NO_GOAL], [Probe(UP, "?")])
    with resume_run(folder, host=host, mind=mind) as session:
        members = session.state.members
        assert [m.trigger for m in members] == [None, Trigger.NO_PLAN] and session.list_due_members() == [1]
        play(session)
        assert without_plans(told(list(session.event_log.ledger))) == without_plans(told(events))
    assert mind.cases[0].member == 1 and mind.cases[0].trigger is Trigger.NO_PLAN
    assert audit_run(folder, strict=True).holds


def test_a_ledger_whose_draws_name_frames_alone_goes_on_as_it_did(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ledgers were written before: such a run has no predictions of the plan under way, and holds in a strict audit."""

    def store_frames(*parts: Any) -> DrawEvent:
        return replace(contents.store_draw(*parts), predicted_statuses=None)

    with monkeypatch.context() as patch:
        patch.setattr("lawbook.runs.session.store_draw", store_frames)
        folder = cut_in_a_plan(patch, tmp_path, host)
    with resume_run(folder, host=host, mind=Scripted([TRUE])) as session:
        assert list(session.ahead) == [] and session.state.active_plan is not None
        assert play(session) is RunOutcome.WON and session.state.n_actions == 6
    assert audit_run(folder, strict=True).holds


def test_what_a_mind_proposed_is_validated_and_stored_once(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is judged is what the ledger holds, whatever becomes of the object meanwhile."""
    calls: list[str] = []
    validate, store = validation.validate_proposal, contents.store_proposal

    def count_validate(proposal: object) -> Proposal:
        calls.append("validate")
        return validate(proposal)

    def count_store(ledger: Ledger, proposal: Proposal) -> StoredProposal:
        calls.append("store")
        return store(ledger, proposal)

    monkeypatch.setattr(validation, "validate_proposal", count_validate)
    for module in ("session", "mind_call"):
        monkeypatch.setattr(f"lawbook.runs.{module}.store_proposal", count_store)
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        proposal = session.call_mind(0, "propose")
        assert calls == ["validate", "store"]
        assert proposal.files is not None
        if isinstance(proposal.files, dict):
            proposal.files["world_model_engine.py"] = "x = 1"
        assert session.propose(proposal).admissible and calls == ["validate", "store"]
        assert session.state.members[0].hypothesis == TRUE
        session.propose(Proposal(Decision.REPAIR_CODE, None, TRUE.files, "by hand"))
        assert calls == ["validate", "store"] * 2


def test_the_state_is_a_fold_over_the_ledger(tmp_path: Path, host: Host) -> None:
    state, _, path = run(tmp_path, host, Scripted([NO_HOLES, TRUE]))
    with Ledger.open(path / "ledger.sqlite", readonly=True) as ledger:
        again = fold_events(ledger)
    assert (again.n_actions, again.actions_per_level, again.n_mismatches, again.outcome) == (
        state.n_actions,
        state.actions_per_level,
        state.n_mismatches,
        state.outcome,
    )
    assert again.members[0].hypothesis == state.members[0].hypothesis == TRUE
    assert again.accepted_versions == state.accepted_versions


def test_a_finished_run_is_not_resumed(tmp_path: Path, host: Host) -> None:
    _, _, path = run(tmp_path, host, Scripted([TRUE]))
    with pytest.raises(UsageError, match="has ended"), resume_run(RunFolder.open(path), host=host, mind=Scripted([TRUE])):
        pass


def test_an_altered_ledger_is_not_resumed(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session):
        session.probe(RIGHT, "?")
    with sqlite3.connect(folder.ledger) as database:
        database.execute("""UPDATE events SET body = replace(body, '"question":"?"', '"question":"!"')""")
    with pytest.raises(UsageError, match="altered"), resume_run(folder, host=host, mind=Scripted([TRUE])):
        pass


def test_reset_is_not_given_to_a_program(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Scripted([TRUE])) as (_, session):
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files)).admissible
        session.probe(RIGHT, "?")
        session.reset("start anew")
        assert all(action != RESET for trajectory in session.record for action in trajectory.actions)
        assert len(session.record) == 2 and session.verify().admissible


def test_a_run_whose_settings_were_changed_is_not_resumed(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, budget=40), tmp_path, host=host, mind=Scripted([TRUE])) as (folder, session):
        session.probe(RIGHT, "?")
    folder.toml.write_text(folder.toml.read_text().replace("budget = 40", "budget = 4000"))
    with pytest.raises(UsageError, match="budget was 40"), resume_run(folder, host=host, mind=Scripted([TRUE])):
        pass
    folder.toml.write_text(folder.toml.read_text().replace("budget = 4000", "budget = 40"))
    with resume_run(folder, host=host, mind=Scripted([TRUE])) as session:
        assert session.actions_left == 39
