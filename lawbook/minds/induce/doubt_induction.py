"""Doubts: what no law explains is left open, by a rule as general as the record allows, and nothing of it is learnt by heart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from lawbook.core.record import Action, Observation, Record, Status, Trajectory
from lawbook.minds.base import Interface
from lawbook.minds.induce.beliefs import Believer, State
from lawbook.minds.induce.law_tables import Laws, name_action
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.nearby import find_button
from lawbook.minds.induce.overlay_removal import Overlay
from lawbook.minds.induce.press_induction import Press, PressTables, learn_presses
from lawbook.minds.induce.types import Grid, Mask
from lawbook.minds.induce.watcher import Watcher, mark_rows

RULES = ("idle", "unmet", "contacts", "areas", "hidden", "overlaps", "dark", "unseen", "endless", "presses")
"""What may be left open; the place in this list, from 1, is the number of its rule."""
MAX_PASSES = 12
"""Times that doubts are added to before everything is left open."""
MIN_IDLE_TRIALS = 4
"""Different frames in which an action must have changed nothing before it is held to do nothing."""
MIN_FAILED_SHARE = 1 / 3
"""Share of the times that something was met that laws must have failed for all of its kind to be in doubt."""
MIN_FAILURES = 2
"""Times that laws must have failed for a kind, or at a place, for all of it to be in doubt; before that it is this ground alone."""
MIN_PRESSES = 3
"""Clicks on a colour that laws must have failed for it to be that of buttons."""
MAX_AREA_SHARE = 1 / 8
"""Share of a frame that an area may cover."""
MIN_ELONGATION = 4
"""An area that many times longer than wide is a line, and as long as the frame."""

Area = tuple[int, int, int, int, tuple[int, ...]]
"""(rows from, to, columns from, to, the colours that are not known there)."""
ContactDoubt = tuple[bool, tuple[tuple[int, int, int, int], ...]]
"""(it may complete the level; what it may change elsewhere: (row, column, height, width))."""


@dataclass(frozen=True)
class Unknown:
    """The tables of `Believer`."""

    walks: tuple[int, ...] = ()
    has_clicks: bool = False
    idle: tuple[int, ...] = ()
    clicked: tuple[int, ...] = ()
    pressed: tuple[int, ...] = ()
    presses: PressTables | None = None
    areas: tuple[Area, ...] = ()
    contacts: Mapping[Any, ContactDoubt] = field(default_factory=dict)
    grounds: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    hidden: bool = False
    overlaps: bool = False
    endless: bool = False

    @property
    def rules(self) -> dict[str, int]:
        """The number of each rule."""
        return {name: number for number, name in enumerate(RULES, start=1)}


class Miss(NamedTuple):
    """A step of which something was claimed that was not so. contexts: by each figure, what its contact may be known by."""

    before: State
    predicted: State
    action: Action
    observation: Observation
    previous_frame: Grid
    rendered: Grid
    wrong: Mask
    is_status_wrong: bool
    contexts: tuple[tuple[Any, ...], ...]
    notes: tuple[Any, ...]


def learn_doubts(laws: Laws, overlay: Overlay, record: Record, interface: Interface) -> Unknown:
    """Find what these laws claim wrongly of the record, and the doubts with which they claim nothing that is wrong."""
    walks = tuple(action for action in interface.actions if action and action not in interface.clicks)
    unknown = Unknown(
        walks=walks,
        has_clicks=bool(interface.clicks),
        idle=find_idle_actions(laws, record, walks),
        clicked=_find_clicked_colours(record),
    )
    pressed = _find_pressed_colours(make_believer(laws, overlay, unknown), record)
    if pressed:
        presses = learn_presses(_collect_presses(make_believer(laws, overlay, unknown), record, pressed))
        unknown = replace(unknown, pressed=pressed, presses=presses)
    for _ in range(MAX_PASSES):
        believer = make_believer(laws, overlay, unknown)
        counts: Counter[Any] = Counter()
        misses = list(find_misses(believer, record, counts))
        if not misses:
            return unknown
        before = unknown
        failures = Counter(key for miss in misses for contexts in miss.contexts for key in contexts)
        for miss in misses:
            unknown = _add_doubt(unknown, miss, believer, counts, failures)
        if unknown == before:  # no rule that is any more general holds
            for miss in misses:
                unknown = _add_contact_doubt(unknown, miss, miss.contexts[0][-1], miss.is_status_wrong, _find_boxes(miss.wrong))
        if unknown == before:
            break
    return replace(unknown, idle=tuple(interface.actions), endless=True)


def make_believer(laws: Laws, overlay: Overlay, unknown: Unknown) -> Believer:
    """Make the program's functions of these tables."""
    return Believer(unknown, Layers(overlay, Watcher(laws)))


def find_idle_actions(laws: Laws, record: Record, walks: Sequence[int]) -> tuple[int, ...]:
    """Find the actions that have never moved a figure, and were not tried often enough to say that they change nothing."""
    frames: dict[int, set[bytes]] = {action: set() for action in walks}
    changing: set[int] = set()
    for trajectory in record:
        for step, (action, observation) in enumerate(trajectory.steps):
            if action.id in frames:
                frame = trajectory.get_frame(step)
                frames[action.id].add(frame.tobytes())
                if observation.status is not Status.RUNNING or (frame != observation.frame).any():
                    changing.add(action.id)
    known = {name for body in laws.bodies for name in (*body["moves"], *body.get("turns", ()))}
    return tuple(a for a in walks if a not in known and (len(frames[a]) < MIN_IDLE_TRIALS or not laws.bodies))


def _find_clicked_colours(record: Record) -> tuple[int, ...]:
    """The colours that were clicked."""
    return tuple(
        sorted(
            {
                int(trajectory.get_frame(step)[action.y, action.x])
                for trajectory in record
                for step, action in enumerate(trajectory.actions)
                if action.x is not None and action.y is not None
            }
        )
    )


def _find_pressed_colours(believer: Believer, record: Record) -> tuple[int, ...]:
    """The colours on which clicks did again and again what no law says."""
    clicks, misses = Counter[int](), Counter[int]()
    for trajectory in record:
        clicks.update(
            int(trajectory.get_frame(step)[action.y, action.x])
            for step, action in enumerate(trajectory.actions)
            if action.x is not None and action.y is not None
        )
    for miss in find_misses(believer, record):
        if miss.action.x is not None and miss.action.y is not None and miss.wrong.any():
            misses[int(miss.previous_frame[miss.action.y, miss.action.x])] += 1
    return tuple(sorted(c for c, number in misses.items() if number >= MIN_PRESSES and number >= MIN_FAILED_SHARE * clicks[c]))


def _collect_presses(believer: Believer, record: Record, colours: Sequence[int]) -> list[Press]:
    """Every click on these colours: the button, the ground before and after."""
    presses = []
    for trajectory in record:
        state = believer.initial_state(make_start(trajectory))
        for action, observation in trajectory.steps:
            before, state = state, believer.step(state, action)
            if observation.status is not Status.RUNNING:
                break
            state = believer.update(state, make_observation(observation))
            if action.x is not None and action.y is not None:
                width = before.core.width
                ground, after = (np.frombuffer(s.core.ground, np.uint8).reshape(-1, width) for s in (before, state))
                if ground[action.y, action.x] in colours:
                    presses.append(Press(find_button(ground, action.y, action.x), ground, after))
    return presses


def find_misses(believer: Believer, record: Record, counts: Counter[Any] | None = None) -> Iterator[Miss]:
    """Roll a believer over the record, looking after every step; find where something it claims is not so.

    counts: how often each context was met is added to it.
    """
    for trajectory in record:
        state = believer.initial_state(make_start(trajectory))
        for step, (action, observation) in enumerate(trajectory.steps):
            before, state = state, believer.step(state, action)
            notes = tuple(believer.world.core.notes)
            contexts = tuple(
                dict.fromkeys(
                    tuple(believer.name_contexts(before, row, col, contact, name_action(action)))
                    for _, row, col, contact, met_by, _ in notes
                    if met_by is not None
                )
            ) or (tuple(believer.name_acts(before, name_action(action))),)
            if counts is not None:
                counts.update({key for keys in contexts for key in keys})
            if observation.status is Status.TRUNCATED:
                continue
            wrong = _find_wrong_cells(believer, state, observation)
            is_status_wrong = observation.status not in get_statuses(believer, state)
            if wrong.any() or is_status_wrong:
                frames = trajectory.get_frame(step), np.asarray(believer.render(state))
                yield Miss(before, state, action, observation, *frames, wrong, is_status_wrong, contexts, notes)
            if observation.status is Status.RUNNING:
                state = believer.update(state, make_observation(observation))


def make_start(trajectory: Trajectory) -> dict[str, Any]:
    """Make what a program is shown at the start of a trajectory."""
    first = trajectory.first
    return {"frame": first.frame, "level": first.level, "available_actions": first.available}


def make_observation(observation: Observation) -> dict[str, Any]:
    """Make what a program is shown of a step."""
    return {"frame": observation.frame, "level": observation.level, "available_actions": observation.available}


def believe_trajectory(believer: Believer, trajectory: Trajectory) -> State:
    """Return the state of a believer where a trajectory has got to, having looked after every step."""
    state = believer.initial_state(make_start(trajectory))
    for action, observation in trajectory.steps:
        state = believer.step(state, action)
        if observation.status is Status.RUNNING:
            state = believer.update(state, make_observation(observation))
    return state


def get_statuses(believer: Believer, state: State) -> set[Status]:
    """Return the statuses that a state leaves possible."""
    is_goal, is_over = believer.is_goal(state), believer.is_over(state)
    if is_goal:
        return {Status.COMPLETED}
    statuses = {Status.OVER} if is_over is not False else set()
    statuses |= {Status.COMPLETED} if is_goal is None else set()
    return statuses | ({Status.RUNNING} if is_over is not True else set())


def _find_wrong_cells(believer: Believer, state: State, observation: Observation) -> Mask:
    if observation.status is Status.COMPLETED:
        return np.zeros(observation.frame.shape, bool)
    rendered = believer.render(state)
    return np.asarray((rendered != observation.frame) & (rendered >= 0))


def _add_doubt(unknown: Unknown, miss: Miss, believer: Believer, counts: Counter[Any], failures: Counter[Any]) -> Unknown:
    """Leave open what was claimed wrongly in one step, by the most general rule that fails often enough."""
    figures = _find_figure_cells(miss, believer)
    near = miss.wrong & figures
    start = np.zeros_like(near)
    for rows, cols, _ in believer.figures(miss.before.core):
        start[rows, cols] = True
    overlap = believer.find_overlaps(miss.predicted.core, near.shape) | believer.find_overlaps(miss.before.core, near.shape)
    if near.any() and not unknown.overlaps and not (near & ~overlap).any() and not miss.is_status_wrong:
        return replace(unknown, overlaps=True)
    if near.any() and not unknown.hidden and not (near & ~start).any() and not miss.is_status_wrong:
        return replace(unknown, hidden=True)
    if miss.wrong.any() and not near.any() and not miss.is_status_wrong:
        return _add_far_doubt(unknown, miss, counts, failures)
    if miss.is_status_wrong and miss.observation.status is Status.OVER:
        key = _choose_context(miss, counts, failures, may_be_place=False)
        if key is None or key in unknown.contacts:
            return replace(unknown, endless=True)
        return _add_contact_doubt(unknown, miss, key, False, ())
    ends = miss.is_status_wrong and Status.COMPLETED in (miss.observation.status, *get_statuses(believer, miss.predicted))
    key = _choose_context(miss, counts, failures, may_be_place=not ends)
    if ends and (key is None or not is_kind(key)):
        key = next(key for keys in miss.contexts for key in keys if key[0] == "when")
    if key is None:
        return unknown if not miss.is_status_wrong else replace(unknown, endless=True)
    return _add_contact_doubt(unknown, miss, key, ends, _find_boxes(miss.wrong & ~figures))


def _find_figure_cells(miss: Miss, believer: Believer) -> Mask:
    """The cells in and around everything that moved, or was met."""
    cells = np.zeros_like(miss.wrong)
    watcher = believer.world.core
    seen, _ = believer.look(miss.predicted.world, miss.observation.frame)
    spots = [(c.body, c.row, c.col) for c in (miss.before.core, miss.predicted.core, seen.core)]
    spots += [mate for core in (miss.before.core, miss.predicted.core, seen.core) for mate in core.mates]
    spots += [(body, row, col) for body, row, col, *_ in miss.notes]
    for body, row, col in spots:
        if body >= 0:
            top, left, height, width = watcher.boxes[body]
            cells[max(row + top, 0) : max(row + top + height, 0), max(col + left, 0) : max(col + left + width, 0)] = True
    return cells


def _choose_context(miss: Miss, counts: Counter[Any], failures: Counter[Any], may_be_place: bool = True) -> Any:
    """The most general context of a step in which laws have failed often enough; else, where it may, this ground alone."""
    for keys in miss.contexts:
        for key in keys:
            is_allowed = may_be_place or key[0] != "at"
            if key[0] != "when" and is_allowed and failures[key] >= max(MIN_FAILURES, MIN_FAILED_SHARE * counts[key]):
                return key
    return miss.contexts[0][-1] if may_be_place else None


def is_kind(key: Any) -> bool:
    """Tell whether a context is a kind of thing, by whatever action it is met."""
    description = key[0] if isinstance(key[0], tuple) else key
    return description[0] in ("exact", "shape", "colour")


def _add_contact_doubt(unknown: Unknown, miss: Miss, key: Any, ends: bool, places: Sequence[tuple[int, int, int, int]]) -> Unknown:
    had_ends, had_places = unknown.contacts.get(key, (False, ()))
    doubt = had_ends or ends, tuple(dict.fromkeys((*had_places, *places)))
    core = miss.before.core
    grounds = {**unknown.grounds, key[1]: mark_rows(core.ground, core.width)} if key[0] == "when" else unknown.grounds
    return replace(unknown, contacts={**unknown.contacts, key: doubt}, grounds=grounds)


def _add_far_doubt(unknown: Unknown, miss: Miss, counts: Counter[Any], failures: Counter[Any]) -> Unknown:
    """Cells away from everything that moves: those of a thing that was met, or an area that goes its own way."""
    for keys in miss.contexts:
        for key in keys:
            if is_kind(key) and key not in unknown.contacts and failures[key] >= 2 * MIN_FAILED_SHARE * counts[key]:
                return _add_contact_doubt(unknown, miss, key, False, _find_boxes(miss.wrong))
    area = find_area(miss.previous_frame, miss.observation.frame, miss.wrong)
    claimed = tuple(sorted({*area[4], *np.unique(miss.rendered[miss.wrong]).tolist()}))
    return replace(unknown, areas=_merge_areas(unknown.areas, (*area[:4], claimed)))


def _find_boxes(cells: Mask) -> tuple[tuple[int, int, int, int], ...]:
    """The box around these cells; none where there are none."""
    if not cells.any():
        return ()
    rows, cols = np.nonzero(cells)
    top, left = int(rows.min()), int(cols.min())
    return ((top, left, int(rows.max()) - top + 1, int(cols.max()) - left + 1),)


def find_area(before: Grid, after: Grid, wrong: Mask) -> Area:
    """Find the area that goes its own way: what hangs together with the wrong cells in their colours; a line goes on."""
    colours = np.unique(np.concatenate([before[wrong], after[wrong]]))
    alike, grown = np.isin(before, colours), wrong.copy()
    while True:
        padded = np.pad(grown, 1)
        wider = grown | (alike & (padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]))
        if (wider == grown).all():
            break
        grown = wider
    ((top, left, height, width),) = _find_boxes(grown)
    if height * width > MAX_AREA_SHARE * wrong.size:
        ((top, left, height, width),) = _find_boxes(wrong)
    elif width >= MIN_ELONGATION * height:
        left, width = 0, wrong.shape[1]
    elif height >= MIN_ELONGATION * width:
        top, height = 0, wrong.shape[0]
    return top, top + height - 1, left, left + width - 1, tuple(colours.tolist())


def _merge_areas(areas: Sequence[Area], area: Area) -> tuple[Area, ...]:
    """These areas and one more; of one box there is one area."""
    same = {known[:4]: known[4] for known in areas}
    same[area[:4]] = tuple(sorted({*same.get(area[:4], ()), *area[4]}))
    return tuple((*box, colours) for box, colours in same.items())
