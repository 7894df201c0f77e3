"""The built-in mind: what it proposes always holds, says what it does not know, and leads to what is not known yet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meadow import Meadow, case_of, recorded

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger, find_rule_citations
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import Limits, NoPlan, Plan, Probe, RunOutcome, Subgoal, Verdict, VerdictKind
from lawbook.errors import UsageError
from lawbook.minds.base import Case, Version
from lawbook.minds.induce import SOURCE
from lawbook.minds.induce.avatar_detection import find_avatar_looks
from lawbook.minds.induce.motion import Mover, find_movers
from lawbook.planning.planner import find_plan
from lawbook.protocols import gate
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify

LEFT, DOWN, RIGHT, UP = 1, 2, 3, 4
RULES = get_protocol("memento3")
BUG = ((1, -1, 1), (4, 1, 4), (1, 1, -1))
RING = ((5, 6, 5), (6, 5, 6), (5, 6, 5))
BLOCK = ((6, 6, 5), (6, 6, 5), (5, 5, 5))


def recoloured(look: tuple[tuple[int, ...], ...], colour: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(colour if cell == 6 else cell for cell in row) for row in look)


def proposed(case: Case) -> tuple[Proposal, Hypothesis]:
    """What a fresh mind proposes, checked against the decision rules."""
    proposal = SOURCE.make("").propose(case)
    assert gate.find_broken_rule(RULES, case.hypothesis, case.admissible, proposal) is None
    return proposal, proposal.apply_to(case.hypothesis)


def checked(host: Host, hypothesis: Hypothesis, record: Record) -> Verdict:
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    return verify(program, record)


def way(host: Host, hypothesis: Hypothesis, record: Record, subgoal: Subgoal | None = None) -> list[int]:
    """The plan of this hypothesis from where the record has got to, as action numbers."""
    program = host.load(hypothesis.files)
    assert isinstance(program, Program), program
    found = find_plan(program, record.current, Limits(nodes=20_000, depth=50), subgoal.source if subgoal else None)
    assert isinstance(found, Plan | NoPlan), found
    return [action.id for action in found.actions] if isinstance(found, Plan) else []


# -- it always holds --------------------------------------------------------------------------------------------------------

ODDITIES = ("clock", "bar", "tired", "ghost", "vanish", "trail", "flash", "short")


@st.composite
def meadows(draw: st.DrawFn) -> Meadow:
    """Worlds of one or two levels, avatars of 1, 2 or 3 cells a side, any order of the four ways, up to three oddities."""
    size = draw(st.sampled_from((1, 1, 2, 3)))
    cells = st.sampled_from((1, 4, 1, 4, -1)) if size > 1 else st.just(1)
    look = tuple(tuple(draw(cells) for _ in range(size)) for _ in range(size))
    if all(cell < 0 for row in look for cell in row):
        look = ((1,) * size, *look[1:])
    height, width = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    levels = []
    for _ in range(draw(st.integers(1, 2))):
        rows = [draw(st.text("......#ocT", min_size=width, max_size=width)) for _ in range(height)]
        start, goal = draw(st.lists(st.integers(0, height * width - 1), min_size=2, max_size=2, unique=True))
        for place, mark in ((start, "@"), (goal, "G")):
            row, col = divmod(place, width)
            rows[row] = rows[row][:col] + mark + rows[row][col + 1 :]
        levels.append(rows)
    ways = draw(st.permutations([(0, -1), (1, 0), (0, 1), (-1, 0)]))
    return Meadow(levels, look=look, ways=ways, odd=draw(st.lists(st.sampled_from(ODDITIES), max_size=3)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(world=meadows(), actions=st.lists(st.one_of(st.integers(1, 4), st.just(RESET)), max_size=40), member=st.integers(0, 3))
def test_a_proposal_reproduces_its_record_exactly(host: Host, world: Meadow, actions: list[int | Action], member: int) -> None:
    record = recorded(world, [a for k, a in enumerate(actions) if a != RESET or (k and actions[k - 1] != RESET)])
    case = case_of(record, member=member, population=4)
    proposal, hypothesis = proposed(case)
    assert proposal.decision is Decision.REVISE_RULEBOOK
    verdict = checked(host, hypothesis, record)
    assert verdict.admissible, verdict.reason
    assert SOURCE.make("").judge(case, hypothesis).faithful
    if not (record.needs_reset or record.is_won):
        answer = SOURCE.make("").explore(case)
        assert isinstance(answer, Probe) and answer.action.id in (1, 2, 3, 4)  # nothing is admissible yet, so nobody plans


def test_worlds_in_which_nothing_moves_as_a_whole_are_learnt_by_heart(host: Host) -> None:
    noise = np.random.default_rng(0)
    record = Record()
    record.extend(None, Observation((freeze(noise.integers(0, 16, (12, 12))),), Status.RUNNING, 0, (1, 2)))
    for step in range(12):
        frame = freeze(noise.integers(0, 16, (12, 12)))
        record.extend(Action(1 + step % 2), Observation((frame,), Status.RUNNING, 0, (1, 2)))
    _, hypothesis = proposed(case_of(record))
    assert checked(host, hypothesis, record).admissible
    assert "No avatar is known" in hypothesis.rulebook and "learnt by heart, one place each: (12)" in hypothesis.rulebook


def test_one_record_one_answer() -> None:
    record = recorded(Meadow([["@..#", "..oG", "c..."]], look=BUG), [2, 3, 3, 1, 2, 4, 3, 3, 2, 3])
    used = SOURCE.make("")
    for size in (0, 3, 6):  # the same mind, having thought about other records in between
        used.propose(case_of(recorded(Meadow([["@.G"]]), [3] * min(size, 1))))
    for member in range(3):
        case = case_of(record, member=member, population=3)
        assert used.propose(case) == used.propose(case) == SOURCE.make("").propose(case)
        assert used.explore(case) == SOURCE.make("").explore(case)


# -- what it says -----------------------------------------------------------------------------------------------------------


def test_every_rule_is_cited_and_what_is_not_known_is_asked(host: Host) -> None:
    record = recorded(Meadow([["@..o", "#.cG"]]), [RIGHT, RIGHT, DOWN, LEFT, LEFT, UP, RIGHT, RIGHT])
    _, hypothesis = proposed(case_of(record))
    found = find_rule_citations(hypothesis)
    assert len(found.rules) > 7 and not found.uncited and not found.unknown
    for sentence in (
        "The avatar is the single cell of colour 1.",
        "action 1 moves it 1 left; action 2 moves it 1 down; action 3 moves it 1 right; action 4 moves it 1 up",
        "Open ground is colour 5",
        "A figure of colour 2 stops the avatar.",
        "A figure of colour 8 ends the game; the avatar is then seen on it.",
        "A figure of colour 7 can be walked on, and 1 cell there turns to colour 5.",
        "A guess, until it has been reached: a figure of colour 3 completes the level.",
    ):
        assert sentence in hypothesis.rulebook
    assert found.questions and "Is a figure of colour 3 the goal?" in hypothesis.rulebook


def test_nothing_is_known_before_anything_was_tried() -> None:
    _, hypothesis = proposed(case_of(recorded(Meadow([["@.G"]]), [])))
    assert "No avatar is known" in hypothesis.rulebook
    assert "What does action 4 do?" in hypothesis.rulebook


def test_what_no_law_explains_is_an_exception_of_one_place(host: Host) -> None:
    world = [["@....", "....."]]
    record = recorded(Meadow(world, odd=["ghost"]), [RIGHT, RIGHT, RIGHT, RIGHT, DOWN, UP, LEFT])  # nothing shows why
    _, hypothesis = proposed(case_of(record))
    assert "one place each: (1) action 3 at row 0, column 3" in hypothesis.rulebook
    # It is remembered for that place, whatever way leads there.
    again = recorded(Meadow(world, odd=["ghost"]), [RIGHT, RIGHT, DOWN, RIGHT, UP, RIGHT])
    assert checked(host, hypothesis, again).admissible


def test_a_place_with_two_outcomes_is_an_exception_of_its_history(host: Host) -> None:
    record = recorded(Meadow([["...@..."]], odd=["tired"]), [RIGHT, LEFT, RIGHT, LEFT, RIGHT])
    _, hypothesis = proposed(case_of(record))
    assert checked(host, hypothesis, record).admissible
    assert "one place each: none." in hypothesis.rulebook
    assert "one history each: (1) from first frame" in hypothesis.rulebook


def test_of_several_figures_that_look_like_it_the_avatar_is_the_one_that_went(host: Host) -> None:
    tiles = {"d": (tuple(tuple(5 if cell < 0 else cell for cell in row) for row in BUG), "stop")}
    record = recorded(Meadow([["d...", "..@.", "...d"]], look=BUG, tiles=tiles), [RIGHT, LEFT, UP])
    _, hypothesis = proposed(case_of(record))
    assert "at the start, first frame" in hypothesis.rulebook and "the avatar is at row 3, column 6" in hypothesis.rulebook
    again = recorded(Meadow([["d...", "..@.", "...d"]], look=BUG, tiles=tiles), [LEFT, UP, RIGHT])
    assert checked(host, hypothesis, again).admissible


# -- what it makes of it ----------------------------------------------------------------------------------------------------


def test_what_was_learnt_holds_in_another_level(host: Host) -> None:
    levels = [["@.#o.", "...G.", "#####", "....."], ["o..#G", "#.#..", "@..o.", "....."]]
    seen = recorded(Meadow(levels, look=BUG), [RIGHT, RIGHT, DOWN, LEFT, UP, RIGHT, DOWN, RIGHT, RIGHT])
    assert seen.level == 1 and len(seen.current) == 0
    _, hypothesis = proposed(case_of(seen, Trigger.MISMATCH))
    plan = way(host, hypothesis, seen)
    world = Meadow(levels, look=BUG)
    world.level = 1
    record = recorded(world, plan)
    assert record.last is not None and record.last.status is Status.COMPLETED


def test_members_hold_rivals_until_the_record_tells_them_apart(host: Host) -> None:
    tiles = {
        "r": (recoloured(RING, 9), "win"),
        "b": (recoloured(RING, 11), "win"),
        "q": (recoloured(BLOCK, 9), "enter"),
    }
    levels = [[".....", "@.r.."], ["b.@.q", "....."], ["q.@.b", "....."]]
    tour = [UP, DOWN, RIGHT, LEFT, RIGHT, RIGHT]  # all four ways, then the first level's goal: a red ring
    record = recorded(Meadow(levels, look=BUG, tiles=tiles), tour)
    assert record.level == 1
    plans = [way(host, proposed(case_of(record, member=member, population=3))[1], record) for member in range(2)]
    assert plans == [[RIGHT, RIGHT], [LEFT, LEFT]]  # is it the red, or the ring?
    refuted = recorded(Meadow(levels, look=BUG, tiles=tiles), [*tour, RIGHT, RIGHT])
    assert refuted.level == 1
    for member in range(3):
        assert way(host, proposed(case_of(refuted, member=member, population=3))[1], refuted) == [LEFT] * 4


def test_what_kills_has_rival_descriptions_too() -> None:
    tiles = {"r": (recoloured(RING, 9), "die"), "b": (recoloured(RING, 11), "enter"), "q": (recoloured(BLOCK, 9), "enter")}
    record = recorded(Meadow([["b..", "@.r", "q.."]], look=BUG, tiles=tiles), [RIGHT, RIGHT])
    said = {proposed(case_of(record, member=member, population=9))[1].rulebook for member in range(9)}
    assert any("- R9. A figure of colour 9 ends the game" in rulebook for rulebook in said)
    assert any(
        "- R9. A figure of the shape `.#. / #.# / .#.`, whatever its colours, ends the game" in rulebook for rulebook in said
    )


def test_a_guess_that_was_reached_in_vain_is_dropped(host: Host) -> None:
    tiles = {"x": (((9,),), "enter"), "G": (((3,),), "win")}
    maps = [["x..", ".@.", "..G", "G.."]]
    record = recorded(Meadow(maps, tiles=tiles), [LEFT, RIGHT, UP, DOWN])
    _, hypothesis = proposed(case_of(record))
    assert "a guess" in hypothesis.rulebook.lower() and "colour 9 completes" in hypothesis.rulebook  # the rarest thing
    plan = way(host, hypothesis, record)
    assert len(plan) == 2
    record = recorded(Meadow(maps, tiles=tiles), [LEFT, RIGHT, UP, DOWN, *plan])
    _, hypothesis = proposed(case_of(record))
    assert "A figure of colour 9 can be walked on." in hypothesis.rulebook
    assert "a figure of colour 3 completes" in hypothesis.rulebook


# -- what it asks -----------------------------------------------------------------------------------------------------------


def explored(record: Record, hypothesis: Hypothesis, **given: object) -> Subgoal | Probe:
    return SOURCE.make("").explore(case_of(record, Trigger.EXPLORE, hypothesis=hypothesis, admissible=True, **given))


def test_it_walks_to_what_it_does_not_know_and_then_touches_it(host: Host) -> None:
    world = [["@...x"]]
    tiles = {"x": (((9,),), "stop")}
    record = recorded(Meadow(world, tiles=tiles, ways=[(0, 1)]), [1])
    _, hypothesis = proposed(case_of(record))
    answer = explored(record, hypothesis)
    assert isinstance(answer, Subgoal) and "colour 9" in answer.question
    plan = way(host, hypothesis, record, answer)
    assert plan == [1, 1]
    record = recorded(Meadow(world, tiles=tiles, ways=[(0, 1)]), [1, *plan])
    answer = explored(record, hypothesis)
    assert isinstance(answer, Probe) and answer.action == Action(1) and "colour 9" in answer.question


def test_a_way_that_was_refused_is_walked_one_probe_at_a_time() -> None:
    record = recorded(Meadow([["@...x"]], tiles={"x": (((9,),), "stop")}, ways=[(0, 1)]), [1])
    _, hypothesis = proposed(case_of(record))
    assert isinstance(explored(record, hypothesis), Subgoal)
    answer = explored(record, hypothesis, refusal="No way to that subgoal.")
    assert isinstance(answer, Probe) and answer.action == Action(1)


def test_what_kills_is_not_tried_again(host: Host) -> None:
    world, actions = [["#o#", "o@.", "#.#"]], [UP, RESET, DOWN, UP]
    for _ in range(30):
        record = recorded(Meadow(world), actions)
        if record.needs_reset:
            actions.append(RESET)
            continue
        _, hypothesis = proposed(case_of(record))
        answer = explored(record, hypothesis)
        actions += [answer.action.id] if isinstance(answer, Probe) else way(host, hypothesis, record, answer)
    assert len(actions) > 30
    assert sum(Status.OVER in trajectory.statuses for trajectory in record) == 2  # once more while an action was unknown


# -- the rules of deciding --------------------------------------------------------------------------------------------------


def test_what_stands_is_retained_when_nothing_speaks_against_it() -> None:
    record = recorded(Meadow([["@..#"]]), [RIGHT, RIGHT, RIGHT])
    _, hypothesis = proposed(case_of(record))
    for why in (Trigger.NO_PLAN, Trigger.LEVEL, Trigger.SIMPLIFY):
        again, _ = proposed(case_of(record, why, hypothesis=hypothesis, admissible=True))
        assert again.decision is Decision.RETAIN and again.rulebook is None and again.files is None


def test_a_mismatch_revises_the_rulebook() -> None:
    world, actions = [["@..#"]], [RIGHT, RIGHT, RIGHT]
    for length in (0, 1, 2):
        _, hypothesis = proposed(case_of(recorded(Meadow(world), actions[:length])))
        longer = recorded(Meadow(world), actions[: length + 1])
        again, _ = proposed(case_of(longer, Trigger.MISMATCH, hypothesis=hypothesis))
        if length != 1:  # the second step was foretold
            assert again.decision is Decision.REVISE_RULEBOOK


def test_without_a_rulebook_only_code_is_proposed(host: Host) -> None:
    record = recorded(Meadow([["@..#"]]), [RIGHT, RIGHT])
    case = case_of(record, needs_rulebook=False)
    proposal = SOURCE.make("").propose(case)
    assert proposal.decision is Decision.REPAIR_CODE and proposal.rulebook is None
    assert gate.find_broken_rule(get_protocol("no-rulebook"), None, False, proposal) is None
    assert checked(host, proposal.apply_to(None), record).admissible


def test_what_was_refused_is_not_proposed_again(host: Host) -> None:
    record = recorded(Meadow([["@.o", "..G"]], look=BUG), [RIGHT, LEFT, DOWN, RIGHT, UP])
    history: list[Version] = []
    for _ in range(gate.MAX_REFUSALS):
        proposal, hypothesis = proposed(case_of(record, Trigger.REFUSED, history=tuple(history)))
        if any(version.hypothesis == hypothesis for version in history):
            break
        history.append(Version(proposal.decision, hypothesis, VerdictKind.FAULT, "broken", record.n_actions))
        assert checked(host, hypothesis, record).admissible
    assert len(history) >= 2
    assert "No avatar is known" in history[-1].hypothesis.rulebook  # at last by heart, with no avatar in it


# -- what it sees -----------------------------------------------------------------------------------------------------------


def test_a_figure_of_several_colours_is_one_group() -> None:
    world = Meadow([["...", "@..", "..."]], look=BUG)
    before = world.reset().frame
    after = world.step(Action(RIGHT)).frame
    assert Mover(BUG, 3, 0, (0, 3)) in find_movers(before, after)
    assert find_movers(before, before) == []


def test_a_figure_that_goes_its_own_way_is_no_avatar() -> None:
    record = Record()

    def frame(wanderer: int, avatar: int) -> Observation:
        cells = np.zeros((5, 6), dtype=np.uint8)
        cells[0, wanderer % 6], cells[3, avatar] = 7, 4
        return Observation((freeze(cells),), Status.RUNNING, 0, (1, 2, 3))

    record.extend(None, frame(0, 2))
    avatar = 2
    for step, action in enumerate([1, 2, 3, 1, 1, 2, 3, 3, 2, 2, 1, 3], start=1):
        avatar = min(max(avatar + {1: 1, 2: -1, 3: 0}[action], 0), 5)
        record.extend(Action(action), frame(step, avatar))
    assert find_avatar_looks(record) == (((4,),),)


# -- and plays --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "protocol", "population", "budget"),
    [
        ("gym:FrozenLake-v1?map_seed=7&size=8", "memento3", 1, 60),
        ("gym:FrozenLake-v1?map_seed=3&size=4", "no-rulebook", 1, 60),
        ("gym:FrozenLake-v1?map_seed=3&size=4", "vanilla", 1, 60),
        ("demo:twins", "memento3", 3, 200),
        ("demo:maze", "memento3", 1, 200),
        ("demo:keys", "memento3", 1, 300),
        ("demo:mirror", "memento3", 1, 200),
        ("demo:lights", "memento3", 1, 100),
    ],
)
def test_it_wins(tmp_path: Path, host: Host, world: str, protocol: str, population: int, budget: int) -> None:
    config = RunConfig(world, protocol=protocol, population=population, budget=budget)
    with start_run(config, tmp_path, host=host) as (_, session):
        play(session)
        assert session.state.outcome is RunOutcome.WON
        history = [version for member in session.state.members for version in member.history]
        assert all(version.outcome is VerdictKind.ADMISSIBLE for version in history)


def test_it_takes_nothing_after_a_colon() -> None:
    with pytest.raises(UsageError):
        SOURCE.make("large")
