"""Laws of the built-in mind, one by one, on small worlds: each foretells what the record has not shown, through the real host."""

from __future__ import annotations

import numpy as np
from meadow import case_of
from yard import DOWN, LEFT, RIGHT, UP, Yard, seen

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Observation, Record, Status, freeze
from lawbook.core.results import Probe
from lawbook.minds.base import Interface
from lawbook.minds.induce import SOURCE
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify


def learnt(host: Host, record: Record) -> tuple[Hypothesis, Program, int]:
    """What is proposed, loaded and verified, and how much of the record it has learnt by heart."""
    mind, case = SOURCE.make(""), case_of(record)
    hypothesis = mind.propose(case).apply_to(None)
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    verdict = verify(program, record)
    assert verdict.admissible, verdict
    return hypothesis, program, mind.exceptions(case)


def foretells(program: Program, record: Record) -> bool:
    """Does a program that was learnt from another record reproduce this one?"""
    return verify(program, record).admissible


LOCKED = ("#########", "#@..A...#", "#.#.#.#.#", "#..a#...#", "#########")
LOCKED_ELSEWHERE = ("#########", "#.b.#...#", "#...B.#@#", "#...#...#", "#########")


def test_what_has_been_taken_opens_what_is_shut_in_any_colour(host: Host) -> None:
    walk = (RIGHT, RIGHT, RIGHT, DOWN, DOWN, UP, UP, RIGHT, RIGHT, RIGHT, DOWN, UP, LEFT)
    record = seen(Yard(LOCKED), (UP, LEFT, DOWN, UP, *walk))
    hypothesis, program, exceptions = learnt(host, record)
    assert exceptions == 0
    assert "A gate" in hypothesis.rulebook and "in its own colour" in hypothesis.rulebook
    assert "it is shown at row 0, column 24 too" in hypothesis.rulebook
    there = (UP, LEFT, LEFT, DOWN, LEFT, LEFT)
    assert foretells(program, seen(Yard(LOCKED_ELSEWHERE), there))
    turned = tuple(row[::-1] for row in LOCKED_ELSEWHERE)
    assert foretells(program, seen(Yard(turned), (DOWN, RIGHT, UP, RIGHT, LEFT, UP, RIGHT)))
    corridor = Yard(("#########", "#b@.B...#", "#########"))
    assert foretells(program, seen(corridor, (RIGHT, RIGHT, LEFT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT)))


ICE = ("##########", "#@....#..#", "#........#", "#.#......#", "#....#...#", "#......#.#", "##########")
ICE_ELSEWHERE = ("##########", "#...#....#", "#.@......#", "#......#.#", "#.#......#", "#......#G#", "##########")


def test_what_goes_on_until_it_is_stopped_does_so_in_another_place(host: Host) -> None:
    record = seen(Yard(ICE, ice=True), (RIGHT, DOWN, LEFT, UP, DOWN, RIGHT, UP, RIGHT, DOWN, LEFT, UP, LEFT, DOWN))
    hypothesis, program, exceptions = learnt(host, record)
    assert exceptions == 0
    assert "is slid over" in hypothesis.rulebook
    assert foretells(program, seen(Yard(ICE_ELSEWHERE, ice=True), (RIGHT, UP, LEFT, DOWN, RIGHT, UP, LEFT, UP)))


BELTS = ("##########", "#@.>..>..#", "#..>.....#", "#..#.....#", "##########")


def test_what_carries_the_avatar_along_does_so_on_every_way(host: Host) -> None:
    record = seen(Yard(BELTS), (RIGHT, RIGHT, DOWN, UP, RIGHT, RIGHT, DOWN, LEFT, LEFT, LEFT, LEFT, UP))
    hypothesis, program, exceptions = learnt(host, record)
    assert exceptions == 0
    assert "carries the avatar on, 3 right" in hypothesis.rulebook
    belts = ("##########", "#...@....#", "#...>....#", "#.>......#", "#........#", "##########")
    assert foretells(program, seen(Yard(belts), (DOWN, UP, LEFT, LEFT, DOWN, LEFT, DOWN, LEFT, LEFT, UP, RIGHT)))


MIRROR = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, 1), RIGHT: (0, -1)}
PAIR = ("#############", "#@....#.....#", "#.....#.#m..#", "#.#...#...#.#", "#...O.#.Q...#", "#############")


def test_one_action_moves_several_figures_each_on_its_way(host: Host) -> None:
    world = Yard(PAIR, mirror=MIRROR)
    record = seen(world, (LEFT, RIGHT, DOWN, LEFT, UP, RIGHT, RIGHT, DOWN, LEFT, DOWN, DOWN, RIGHT))
    hypothesis, program, exceptions = learnt(host, record)
    assert exceptions == 0
    assert "The same actions move" in hypothesis.rulebook
    turned = tuple(row[::-1] for row in PAIR)
    assert foretells(program, seen(Yard(turned, mirror=MIRROR), (LEFT, DOWN, RIGHT, RIGHT, DOWN, LEFT, UP, LEFT)))


def test_every_figure_at_home_is_a_goal(host: Host) -> None:
    record = seen(Yard(PAIR, mirror=MIRROR), (RIGHT, DOWN, LEFT, UP, RIGHT, RIGHT, DOWN, LEFT, DOWN, DOWN, RIGHT))
    hypothesis, _, _ = learnt(host, record)
    assert "stands on a figure of colour 7 and" in hypothesis.rulebook


OPEN = ("#########", "#@...#..#", "#..#....#", "#....#..#", "#########")


def test_a_part_that_shows_another_again_is_no_second_world(host: Host) -> None:
    record = seen(Yard(OPEN, shown=True), (RIGHT, LEFT, RIGHT, DOWN, RIGHT, DOWN, RIGHT, RIGHT, UP, LEFT, UP, RIGHT))
    hypothesis, program, exceptions = learnt(host, record)
    assert exceptions == 0
    assert "again, upside down." in hypothesis.rulebook
    turned = tuple(row[::-1] for row in OPEN)
    assert foretells(program, seen(Yard(turned, shown=True), (LEFT, LEFT, DOWN, RIGHT, DOWN, LEFT, LEFT, LEFT, UP)))


def test_a_click_is_made_where_none_was_made_yet() -> None:
    frame = np.zeros((20, 20), dtype=np.uint8)
    frame[8:11, 5:8] = frame[8:11, 12:15] = 4
    frame[0:2, 9:13] = 7  # a display at the rim
    seen_so = Observation((freeze(frame),), Status.RUNNING, 0, (6,))
    record, mind, clicked = Record(1), SOURCE.make(""), list[tuple[int, int]]()
    record.extend(None, seen_so)
    for _ in range(3):
        answer = mind.explore(case_of(record, interface=Interface((20, 20), (6,), (6,), 1)))
        assert isinstance(answer, Probe) and answer.action.x is not None and answer.action.y is not None
        clicked.append((answer.action.y, answer.action.x))
        record.extend(answer.action, seen_so)
    assert sorted(frame[place] for place in clicked) == [4, 4, 7]
    assert {x // 10 for y, x in clicked if frame[y, x] == 4} == {0, 1}
