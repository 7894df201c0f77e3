"""Small walking worlds for tests, drawn as text, with as many oddities as a test asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lawbook.core.hypothesis import Trigger
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.minds.base import Case, Interface
from lawbook.worlds.world import WorldSpec

FLOOR = 5
WAYS = ((0, -1), (1, 0), (0, 1), (-1, 0))
TILES = {
    ".": (FLOOR, "enter"),
    "@": (FLOOR, "enter"),
    "#": (2, "stop"),
    "o": (8, "die"),
    "G": (3, "win"),
    "c": (7, "eat"),
    "T": (9, "jump"),
}
"""Character -> colour of the whole tile, what entering it does."""
Look = tuple[tuple[int, ...], ...]


class Meadow:
    """A world of square tiles. `@` is where the avatar begins.

    levels: rows of characters. look: the avatar, as large as a tile, -1 transparent. tiles: more characters: (look, what it does).
    ways: (rows, columns) of actions 1, 2, ... odd: any of
    clock (one cell outside the map changes by itself), bar (a strip shrinks), tired (from the fourth step on action 1 does
    nothing), ghost (some tiles cannot be entered, and nothing shows it), vanish (the dead avatar is not drawn), trail (what was
    walked on changes), flash (everything changes colour at death), short (a trajectory is cut off after nine steps).
    """

    def __init__(
        self,
        levels: Sequence[Sequence[str]],
        *,
        look: Look = ((1,),),
        tiles: Mapping[str, tuple[Look, str]] | None = None,
        ways: Sequence[tuple[int, int]] = WAYS,
        odd: Sequence[str] = (),
    ) -> None:
        self.levels, self.look, self.ways, self.odd = levels, np.array(look), ways, frozenset(odd)
        size = len(look)
        plain = {mark: (np.full((size, size), colour), does) for mark, (colour, does) in TILES.items()}
        self.tiles = plain | {mark: (np.array(shown), does) for mark, (shown, does) in (tiles or {}).items()}
        self.level = 0
        self.spec = WorldSpec(self.reset().frame.shape, tuple(range(1, len(ways) + 1)), levels=len(levels))

    def reset(self) -> Observation:
        self.map = [list(row) for row in self.levels[self.level]]
        self.at = next((r, row.index("@")) for r, row in enumerate(self.map) if "@" in row)
        self.steps, self.dead = 0, False
        return self._observe(Status.RUNNING)

    def step(self, action: Action) -> Observation:
        self.steps += 1
        row, col = self.at[0] + self.ways[action.id - 1][0], self.at[1] + self.ways[action.id - 1][1]
        does = "stop"
        if 0 <= row < len(self.map) and 0 <= col < len(self.map[0]):
            does = self.tiles[self.map[row][col]][1]
        if ("tired" in self.odd and action.id == 1 and self.steps > 3) or ("ghost" in self.odd and (3 * row + col) % 5 == 4):
            does = "stop"
        if does != "stop":
            if "trail" in self.odd:
                self.map[self.at[0]][self.at[1]] = "c"
            self.at = row, col
        if does == "eat":
            self.map[row][col] = "."
        if does == "jump":
            self.at = len(self.map) - 1 - row, len(self.map[0]) - 1 - col
        if does == "win":
            self.level += 1
            return self.reset_to_next()
        self.dead = does == "die"
        cut = "short" in self.odd and self.steps >= 9 and not self.dead
        return self._observe(Status.OVER if self.dead else Status.TRUNCATED if cut else Status.RUNNING)

    def reset_to_next(self) -> Observation:
        last = self.level == len(self.levels)
        seen = self._observe(Status.COMPLETED) if last else self.reset()
        return Observation(seen.frames, Status.COMPLETED, self.level, seen.available)

    def close(self) -> None:
        pass

    def _observe(self, status: Status) -> Observation:
        size = len(self.look)
        frame = np.zeros((len(self.map) * size + 1, len(self.map[0]) * size), dtype=np.uint8)
        for r, row in enumerate(self.map):
            for c, mark in enumerate(row):
                frame[r * size : (r + 1) * size, c * size : (c + 1) * size] = self.tiles[mark][0]
        r, c = self.at
        if not (self.dead and "vanish" in self.odd):
            place = frame[r * size : (r + 1) * size, c * size : (c + 1) * size]
            place[self.look >= 0] = self.look[self.look >= 0]
        if "clock" in self.odd:
            frame[-1, 0] = 10 + self.steps % 3
        if "bar" in self.odd:
            frame[-1, : max(frame.shape[1] - self.steps, 0)] = 12
        if self.dead and "flash" in self.odd:
            frame[:] = 14
        return Observation((freeze(frame),), status, self.level, tuple(range(1, len(self.ways) + 1)))


def recorded(world: Meadow, actions: Sequence[int | Action]) -> Record:
    """The record of these actions, RESET sent wherever nothing else makes sense; it ends when the world is won."""
    record = Record(world.spec.levels)
    record.extend(None, world.reset())
    for number in actions:
        if record.is_won:
            break
        action = RESET if record.needs_reset else Action(number) if isinstance(number, int) else number
        record.extend(action, world.reset() if action == RESET else world.step(action))
    return record


def case_of(record: Record, why: Trigger = Trigger.START, **given: object) -> Case:
    """What a mind is shown of a record, with the rest as at the start of a run unless given."""
    first = record.trajectories[0].first
    rest = {
        "interface": Interface(first.frame.shape, first.available, (), record.levels),
        "hypothesis": None,
        "admissible": False,
        "verdict": None,
        "refusal": "",
        "budget_left": 100,
        "probes_left": 10,
        "member": 0,
        "population": 1,
        "call": 0,
        "seed": 0,
    }
    return Case(record=record, trigger=why, **{**rest, **given})  # type: ignore[arg-type]
