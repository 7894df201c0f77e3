"""What lies over a world: strips, lives, refills, fog, clicks, pushes. Small worlds made here, learnt from what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice

import numpy as np
import pytest
from meadow import case_of

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import Limits, Plan, Probe
from lawbook.experiments.one_step_accuracy import _truncate_record
from lawbook.minds.graph import SOURCE as GRAPH
from lawbook.minds.induce import SOURCE
from lawbook.minds.induce.clicks import induce_click_laws
from lawbook.minds.induce.status_bars import find_strips
from lawbook.planning.planner import find_plan
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify

Step = Callable[[int, list[Action]], tuple[np.ndarray, Status]]
WAYS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


def recorded(shows: Callable[[Sequence[Action]], tuple[np.ndarray, Status]], actions: Sequence[Action]) -> Record:
    """The record of a world given as a function of the actions since the last reset."""
    record, since = Record(), list[Action]()
    for action in (None, *actions):
        since = [] if action in (None, RESET) else [*since, action]
        frame, status = shows(since)
        record.extend(action, Observation((freeze(frame),), status, 0, (1, 2, 3, 4, 6)))
    return record


def learnt(host: Host, record: Record) -> tuple[Hypothesis, Program]:
    hypothesis = SOURCE.make("").propose(case_of(record)).apply_to(None)
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    verdict = verify(program, record)
    assert verdict.admissible, verdict.reason
    return hypothesis, program


def walk(since: Sequence[Action], frame: np.ndarray, row: int, col: int, inside: tuple[int, int]) -> tuple[int, int]:
    for action in since:
        down, along = WAYS.get(action.id, (0, 0))
        if 0 <= row + down < inside[0] and 0 <= col + along < inside[1]:
            row, col = row + down, col + along
    frame[row, col] = 4
    return row, col


def striped(length: int, p: int, q: int) -> Callable[[Sequence[Action]], tuple[np.ndarray, Status]]:
    """A walker over a strip that empties by p places in q actions; the game is over when the last is gone."""

    def shows(since: Sequence[Action]) -> tuple[np.ndarray, Status]:
        frame = np.zeros((6, 24), dtype=np.uint8)
        walk(since, frame, 2, 3, (5, 24))
        gone = min(len(since) * p // q, length)
        frame[5, :length] = 7
        frame[5, :gone] = 9
        return frame, Status.OVER if gone == length else Status.RUNNING

    return shows


def tour(number: int) -> list[Action]:
    return [Action(a) for a in islice(cycle([4, 4, 2, 3, 1, 4]), number)]


@pytest.mark.parametrize(("length", "p", "q"), [(12, 1, 1), (20, 2, 1), (20, 5, 3)])
def test_a_strip_and_its_end_are_foretold_further_than_they_were_seen(host: Host, length: int, p: int, q: int) -> None:
    life = next(t for t in range(99) if t * p // q >= length)
    whole = recorded(striped(length, p, q), [*tour(life), RESET, *tour(life)])
    seen = _truncate_record(whole, life + 1 + life // 2)
    (strip,) = find_strips(seen)
    assert (strip.full, strip.empty, strip.when) == (7, 9, "always")
    hypothesis, program = learnt(host, seen)
    assert "empties from colour 7 to 9" in hypothesis.rulebook and "learnt by heart (" not in hypothesis.rulebook
    assert verify(program, whole).admissible  # the rest of the second life, its end included


def test_the_search_leaves_a_strip_out_but_not_its_end(host: Host) -> None:
    record = recorded(striped(12, 1, 1), [*tour(12), RESET, *tour(4)])
    _, program = learnt(host, record)

    def way(row: int, col: int) -> object:
        source = f"def subgoal(state):\n    return (state.core.row, state.core.col) == ({row}, {col})\n"
        return find_plan(program, record.current, Limits(nodes=5_000, depth=30), source)

    near, far = way(2, 8), way(2, 22)
    assert isinstance(near, Plan) and not near.certified
    assert not isinstance(far, Plan)  # the strip runs out on the way


def lamps(since: Sequence[Action]) -> tuple[np.ndarray, Status]:
    """Lamps of 3 x 3 cells in a row; a click turns one and its neighbours."""
    lit = [False] * 5
    for action in since:
        if action.x is not None and action.y is not None and 3 <= action.y < 6 and 3 <= action.x < 18:
            place = (action.x - 3) // 3
            for near in (place - 1, place, place + 1):
                if 0 <= near < 5:
                    lit[near] ^= True
    frame = np.full((9, 21), 2, dtype=np.uint8)
    for place, on in enumerate(lit):
        frame[3:6, 3 + 3 * place : 6 + 3 * place] = [
            [8 if on else 5] * 3,
            [8 if on else 5, 1, 8 if on else 5],
            [8 if on else 5] * 3,
        ]
    return frame, Status.RUNNING


def test_what_a_click_turns_is_learnt_once_for_all_of_a_kind(host: Host) -> None:
    clicks = [Action(6, 3 + 3 * place, 3) for place in (1, 3, 1, 2)]
    record = recorded(lamps, clicks)
    found = induce_click_laws(record)
    assert {(len(one), len(one[0])) for one, _ in found.turns} == {(3, 3)}
    _, program = learnt(host, record)
    whole = recorded(lamps, [*clicks, Action(6, 12, 3), Action(6, 6, 3), Action(6, 1, 1)])  # places and lamps it never clicked
    assert verify(program, whole).admissible


def foggy(since: Sequence[Action]) -> tuple[np.ndarray, Status]:
    """Only two cells around the walker are shown."""
    level = np.random.default_rng(5).choice([2, 2, 2, 6], size=(14, 14)).astype(np.uint8)
    row, col = walk(since, level, 6, 6, (14, 14))
    frame = np.full((14, 14), 1, dtype=np.uint8)
    near = slice(max(row - 2, 0), row + 3), slice(max(col - 2, 0), col + 3)
    frame[near] = level[near]
    return frame, Status.RUNNING


def test_what_has_been_seen_is_remembered_in_the_dark(host: Host) -> None:
    out = [Action(a) for a in (4, 4, 3, 3, 2, 2, 1, 1, 3, 4)]
    hypothesis, program = learnt(host, recorded(foggy, out))
    assert "Only what is near is shown: 5 rows and 5 columns" in hypothesis.rulebook
    again = [Action(a) for a in (2, 2, 1, 1, 4, 4, 3, 3)]  # other ways over the same ground
    assert verify(program, recorded(foggy, again)).admissible


def pushing(since: Sequence[Action]) -> tuple[np.ndarray, Status]:
    """A block goes where it is pushed, up to the wall."""
    row, col, block = 3, 2, (3, 4)
    for action in since:
        down, along = WAYS[action.id]
        there, behind = (row + down, col + along), (row + 2 * down, col + 2 * along)
        if not (0 < there[0] < 7 and 0 < there[1] < 9):
            continue
        if there == block:
            if not (0 < behind[0] < 7 and 0 < behind[1] < 9):
                continue
            block = behind
        row, col = there
    frame = np.full((8, 10), 3, dtype=np.uint8)
    frame[1:7, 1:9] = 0
    frame[block], frame[row, col] = 5, 4
    return frame, Status.RUNNING


def test_what_is_pushed_goes_on_in_every_direction(host: Host) -> None:
    seen = [Action(a) for a in (1, 2, 3, 4, 4, 4, 3, 1, 1, 1, 2)]
    hypothesis, program = learnt(host, recorded(pushing, seen))
    assert "A figure of colour 5 is pushed on" in hypothesis.rulebook
    whole = recorded(pushing, [Action(a) for a in (1, 2, 3, 4, 4, 4, 2, 4, 1, 1, 1)])  # from below, which was never done
    assert verify(program, whole).admissible


def turning(since: Sequence[Action]) -> tuple[np.ndarray, Status]:
    """A walker that turns left (3), right (4), goes on (1), and takes what is before it (2)."""
    ways, heading, row, col, things = [(0, 1), (1, 0), (0, -1), (-1, 0)], 0, 2, 2, {(2, 5), (4, 2)}
    for action in since:
        ahead = row + ways[heading][0], col + ways[heading][1]
        if action.id in (3, 4):
            heading = (heading + (1 if action.id == 4 else -1)) % 4
        elif action.id == 2:
            things -= {ahead}
        elif 0 <= ahead[0] < 6 and 0 <= ahead[1] < 8 and ahead not in things:
            row, col = ahead
    frame = np.zeros((6, 8), dtype=np.uint8)
    for thing in things:
        frame[thing] = 7
    frame[row, col] = 10 + heading
    return frame, Status.RUNNING


def test_an_avatar_that_turns_and_what_it_does_to_what_is_before_it(host: Host) -> None:
    around = [Action(a) for a in (1, 4, 4, 4, 4, 4, 1, 1, 3, 1, 1, 3, 1, 1, 2, 1, 3, 1, 1, 4, 4, 1)]
    hypothesis, program = learnt(host, recorded(turning, around))
    assert "turns the single cell of colour 10 into the single cell of colour 11" in hypothesis.rulebook
    other = [Action(a) for a in (1, 1, 2, 1, 4, 1, 1, 4, 1, 1, 2, 1)]  # takes the other thing too, which it never stood before
    assert verify(program, recorded(turning, other)).admissible


def test_the_graph_mind_does_nothing_twice_in_one_frame() -> None:
    actions: list[Action] = []
    done: set[tuple[bytes, Action]] = set()
    for _ in range(40):
        record = recorded(foggy, actions)
        found = GRAPH.make("").explore(case_of(record))
        assert isinstance(found, Probe)
        mark = record.current.last.frame.tobytes(), found.action
        assert mark not in done or found.question.startswith("On the way")
        done.add(mark)
        actions.append(found.action)
