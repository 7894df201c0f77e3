"""`lawbook induce --from`: what is counted, on recordings short enough to count by hand; and what a search may leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from meadow import case_of
from minds import Scripted

from lawbook.arc.recording_io import export_run, read_record
from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import Limits, Plan
from lawbook.errors import UsageError
from lawbook.experiments.one_step_accuracy import OneStepAccuracy, format_accuracy, measure_accuracy
from lawbook.minds.base import Case
from lawbook.minds.induce import SOURCE
from lawbook.minds.induce.co_movers import analyse_record
from lawbook.minds.induce.law_induction import find_rival_laws
from lawbook.minds.induce.layers import Layers, Strip
from lawbook.minds.induce.overlay_removal import strip_overlay
from lawbook.minds.induce.ranking import HypothesisRanking, parse_laws
from lawbook.minds.induce.walker import Walker
from lawbook.planning.planner import find_plan
from lawbook.protocols.protocol import PROTOCOLS
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host, Program

STILL = """
def initial_state(observation):
    return observation["frame"].tobytes(), observation["frame"].shape


def step(state, action):
    return state


def render(state):
    import numpy as np

    return np.frombuffer(state[0], dtype=np.uint8).reshape(state[1])


def is_goal(state):
    return False
"""
"""Says that nothing changes, ever."""


class Certain(Scripted):
    """Proposes one program, and keeps the case it was shown."""

    def __init__(self, program: str) -> None:
        super().__init__()
        self.program = program

    def propose(self, case: Case) -> Proposal:
        self.cases.append(case)
        return Proposal(Decision.REVISE_RULEBOOK, "R1. Nothing changes.", {ENGINE: self.program}, "")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Callable[..., Path]:
    """Makes the recording of some actions of a demo world (0: reset), as `lawbook export` writes it."""

    def make(numbers: Sequence[int]) -> Path:
        out = tmp_path_factory.mktemp("recorded")
        config = RunConfig("demo:maze?seed=0", protocol="vanilla", budget=len(numbers) + 1)
        with start_run(config, out, host=host, mind=Scripted()) as (folder, session):
            for number in numbers:
                if number:
                    session.probe(Action(number), "what comes of it?")
                else:
                    session.reset("anew")
        export_run(folder, out / "recording.jsonl")
        return out / "recording.jsonl"

    return make


def changes(file: Path) -> list[bool]:
    """Whether each step of the first trajectory changed anything."""
    record, _ = read_record(file)
    return [
        bool((a != b).any())
        for a, b in zip(record.trajectories[0].settled_frames, record.trajectories[0].settled_frames[1:], strict=False)
    ]


@pytest.fixture(scope="module")
def there_and_back(recording: Callable[..., Path]) -> tuple[int, int]:
    """An action of the maze that moves at the start, and the one that takes it back."""
    for one in (1, 2, 3, 4):
        for other in (1, 2, 3, 4):
            record, _ = read_record(recording([one, other]))
            first, second, third = record.trajectories[0].settled_frames
            if (first != second).any() and (first == third).all():
                return one, other
    raise AssertionError("nothing moves there and back")


def shares(found: OneStepAccuracy) -> list[tuple[tuple[int, int], ...]]:
    """(right, of so many) on every step, on pairs seen, on pairs never seen; for the program and both baselines."""
    return [tuple((s.n_right, s.n_steps) for s in (row.all_steps, row.known_steps, row.unknown_steps)) for row in found.predictors]


# -- what is counted --------------------------------------------------------------------------------------------------------


def test_counts_that_can_be_checked_by_hand(recording: Callable[..., Path], there_and_back: tuple[int, int], host: Host) -> None:
    """There and back in the training; then there (seen), there again (never seen), back (never seen from there), back (seen).

    The program says that nothing changes, so it is wrong four times, and was initialised anew before each of them, since it had
    been wrong on the step before, in the training too. The last baseline is right on the two pairs it knows.
    """
    there, back = there_and_back
    file = recording([there, back, there, there, back, back])
    if changes(file) != [True] * 6:
        pytest.fail("the maze has a wall there: choose another seed")
    mind = Certain(STILL)
    found = measure_accuracy(file, 2, 4, mind, host)
    assert len(mind.cases[0].record.current) == 2  # nothing of the test is shown to it
    assert shares(found) == [((0, 4), (0, 2), (0, 2)), ((0, 4), (0, 2), (0, 2)), ((2, 4), (2, 2), (0, 2))]
    assert found.n_restarts == 4 and not found.admissible
    assert "initialised anew 4 times; DOES NOT reproduce" in format_accuracy(found)


def test_what_is_right_is_counted_right(recording: Callable[..., Path], there_and_back: tuple[int, int], host: Host) -> None:
    """A reset counts among the actions and is no step; an action that changes nothing is what the still program foretells."""
    there, back = there_and_back
    still = next(n for n in (1, 2, 3, 4) if changes(recording([n])) == [False])
    file = recording([still, there, back, still, still, 0, still, still])
    found = measure_accuracy(file, 3, 5, Certain(STILL), host)
    # The test: still, still, RESET, still, still. All of it was seen before, and none of it changed anything.
    assert shares(found)[0] == ((4, 4), (4, 4), (0, 0)) == shares(found)[1] == shares(found)[2]
    assert found.n_restarts == 1  # once: the training left it elsewhere than it believed
    found = measure_accuracy(file, 1, 7, Certain(STILL), host)
    # still | there, back, still, still, RESET, still, still: the walk there and back was never seen.
    assert shares(found) == [((4, 6), (4, 4), (0, 2))] * 3
    assert found.n_restarts == 2


def test_the_built_in_mind_foretells_what_it_never_saw(
    recording: Callable[..., Path], there_and_back: tuple[int, int], host: Host
) -> None:
    there, back = there_and_back
    file = recording([there, back, there, back, there, there, back, back])
    found = measure_accuracy(file, 4, 4, SOURCE.make(""), host)
    program, nothing, memory = shares(found)
    assert found.admissible and found.n_exceptions == 0 and found.n_restarts == 0
    assert program == ((4, 4), (2, 2), (2, 2))
    assert nothing == ((0, 4), (0, 2), (0, 2)) and memory == ((2, 4), (2, 2), (0, 2))
    assert found.description_bytes == found.hypothesis.description_bytes and found.n_rules > 7


def test_what_was_learnt_wrongly_diverges_and_is_initialised_anew(
    recording: Callable[..., Path], there_and_back: tuple[int, int], host: Host
) -> None:
    """It cannot know an action it never saw: that step is wrong, and so would be all after it, were it not initialised anew."""
    there, back = there_and_back
    file = recording([there, there, back, back, there])
    found = measure_accuracy(file, 2, 3, SOURCE.make(""), host)
    assert shares(found)[0] == ((1, 3), (1, 1), (0, 2))
    assert found.n_restarts == 2


def test_what_is_left_open_is_counted_apart(recording: Callable[..., Path], there_and_back: tuple[int, int], host: Host) -> None:
    """An action that was never tried is open under belief, and no wrong claim; one that was is claimed, and rightly."""
    there, back = there_and_back
    file = recording([there, there, back, there, back])
    claimed, opened = (
        measure_accuracy(file, 2, 3, SOURCE.make(""), host, PROTOCOLS[name]).claims for name in ("memento3", "belief")
    )
    assert claimed.n_steps == opened.n_steps == 3
    assert claimed.n_wrong_steps > 0 and claimed.changed.n_open == 0
    assert opened.n_wrong_steps == 0 and opened.changed.n_wrong == 0
    assert opened.changed.n_open > 0 and opened.changed.n_right > 0
    assert opened.changed.n_cells == claimed.changed.n_cells
    report = format_accuracy(measure_accuracy(file, 2, 3, SOURCE.make(""), host, PROTOCOLS["belief"]))
    assert "claimed and right" in report and "steps with a wrong claim: 0 of 3 (0 in 1,000)" in report


@pytest.mark.parametrize(("train", "test"), [(5, 2), (0, 2), (2, 0), (7, 1)])
def test_more_than_a_recording_holds_is_refused(recording: Callable[..., Path], host: Host, train: int, test: int) -> None:
    with pytest.raises(UsageError, match="holds 6 actions"):
        measure_accuracy(recording([1, 1, 2, 2, 3, 3]), train, test, Certain(STILL), host)


def test_a_program_that_does_not_load_is_said_to_be_that(recording: Callable[..., Path], host: Host) -> None:
    with pytest.raises(UsageError, match="does not load"):
        measure_accuracy(recording([1, 2]), 1, 1, Certain("def step(:"), host)


# -- the step bar, and a search ---------------------------------------------------------------------------------------------

WAYS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
LENGTH = 40


def barred(actions: Sequence[Action], bar: bool = True) -> Record:
    """A room of 6 x 9 with a thing in its corner, and below it a bar that shrinks by one cell an action; all of it counted anew
    after a reset."""
    record = Record()
    since: list[Action] = []
    for action in (None, *actions):
        since = [] if action in (None, RESET) else [*since, action]
        row, col = 2, 3
        for done in since:
            down, along = WAYS[done.id]
            if 0 <= row + down < 6 and 0 <= col + along < 9:
                row, col = row + down, col + along
        frame = np.zeros((8, LENGTH), dtype=np.uint8)
        frame[:6, 9:], frame[6, :] = 3, 3
        frame[0, 8], frame[row, col] = 6, 4
        frame[7, :LENGTH], frame[7, : len(since)] = (7, 9) if bar else (3, 3)
        status = Status.OVER if bar and len(since) == LENGTH else Status.RUNNING
        record.extend(action, Observation((freeze(frame),), status, 0, (1, 2, 3, 4)))
    return record


def walk(number: int) -> list[Action]:
    return [Action(a) for a in islice(cycle([4, 4, 2, 3, 1, 4, 3, 3]), number)]


def learnt(host: Host, record: Record) -> tuple[Hypothesis, Program]:
    hypothesis = SOURCE.make("").propose(case_of(record)).apply_to(None)
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    return hypothesis, program


def test_a_bar_that_ticks_does_not_blow_up_a_search(host: Host) -> None:
    """The room has 54 places. With the ticks in the key, every place would be a new state at every distance from here."""
    record = barred([*walk(LENGTH), RESET, *walk(3)])
    hypothesis, program = learnt(host, record)
    assert "empties from colour 7 to 9" in hypothesis.rulebook
    out_of_reach = "def subgoal(state):\n    return state.core.row == 99\n"
    found = find_plan(program, record.current, Limits(nodes=20_000, depth=200), out_of_reach)
    plain = barred([*walk(LENGTH), RESET, *walk(3)], bar=False)
    bare = find_plan(learnt(host, plain)[1], plain.current, Limits(nodes=20_000, depth=200), out_of_reach)
    assert not isinstance(found, Plan) and not isinstance(bare, Plan)
    assert found.cut is None and found.nodes <= 2 * bare.nodes <= 2 * 54  # type: ignore[union-attr]


def test_no_goal_and_no_other_law_reads_what_a_search_leaves_out() -> None:
    """What `key` leaves out (ticks, histories) decides neither a goal, nor what comes of any action, but for the bar's own end.

    Every state that a walk of the room leads to is set to other ticks, and to another place of some history: whatever is then
    done, the same states follow but for what was left out. So the plan of a search is one of the world's as long as the bar
    lasts; that it does is checked when the plan is rolled.
    """
    record = barred([*walk(LENGTH), RESET, *walk(12)])
    bare = strip_overlay(record)
    assert bare.overlay.strips and all(isinstance(strip, Strip) for strip in bare.overlay.strips)
    seen = analyse_record(bare.record)
    team = HypothesisRanking(find_rival_laws(seen), seen, bare.overlay, record)
    for index in range(len(team.laws)):
        laws, over = team.complete_laws(index)
        assert not laws.histories and not over.patches  # the bar is a law, nothing is learnt by heart
        world = Layers(over, Walker(laws))
        state = world.initial_state({"frame": record.current.first.frame})
        for action in walk(12):
            state = world.step(state, action)
            others = [state._replace(ticks=tuple((start, tick) for start, _ in state.ticks)) for tick in (0, 1, 7, LENGTH // 2)]
            others += [state._replace(trail=7), state._replace(core=state.core._replace(trail=7))]
            for other in others:
                assert world.key(other) == world.key(state) and world.is_goal(other) == world.is_goal(state)
                for number in WAYS:
                    one, two = world.step(state, Action(number)), world.step(other, Action(number))
                    assert world.key(one) == world.key(two) and world.status(one) == world.status(two)
        late = state._replace(ticks=tuple((start, LENGTH - 1) for start, _ in state.ticks))
        assert world.is_over(world.step(late, Action(1))) and not world.is_over(
            world.step(state, Action(1))
        )  # its own end it reads


def test_a_text_with_a_bar_says_so_and_reads_back(host: Host) -> None:
    hypothesis, _ = learnt(host, barred([*walk(LENGTH), RESET, *walk(3)]))
    assert "key = world.key" in hypothesis.files[ENGINE] and parse_laws(hypothesis) is not None
    hypothesis, _ = learnt(host, barred(walk(12), bar=False))
    assert "key = world.key" not in hypothesis.files[ENGINE]
