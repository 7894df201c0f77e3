"""What the built-in mind takes for a goal: predicates false wherever the level went on, true wherever it ended; who holds which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from meadow import Meadow, case_of, recorded

from lawbook.core.hypothesis import Hypothesis, Trigger
from lawbook.core.record import Action, Observation, Record, Status, freeze
from lawbook.core.results import Limits, Plan
from lawbook.minds.induce import SOURCE
from lawbook.minds.induce.co_movers import analyse_record
from lawbook.minds.induce.law_induction import find_rival_laws
from lawbook.minds.induce.looks import find
from lawbook.minds.induce.predicates import holds
from lawbook.minds.induce.ranking import parse_laws
from lawbook.minds.induce.state_goals import compute_description_bits
from lawbook.planning.planner import find_plan
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify

LEFT, DOWN, RIGHT, UP = 1, 2, 3, 4
CLICK = 6
ON, OFF = ((8, 8, 8), (8, 1, 8), (8, 8, 8)), ((5, 5, 5), (5, 1, 5), (5, 5, 5))
BUG = ((1, -1, 1), (4, 1, 4), (1, 1, -1))
Lit = Mapping[tuple[int, int], bool]


class Lamps:
    """Boards of lamps, one a level; a click turns one lamp. Beside the board may be a pattern; `done` says when a level is."""

    def __init__(self, levels: Sequence[tuple[Lit, Lit]], done: Callable[[Lit, Lit], bool], small: bool = False) -> None:
        self.levels, self.done, self.small = levels, done, small
        self.level, self.lit = 0, dict(levels[0][0])

    def observe(self, status: Status = Status.RUNNING) -> Observation:
        frame = np.full((14, 30), 2, dtype=np.uint8)
        pattern = self.levels[min(self.level, len(self.levels) - 1)][1]
        for (row, col), on in self.lit.items():
            frame[1 + 3 * row : 4 + 3 * row, 1 + 3 * col : 4 + 3 * col] = ON if on else OFF
        for (row, col), on in pattern.items():
            if self.small:  # one cell for each lamp
                frame[4 + row, 20 + self.level + col] = (ON if on else OFF)[0][0]
            else:
                top, left = 4 + 3 * row, 16 + self.level + 3 * col
                frame[top : top + 3, left : left + 3] = ON if on else OFF
        return Observation((freeze(frame),), status, self.level, (CLICK,))

    def step(self, action: Action) -> Observation:
        assert action.x is not None and action.y is not None
        place = (action.y - 1) // 3, (action.x - 1) // 3
        if place in self.lit:
            self.lit[place] = not self.lit[place]
        if not self.done(self.lit, self.levels[self.level][1]):
            return self.observe()
        self.level += 1
        self.lit = dict(self.levels[min(self.level, len(self.levels) - 1)][0])
        return self.observe(Status.COMPLETED)


def clicked(world: Lamps, places: Sequence[tuple[int, int]]) -> Record:
    """The record of clicks on lamps (row, column), and first of all one beside them, one on the pattern."""
    record = Record(len(world.levels))
    record.extend(None, world.observe())
    clicks = [Action(CLICK, 29, 13), Action(CLICK, 17, 5)] + [Action(CLICK, 1 + 3 * col, 1 + 3 * row) for row, col in places]
    for action in clicks:
        if not record.is_won:
            record.extend(action, world.step(action))
    return record


def board(text: str) -> Lit:
    rows = text.split("/")
    return {(r, c): mark == "#" for r, row in enumerate(rows) for c, mark in enumerate(row)}


def goals(record: Record) -> list[tuple[tuple[str, object], ...]]:
    return [laws.goals for laws in find_rival_laws(analyse_record(record))]


def plan(host: Host, hypothesis: Hypothesis, record: Record) -> tuple[Action, ...]:
    """What a hypothesis would do, once it is seen to hold on all of the record."""
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    verdict = verify(program, record)
    assert verdict.admissible, verdict.reason
    found = find_plan(program, record.current, Limits(nodes=5_000, depth=40), clicks=(CLICK,))
    return found.actions if isinstance(found, Plan) else ()


def proposals(record: Record, population: int, why: Trigger = Trigger.START) -> list[Hypothesis]:
    """What the members of a population propose one after the other, each seeing the texts of those before."""
    mind, told = SOURCE.make(""), list[Hypothesis]()
    for member in range(population):
        told.append(mind.propose(case_of(record, why, member=member, population=population, rivals=tuple(told))).apply_to(None))
    return told


# -- the predicates ---------------------------------------------------------------------------------------------------------


def test_each_predicate_means_what_it_says() -> None:
    ground = np.array([[1, 2, 0, 2, 1], [3, 3, 0, 3, 3], [1, 1, 1, 1, 1]], dtype=np.uint8)

    def so(kind: str, what: object, ground: np.ndarray = ground) -> bool:
        return holds(kind, what, ground, lambda look: len(find(ground, look)))

    assert so("none", ((9,),)) and not so("none", ((2,),))
    assert so("left", (((2,),), 2)) and not so("left", (((2,),), 1))
    assert so("alike", (((2,),), ((9,),))) and not so("alike", (((2,),), ((3,),))) and not so("alike", (((8,),), ((9,),)))
    assert so("match", (0, 0, 2, 2, 0, 3, 1, 0, "left and right")) and not so("match", (0, 0, 2, 2, 0, 3, 1, 0, "as it is"))
    assert so("match", (0, 0, 2, 2, 0, 3, 1, 0, "as it is"), ground[:, [0, 1, 2, 0, 1]])
    large = np.kron(np.array([[1, 2], [3, 3]]), np.ones((3, 3))).astype(np.uint8)
    both = np.zeros((6, 9), dtype=np.uint8)
    both[:, :6], both[2:4, 7:] = large, [[3, 3], [1, 2]]
    assert so("match", (0, 0, 6, 6, 2, 7, 3, 1, "top and bottom"), both)
    assert not so("match", (0, 0, 6, 6, 5, 8, 3, 1, "as it is"), both)  # the pattern would reach beyond the frame


def test_the_cheapest_to_write_down_comes_first() -> None:
    kinds = [("none", ON), ("left", (ON, 1)), ("alike", (ON, OFF)), ("match", (0, 0, 2, 2, 0, 3, 1, 0, "as it is"))]
    costs = [compute_description_bits(kind) for kind in kinds]
    assert costs[0] < costs[1] <= costs[2] < costs[3]


def test_what_has_been_so_without_completing_is_dropped() -> None:
    """Ties are rivals until one of them has been so in vain: here first all lamps on, then all off."""
    level = [(board("#.#"), {})]
    tour = [(0, 0), (0, 1), (0, 1), (0, 0), (0, 2), (0, 2)]
    earlier = [found[-1] for found in goals(clicked(Lamps(level, lambda lit, _: False), tour))]
    assert {("none", ON), ("none", OFF), ("alike", (OFF, ON))} <= set(earlier)
    later = [found[-1] for found in goals(clicked(Lamps(level, lambda lit, _: False), [*tour, (0, 1)]))]  # all on
    assert ("none", ON) in later and ("none", OFF) not in later and ("alike", (OFF, ON)) not in later
    last = goals(clicked(Lamps(level, lambda lit, _: False), [*tour, (0, 1), (0, 0), (0, 1), (0, 2)]))
    assert not {("none", ON), ("none", OFF)} & {found[-1] for found in last if found}


def test_all_alike(host: Host) -> None:
    """Two levels, completed with all lamps on and with all off: only that they are alike explains both."""
    levels = [(board("##.#"), {}), (board("..##"), {}), (board("#..."), {})]
    world = Lamps(levels, lambda lit, _: len(set(lit.values())) == 1)
    tour = [(0, 0), (0, 0), (0, 3), (0, 3), (0, 1), (0, 1), (0, 2)]
    record = clicked(world, [*tour, (0, 0), (0, 0), (0, 2), (0, 3)])
    assert record.level == 2
    (found, *_) = goals(record)
    assert found == (("alike", (OFF, ON)),)
    (told,) = proposals(record, 1)
    assert "all of these are alike" in told.rulebook
    assert plan(host, told, record) == (Action(CLICK, *_lamp(0, 0)),)  # the nearer way: off


def _lamp(row: int, col: int) -> tuple[int, int]:
    """A cell of a lamp, as the program clicks it: (x, y)."""
    return 1 + 3 * col, 1 + 3 * row


@pytest.mark.parametrize("small", [False, True])
def test_a_region_like_a_pattern(host: Host, small: bool) -> None:
    """Two levels of a board to be made like a pattern, that lies elsewhere in the second."""
    levels = [(board("#.#/..."), board("##./#.#")), (board(".../.##"), board("#.#/.#."))]
    world = Lamps(levels, lambda lit, pattern: lit == pattern, small)
    record = clicked(world, [(0, 1), (0, 1), (1, 1), (1, 1)])
    there = (4, 20, 3, 0) if small else (4, 16, 1, 0)
    wanted = ("match", (1, 1, 6, 9, *there, "as it is"))
    assert wanted in [found[-1] for found in goals(record)]
    for action in _solved(host, record, wanted, small, [(0, 1), (0, 2), (1, 0), (1, 2)]):
        record.extend(action, world.step(action))
    assert record.level == 1  # that was it
    for action in (Action(CLICK, *_lamp(0, 0)), Action(CLICK, *_lamp(0, 1)), Action(CLICK, *_lamp(0, 1))):
        record.extend(action, world.step(action))
    here = ("match", (1, 1, 6, 9, 4, there[1] + 1, *there[2:], "as it is"))
    assert (wanted, here) in goals(record)  # the first level's, and this one's
    for action in _solved(host, record, here, small, [(0, 2), (1, 2)]):
        record.extend(action, world.step(action))
    assert record.is_won


def _solved(host: Host, record: Record, goal: object, small: bool, clicks: Sequence[tuple[int, int]]) -> Sequence[Action]:
    """What the member with this goal would do. A pattern of lamps looks as if it could be clicked, so there `clicks` are told."""
    if not small:
        return [Action(CLICK, *_lamp(*place)) for place in clicks]
    holder = next(told for told in proposals(record, 8) if (laws := parse_laws(told)) is not None and laws.goals[-1] == goal)
    return plan(host, holder, record)


TILES = {"r": (((9,) * 3,) * 3, "eat"), "x": (tuple((7, 0, 7) for _ in range(3)), "eat")}


class Feast(Meadow):
    """A level is completed when no more than `most` of `r` are left."""

    most = 0

    def step(self, action: Action) -> Observation:
        seen = super().step(action)
        if seen.status is Status.RUNNING and sum(row.count("r") for row in self.map) <= self.most:
            self.level += 1
            return self.reset_to_next()
        return seen


def test_none_left_of_a_kind_that_an_avatar_takes(host: Host) -> None:
    levels = [["..r..", ".@.r.", "x...."], ["@.r..", "..xr.", ".r..."]]
    record = recorded(Feast(levels, look=BUG, tiles=TILES), [LEFT, RIGHT, UP, DOWN, DOWN, LEFT, UP, RIGHT, RIGHT, UP, RIGHT, DOWN])
    assert record.level == 1
    record.extend(Action(DOWN), _again(levels).step(Action(DOWN)))
    (told, *_) = proposals(record, 1, Trigger.LEVEL)
    assert "there is no the figure of 3 x 3 cells in colour 9" in told.rulebook


def _again(levels: Sequence[Sequence[str]]) -> Feast:
    world = Feast(levels, look=BUG, tiles=TILES)
    world.level = 1
    world.reset()
    return world


# -- the members ------------------------------------------------------------------------------------------------------------

MARKS = {mark: (((colour,),), "enter") for mark, colour in zip("abcd", (8, 9, 10, 11), strict=True)}


def test_members_hold_what_would_do_something_else(host: Host) -> None:
    tour = [UP, DOWN, LEFT, RIGHT, RIGHT, LEFT, DOWN, UP]
    record = recorded(Meadow([["...a...", ".......", "b..@..c", ".......", "...d..."]], tiles=MARKS), tour)
    told = proposals(record, 4)
    plans = [plan(host, text, record) for text in told]
    assert len(set(plans)) == 4 and all(len(way) == (2 if way[0].id in (UP, DOWN) else 3) for way in plans)


def test_a_member_that_was_wrong_takes_what_no_other_holds(host: Host) -> None:
    tour = [UP, DOWN, LEFT, RIGHT, RIGHT, LEFT, DOWN, UP]
    rows = [["...a...", ".......", "b..@..c", ".......", "...d..."]]
    record = recorded(Meadow(rows, tiles=MARKS), tour)
    told = proposals(record, 2)
    assert parse_laws(told[0]).guess != parse_laws(told[1]).guess  # type: ignore[union-attr]
    way = [action.id for action in plan(host, told[0], record)]
    later = recorded(Meadow(rows, tiles=MARKS), [*tour, *way])
    case = case_of(later, Trigger.MISMATCH, member=0, population=2, hypothesis=told[0], rivals=(told[1],))
    anew = SOURCE.make("").propose(case).apply_to(told[0])
    assert parse_laws(anew).guess not in (parse_laws(told[0]).guess, parse_laws(told[1]).guess, None)  # type: ignore[union-attr]
    # One that was wrong about something else keeps its guess.
    case = case_of(later, Trigger.MISMATCH, member=1, population=2, hypothesis=told[1], rivals=(anew,))
    assert parse_laws(SOURCE.make("").propose(case).apply_to(told[1])).guess == parse_laws(told[1]).guess  # type: ignore[union-attr]


def test_a_text_is_read_back_as_the_laws_it_was_written_from() -> None:
    record = recorded(Meadow([["@..o", "#.cG"]]), [RIGHT, RIGHT, DOWN, LEFT, LEFT, UP, RIGHT, RIGHT])
    laws = find_rival_laws(analyse_record(record))[0]
    found = parse_laws(proposals(record, 1)[0])
    assert found is not None and replace(found, starts={}, places={}, histories=()) == laws


@pytest.mark.parametrize("text", ["", "guess = 1", "import os", "guess = os.getcwd()", "x = (" * 500, "bodies = ["])
def test_a_text_of_somebody_else_is_nobodys(text: str) -> None:
    assert parse_laws(Hypothesis("R1. x", {"world_model_engine.py": "", "learnt.py": text})) is None
    assert parse_laws(Hypothesis("R1. x", {"world_model_engine.py": ""})) is None


def test_nothing_of_a_text_is_run() -> None:
    """It is read as data: a table that computes is no table."""
    record = recorded(Meadow([["@.G"]]), [RIGHT])
    told = proposals(record, 1)[0]
    spoilt = told.files["learnt.py"].replace("floor = ", "floor = __import__('os').getcwd() or ")
    assert spoilt != told.files["learnt.py"]
    assert parse_laws(Hypothesis(told.rulebook, {**told.files, "learnt.py": spoilt})) is None
