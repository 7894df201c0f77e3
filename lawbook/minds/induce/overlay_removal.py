"""A record without what changes by itself: every strip full, every life unspent, and anew where a life was lost."""

from __future__ import annotations

import base64
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lawbook.core.record import Observation, Record, Status, Trajectory, freeze
from lawbook.minds.induce.law_tables import name_action
from lawbook.minds.induce.layers import COMPLETED, OVER, RUNNING, Copy, Layers, State, Strip, paint
from lawbook.minds.induce.status_bars import find_strips
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import ActionName, Description, Frames, Grid, Life, Patch, PatchHistory, Repainting
from lawbook.minds.induce.walker import Walker

MAX_LIFE_CELLS = 64
"""Cells that a lost life may change, at most."""
MAX_RUNS = 40
"""More runs of cells than this are written as one packed frame."""
STATUS_CODES = {Status.RUNNING: RUNNING, Status.COMPLETED: COMPLETED, Status.OVER: OVER}


@dataclass(frozen=True)
class Overlay:
    """The tables of `Layers`."""

    strips: tuple[Strip, ...] = ()
    lives: tuple[Life, ...] = ()
    patches: tuple[PatchHistory, ...] = ()
    refills: tuple[Description, ...] = ()
    view: tuple[int, int, int, int, int] | None = None
    maps: tuple[tuple[int, str], ...] = ()
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True)
class StrippedRecord:
    """A record without what lies over it, and the tables of that."""

    record: Record
    overlay: Overlay = field(default_factory=Overlay)


def strip_overlay(record: Record) -> StrippedRecord:
    """Take off what changes by itself. A record without strips is returned as it is."""
    found_strips = tuple(find_strips(record))
    if not found_strips:
        return StrippedRecord(record)
    stacks = [_fill_strips(found_strips, select_compared_frames(trajectory)) for trajectory in record]
    lives = _find_lives(found_strips, record, stacks)
    stripped_record = Record(record.levels)
    for trajectory, stack in zip(record, stacks, strict=True):
        _add_trajectory(stripped_record, found_strips, lives, trajectory, stack)
    stripped_record.last = record.last
    return StrippedRecord(stripped_record, Overlay(found_strips, lives))


def _fill_strips(strips: Sequence[Strip], stack: Frames) -> Frames:
    filled = np.array(stack)
    for strip in strips:
        for frame in filled:
            start, _ = strip.read(frame)
            if start >= 0:
                strip.band(frame, start)[:] = strip.full
    return filled


def _has_run_out(strips: Sequence[Strip], stack: Frames, step: int) -> bool:
    """Was some strip nearly empty before this step, and is it full after it?"""
    for strip in strips:
        start, _ = strip.read(stack[0])
        if start < 0:
            continue
        before, after = strip.band(stack[step], start)[0], strip.band(stack[step + 1], start)[0]
        if int((before == strip.empty).sum()) >= len(before) - 2 and (after == strip.full).all():
            return True
    return False


def _find_lives(strips: Sequence[Strip], record: Record, stacks: Sequence[Frames]) -> tuple[Life, ...]:
    """For each time a strip runs out in one trajectory: (cells painted, what they showed)."""
    if all(strip.slack < 0 for strip in strips):
        return ()
    lost_counts: dict[int, Counter[Life]] = defaultdict(Counter)
    final_counts: Counter[Life] = Counter()
    for trajectory, stack in zip(record, stacks, strict=True):
        frames, n_spent = select_compared_frames(trajectory), 0
        for step in range(len(frames) - 1):
            if _has_run_out(strips, frames, step) and (runs := _encode_small_difference(stack[0], stack[step + 1])) is not None:
                lost_counts[n_spent][runs] += 1
                n_spent += 1
        if trajectory.last.status is Status.OVER and len(frames) > 1 and _is_nearly_empty(strips, frames):
            runs = _encode_small_difference(stack[-2], stack[-1])
            final_counts[runs if runs is not None and n_spent else ((), ())] += 1
    lives: list[Life] = []
    for n_spent in sorted(lost_counts):
        commonest = lost_counts[n_spent].most_common(1)[0][0]
        known_cells = {cell for cells, _ in lives for cell in cells}
        new_cells = [(cell, previous) for cell, previous in zip(*commonest, strict=True) if cell not in known_cells]
        lives.append((tuple(cell for cell, _ in new_cells), tuple(previous for _, previous in new_cells)))
    if final_counts:
        lives.append(final_counts.most_common(1)[0][0])
    return tuple(lives)


def _is_nearly_empty(strips: Sequence[Strip], frames: Frames) -> bool:
    """Was some strip, that may run out, nearly empty before the last step?"""
    for strip in strips:
        start, _ = strip.read(frames[0])
        if strip.slack >= 0 and start >= 0:
            band = strip.band(frames[-2], start)[0]
            if int((band == strip.empty).sum()) >= len(band) - 3:
                return True
    return False


def _encode_small_difference(one: Grid, other: Grid) -> Life | None:
    """The cells in which two frames differ, as in the second and as in the first; None where they are many."""
    if (one != other).sum() > MAX_LIFE_CELLS:
        return None
    cells = tuple((r, c, int(other[r, c]), 1) for r, c in np.argwhere(one != other).tolist())
    return cells, tuple((r, c, int(one[r, c]), 1) for r, c, _, _ in cells)


def _add_trajectory(
    stripped_record: Record, strips: Sequence[Strip], lives: Sequence[Life], trajectory: Trajectory, stack: Frames
) -> None:
    """Add a trajectory to the bare record: more than one where lives were lost in it."""
    frames, n_spent = select_compared_frames(trajectory), 0
    restored_frames = np.array(stack)

    def restore_frame(step: int) -> Grid:
        frame = restored_frames[step]
        for _, previous in lives[:n_spent]:
            paint(frame, previous)
        return freeze(frame)

    first = trajectory.first
    stripped_record.trajectories.append(Trajectory(Observation((restore_frame(0),), first.status, first.level, first.available)))
    for step, (action, observation) in enumerate(trajectory.steps):
        stripped_record.n_actions += 1
        if step + 1 >= len(stack):  # it completed the level, or was cut off
            stripped_record.current.append(action, observation)
        elif n_spent < len(lives) - 1 and _has_run_out(strips, frames, step):
            n_spent += 1
            stripped_record.current.append(
                action, Observation((restore_frame(step + 1),), Status.TRUNCATED, observation.level, observation.available)
            )
            stripped_record.trajectories.append(
                Trajectory(Observation((restore_frame(step + 1),), Status.RUNNING, observation.level, observation.available))
            )
        else:
            has_run_out = observation.status is Status.OVER and lives and _is_nearly_empty(strips, frames)
            status = Status.TRUNCATED if has_run_out else observation.status
            stripped_record.current.append(
                action, Observation((restore_frame(step + 1),), status, observation.level, observation.available)
            )


def _find_refills(overlay: Overlay, core: Walker, record: Record) -> tuple[Description, ...]:
    """Find what was met whenever a strip filled up before it had run out."""
    world, fill_counts, contact_counts = Layers(overlay, core), Counter[Description](), Counter[Description]()
    for trajectory in record:
        state = world.initial_state({"frame": trajectory.first.frame})
        for step, (action, observation) in enumerate(trajectory.steps):
            contact = core.meets_next(state.core, action)
            for strip, (start, _) in zip(overlay.strips, state.ticks, strict=True):
                n_empty = strip.gone(trajectory.get_frame(step), start) if start >= 0 else 0
                if observation.status is Status.RUNNING and n_empty > 1 and contact and contact[0] == "exact":
                    contact_counts[contact] += 1
                    fill_counts[contact] += strip.gone(observation.frame, start) == 0
            state = world.step(state, action)
    return tuple(sorted((contact for contact, times in fill_counts.items() if times and times == contact_counts[contact]), key=str))


def add_refills(overlay: Overlay, core: Walker, record: Record) -> Overlay:
    """Add to these tables what fills strips again, where there are any."""
    return replace(overlay, refills=_find_refills(overlay, core, record)) if overlay.strips else overlay


def add_patches(overlay: Overlay, core: Walker, record: Record) -> Overlay:
    """Add to these tables whatever they and the core below still get wrong, learnt by heart, each for one history."""
    overlay = add_refills(overlay, core, record)
    world = Layers(overlay, core)
    patches = []
    for trajectory in record:
        state = world.initial_state({"frame": trajectory.first.frame})
        history: list[tuple[ActionName | None, Patch | None]] = [(None, _make_patch(world, state, trajectory.first, True))]
        for action, observation in trajectory.steps:
            state = world.step(state, action)
            is_compared = observation.status in (Status.RUNNING, Status.OVER)
            patch = None if observation.status is Status.TRUNCATED else _make_patch(world, state, observation, is_compared)
            history.append((name_action(action), patch))
            if history[-1][1] is not None and history[-1][1][1] is not None:
                state = state._replace(status=history[-1][1][1])
        last = max((k for k, (_, patch) in enumerate(history) if patch is not None), default=-1)
        if last >= 0:
            patches.append((zlib.crc32(trajectory.first.frame.tobytes()), tuple(history[: last + 1])))
    return replace(overlay, patches=tuple(patches))


def _make_patch(world: Layers, state: State, observation: Observation, compare_frame: bool) -> Patch | None:
    """(cells to paint, or a packed frame; the status, or None where it is right); None where all is right."""
    status = None if world.status(state) == STATUS_CODES[observation.status] else STATUS_CODES[observation.status]
    cells: Repainting = ()
    if compare_frame:
        rendered = world.render(state)
        wrong_cells = np.argwhere(rendered != observation.frame).tolist()
        runs: list[tuple[int, int, int, int]] = []
        for row, col in wrong_cells:
            colour = int(observation.frame[row, col])
            if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][3] == col and runs[-1][2] == colour:
                runs[-1] = (row, runs[-1][1], colour, runs[-1][3] + 1)
            else:
                runs.append((row, col, colour, 1))
        cells = tuple(runs)
        if len(runs) > MAX_RUNS:
            cells = base64.b85encode(zlib.compress(observation.frame.tobytes(), 9)).decode()
    return (cells, status) if cells or status is not None else None
