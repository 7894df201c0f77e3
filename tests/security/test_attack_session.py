"""Attacks through the operations of a session. Each test is one attack on what is promised, and must fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import AT_5, BOOK, END, MEMORY, NO_PROPOSALS, ON, RING, STUCK, TRUE, WALK, kinds, opened, ring, sound
from minds import Scripted
from strays import processes

from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Counterexample, Judgement, Limits, Plan, Probe, RunOutcome, Subgoal, VerdictKind
from lawbook.errors import HostError, LawbookError, MindError, RefusedError, UsageError, WorldError
from lawbook.ledger.events import AnyEvent, EventKind, IntendEvent, OpenEvent
from lawbook.ledger.ledger import Event
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host


@pytest.fixture(scope="module")
def believer(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Iterator[Session]:
    """A run that believes the true rules, for attacks that must leave no trace of themselves."""
    with opened(tmp_path_factory.mktemp("believer"), host) as (_, session):
        assert session.propose(TRUE).admissible
        yield session


@pytest.fixture
def session(tmp_path: Path, host: Host) -> Iterator[Session]:
    with opened(tmp_path, host) as (_, session):
        yield session


# -- callers: what is no proposal, no action, no text ----------------------------------------------------


@pytest.mark.parametrize("name", NO_PROPOSALS)
def test_what_is_no_proposal_is_a_sentence_and_leaves_no_trace(believer: Session, name: str) -> None:
    before = len(believer.event_log.ledger)
    with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
        believer.propose(NO_PROPOSALS[name])
    assert len(believer.event_log.ledger) == before and believer.state.members[0].proposal is None
    sound(believer)


NO_ACTIONS: dict[str, Any] = {
    "nothing": None,
    "a number": 1,
    "a string": "1",
    "a tuple": (1,),
    "a truth": Action(True),
    "a fraction": Action(1.0),  # type: ignore[arg-type]
    "not a number": Action(float("nan")),  # type: ignore[arg-type]
    "a number of numpy": Action(np.int64(1)),  # type: ignore[arg-type]
    "a number without end": Action(10**5000),
    "a click without end": Action(1, 10**5000, 0),
    "an action in an action": Action(ON),  # type: ignore[arg-type]
    "another action inside": type("Sly", (Action,), {"id": property(lambda self: 1)})(2),
}


@pytest.mark.parametrize("name", NO_ACTIONS)
def test_what_is_no_action_is_a_sentence_and_is_not_sent(believer: Session, name: str) -> None:
    for deed in (
        lambda: believer.probe(NO_ACTIONS[name], "?"),
        lambda: believer.execute([NO_ACTIONS[name]], AT_5),
        lambda: believer.execute(NO_ACTIONS[name], AT_5),
    ):
        with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
            deed()
    assert believer.state.n_actions == 0 and not kinds(believer, EventKind.INTEND)
    sound(believer)


def test_a_plan_may_be_anything_that_is_read_once(session: Session) -> None:
    session.propose(TRUE)
    assert session.execute(iter([ON] * 5), AT_5).actions == (ON,) * 5  # type: ignore[arg-type]
    sound(session)


def test_words_that_are_none_are_sentences(believer: Session) -> None:
    endless = "x" * 30_000_000
    for deed in (
        lambda: believer.probe(ON, None),  # type: ignore[arg-type]
        lambda: believer.probe(ON, endless),
        lambda: believer.note(object()),  # type: ignore[arg-type]
        lambda: believer.note(endless),
        lambda: believer.reset(b"why", True),  # type: ignore[arg-type]
        lambda: believer.finish(RunOutcome.FINISHED, 3),  # type: ignore[arg-type]
        lambda: believer.refuse_exploration(0, None),  # type: ignore[arg-type]
        lambda: believer.finish("done", "enough"),  # type: ignore[arg-type]
        lambda: believer.plan(0, Subgoal(None, "?")),  # type: ignore[arg-type]
        lambda: believer.plan(0, Subgoal("def subgoal(s): return True", None)),  # type: ignore[arg-type]
        lambda: believer.plan(0, "state[0] == 5"),  # type: ignore[arg-type]
        lambda: believer.execute([ON], "state[0] == 5"),  # type: ignore[arg-type]
        lambda: believer.plan(0, None, Limits(seconds=float("nan"))),
        lambda: believer.plan(0, None, Limits(seconds=float("inf"))),
        lambda: believer.plan(0, None, Limits(nodes=-1)),
        lambda: believer.plan(0, None, Limits(depth=True)),
        lambda: believer.plan(0, None, Limits(depth=2.5)),  # type: ignore[arg-type]
    ):
        with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
            deed()
    assert believer.state.n_actions == 0 and believer.outcome is None
    sound(believer)


def test_there_is_no_member_but_those_there_are(tmp_path: Path, host: Host) -> None:
    """-1 is the last one in a list, under a name by which its live worker is not known."""
    strangers: list[Any] = [-1, 2, True, None, "0", 0.0]
    with opened(tmp_path, host, population=2) as (_, session):
        deeds: list[Callable[[Any], object]] = [
            lambda member: session.propose(TRUE, member),
            lambda member: session.plan(member),
            lambda member: session.probe(ON, "?", member),
            lambda member: session.execute([ON], None, member),
            lambda member: session.verify(member),
            lambda member: session.refuse_exploration(member, "?"),
            lambda member: session.build_case(member),
        ]
        for deed in deeds:
            for member in strangers:
                with pytest.raises(RefusedError, match="no such member"):
                    deed(member)
        assert not kinds(session, EventKind.PROPOSE) and not kinds(session, EventKind.INTEND)
        sound(session)


def test_nobody_declares_a_victory(session: Session) -> None:
    for claimed in (RunOutcome.WON, RunOutcome.BUDGET, RunOutcome.NONDETERMINISTIC):
        with pytest.raises(RefusedError):
            session.finish(claimed, "I won.")
    assert session.outcome is None


# -- what is accepted is what was examined ---------------------------------------------------------------


class TwoFaced(Mapping[str, str]):
    """Shows one program when it is read first, another ever after."""

    def __init__(self, first: str, then: str) -> None:
        self.texts = [first, then]

    def __getitem__(self, name: str) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]

    def __iter__(self) -> Iterator[str]:
        return iter([ENGINE])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("first", [True, False])
def test_files_that_change_while_they_are_read(session: Session, first: bool) -> None:
    session.probe(ON, "?")
    false, true = STUCK.files[ENGINE], RING  # type: ignore[index]
    files = TwoFaced(false, true) if first else TwoFaced(true, false)
    session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, files))
    if session.list_admissible_members():
        assert session.state.members[0].hypothesis == Hypothesis(BOOK, {ENGINE: true})
        assert session.verify().admissible
    sound(session)


def test_a_proposal_that_was_left_without_a_verdict_is_not_accepted_in_place_of_the_next(tmp_path: Path, host: Host) -> None:
    """The judge fails, so the proposal stands in the ledger unjudged. Meanwhile the world refutes it, and another is proposed."""
    fails = [MindError("The model is asleep.")]

    def judge(hypothesis: Hypothesis) -> Judgement:
        if fails:
            raise fails.pop()
        return Judgement(True)

    with opened(tmp_path, host, mind=Scripted(judge=judge)) as (_, session):
        with pytest.raises(MindError):
            session.propose(STUCK)
        session.probe(ON, "does it move?")
        assert session.propose(TRUE).admissible
        assert session.state.members[0].hypothesis == Hypothesis(BOOK, dict(TRUE.files or {}))
        assert session.verify().admissible
        sound(session)


def test_what_was_said_of_one_proposal_is_not_said_of_the_next(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted between the judge's yes and the verdict; what is proposed next would get a no."""
    mind = Scripted(judge=lambda hypothesis: Judgement("Q9" not in hypothesis.rulebook, {}, "Q9 is not in the code."))
    with opened(tmp_path, host, mind=mind) as (_, session):

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(session.event_log, "append_verdict", interrupted)
            session.propose(TRUE)
        assert len(mind.judged) == 1
        assert session.propose(ring(book=BOOK + "Q9. Who knows?\n")).outcome is VerdictKind.UNFAITHFUL
        assert session.propose(TRUE).admissible
        assert len(mind.judged) == 3
        sound(session)


def test_a_judge_that_says_no_in_a_strange_way_does_not_say_yes(tmp_path: Path, host: Host) -> None:
    for answer in (
        Judgement("no"),  # type: ignore[arg-type]
        Judgement(1),  # type: ignore[arg-type]
        Judgement(True, {"R1": object()}),  # type: ignore[dict-item]
        Judgement(True, None),  # type: ignore[arg-type]
        Judgement(False, {}, None),  # type: ignore[arg-type]
        True,
        None,
    ):
        with opened(tmp_path, host, mind=Scripted(judge=lambda _, answer=answer: answer)) as (_, session):
            with pytest.raises(MindError, match=r"^The mind scripted .*\.$"):
                session.propose(TRUE)
            assert not session.list_admissible_members()
            sound(session)


# -- what is sent is what was planned, by who may --------------------------------------------------------


def test_a_plan_of_an_older_version_does_not_steer(session: Session) -> None:
    session.propose(TRUE)
    plan = session.plan(0, AT_5)
    assert isinstance(plan, Plan) and len(plan.actions) == 5
    backwards = ring(("state[0] + 1", "state[0] - 1"), book=BOOK + "\nQ1. Or backwards?\n")
    assert session.propose(backwards).admissible  # nothing has moved yet, so nothing speaks against it
    with pytest.raises(RefusedError, match="not predicted to end"):
        session.execute(plan.actions, AT_5)
    assert session.state.n_actions == 0 and session.list_admissible_members() == [0]
    sound(session)


def test_a_plan_that_is_not_of_now_is_not_drawn(session: Session) -> None:
    goal = ring(("return False", "return state[0] == 3"))
    assert session.propose(goal).admissible
    plan = session.plan()
    assert isinstance(plan, Plan)
    forged = Plan((END,), plan.predictions, True, None, 1, 0.0)
    with pytest.raises(RefusedError):
        session.draw({0: forged})
    with pytest.raises(RefusedError):
        session.draw({7: plan})
    assert session.propose(ring(("return False", "return state[0] == 2"), book=BOOK + "Q1. Or the second?\n")).admissible
    with pytest.raises(RefusedError):
        session.draw({0: plan})
    session.probe(ON, "?")
    with pytest.raises(RefusedError):
        session.draw({0: plan})
    assert session.state.n_actions == 1 and session.state.active_plan is None
    sound(session)


def test_a_plan_ends_when_something_else_is_done(tmp_path: Path, host: Host) -> None:
    """A rival's prediction halts a plan after its first action; a probe moves on; the rest of the plan starts nowhere any more."""
    with opened(tmp_path, host, population=2) as (_, session):
        session.propose(TRUE, 0)
        session.propose(STUCK, 1)
        sent = session.execute([ON] * 5, AT_5, 0)
        assert sent.actions == (ON,) and sent.falsified == (1,)
        session.probe(ON, "one more?")
        assert session.continue_plan().actions == ()
        assert session.state.n_actions == 2 and session.list_admissible_members() == [0]
        sound(session)


def test_a_driver_that_fails_alive_leaves_the_others_their_plans(tmp_path: Path, host: Host) -> None:
    """Nothing was sent, so the other's plan is still of now, but the draw has used up its event."""
    goal = ("return False", "return state[0] == 3")
    alive = (
        "def step(state, action):",
        "import sys\ndef step(state, action):\n    assert sys._getframe(1).f_code.co_name != '_step'",
    )
    with opened(tmp_path, host, population=2, seed=1) as (_, session):
        for number, proposal in enumerate((ring(goal, alive), ring(goal, ("% 8, action.id", "% 9, action.id")))):
            assert session.propose(proposal, number).admissible
        plans = {m: session.plan(m) for m in session.list_admissible_members()}
        assert session.draw({0: plans[0]}) == 0
        assert session.continue_plan().falsified == (0,) and session.state.n_actions == 0
        assert session.draw({m: session.plan(m) for m in session.list_admissible_members()}) == 1
        assert session.continue_plan().actions == (ON,) * 3
        sound(session)


def test_an_action_in_doubt_is_settled_before_anything_else_is_sent(tmp_path: Path, host: Host) -> None:
    with opened(tmp_path, host, "py:odd_worlds:SOURCE/raises") as (_, session):
        with pytest.raises(WorldError):
            session.probe(ON, "?")
        for deed in (lambda: session.probe(ON, "again?"), lambda: session.reset("again", True), session.continue_plan):
            with pytest.raises(RefusedError, match=r"in doubt.*resume"):
                deed()
        assert len(kinds(session, EventKind.INTEND)) == 1 and session.state.n_unpredicted == 1


def test_an_interruption_before_an_action_leaves_nobody_ahead(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, caught by whoever calls, when the prediction is made and not yet written down."""
    session.propose(TRUE)
    session.probe(ON, "?")
    append = session.event_log.append

    def interrupted(data: AnyEvent) -> Event:
        if isinstance(data, IntendEvent):
            raise KeyboardInterrupt
        return append(data)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(session.event_log, "append", interrupted)
        session.probe(ON, "?")
    sent = session.probe(ON, "?")
    assert sent.actions == (ON,) and not sent.falsified and session.state.n_actions == 2
    sound(session)


def test_an_answer_that_cannot_be_written_down_is_not_asked_for_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise MemoryError

    session.probe(ON, "?")
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(session.event_log, "batch", full)
        session.probe(ON, "?")
    with pytest.raises(LawbookError):
        session.settle_in_doubt()
    assert session.state.n_actions == 1


def test_a_run_is_opened_once_and_closed_once(session: Session) -> None:
    """A second opening would be a reset that costs nothing; a word after the end would stand behind the published head."""
    session.probe(ON, "?")
    with pytest.raises(RefusedError, match="costs an action"):
        session.open(OpenEvent(RecordedSettings({}), RecordedSpec({})))
    with pytest.raises(RefusedError, match="costs an action"):
        session.open()
    session.finish(RunOutcome.FINISHED, "enough")
    length = len(session.event_log.ledger)
    for deed in (
        lambda: session.note("after the end"),
        lambda: session.refuse_exploration(0, "after the end"),
        lambda: session.call_mind(0, "propose"),
        lambda: session.propose(TRUE),
        lambda: session.execute([ON]),
        lambda: session.draw({}),
        lambda: session.reset("once more", True),
        session.continue_plan,
    ):
        with pytest.raises(RefusedError, match="has ended"):
            deed()
    session.finish(RunOutcome.STUCK, "or not")
    assert len(session.event_log.ledger) == length and session.outcome is RunOutcome.FINISHED
    sound(session)


# -- what survives ----------------------------------------------------------------------------------------


def test_a_member_whose_verdict_was_lost_with_the_host_is_looked_at_again(tmp_path: Path) -> None:
    """The host dies between the outcome of a reset and the first rendering after it: nobody has compared that."""
    counts_steps = """
def initial_state(observation): return int(observation["frame"][0, 0]), 0, 0
def step(state, action):
    return state[0] + 1, state[1], state[2]  # R1
def render(state):
    rows = [[0] * 6 for _ in range(4)]
    rows[0][0], rows[0][1] = state[0], 1  # R2: reset once and for all
    return rows
def is_goal(state): return False
"""
    with Host(memory_mb=MEMORY + 100) as doomed, opened(tmp_path, doomed, "py:odd_worlds:SOURCE/plain") as (folder, session):
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: counts_steps})).admissible
        session.probe(ON, "?")
        os.kill(doomed.pids[0], signal.SIGKILL)
        with pytest.raises(HostError):
            session.reset("anew")
    with Host(memory_mb=MEMORY + 100) as other, resume_run(folder, host=other, mind=Scripted()) as session:
        verdict = session.state.members[0].verdict
        assert verdict is not None and isinstance(verdict.counterexample, Counterexample) and verdict.counterexample.step == 0
        assert session.state.n_actions == 2 and not session.list_admissible_members()
        sound(session)
    assert processes(MEMORY + 100) == []


def test_whoever_shows_the_run_cannot_lose_a_verdict(tmp_path: Path, host: Host) -> None:
    """`lawbook play | head`: the pipe breaks just when the outcome is shown that refutes the hypothesis."""

    def listener(event: Event) -> None:
        if event.kind is EventKind.OBSERVE and event.body["action"] is not None:
            raise BrokenPipeError

    with (
        pytest.raises(BrokenPipeError),
        start_run(RunConfig(WALK), tmp_path, host=host, mind=Scripted(), listener=listener) as (folder, session),
    ):
        assert session.propose(STUCK).admissible
        session.probe(ON, "?")
    with resume_run(folder, host=host, mind=Scripted()) as session:
        assert session.state.n_actions == 1
        assert not session.list_admissible_members()


def test_a_ledger_that_does_not_fold_is_a_sentence(tmp_path: Path, host: Host) -> None:
    """Chained correctly, by whoever, and yet no run ever wrote this."""
    bodies: list[tuple[EventKind, dict[str, Any]]] = [
        (EventKind.DRAW, {"classes": [[0]], "drawn": 0, "plan": 99}),
        (EventKind.VERDICT, {"member": 0, "about": "proposal", "verdict": {}}),
        (EventKind.NOTE, {}),
        (EventKind.CLOSE, {"outcome": "glorious", "sentence": "", "head": ""}),
        (EventKind.INTEND, {"action": [1], "sort": "plan", "member": 9, "plan": None, "question": "", "predictions": {}}),
        (
            EventKind.OBSERVE,
            {"trajectory": 0, "action": [1], "frames": ["nothing"], "status": "running", "level": 0, "available": [1]},
        ),
    ]
    for kind, body in bodies:
        with opened(tmp_path, host) as (folder, session):
            session.event_log.ledger.append(kind, body)
        with pytest.raises(UsageError, match=r"^[A-Z].*\.$"), resume_run(folder, host=host, mind=Scripted()):
            pass


@pytest.mark.parametrize(
    "text",
    [
        "[run]\nworld = " + "[" * 9000,
        "[run]\nworld = 'x'\nbudget = 0x" + "f" * 9000,
        "[run]\nworld = 'x'\npopulation = 99999999999",
        "run = 3",
        "\0",
    ],
)
def test_a_run_toml_that_is_none_is_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(UsageError, match=r"^.{10,600}\.$"):
        RunFolder(tmp_path).load_config()


# -- signals, leftovers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "lambda *_: sys.exit(5)", "signal.SIG_IGN"])
def test_a_signal_that_was_held_back_still_arrives(handler: str) -> None:
    code = f"""
        import os, signal, sys
        from lawbook.runs.action_executor import defer_signals
        signal.signal(signal.SIGTERM, {handler})
        with defer_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            print("acted", flush=True)
        print("went on", flush=True)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    ended = {"signal.SIG_DFL": -signal.SIGTERM, "signal.SIG_IGN": 0}.get(handler, 5)
    assert done.returncode == ended
    assert done.stdout == "acted\n" + ("went on\n" if ended == 0 else "")


def test_a_run_among_hostile_programs_goes_on_and_leaves_nothing(tmp_path: Path, host: Host) -> None:
    def leftovers() -> set[str]:
        return {str(path) for folder in ("/tmp", "/dev/shm") for path in Path(folder).glob("*lawbook*")}

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    hostile = ["while True: pass", "os._exit(0)", "open('/tmp/lawbook-was-here', 'w')", "os.fork()"]
    books = [Hypothesis(BOOK, {ENGINE: RING.replace("def step", f"import os\n{code}\ndef step")}) for code in hostile]
    before = leftovers(), descriptors()
    with opened(tmp_path, host, mind=Scripted([*books, Hypothesis(BOOK, {ENGINE: RING})], [AT_5, Probe(ON, "?")])) as (_, session):
        assert play(session) is RunOutcome.BUDGET
        assert session.list_admissible_members() == [0]
        reasons = [version.reason for version in session.state.members[0].history[:4]]
        assert [
            word for word, reason in zip(("loop", "exit code 0", "no files", "fork"), reasons, strict=True) if word not in reason
        ] == []
        sound(session)
    until = time.monotonic() + 10  # other tests have folders there too, for a moment; what a program leaves stays
    while leftovers() - before[0] and time.monotonic() < until:
        time.sleep(0.1)
    assert not leftovers() - before[0] and descriptors() == before[1]
    assert sorted(processes(MEMORY)) == sorted(host.pids)
