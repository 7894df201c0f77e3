"""What lies over a world's ground and changes by itself: strips that shrink, lives that they cost, frames learnt by heart."""

from __future__ import annotations

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np

RUNNING, COMPLETED, OVER = range(3)


class State(NamedTuple):
    """core: the state of the world below. ticks: of each strip where it begins and how far it has run (-1, -1: it is not there).
    lost: lives spent. opening: what the core begins with again after a life. trail: how far a history learnt by heart has been
    followed (-1: off every one). status: OVER where a strip has run out, or as learnt by heart; -1: as the core has it. lit: where
    a view goes with the avatar, the cells that are always shown, else empty."""

    core: Any
    ticks: tuple[tuple[int, int], ...]
    lost: int
    opening: bytes
    trail: int
    status: int
    lit: bytes


class Strip(NamedTuple):
    """Cells that empty one after the other, from `full` to `empty`: `lines` are rows (axis 0) or columns (axis 1), first and last;
    they empty from place `start` towards `stop`; where that start does not fit a level, from wherever its cells of these colours
    reach to. Emptied after t ticks: floor(t * rate[0] / rate[1] + rate[2] / 2). when: it ticks at every step ("always"), or at
    those that change something else ("changes"). slack: how many ticks after the last place it has run out (-1: never seen).
    """

    axis: int
    lines: tuple[int, int]
    start: int
    stop: int
    full: int
    empty: int
    rate: tuple[int, int, int]
    when: str
    slack: int

    def band(self, frame: Any, start: int) -> Any:
        """The strip's cells from `start` on, a view: lines x places, the first to empty first."""
        lines = frame if self.axis == 0 else frame.T
        low, high = sorted((start, self.stop))
        band = lines[self.lines[0] : self.lines[1] + 1, low : high + 1]
        return band if start <= self.stop else band[:, ::-1]

    def emptied(self, tick: int) -> int:
        """Places, were the strip without end."""
        p, q, c = self.rate
        return (2 * tick * p + c * q) // (2 * q)

    def gone(self, frame: Any, start: int) -> int:
        """How many places of a strip that begins at `start` are empty; -1 where no such strip is shown."""
        band = self.band(frame, start)
        if band.size == 0 or not (band == band[:1]).all():
            return -1
        gone = band[0] == self.empty
        number = int(gone.sum())
        return number if gone[:number].all() and (band[0, number:] == self.full).all() else -1

    def read(self, frame: Any) -> tuple[int, int]:
        """(where it begins, how many ticks have passed), as far as a frame tells; (-1, -1) where it shows no such strip."""
        start = self.start
        number = self.gone(frame, start)
        if number < 0 or self.beyond(frame, start, self.full):
            way = 1 if self.start >= self.stop else -1
            line = (frame if self.axis == 0 else frame.T)[self.lines[0]]
            place = self.stop
            for colour in (self.full, self.empty):
                while 0 <= place < len(line) and line[place] == colour:
                    place += way
            start = place - way
            number = self.gone(frame, start) if place != self.stop else -1
        if number < 0:
            return -1, -1
        return start, next((t for t in range(4096) if self.emptied(t) >= number), 0)

    def beyond(self, frame: Any, start: int, colour: int) -> bool:
        """Does it go on before `start` in this colour?"""
        line = (frame if self.axis == 0 else frame.T)[self.lines[0]]
        before = start + (1 if start >= self.stop else -1)
        return 0 <= before < len(line) and bool(line[before] == colour)

    def out(self, start: int, tick: int) -> bool:
        """Has it run out?"""
        return self.slack >= 0 and self.emptied(tick - self.slack) > abs(start - self.stop)


FLIPS = {"as it is": (1, 1), "left to right": (1, -1), "upside down": (-1, 1), "turned by a half": (-1, -1)}
"""Ways to show a part again: which way its rows and its columns run."""


class Copy(NamedTuple):
    """The part of the frame at (top, left) shows the one at (row, col), of the same height and width, flipped so."""

    top: int
    left: int
    height: int
    width: int
    row: int
    col: int
    flip: str

    def shown(self, frames: Any) -> Any:
        """The copy in frames (... x H x W), a view."""
        return frames[..., self.top : self.top + self.height, self.left : self.left + self.width]

    def wanted(self, frames: Any) -> Any:
        """What it is to show, a view."""
        down, along = FLIPS[self.flip]
        return frames[..., self.row : self.row + self.height, self.col : self.col + self.width][..., ::down, ::along]


class Layers:
    """The program's functions: a core below, and over it the tables of `laws`:

    strips: see Strip. lives: for each time a strip runs out, the cells that are painted: (row, col, colour, how many to the right).
    After the last of them the game is over. refills: what fills every strip when it is met.
    copies: parts of the frame that show other parts again, see Copy.
    view: (dark colour, rows above, columns left of the avatar, rows, columns in all) of what is shown, or None: everything.
    maps: (first frame, what has been seen of that level, packed).
    patches: (first frame, ((action, None or (cells painted, status)), ...)): learnt by heart.
    """

    def __init__(self, laws: Any, core: Any) -> None:
        self.core, self.strips, self.lives, self.refills = core, [Strip(*strip) for strip in laws.strips], laws.lives, laws.refills
        self.view, self.maps, self.copies = laws.view, dict(laws.maps), [Copy(*copy) for copy in laws.copies]
        self.choosy = any(strip.when == "changes" for strip in self.strips)
        self.trails: dict[Any, int] = {}
        self.patches: dict[int, Any] = {}
        for start, steps in laws.patches:
            trail = self.trails.setdefault(start, len(self.trails))
            for action, cells in steps:
                if action is not None:
                    trail = self.trails.setdefault((trail, action), len(self.trails))
                if cells is not None:
                    self.patches[trail] = cells

    def initial_state(self, observation: Any) -> State:
        frame = np.array(observation["frame"])
        mark = zlib.crc32(frame.tobytes())
        plain, ticks, lost = self.bare(frame)
        lit = b""
        if self.view:
            plain, lit = self.remembered(plain)
        core = self.core.initial_state({**observation, "frame": plain})
        trail = self.trails.get(mark, -1)
        return State(core, ticks, lost, plain.tobytes(), trail, self.recalled(trail), lit)

    def remembered(self, frame: Any) -> tuple[Any, bytes]:
        """A first frame with all that is known of its level, and which cells are always shown."""
        lit = frame != self.view[0]
        body, row, col, _ = self.core.sight(frame)[0]
        if body >= 0:
            lit[self.shown(row, col, frame.shape)] = False
        known = self.maps.get(zlib.crc32(frame.tobytes()))
        if known:
            frame = np.frombuffer(zlib.decompress(base64.b85decode(known)), np.uint8).reshape(frame.shape)
        return frame, lit.tobytes()

    def shown(self, row: int, col: int, shape: Any) -> tuple[slice, slice]:
        """The part of a frame that is shown when the avatar is at (row, col)."""
        _, up, left, height, width = self.view
        rows = slice(max(row - up, 0), min(row - up + height, shape[0]))
        return rows, slice(max(col - left, 0), min(col - left + width, shape[1]))

    def bare(self, frame: Any) -> tuple[Any, tuple[tuple[int, int], ...], int]:
        """A frame as it would be with every strip full and no life spent, the ticks passed, the lives spent."""
        plain = np.array(frame)
        ticks = tuple(strip.read(plain) for strip in self.strips)  # R-strip
        for strip, (start, _) in zip(self.strips, ticks, strict=True):
            if start >= 0:
                strip.band(plain, start)[:] = strip.full
        lost = 0
        for cells, was in self.lives[:-1]:
            if not shows(plain, cells):
                break
            paint(plain, was)
            lost += 1
        return plain, ticks, lost

    def step(self, state: State, action: Any) -> State:
        if self.status(state) != RUNNING and state.trail < 0:
            return state
        name = action.id if action.x is None else (action.id, action.x, action.y)
        trail = self.trails.get((state.trail, name), -1)
        core = self.core.step(state.core, action)
        ticks, lost, status = state.ticks, state.lost, -1
        if self.strips:
            changes = self.choosy and core is not state.core
            changes = changes and bool(np.any(self.core.render(core) != self.core.render(state.core)))
            filled = self.refills and self.core.meets_next(state.core, action) in self.refills
            ticks = tuple(
                (start, 0 if filled else tick + (strip.when == "always" or changes)) if start >= 0 else (start, tick)
                for strip, (start, tick) in zip(self.strips, ticks, strict=True)
            )
            out = any(start >= 0 and strip.out(start, tick) for strip, (start, tick) in zip(self.strips, ticks, strict=True))
            if out and not self.core.is_goal(core):
                if lost + 1 < len(self.lives):
                    lost, ticks = lost + 1, tuple((start, min(tick, 0)) for start, tick in ticks)
                    opening = np.frombuffer(state.opening, np.uint8).reshape(self.core.render(core).shape)
                    core = self.core.initial_state({"frame": opening})
                else:
                    lost, status = lost + 1, OVER
        known = self.recalled(trail)
        return State(core, ticks, lost, state.opening, trail, status if known < 0 else known, state.lit)

    def recalled(self, trail: int) -> int:
        """The status learnt by heart for this history, or -1."""
        status = self.patches[trail][1] if trail in self.patches else None
        return -1 if status is None else int(status)

    def status(self, state: State) -> int:
        if state.status >= 0:
            return state.status
        return COMPLETED if self.core.is_goal(state.core) else OVER if self.core.is_over(state.core) else RUNNING

    def render(self, state: State) -> Any:
        frame = self.core.render(state.core)
        if self.copies:
            frame = np.array(frame)
            for copy in self.copies:
                copy.shown(frame)[:] = copy.wanted(frame)
        if state.lit:
            veiled = np.full(frame.shape, self.view[0], dtype=np.uint8)
            always = np.frombuffer(state.lit, bool).reshape(frame.shape)
            veiled[always] = frame[always]
            near = self.shown(state.core.row, state.core.col, frame.shape)
            veiled[near] = frame[near]
            frame = veiled
        if self.strips or state.trail in self.patches:
            frame = np.array(frame)
            for strip, (start, tick) in zip(self.strips, state.ticks, strict=True):
                if start >= 0:
                    strip.band(frame, start)[:, : strip.emptied(tick)] = strip.empty
            for gone, _ in self.lives[: state.lost]:
                paint(frame, gone)
            cells = self.patches.get(state.trail, ((), None))[0]
            if isinstance(cells, str):  # the whole frame, packed
                return np.frombuffer(zlib.decompress(base64.b85decode(cells)), np.uint8).reshape(frame.shape)
            paint(frame, cells)
        return frame

    def is_goal(self, state: State) -> bool:
        return self.status(state) == COMPLETED

    def is_over(self, state: State) -> bool:
        return self.status(state) == OVER

    def actions(self, state: State) -> Any:
        """What a search should try: moves, and clicks on what is known to answer."""
        return self.core.actions(state.core)

    def key(self, state: State) -> Any:
        """What the search goes by: neither ticks nor histories, which no goal reads."""
        return self.core.key(state.core), state.lost, self.status(state)


def shows(frame: Any, cells: Any) -> bool:
    return all((frame[row, col : col + run] == colour).all() for row, col, colour, run in cells) and bool(cells)


def paint(frame: Any, cells: Any) -> None:
    """Cells as (row, col, colour, how many to the right)."""
    for row, col, colour, run in cells:
        frame[row, col : col + run] = colour
