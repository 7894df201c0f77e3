"""A record without what changes by itself: every strip full, every life unspent, and anew where a life was lost."""

from __future__ import annotations

import base64
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lawbook.core.record import Observation, Record, Status, Trajectory, freeze
from lawbook.minds.induce.law_tables import named
from lawbook.minds.induce.layers import COMPLETED, OVER, RUNNING, Copy, Layers, Strip, paint
from lawbook.minds.induce.status_bars import strips
from lawbook.minds.induce.tracking import compared

FEW = 64
"""Cells that a lost life may change, at most."""
PACKED = 40
"""More runs of cells than this are written as one packed frame."""
STATUS = {Status.RUNNING: RUNNING, Status.COMPLETED: COMPLETED, Status.OVER: OVER}
Runs = tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class Over:
    """The tables of `Layers`."""

    strips: tuple[Strip, ...] = ()
    lives: tuple[Any, ...] = ()
    patches: tuple[Any, ...] = ()
    refills: tuple[Any, ...] = ()
    view: tuple[int, int, int, int, int] | None = None
    maps: tuple[tuple[int, str], ...] = ()
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True)
class Bare:
    """record: what is below, without the strips. over: their tables."""

    record: Record
    over: Over = field(default_factory=Over)


def bared(record: Record) -> Bare:
    """Take off what changes by itself. A record without strips is returned as it is."""
    found = tuple(strips(record))
    if not found:
        return Bare(record)
    stacks = [_full(found, compared(trajectory)) for trajectory in record]
    lives = _lives(found, record, stacks)
    plain = Record(record.levels)
    for trajectory, stack in zip(record, stacks, strict=True):
        _lay(plain, found, lives, trajectory, stack)
    plain.last = record.last
    return Bare(plain, Over(found, lives))


def _full(found: Sequence[Strip], stack: Any) -> Any:
    plain = np.array(stack)
    for strip in found:
        for frame in plain:
            start, _ = strip.read(frame)
            if start >= 0:
                strip.band(frame, start)[:] = strip.full
    return plain


def _ran_out(found: Sequence[Strip], stack: Any, step: int) -> bool:
    """Was some strip nearly empty before this step, and is it full after it?"""
    for strip in found:
        start, _ = strip.read(stack[0])
        if start < 0:
            continue
        before, after = strip.band(stack[step], start)[0], strip.band(stack[step + 1], start)[0]
        if int((before == strip.empty).sum()) >= len(before) - 2 and (after == strip.full).all():
            return True
    return False


def _lives(found: Sequence[Strip], record: Record, stacks: Sequence[Any]) -> tuple[Any, ...]:
    """For each time a strip runs out in one trajectory: (cells painted, what they showed)."""
    if all(strip.slack < 0 for strip in found):
        return ()
    lost: dict[int, Counter[tuple[Runs, Runs]]] = defaultdict(Counter)
    final: Counter[tuple[Runs, Runs]] = Counter()
    for trajectory, stack in zip(record, stacks, strict=True):
        shown, spent = compared(trajectory), 0
        for step in range(len(shown) - 1):
            if _ran_out(found, shown, step) and (runs := _few(stack[0], stack[step + 1])) is not None:
                lost[spent][runs] += 1
                spent += 1
        if trajectory.last.status is Status.OVER and len(shown) > 1 and _empty(found, shown):
            runs = _few(stack[-2], stack[-1])
            final[runs if runs is not None and spent else ((), ())] += 1
    lives: list[tuple[Runs, Runs]] = []
    for spent in sorted(lost):
        together = lost[spent].most_common(1)[0][0]
        before = {cell for cells, _ in lives for cell in cells}
        fresh = [(cell, was) for cell, was in zip(*together, strict=True) if cell not in before]
        lives.append((tuple(cell for cell, _ in fresh), tuple(was for _, was in fresh)))
    if final:
        lives.append(final.most_common(1)[0][0])
    return tuple(lives)


def _empty(found: Sequence[Strip], shown: Any) -> bool:
    """Was some strip, that may run out, nearly empty before the last step?"""
    for strip in found:
        start, _ = strip.read(shown[0])
        if strip.slack >= 0 and start >= 0:
            band = strip.band(shown[-2], start)[0]
            if int((band == strip.empty).sum()) >= len(band) - 3:
                return True
    return False


def _few(one: Any, other: Any) -> tuple[Runs, Runs] | None:
    """The cells in which two frames differ, as in the second and as in the first; None where they are many."""
    if (one != other).sum() > FEW:
        return None
    cells = tuple((r, c, int(other[r, c]), 1) for r, c in np.argwhere(one != other).tolist())
    return cells, tuple((r, c, int(one[r, c]), 1) for r, c, _, _ in cells)


def _lay(plain: Record, found: Sequence[Strip], lives: Sequence[Any], trajectory: Trajectory, stack: Any) -> None:
    """Add a trajectory to the bare record: more than one where lives were lost in it."""
    shown, spent = compared(trajectory), 0
    undone = np.array(stack)

    def bare(step: int) -> Any:
        frame = undone[step]
        for _, was in lives[:spent]:
            paint(frame, was)
        return freeze(frame)

    first = trajectory.first
    plain.trajectories.append(Trajectory(Observation((bare(0),), first.status, first.level, first.available)))
    for step, (action, seen) in enumerate(trajectory.steps):
        plain.actions += 1
        if step + 1 >= len(stack):  # it completed the level, or was cut off
            plain.here.append(action, seen)
        elif spent < len(lives) - 1 and _ran_out(found, shown, step):
            spent += 1
            plain.here.append(action, Observation((bare(step + 1),), Status.TRUNCATED, seen.level, seen.available))
            plain.trajectories.append(Trajectory(Observation((bare(step + 1),), Status.RUNNING, seen.level, seen.available)))
        else:
            out = seen.status is Status.OVER and lives and _empty(found, shown)
            status = Status.TRUNCATED if out else seen.status
            plain.here.append(action, Observation((bare(step + 1),), status, seen.level, seen.available))


def _refills(over: Over, core: Any, record: Record) -> tuple[Any, ...]:
    """What was met whenever a strip filled up before it had run out."""
    world, filled, met = Layers(over, core), Counter[Any](), Counter[Any]()
    for trajectory in record:
        state = world.initial_state({"frame": trajectory.first.frame})
        for step, (action, seen) in enumerate(trajectory.steps):
            contact = core.meets_next(state.core, action)
            for strip, (start, _) in zip(over.strips, state.ticks, strict=True):
                before = strip.gone(trajectory.frame(step), start) if start >= 0 else 0
                if seen.status is Status.RUNNING and before > 1 and contact and contact[0] == "exact":
                    met[contact] += 1
                    filled[contact] += strip.gone(seen.frame, start) == 0
            state = world.step(state, action)
    return tuple(sorted((contact for contact, times in filled.items() if times and times == met[contact]), key=str))


def patched(over: Over, core: Any, record: Record) -> Over:
    """These tables with whatever they and the core below still get wrong, learnt by heart, each for one history."""
    if over.strips:
        over = replace(over, refills=_refills(over, core, record))
    world = Layers(over, core)
    patches = []
    for trajectory in record:
        state = world.initial_state({"frame": trajectory.first.frame})
        rows: list[tuple[Any, Any]] = [(None, _patch(world, state, trajectory.first, True))]
        for action, seen in trajectory.steps:
            state = world.step(state, action)
            compared_too = seen.status in (Status.RUNNING, Status.OVER)
            patch = None if seen.status is Status.TRUNCATED else _patch(world, state, seen, compared_too)
            rows.append((named(action), patch))
            if rows[-1][1] is not None and rows[-1][1][1] is not None:
                state = state._replace(status=rows[-1][1][1])
        last = max((k for k, (_, patch) in enumerate(rows) if patch is not None), default=-1)
        if last >= 0:
            patches.append((zlib.crc32(trajectory.first.frame.tobytes()), tuple(rows[: last + 1])))
    return replace(over, patches=tuple(patches))


def _patch(world: Layers, state: Any, seen: Observation, frame: bool) -> Any:
    """(cells to paint, or a packed frame; the status, or None where it is right); None where all is right."""
    status = None if world.status(state) == STATUS[seen.status] else STATUS[seen.status]
    cells: Any = ()
    if frame:
        shown = world.render(state)
        wrong = np.argwhere(shown != seen.frame).tolist()
        runs: list[tuple[int, int, int, int]] = []
        for row, col in wrong:
            colour = int(seen.frame[row, col])
            if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][3] == col and runs[-1][2] == colour:
                runs[-1] = (row, runs[-1][1], colour, runs[-1][3] + 1)
            else:
                runs.append((row, col, colour, 1))
        cells = tuple(runs)
        if len(runs) > PACKED:
            cells = base64.b85encode(zlib.compress(seen.frame.tobytes(), 9)).decode()
    return (cells, status) if cells or status is not None else None
