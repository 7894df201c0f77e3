"""The built-in mind under `belief`: what no law explains is left open, in prose and in the program; nothing is learnt by heart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meadow import Meadow, case_of, recorded
from test_induce import meadows
from yard import DOWN, LEFT, RIGHT, UP, Yard, seen

from lawbook.core.hypothesis import ENGINE, Hypothesis, find_open_rules, find_rule_citations
from lawbook.core.record import RESET, Action, Observation, Record, Status, Trajectory, freeze
from lawbook.minds.base import Case, Interface, judge_by_citations
from lawbook.minds.induce import SOURCE
from lawbook.minds.induce.beliefs import Believer, State
from lawbook.minds.induce.doubt_induction import find_area, get_statuses, make_observation, make_start
from lawbook.minds.induce.nearby import Presses, find_button
from lawbook.minds.induce.press_induction import Press, learn_presses
from lawbook.minds.induce.types import Grid
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify


def believe(record: Record, interface: Interface | None = None) -> Hypothesis:
    """What is proposed under belief."""
    case = case_of(record, allows_open=True, **({"interface": interface} if interface else {}))
    return SOURCE.make("").propose(case).apply_to(None)


def load_engine(hypothesis: Hypothesis) -> SimpleNamespace:
    """The program's functions, its files run here: each imports the others by name."""
    modules: dict[str, ModuleType] = {}

    def import_file(name: str) -> ModuleType:
        if name not in modules:
            modules[name] = module = ModuleType(name)
            module.__dict__["__builtins__"] = {**vars(__import__("builtins")), "__import__": import_beside}
            exec(compile(hypothesis.files[f"{name}.py"], f"{name}.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        return modules[name]

    def import_beside(name: str, *rest: object) -> object:
        return import_file(name) if f"{name}.py" in hypothesis.files else __import__(name, *rest)  # type: ignore[arg-type]

    return SimpleNamespace(**vars(import_file(ENGINE.removesuffix(".py"))))


def iterate_states(engine: SimpleNamespace, trajectory: Trajectory, n_looks: int) -> Iterator[tuple[State, State, Observation]]:
    """(state before, state after, observation) of every step, with a look after each of the first so many."""
    state = engine.initial_state(make_start(trajectory))
    for step, (action, observation) in enumerate(trajectory.steps):
        before, state = state, engine.step(state, action)
        yield before, state, observation
        if step < n_looks and observation.status is Status.RUNNING:
            state = engine.update(state, make_observation(observation))


def find_wrong_claim(engine: SimpleNamespace, trajectory: Trajectory, n_looks: int) -> str:
    """The first claim of a trajectory that was not so, in words; empty where all of them hold."""
    for step, (_, state, observation) in enumerate(iterate_states(engine, trajectory, n_looks), start=1):
        if observation.status is Status.TRUNCATED:
            continue
        if observation.status not in get_statuses(engine, state):  # type: ignore[arg-type]
            return f"step {step}: {observation.status}"
        rendered = np.asarray(engine.render(state))
        if observation.status is not Status.COMPLETED and ((rendered >= 0) & (rendered != observation.frame)).any():
            return f"step {step}: cells"
    return ""


def count_open(engine: SimpleNamespace, trajectory: Trajectory) -> tuple[int, int]:
    """(changed cells that were left open, changed cells) of a trajectory, looked at after every step."""
    n_open = n_changed = 0
    for step, (_, state, observation) in enumerate(iterate_states(engine, trajectory, len(trajectory))):
        if observation.status is not Status.COMPLETED:
            changed = trajectory.get_frame(step) != observation.frame
            n_changed += int(changed.sum())
            n_open += int((changed & (np.asarray(engine.render(state)) < 0)).sum())
    return n_open, n_changed


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(world=meadows(), actions=st.lists(st.one_of(st.integers(1, 4), st.just(RESET)), max_size=40), n_looks=st.integers(0, 40))
def test_nothing_it_claims_of_its_record_is_wrong(host: Host, world: Meadow, actions: list[int | Action], n_looks: int) -> None:
    """Looking after every step, after none, and up to some step: as the gate asks."""
    record = recorded(world, actions)
    hypothesis = believe(record)
    assert judge_by_citations(hypothesis).faithful, judge_by_citations(hypothesis)
    engine = load_engine(hypothesis)
    for trajectory in record:
        for number in (len(trajectory), n_looks, 0):
            assert not find_wrong_claim(engine, trajectory, number)
    program = host.load(hypothesis.files, find_open_rules(hypothesis.rulebook))
    assert isinstance(program, Program), program
    verdict = verify(program, record)
    assert verdict.admissible, verdict


def test_under_memento3_nothing_is_left_open() -> None:
    """The same record without leave to leave open: the program of before, and no rule Uk."""
    record = recorded(Meadow([["@..#", "....", "..G."]], odd=["bar"]), [1, 3, 3, 2, 4, 1, 2, 3])
    hypothesis = SOURCE.make("").propose(case_of(record)).apply_to(None)
    assert set(hypothesis.files) == {ENGINE, "walker.py", "layers.py", "looks.py", "predicates.py", "learnt.py"}
    assert not find_open_rules(hypothesis.rulebook)


METERED = ("########", "#@.....#", "#......#", "#......#", "########")


def meter(record: Record, pace: int) -> Record:
    """The same record with a bar below, of which one cell goes out in so many steps."""
    metered = Record(record.levels)
    for trajectory in record:
        for step, frame in enumerate(trajectory.settled_frames):
            bar = np.full((2, frame.shape[1]), 7, np.uint8)
            bar[:, : step // pace] = 9
            observation = Observation((freeze(np.vstack([frame, bar])),), Status.RUNNING, 0, (1, 2, 3, 4))
            metered.extend(trajectory.actions[step - 1] if step else None, observation)
    return metered


def test_a_bar_of_hidden_length_is_open_and_the_walk_is_claimed(host: Host) -> None:
    walk = (RIGHT, RIGHT, DOWN, LEFT, UP, RIGHT, DOWN, DOWN, LEFT, UP, UP, LEFT)
    record = meter(seen(Yard(METERED), walk[:8]), 3)
    hypothesis = believe(record)
    assert "How these cells go on shows nowhere" in hypothesis.rulebook
    assert "Exceptions learnt by heart, one place each: none." in hypothesis.rulebook
    engine = load_engine(hypothesis)
    for pace in (1, 2, 5):  # however long it lasts
        (other,) = meter(seen(Yard(METERED), walk), pace)
        assert not find_wrong_claim(engine, other, len(other)) and not find_wrong_claim(engine, other, 0)
        n_open, n_changed = count_open(engine, other)
        assert 0 < n_open < 0.4 * n_changed


def test_what_was_never_met_is_open_and_told_apart_from_what_was() -> None:
    """The step onto a thing that no law names leaves all open, its end too; looked at, it goes on from there."""
    rows = ["......", ".@....", "..c...", "......"]
    engine = load_engine(believe(recorded(Meadow([rows]), [3, 3, 1, 1, 4, 2, 3])))
    trajectory = recorded(Meadow([rows]), [3, 2, 3, 1, 1]).trajectories[0]
    states = list(iterate_states(engine, trajectory, len(trajectory)))
    onto = next(state for _, state, _ in states if engine.is_over(state) is None)
    assert (np.asarray(engine.render(onto)) < 0).all()
    assert engine.actions(onto) == ()  # where nothing is known nothing is planned
    assert engine.is_over(states[-1][1]) is False  # it walks on
    assert not find_wrong_claim(engine, trajectory, len(trajectory))


def test_only_what_is_left_open_has_a_rule() -> None:
    record = seen(Yard(METERED), (RIGHT, RIGHT, DOWN, LEFT, UP))
    hypothesis = believe(record)
    citations = find_rule_citations(hypothesis)
    assert not citations.uncited and not citations.unknown
    assert "shows nowhere" not in hypothesis.rulebook and "in the dark" not in hypothesis.rulebook
    assert "no law names" in hypothesis.rulebook


def test_the_same_case_has_the_same_answer() -> None:
    record = meter(seen(Yard(METERED), (RIGHT, DOWN, LEFT, UP, RIGHT, RIGHT)), 2)
    case: Case = case_of(record, allows_open=True)
    assert SOURCE.make("").propose(case) == SOURCE.make("").propose(replace(case))


# -- areas and presses ------------------------------------------------------------------------------------------------------


def test_an_area_is_what_hangs_together_and_a_line_goes_on() -> None:
    before = np.zeros((10, 16), np.uint8)
    before[8, 3:9] = 7
    after = before.copy()
    after[8, 3] = 9
    assert find_area(before, after, before != after) == (8, 8, 0, 15, (7, 9))
    lump = np.zeros((16, 16), np.uint8)
    lump[4:6, 4:7] = 7
    changed = lump.copy()
    changed[4:6, 4] = 9
    assert find_area(lump, changed, lump != changed) == (4, 5, 4, 6, (7, 9))


def grow(length: int) -> Grid:
    """A button in the first row, and two bars: what one loses the other wins, up to ten cells."""
    ground = np.zeros((4, 60), np.uint8)
    ground[0, 30] = 9
    ground[2, : 20 + length] = 3
    ground[3, : 35 - length] = 3
    return ground


BUTTON = (9, 0, 30)


def test_a_press_is_foretold_by_what_stands_beside_a_cell() -> None:
    assert find_button(grow(1), 0, 30) == BUTTON
    presses = [Press(BUTTON, grow(n), grow(min(n + 1, 10))) for n in (1, 2, 3, 7, 8)]
    tables = learn_presses(presses)
    assert tables is not None and tables[0] == 0
    engine = Presses(tables)
    pressed, is_open = engine.press(grow(5), None, BUTTON)  # never seen
    assert not is_open.any() and (pressed == grow(6)).all()
    doubt = np.zeros((4, 60), bool)
    doubt[2, 24] = True
    _, is_open = engine.press(grow(5), doubt, BUTTON)
    assert is_open[2, 24] and not is_open[0].any()
    odd = grow(5)
    odd[2, 40] = 5
    _, is_open = engine.press(odd, None, BUTTON)
    assert is_open[2].any() and not is_open[3].any()  # nothing like it was seen


def test_a_button_that_does_nothing_is_told_by_a_sign() -> None:
    """At the end of its way it did nothing, and only then was the bar next to the mark in the last row."""

    def mark(length: int) -> Grid:
        ground = grow(length)
        ground[2, 31] = 6
        return ground

    presses = [Press(BUTTON, mark(n), mark(min(n + 1, 10))) for n in (1, 2, 3, 7, 8, 10, 5, 10)]
    engine = Presses(learn_presses(presses))
    assert engine.signs[BUTTON]
    pressed, is_open = engine.press(mark(10), None, BUTTON)
    assert not is_open.any() and (pressed == mark(10)).all()
    pressed, is_open = engine.press(mark(2), None, BUTTON)
    assert not is_open.any() and (pressed == mark(3)).all()


def test_what_led_to_two_things_is_not_said() -> None:
    presses = [Press(BUTTON, grow(2), grow(2 + n)) for n in (1, 2, 1, 2, 2, 2)]
    pressed, is_open = Presses(learn_presses(presses)).press(grow(2), None, BUTTON)
    assert is_open.any() and all(((pressed == press.after) | is_open).all() for press in presses)


@pytest.mark.parametrize("sequence", [(), (RIGHT,)])
def test_a_short_record_is_no_trouble(sequence: Sequence[int]) -> None:
    hypothesis = believe(seen(Yard(METERED), tuple(sequence)))
    engine = load_engine(hypothesis)
    assert isinstance(engine.belief, object) and Believer.__name__ in hypothesis.files["beliefs.py"]
