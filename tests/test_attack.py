"""Attacks on what is promised: by a program, a subgoal, a mind's answer, a caller, a world. Each test is one attack that must fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import program
from hypothesis import given, settings
from hypothesis import strategies as st
from minds import Scripted, worked_example
from test_sandbox import processes

from lawbook.answers import Counterexample, Fault, Judgement, Limits, NoPlan, Outcome, Plan, Probe, Start, Subgoal, Verdict
from lawbook.errors import HostError, LawbookError, MindError, RefusedError, UsageError, WorldError
from lawbook.host import seccomp
from lawbook.host.handle import Found, Worker
from lawbook.host.host import Host, Program
from lawbook.hypothesis import ENGINE, Decision, Hypothesis, Proposal, code_bytes, misshapen, trace
from lawbook.launch import fold, new_run, resumed_run
from lawbook.memory.ledger import Event, Kind, Ledger
from lawbook.minds.mind import Case
from lawbook.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.run import play
from lawbook.runfolder import RunConfig, RunFolder
from lawbook.session import Session
from lawbook.state import Ending
from lawbook.verify import verify
from lawbook.worlds.process import WorldProcess

MEMORY = 400 + os.getpid() % 83  # tells our processes from everybody else's
WALK = "py:fickle_worlds:SOURCE/walk"
"""A marker on a ring of eight cells: 1 moves it on, 2 moves it on and ends the level badly. Nobody wins."""
BOOK = "# The ring\n\nR1. An action moves the marker on by one cell, around.\nR2. Action 2 ends the level badly.\n"
RING = """
import numpy as np
def initial_state(observation):
    return int(np.argmax(observation["frame"])), False
def step(state, action):
    return (state[0] + 1) % 8, action.id == 2  # R1
def render(state):
    return np.eye(8, dtype=np.uint8)[state[0]][None]
def is_goal(state):
    return False
def is_over(state):
    return state[1]  # R2
"""
START = Start(np.zeros((4, 4), dtype=np.uint8), 0, (1, 2))
ON, END = Action(1), Action(2)
AT_5 = Subgoal("def subgoal(state): return state[0] == 5", "what is at the fifth cell?")


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(memory_mb=MEMORY, step_seconds=1.0) as host:
        yield host
        assert sorted(processes(MEMORY)) == sorted(host.pids), "a worker was left behind"
    assert processes(MEMORY) == []


def ring(*changes: tuple[str, str], book: str = BOOK) -> Proposal:
    """The true rules of the ring, with some of the program's text replaced."""
    source = RING
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return Proposal(Decision.REVISE_RULEBOOK, book, {ENGINE: source}, "attack")


TRUE = ring()
STUCK = ring(("(state[0] + 1) % 8", "state[0]"))
"""Says that nothing ever moves: verifies on an opening, and is wrong about every action."""


@pytest.fixture
def session(tmp_path: Path, host: Host) -> Iterator[Session]:
    with new_run(RunConfig(WALK, budget=60), tmp_path, host=host, mind=Scripted()) as (_, session):
        yield session


def opened(tmp_path: Path, host: Host, world: str = WALK, mind: Any = None, **settings: Any) -> Any:
    return new_run(RunConfig(world, budget=60, **settings), tmp_path, host=host, mind=mind or Scripted())


def kinds(session: Session, kind: Kind) -> list[Event]:
    return list(session.journal.ledger.events([kind]))


def sound(session: Session) -> None:
    """The ledger is whole, and folded anew it tells what the session believes."""
    session.journal.commit()
    assert session.journal.ledger.check() is None
    again = fold(session.journal.ledger)
    for one, other in zip(again.members, session.state.members, strict=True):
        assert (one.hypothesis, one.admissible, one.version) == (other.hypothesis, other.admissible, other.version)
    assert (again.sent, again.unpredicted, again.ending) == (session.state.sent, session.state.unpredicted, session.state.ending)


# -- callers: what is no proposal, no action, no text -------------------------------------------------------------------------------

NO_PROPOSALS: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "a dictionary": {"decision": "retain"},
    "no decision": Proposal("retained"),  # type: ignore[arg-type]
    "a rulebook of bytes": Proposal(Decision.REVISE_RULEBOOK, b"R1.", TRUE.files),  # type: ignore[arg-type]
    "a file of bytes": Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: RING.encode()}),  # type: ignore[dict-item]
    "a file named 1": Proposal(Decision.REVISE_RULEBOOK, BOOK, {1: RING}),  # type: ignore[dict-item]
    "files in a list": Proposal(Decision.REVISE_RULEBOOK, BOOK, [(ENGINE, RING)]),  # type: ignore[arg-type]
    "no diagnosis": Proposal(Decision.REVISE_RULEBOOK, BOOK, TRUE.files, None),  # type: ignore[arg-type]
    "a library": Proposal(Decision.REVISE_RULEBOOK, "R1. " + "x" * 30_000_000, TRUE.files),
    "a saga of a diagnosis": Proposal(Decision.REVISE_RULEBOOK, BOOK, TRUE.files, "x" * 30_000_000),
}


@pytest.mark.parametrize("name", NO_PROPOSALS)
def test_what_is_no_proposal_is_a_sentence_and_leaves_no_trace(session: Session, name: str) -> None:
    before = len(session.journal.ledger)
    with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
        session.propose(NO_PROPOSALS[name])
    assert len(session.journal.ledger) == before and session.state.members[0].proposal is None
    assert session.propose(TRUE).admissible
    sound(session)


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
def test_what_is_no_action_is_a_sentence_and_is_not_sent(session: Session, name: str) -> None:
    session.propose(TRUE)
    for deed in (
        lambda: session.probe(NO_ACTIONS[name], "?"),
        lambda: session.execute([NO_ACTIONS[name]], AT_5),
        lambda: session.execute(NO_ACTIONS[name], AT_5),
    ):
        with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
            deed()
    assert session.state.sent == 0 and not kinds(session, Kind.INTEND)
    assert session.execute(iter([ON] * 5), AT_5).actions == (ON,) * 5  # type: ignore[arg-type]
    sound(session)


def test_words_that_are_none_are_sentences(session: Session) -> None:
    session.propose(TRUE)
    endless = "x" * 30_000_000
    for deed in (
        lambda: session.probe(ON, None),  # type: ignore[arg-type]
        lambda: session.probe(ON, endless),
        lambda: session.note(object()),  # type: ignore[arg-type]
        lambda: session.note(endless),
        lambda: session.reset(b"why", True),  # type: ignore[arg-type]
        lambda: session.finish(Ending.FINISHED, 3),  # type: ignore[arg-type]
        lambda: session.finish("done", "enough"),  # type: ignore[arg-type]
        lambda: session.plan(0, Subgoal(None, "?")),  # type: ignore[arg-type]
        lambda: session.plan(0, Subgoal("def subgoal(s): return True", None)),  # type: ignore[arg-type]
        lambda: session.plan(0, "state[0] == 5"),  # type: ignore[arg-type]
        lambda: session.execute([ON], "state[0] == 5"),  # type: ignore[arg-type]
        lambda: session.plan(0, None, Limits(seconds=float("nan"))),
        lambda: session.plan(0, None, Limits(seconds=float("inf"))),
        lambda: session.plan(0, None, Limits(nodes=-1)),
        lambda: session.plan(0, None, Limits(depth=True)),
        lambda: session.plan(0, None, Limits(depth=2.5)),  # type: ignore[arg-type]
    ):
        with pytest.raises(RefusedError, match=r"^[A-Z].{15,400}\.$"):
            deed()
    assert session.state.sent == 0 and session.ended is None
    sound(session)


@pytest.mark.parametrize("member", [-1, 2, True, None, "0", 0.0])
def test_there_is_no_member_but_those_there_are(tmp_path: Path, host: Host, member: Any) -> None:
    """-1 is the last one in a list, under a name by which its live worker is not known."""
    with opened(tmp_path, host, population=2) as (_, session):
        for deed in (
            lambda: session.propose(TRUE, member),
            lambda: session.plan(member),
            lambda: session.probe(ON, "?", member),
            lambda: session.execute([ON], None, member),
            lambda: session.verify(member),
            lambda: session.refuse(member, "?"),
            lambda: session.case(member),
        ):
            with pytest.raises(RefusedError, match="member"):
                deed()
        assert not kinds(session, Kind.PROPOSE) and not kinds(session, Kind.INTEND)
        sound(session)


def test_nobody_declares_a_victory(session: Session) -> None:
    for claimed in (Ending.WON, Ending.BUDGET, Ending.NONDETERMINISTIC):
        with pytest.raises(RefusedError):
            session.finish(claimed, "I won.")
    assert session.ended is None


# -- what is accepted is what was examined ------------------------------------------------------------------------------------------


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
    if session.admissible():
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

    with opened(tmp_path, host, mind=Scripted(judge=judge)) as (folder, session):
        with pytest.raises(MindError):
            session.propose(STUCK)
        session.probe(ON, "does it move?")
        assert session.propose(TRUE).admissible
        assert session.state.members[0].hypothesis == Hypothesis(BOOK, dict(TRUE.files or {}))
        assert session.verify().admissible
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
            assert not session.admissible()
            sound(session)


# -- what is sent is what was planned, by who may -----------------------------------------------------------------------------------


def test_a_plan_of_an_older_version_does_not_steer(session: Session) -> None:
    session.propose(TRUE)
    plan = session.plan(0, AT_5)
    assert isinstance(plan, Plan) and len(plan.actions) == 5
    backwards = ring(("state[0] + 1", "state[0] - 1"), book=BOOK + "\nQ1. Or backwards?\n")
    assert session.propose(backwards).admissible  # nothing has moved yet, so nothing speaks against it
    with pytest.raises(RefusedError, match="not predicted to end"):
        session.execute(plan.actions, AT_5)
    assert session.state.sent == 0 and session.admissible() == [0]
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
    assert session.state.sent == 1 and session.state.active is None
    sound(session)


def test_a_plan_ends_when_something_else_is_done(tmp_path: Path, host: Host) -> None:
    """A rival's prediction halts a plan after its first action; a probe moves on; the rest of the plan starts nowhere any more."""
    with opened(tmp_path, host, population=2) as (_, session):
        session.propose(TRUE, 0)
        session.propose(STUCK, 1)
        sent = session.execute([ON] * 5, AT_5, 0)
        assert sent.actions == (ON,) and sent.falsified == (1,)
        session.probe(ON, "one more?")
        assert session.follow().actions == ()
        assert session.state.sent == 2 and session.admissible() == [0]
        sound(session)


def test_a_driver_that_fails_alive_leaves_the_others_their_plans(tmp_path: Path, host: Host) -> None:
    """Nothing was sent, so the other's plan is still of now, but the draw has used up its event."""
    goal = ("return False", "return state[0] == 3")
    alive = ("def step(state, action):", "import sys\ndef step(state, action):\n    assert sys._getframe(1).f_code.co_name != '_step'")
    with opened(tmp_path, host, population=2, seed=1) as (_, session):
        for number, proposal in enumerate((ring(goal, alive), ring(goal, ("% 8, action.id", "% 9, action.id")))):
            assert session.propose(proposal, number).admissible
        plans = {m: session.plan(m) for m in session.admissible()}
        assert session.draw({0: plans[0]}) == 0
        assert session.follow().falsified == (0,) and session.state.sent == 0
        assert session.draw({m: session.plan(m) for m in session.admissible()}) == 1
        assert session.follow().actions == (ON,) * 3
        sound(session)


def test_an_action_in_doubt_is_settled_before_anything_else_is_sent(tmp_path: Path, host: Host) -> None:
    with opened(tmp_path, host, "py:odd_worlds:SOURCE/raises") as (_, session):
        with pytest.raises(WorldError):
            session.probe(ON, "?")
        for deed in (lambda: session.probe(ON, "again?"), lambda: session.reset("again", True), session.follow):
            with pytest.raises(RefusedError, match="in doubt.*resume"):
                deed()
        assert len(kinds(session, Kind.INTEND)) == 1 and session.state.unpredicted == 1


# -- subgoals -----------------------------------------------------------------------------------------------------------------------

BAD_SUBGOALS = {
    "exits": "import os\ndef subgoal(state): os._exit(3)",
    "crashes": "import ctypes\ndef subgoal(state): ctypes.string_at(1)",
    "never ends": "def subgoal(state):\n    while True: pass",
    "eats": "kept = []\ndef subgoal(state):\n    while True: kept.append(bytes(1 << 20))",
    "holds now and then": "seen = []\ndef subgoal(state):\n    seen.append(1)\n    return len(seen) > 2",
    "holds by hash": "def subgoal(state):\n    return state[0] > 0 and id(state) % 4096 < 3000 and seen.append(1) is None\nseen = []",
    "breaks the program": "def subgoal(state):\n    global step\n    return 1 / 0\nimport sys\nsys.modules.clear()",
    "is enormous": "def subgoal(state): return False\n" + "#" * 20_000_000,
    "has a null": "def subgoal(state): return False\0",
    "has half a letter": "def subgoal(state): return '\ud800'",
    "nests": "def subgoal(state): return " + "(" * 50_000 + ")" * 50_000,
    "closes everything": "import os\ndef subgoal(state):\n    for n in range(64):\n        try: os.close(n)\n        except OSError: pass",
    "forges": "import os\ndef subgoal(state):\n    for n in range(3, 64):\n        try: os.write(n, b'no message')\n        except OSError: pass",
}


@pytest.mark.parametrize("name", BAD_SUBGOALS)
def test_a_subgoal_that_misbehaves_says_nothing_against_the_program(session: Session, name: str) -> None:
    session.propose(TRUE)
    bounds = Limits(nodes=500, seconds=0.5)
    with suppress(RefusedError):
        assert not isinstance(session.plan(0, Subgoal(BAD_SUBGOALS[name], "?"), bounds), Plan) or name == "holds by hash"
    assert session.admissible() == [0] and session.state.mismatches == 0
    assert isinstance(session.plan(0, AT_5), Plan)
    sound(session)


# -- minds --------------------------------------------------------------------------------------------------------------------------


class Babbler(Scripted):
    """Answers whatever it was told to, or fails in whatever way."""

    name = "babbler"

    def __init__(self, answer: Any, receipt: Any = None) -> None:
        super().__init__()
        self.answer, self.costs = answer, {} if receipt is None else receipt

    def propose(self, case: Case) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    explore = propose

    def receipt(self) -> Any:
        return self.costs


BABBLE: dict[str, Any] = {
    **NO_PROPOSALS,
    "a probe of nothing": Probe(None, "?"),  # type: ignore[arg-type]
    "a probe without a question": Probe(ON, None),  # type: ignore[arg-type]
    "a probe without end": Probe(Action(10**5000), "?"),
    "a probe of numpy": Probe(Action(np.uint8(1)), "?"),  # type: ignore[arg-type]
    "a subgoal of bytes": Subgoal(b"def subgoal(s): return True", "?"),  # type: ignore[arg-type]
    "an error": KeyError("two\nlines"),
    "an exit": SystemExit(0),
    "memory": MemoryError(),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "an error that cannot be told": type("Odd", (Exception,), {"__str__": None})(),
}


@pytest.mark.parametrize("name", BABBLE)
def test_a_mind_that_babbles_is_one_sentence(tmp_path: Path, host: Host, name: str) -> None:
    with opened(tmp_path, host, mind=Babbler(BABBLE[name])) as (folder, session):
        with pytest.raises(MindError, match=r"\AThe mind babbler [^\n]{15,500}\.\Z"):
            session.ask(0, "propose")
        if name not in NO_PROPOSALS:
            with pytest.raises(MindError, match=r"\AThe mind babbler [^\n]{15,500}\.\Z"):
                session.ask(0, "explore")
        sound(session)
    with resumed_run(folder, host=host, mind=Scripted([Hypothesis(BOOK, {ENGINE: RING})], [Probe(ON, "?")])) as session:
        assert play(session) is Ending.BUDGET


@pytest.mark.parametrize("costs", [None, 3, {"dollars": float("nan")}, {1: 2}, {"tokens": np.int64(3)}, {"said": "x" * 10_000_000}])
def test_a_receipt_that_is_none_costs_no_answer(tmp_path: Path, host: Host, costs: Any) -> None:
    mind = Babbler(TRUE, costs)
    mind.receipt = lambda: costs  # type: ignore[method-assign]
    with opened(tmp_path, host, mind=mind) as (_, session):
        assert session.ask(0, "propose") == TRUE
        assert len(str(kinds(session, Kind.CALL)[0].body)) < 5_000
        sound(session)


BOOKS = {
    "null bytes": "R1. \0 moves.\0\n",
    "half letters": "R1. \ud800 moves \udfff.\n",
    "commands": "R1. x\n\ndone\ncommit refs/heads/evil\ndata 100000\n",
    "escapes": "R1. \x1b]0;owned\x07\x1b[2J \u202e x\n",
    "another line break": "R1. one\x0cR2.\x85R3.\u2028R4.\r\n",
}


@pytest.mark.parametrize("name", BOOKS)
def test_a_strange_rulebook_is_kept_as_it_is(session: Session, name: str) -> None:
    source = RING.replace("# R1", "").replace("# R2", "")
    proposal = Proposal(Decision.REVISE_RULEBOOK, BOOKS[name], {ENGINE: source + "# R1, R2\n"}, BOOKS[name])
    session.mind.judges = lambda _: Judgement(True)  # type: ignore[union-attr]
    assert session.propose(proposal).admissible
    assert session.git.load("m0-i1").rulebook == BOOKS[name]
    assert len(session.git.log()) == 1
    assert session.probe(ON, BOOKS[name]).actions == (ON,)
    sound(session)


@pytest.mark.parametrize(
    "name",
    ["../up.py", "/etc/x.py", "a/b.py", ".py", "x", "world_model.md", "a b.py", "ä.py", "x.py\n", "\0.py", "a.py.", "-rf.py", "x" * 99 + ".py", ""],
)
def test_file_names_with_tricks_are_refused(session: Session, name: str) -> None:
    verdict = session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {**dict(TRUE.files or {}), name: "x = 1"}))
    assert verdict.outcome is Outcome.REFUSED and "no name for a module" in verdict.reason
    sound(session)


@pytest.mark.parametrize("name", ["numpy.py", "os.py", "_thread.py", "encodings.py", "random.py", "json.py"])
def test_the_names_of_pythons_own_modules_are_refused(session: Session, name: str) -> None:
    verdict = session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {**dict(TRUE.files or {}), name: "x = 1"}))
    assert verdict.outcome is Outcome.FAULT and "rename it" in verdict.reason


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "lawbook.py", "zygote.py", "subgoal.py", "World_Model_Engine.py"])
def test_other_names_are_names(session: Session, name: str) -> None:
    files = {**dict(TRUE.files or {}), name: "raise SystemExit"}
    assert session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, files)).admissible
    assert session.git.load("m0-i1").files == files
    assert isinstance(session.plan(0, AT_5), Plan)


def test_a_thousand_files_are_too_many(session: Session) -> None:
    files = {**dict(TRUE.files or {}), **{f"f{n}.py": "" for n in range(1000)}}
    verdict = session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, files))
    assert verdict.outcome is Outcome.REFUSED and "files" in verdict.reason


# -- texts that keep the run process busy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rulebook",
    ["-" * 60 + "\nR1. x", "|" + "-" * 200_000 + "|", "\n" * 200_000 + "R1. x", "- " * 200_000, ("> * # - " * 30 + "\n") * 2_000],
    ids=["a line", "a table", "blank lines", "bullets", "all of them"],
)
def test_a_rulebook_with_lines_in_it_is_read_in_no_time(rulebook: str) -> None:
    began = time.perf_counter()
    found = trace(Hypothesis(rulebook, {}))
    assert time.perf_counter() - began < 2
    assert found.rules == (("R1",) if "R1" in rulebook else ())


@given(st.text(alphabet=" \t-*#>RQ1\n.x", max_size=40))
def test_rules_are_found_where_they_were(rulebook: str) -> None:
    import re

    slow = re.compile(r"^\s*(?:[-*#>]+\s*)*\**((?:R|Q)\d+)\b", re.MULTILINE)
    found = trace(Hypothesis(rulebook, {}))
    assert {*found.rules, *found.questions} == set(slow.findall(rulebook[:25])) or len(rulebook) > 25


def test_a_huge_program_is_not_even_read(session: Session) -> None:
    began = time.perf_counter()
    verdict = session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: "1;" * 600_000}))
    assert verdict.outcome is Outcome.REFUSED and "keep" in verdict.reason
    assert time.perf_counter() - began < 3


# -- the length of a description ----------------------------------------------------------------------------------------------------

TABLE = "T = '" + "0123456789" * 50 + "'\n"


@pytest.mark.parametrize(
    "source",
    [
        "x = '''" + "\u2028" * 3 + "'''\n" + TABLE * 3 + "#\n" * 3,
        "x = '\x0c\x1c\x85'\n" * 3 + TABLE * 3 + "#\n" * 9,
        "x = '''\n" + (" \t" * 20 + "\n") * 50 + "'''\n",
        "x = 1 #\r" + TABLE * 3,
        "x = f'''\n" + ("\t" * 40 + "\n") * 50 + "{1}'''\n",
    ],
    ids=["line separators", "form feeds", "blanks in a string", "carriage returns", "blanks in a formatted string"],
)
def test_no_data_hides_from_the_length_of_a_description(source: str) -> None:
    assert code_bytes(source) > 1500


def test_comments_and_blanks_cost_nothing_and_say_nothing(host: Host) -> None:
    """What does not count as description cannot be read by the program either: no table hides in its comments."""
    assert code_bytes("x = 1\n") == code_bytes("x = 1   # R1: because\n\n   \n# R2\n")
    spy = """
import gc
TABLE = [text for one in gc.get_objects() if type(one) is dict for text in one.values() if type(text) is str and SIGN in text]
TABLE += [text for text in [__loader__._files["world_model_engine.py"]] if SIGN in text]
if TABLE: raise ValueError("found it")
"""
    hidden = {ENGINE: program(top="SIGN = 'GE' + 'HEIM'\n" + spy)[ENGINE] + "# GEHEIM 12345\n"}
    assert isinstance(host.load(hidden), Program)


PIECES = ["x = 1", "'''", '"""', "#", "\n", "\\\n", "  ", "\t", "(", ")", "f'{", "}'", "\r", "\r\n", "\x0c", "ä", "if x:\n  y", "'#'", "\u2028", "R1"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_runs_is_what_was_written(source: str) -> None:
    import ast

    from lawbook.hypothesis import bare

    def read(text: str) -> str | None:
        try:
            return ast.dump(ast.parse(text))
        except (SyntaxError, ValueError):
            return None

    assert read(bare(source)) == read(source)
    assert bare(bare(source)) == bare(source)


# -- the record cannot be fooled ----------------------------------------------------------------------------------------------------


def recorded(*trajectories: int, width: int = 4) -> Record:
    """A world that shows how many steps were taken since the reset, in so many trajectories of so many steps."""
    record = Record(levels=1)
    for steps in trajectories:
        for step in range(steps + 1):
            frame = np.zeros((1, width), dtype=np.uint8)
            frame[0, 0] = step
            action = ON if step else RESET
            record.extend(action, Observation((freeze(frame),), Status.RUNNING, 0, (1, 2)))
    return record


def judged(host: Host, source: str, record: Record) -> Verdict:
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program), loaded
    return verify(loaded, record)


COUNTS = """
import numpy as np
class Cell:
    at = 0
G = Cell()
starts = steps = 0
{code}
def is_goal(state): return False
def frame(n, extra=0):
    return np.array([[n, 0, 0, extra]], dtype=np.uint8)
"""
HONEST = """
def initial_state(observation): return 0
def step(state, action): return state + 1
def render(state): return frame(state)
"""
LEAKY = {
    "a state changed in place": """
def initial_state(observation): return Cell()
def step(state, action):
    state.at += 1
    return state
def render(state): return frame(state.at)
""",
    "a copy that is none": """
def initial_state(observation): return ([0],)
class Bag(tuple):
    def __hash__(self): return 1
def initial_state(observation): return Bag(([0],))
def step(state, action):
    state[0][0] += 1
    return Bag((state[0],))
def render(state): return frame(state[0][0])
""",
    "the true state is a variable": """
def initial_state(observation):
    G.at = 0
    return 0
def step(state, action):
    G.at += 1
    return G.at
def render(state): return frame(G.at)
""",
    "an iterator in a variable": """
def initial_state(observation):
    G.at = iter(range(1, 99))
    return 0
def step(state, action): return next(G.at)
def render(state): return frame(state)
""",
    "every other start": """
def initial_state(observation):
    global starts
    starts += 1
    return (0, starts % 2)
def step(state, action): return (state[0] + 1, state[1])
def render(state): return frame(state[0], FRAME)
""",
}


@pytest.mark.parametrize("name", LEAKY)
@pytest.mark.parametrize("trajectories", [(3,), (3, 2), (2, 3, 2)], ids=["one", "two", "three"])
def test_a_state_that_leaks_is_found_out(host: Host, name: str, trajectories: tuple[int, ...]) -> None:
    record = recorded(*trajectories)
    assert judged(host, COUNTS.format(code=HONEST), record).admissible
    source = COUNTS.format(code=LEAKY[name].replace("FRAME", "state[1]"))
    if name == "every other start":  # it shows what it has recorded: ask it
        loaded = host.load({ENGINE: source})
        assert isinstance(loaded, Program)
        record = Record(levels=1)
        worker = loaded.worker()
        assert isinstance(worker, Worker)
        with worker:
            for steps in trajectories:
                replay = worker.replay(Start(np.zeros((1, 4), dtype=np.uint8), 0, (1, 2)), [ON] * steps)
                for step, shown in enumerate(replay.frames):
                    record.extend(ON if step else RESET, Observation((freeze(shown),), Status.RUNNING, 0, (1, 2)))
    verdict = judged(host, source, record)
    assert verdict.outcome is Outcome.FAULT and verdict.fault is not None and verdict.fault.kind == "unrepeatable", verdict.reason


def test_a_table_by_step_is_admissible_and_falls_at_its_first_new_step(tmp_path: Path, host: Host) -> None:
    table = """
SHOWN = [(1, 0, 0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0, 0, 0)]
def initial_state(observation): return 0
def step(state, action): return min(state + 1, 2)  # R1
def render(state): return [SHOWN[state]]
def is_goal(state): return False  # R2
"""
    with opened(tmp_path, host) as (_, session):
        session.probe(ON, "?")
        session.probe(ON, "?")
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: table})).admissible
        assert session.probe(ON, "?").falsified == (0,)
        assert not session.admissible()


def test_a_program_that_behaves_only_when_it_is_verified(tmp_path: Path, host: Host) -> None:
    """It looks up who calls it: honest in replays, it promises a goal to a search, and another way alive."""
    spy = "import sys\ndef who(): return {sys._getframe(n).f_code.co_name for n in range(1, 6)}\n"
    liar = ring(
        ("import numpy as np", "import numpy as np\n" + spy),
        ("return False", "return '_search' in who() and state[0] == 2"),
    )
    with opened(tmp_path, host) as (_, session):
        assert session.propose(liar).admissible
        found = session.plan()
        assert not isinstance(found, Plan) and session.state.sent == 0
        assert not session.admissible()


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
    with Host(memory_mb=MEMORY + 100) as other, resumed_run(folder, host=other, mind=Scripted()) as session:
        assert session.state.sent == 2
        sent = session.probe(ON, "who is right?")
        assert sent.actions == () and sent.falsified == (0,)
        verdict = session.state.members[0].verdict
        assert verdict is not None and isinstance(verdict.counterexample, Counterexample) and verdict.counterexample.step == 0
        assert session.state.sent == 2 and not session.admissible()
        sound(session)
    assert processes(MEMORY + 100) == []


def test_whoever_shows_the_run_cannot_lose_a_verdict(tmp_path: Path, host: Host) -> None:
    """`lawbook play | head`: the pipe breaks just when the outcome is shown that refutes the hypothesis."""

    def listener(event: Event) -> None:
        if event.kind is Kind.OBSERVE and event.body["action"] is not None:
            raise BrokenPipeError

    with (
        pytest.raises(BrokenPipeError),
        new_run(RunConfig(WALK), tmp_path, host=host, mind=Scripted(), listener=listener) as (folder, session),
    ):
        assert session.propose(STUCK).admissible
        session.probe(ON, "?")
    with resumed_run(folder, host=host, mind=Scripted()) as session:
        assert session.state.sent == 1
        assert not session.admissible()


def test_a_ledger_that_does_not_fold_is_a_sentence(tmp_path: Path, host: Host) -> None:
    """Chained correctly, by whoever, and yet no run ever wrote this."""
    bodies: list[tuple[Kind, dict[str, Any]]] = [
        (Kind.DRAW, {"classes": [[0]], "drawn": 0, "plan": 99}),
        (Kind.VERDICT, {"member": 0, "about": "proposal", "verdict": {}}),
        (Kind.NOTE, {}),
        (Kind.CLOSE, {"outcome": "glorious", "sentence": "", "head": ""}),
        (Kind.INTEND, {"action": [1], "sort": "plan", "member": 9, "plan": None, "question": "", "predictions": {}}),
        (Kind.OBSERVE, {"trajectory": 0, "action": [1], "frames": ["nothing"], "status": "running", "level": 0, "available": [1]}),
    ]
    for kind, body in bodies:
        with opened(tmp_path, host) as (folder, session):
            session.journal.ledger.append(kind, body)
        with pytest.raises(UsageError, match=r"^[A-Z].*\.$"), resumed_run(folder, host=host, mind=Scripted()):
            pass


# -- programs against the host ------------------------------------------------------------------------------------------------------


def outcome(host: Host, files: dict[str, str], steps: int = 5, *, twin: bool = False) -> Fault | None:
    loaded = host.load(files)
    if isinstance(loaded, Fault):
        return loaded
    worker = loaded.worker(twin=twin)
    if isinstance(worker, Fault):
        return worker
    with worker:
        return worker.replay(START, [ON] * steps).fault


def test_every_system_call_but_those_that_are_meant_is_denied(host: Host) -> None:
    """io_uring, userfaultfd, memfd, pidfd, ptrace, sockets of every family, shared memory, keys, mounts, clone: all of them."""
    import platform

    machine = platform.machine()
    spared = sorted({*seccomp.ALLOWED[machine].values(), *seccomp.COMMANDS[machine].values()})
    sweep = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
passed = []
for number in set(range(600)) - set({spared}):
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
        passed.append(number)
if passed: raise ValueError(passed)
"""
    assert outcome(host, program(top=sweep)) is None


def in_step(code: str, top: str = "") -> dict[str, str]:
    return program(top=top, step=code.replace("\n", "\n    "))


FORGE = """
import json, struct, time
def forge(**header):
    text = json.dumps(header).encode()
    return struct.pack("<4sII", b"LAW1", len(text), 0) + text
def tell(message):
    for descriptor in range(3, 64):
        try: os.write(descriptor, message)
        except OSError: pass
"""
PROGRAMS: dict[str, tuple[dict[str, str], set[str | None]]] = {
    "runs out of descriptors": (in_step("kept.append(open(os.__file__))\nwhile True: kept.append(open(os.__file__))", "kept = []"), {"exception"}),
    "eats slowly": (in_step("kept.append(bytearray(1 << 16))\nwhile True: kept.append(bytearray(1 << 16))", "kept = []"), {"memory"}),
    "hashes for ever": (program(top="class S(int):\n    def __hash__(self):\n        while True: pass", step="return S(state)"), {"time"}),
    "compares for ever": (in_step("{S(1): 1}[S(1)]", "class S(int):\n    __hash__ = int.__hash__\n    def __eq__(self, other):\n        while True: pass"), {"time"}),
    "dies for ever": (in_step("S()", "class S:\n    def __del__(self):\n        while True: pass"), {"time"}),
    "a number without end": (in_step("raise ValueError(10 ** 5000)"), {"exception"}),
    "an enormous state": (program(step="return (state,) * 30_000_000"), {"memory", "exception", "type", None}),
    "recursion in hash": (program(top="class S(int):\n    def __hash__(self): return hash(self)", step="return S(state)"), {"exception"}),
    "recursion without limit": (in_step("sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()"), {"killed", "memory", "exception"}),
    "an error that exits": (in_step("raise E()", "class E(Exception):\n    def __str__(self): raise SystemExit"), {"broken", "exit"}),
    "an error that never tells": (in_step("raise E()", "class E(Exception):\n    def __str__(self):\n        while True: pass"), {"time"}),
    "an error with a forged name": (in_step("raise type('x' * 100_000, (Exception,), {})()"), {"exception", "broken"}),
    "a duplicated answer": (in_step("if state == 3: tell(forge(n=2, upto=3))", FORGE), {"broken", None}),
    "a delayed answer": (in_step("time.sleep(1.5)", FORGE), {"time"}),
    "an answer of numbers": (in_step("tell(b'LAW1' + struct.pack('<II', 9000, 0) + b'{\"n\":' + b'9' * 8994 + b'}')", FORGE), {"broken"}),
    "an endless count": (in_step("tell(forge(n=2, upto=1e999, done=True))", FORGE), {"broken"}),
    "a flood of nothing": (in_step("while True: tell(forge(n=2, upto=0))", FORGE), {"time", "broken"}),
    "a flood of faults": (in_step("while True: tell(forge(n=2, upto=0, done=True, fault=dict(kind='type', reason='x' * 4_000_000)))", FORGE), {"type", "broken", "time"}),
    "trace everything": (in_step("sys.settrace(lambda *a: 1 / 0); step(state, action)"), {"exception", "broken", "killed"}),
    "no more modules": (in_step("sys.modules.clear()"), {None, "exception", "broken"}),
    "no more builtins": (in_step("import builtins; vars(builtins).clear()"), {"broken", "exception", "exit"}),
    "another collector": (in_step("import gc; gc.set_threshold(1); gc.callbacks.append(lambda *a: 1 / 0)"), {None, "exception", "broken"}),
    "words at exit": (in_step("import atexit; atexit.register(os._exit, 0)"), {None}),
    "a signal handler": (in_step("import signal; signal.signal(signal.SIGSEGV, lambda *a: 0); signal.raise_signal(signal.SIGSEGV)"), {"forbidden", "exception", "killed", None}),
    "an alarm": (in_step("import signal; signal.alarm(1)"), {"forbidden", "exception"}),
    "a watchdog": (in_step("import faulthandler; faulthandler.dump_traceback_later(1)"), {"forbidden", "exception", "killed"}),
    "its own text": (in_step("open(__file__)"), {"exception", "forbidden"}),
    "every process": (in_step("os.listdir('/proc')"), {"forbidden"}),
    "its own memory": (in_step("open('/proc/self/mem', 'wb')"), {"forbidden"}),
    "an open path": (in_step("os.read(os.open('/proc/self/environ', os.O_PATH), 1)"), {"forbidden", "exception"}),
    "its descriptors again": (in_step("open('/proc/self/fd/3', 'rb')"), {"forbidden"}),
    "a link out": (in_step("os.link(os.__file__, '/tmp/lawbook-was-here')"), {"forbidden"}),
    "a terminal": (in_step("open('/dev/tty', 'w')"), {"forbidden", "exception"}),
    "shared memory by name": (in_step("from multiprocessing import shared_memory; shared_memory.SharedMemory(create=True, size=9)"), {"forbidden"}),
    "a database": (in_step("import dbm.dumb; dbm.dumb.open('/tmp/lawbook-was-here', 'c')"), {"forbidden"}),
    "its priority": (in_step("os.nice(-5)"), {"forbidden", "exception"}),
    "its name": (in_step("import ctypes; assert ctypes.CDLL(None).prctl(15, b'x') == 0"), {"exception"}),
    "executable memory": (in_step("import mmap; mmap.mmap(-1, 4096, prot=7)"), {None}),
    "memory by the hundred": (in_step("import mmap\nkept = [mmap.mmap(-1, 1 << 24) for _ in range(1000)]"), {"memory", "exception"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_costs_itself(host: Host, name: str) -> None:
    files, wanted = PROGRAMS[name]
    fault = outcome(host, files)
    assert (fault and fault.kind) in wanted, fault
    assert fault is None or len(fault.reason) < 2500
    assert sorted(processes(MEMORY)) == sorted(host.pids)


def search(host: Host, source: str, limits: Limits, goal: str | None = None) -> Found | NoPlan | Fault:
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program), loaded
    worker = loaded.worker()
    assert isinstance(worker, Worker)
    with worker:
        assert worker.replay(START, []).fault is None
        return worker.search(limits, goal)


def test_a_frontier_without_end_is_a_limit(host: Host) -> None:
    grows = program()[ENGINE] + "def step(state, action): return state * 2 + action.id, bytes(1 << 20)\n"
    grows = program(render="return [[0] * 4] * 4")[ENGINE] + "def step(state, action): return (state, action.id, bytes(1 << 20))\n"
    answer = search(host, grows, Limits(nodes=10**9, depth=10**6, seconds=20))
    assert isinstance(answer, NoPlan) and answer.cut == "memory"


@pytest.mark.parametrize(
    ("step", "offers"),
    [("time.sleep(0.03)", "(1, 2, 3, 4)"), ("time.sleep(0.001)", "[(6, x, y) for x in range(40) for y in range(40)]")],
    ids=["slow steps", "many clicks"],
)
@pytest.mark.parametrize("extra", ["", "def heuristic(state): return 0\n"], ids=["breadth first", "a star"])
def test_a_slow_program_is_cut_by_the_clock_and_not_called_broken(host: Host, step: str, offers: str, extra: str) -> None:
    source = program(top="import time", step=step, render="return [[0] * 4] * 4")[ENGINE].replace("return state + 1", "return state, action.id")
    source += f"def actions(state): return {offers}\n{extra}"
    answer = search(host, source, Limits(nodes=10**9, depth=100, seconds=0.5))
    assert isinstance(answer, NoPlan) and answer.cut == "seconds", answer


def test_slowness_adds_up_over_many_trajectories(host: Host) -> None:
    """Each start stays below the limit of a step; the hundred of them must not take a hundred times that."""
    loaded = host.load(program(top="import time", render="time.sleep(0.6)"))
    assert isinstance(loaded, Program)
    worker = loaded.worker()
    assert isinstance(worker, Worker)
    began = time.monotonic()
    with worker:
        faults = [worker.replay(START, []).fault for _ in range(12)]
    assert faults[0] is None
    assert faults[-1] is not None and faults[-1].kind == "time"
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_somebody_kills_says_nothing_against_its_program(session: Session, number: int) -> None:
    """Whoever runs out of memory on a machine may be anybody; the one who is killed for it too."""
    session.propose(TRUE)
    session.probe(ON, "?")
    pid = session._forecast._workers[0]._pid
    assert pid is not None
    os.kill(pid, number)
    sent = session.probe(ON, "?")
    assert sent.actions == (ON,) and not sent.falsified and session.admissible() == [0]
    sound(session)


def test_a_program_that_is_killed_every_time_is_at_fault(session: Session) -> None:
    crash = "import ctypes, sys\ndef step(state, action):\n    if sys._getframe(1).f_code.co_name == '_step': ctypes.string_at(1)"
    assert session.propose(ring(("def step(state, action):", crash))).admissible
    sent = session.probe(ON, "?")
    assert sent.actions == () and sent.falsified == (0,)


# -- worlds that lie ----------------------------------------------------------------------------------------------------------------


def lying(name: str) -> str:
    return f"py:lying_worlds:SOURCE/{name}"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("jumps", "from level 0 to 2 and called that completed"),
        ("sinks", "from level 1 to 0 and called that running"),
        ("sinks-when-over", "from level 1 to 0 and called that over"),
        ("goes-beyond", "from level 0 to 7"),
        ("completes-nothing", "from level 0 to 0"),
        ("rises-unsaid", "from level 0 to 1 and called that running"),
        ("opens-beyond", "level 9"),
        ("rises-at-reset", "from level 0 to 1"),
        ("shouts", "ValueError"),
    ],
)
def test_a_world_that_lies_is_a_sentence(name: str, says: str) -> None:
    with WorldProcess(lying(name)) as world:
        with pytest.raises(WorldError, match=says) as caught:
            world.reset()
            world.step(ON)
            world.step(ON)
            world.reset()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 1200


@pytest.mark.parametrize("name", ["half-a-level", "below-nothing", "wordy-baselines", "boundless"])
def test_a_world_that_describes_itself_wrongly_is_not_begun(tmp_path: Path, host: Host, name: str) -> None:
    with pytest.raises(LawbookError, match=r"^The world .*\.$"), opened(tmp_path, host, lying(name)):
        pass


@pytest.mark.parametrize("protocol", ["vanilla", "memento3"])
def test_a_world_where_nothing_can_be_done_ends_as_stuck(tmp_path: Path, host: Host, protocol: str) -> None:
    mind = Scripted([Hypothesis(BOOK, {ENGINE: RING.replace("8", "4")})], [Probe(ON, "?")])
    with opened(tmp_path, host, lying("nothing-to-do"), mind, protocol=protocol) as (_, session):
        assert play(session) is Ending.STUCK
        assert session.state.sent == 0
        sound(session)


def test_a_lie_in_the_middle_of_a_run_can_be_resumed_and_told_again(tmp_path: Path, host: Host) -> None:
    with opened(tmp_path, host, lying("jumps"), Scripted([], [Probe(ON, "?")]), protocol="vanilla") as (folder, session):
        with pytest.raises(WorldError, match="from level 0 to 2"):
            play(session)
    with pytest.raises(WorldError, match="from level 0 to 2"), resumed_run(folder, host=host, mind=Scripted()) as session:
        play(session)
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert ledger.check() is None
        assert sum(event.kind is Kind.INTEND for event in ledger) == 1


# -- signals, leftovers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "lambda *_: sys.exit(5)", "signal.SIG_IGN"])
def test_a_signal_that_was_held_back_still_arrives(handler: str) -> None:
    code = f"""
        import os, signal, sys
        from lawbook.hand import uninterrupted
        signal.signal(signal.SIGTERM, {handler})
        with uninterrupted():
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
        return {f"{folder}/{name}" for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder) if "lawbook" in name}

    hostile = ["while True: pass", "os._exit(0)", "open('/tmp/lawbook-was-here', 'w')", "os.fork()"]
    books = [Hypothesis(BOOK, {ENGINE: RING.replace("def step", f"import os\n{code}\ndef step")}) for code in hostile]
    before, descriptors = leftovers(), len(os.listdir("/proc/self/fd"))
    with opened(tmp_path, host, mind=Scripted([*books, Hypothesis(BOOK, {ENGINE: RING})], [AT_5, Probe(ON, "?")])) as (_, session):
        assert play(session) is Ending.BUDGET
        assert session.admissible() == [0]
        reasons = [version.reason for version in session.state.members[0].history[:4]]
        assert [word for word, reason in zip(("loop", "exit code 0", "no files", "fork"), reasons, strict=True) if word not in reason] == []
        sound(session)
    assert leftovers() == before and len(os.listdir("/proc/self/fd")) == descriptors
    assert sorted(processes(MEMORY)) == sorted(host.pids)
