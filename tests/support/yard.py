"""Small walking worlds with more to learn than those of `meadow`: keys, ice, belts, mates; drawn as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lawbook.core.record import Action, Observation, Record, Status, freeze

UP, DOWN, LEFT, RIGHT = 1, 2, 3, 4
WAYS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
FLOOR, WALL, HUD = 5, 2, 3
KEY, DOOR = ((1, 1, 0), (1, 0, 1), (0, 1, 0)), ((1, 1, 1), (1, 0, 1), (1, 0, 1))
RING, BELT, GOAL = ((1, 1, 1), (1, 0, 1), (1, 1, 1)), ((1, 0, 0), (0, 1, 0), (1, 0, 0)), ((0, 1, 0), (1, 1, 1), (0, 1, 0))
FIGURE, MATE = ((0, 1, 0), (1, 1, 1), (1, 0, 1)), ((1, 0, 1), (1, 1, 1), (0, 1, 0))


class Yard:
    """`#` wall, `.` floor, `@` the avatar, `m` its mate, a to c keys and A to C the doors they open, `>` a belt that carries a tile
    to the right, `O` and `Q` rings for avatar and mate, `G` the goal. The first row of tiles shows the keys that are carried.

    ice: the avatar goes on until something stops it. mirror: the ways of the mate, by action. shown: the whole yard is shown again
    below, upside down.
    """

    def __init__(
        self, rows: Sequence[str], *, ice: bool = False, mirror: Mapping[int, tuple[int, int]] | None = None, shown: bool = False
    ) -> None:
        self.rows, self.ice, self.mirror, self.shown = rows, ice, mirror or {}, shown

    def reset(self) -> Observation:
        self.map = [list(row) for row in self.rows]
        self.keys: list[str] = []
        self.at = {mark: self._find(mark) for mark in "@m" if self._find(mark)}
        return self._observe(Status.RUNNING)

    def step(self, action: Action) -> Observation:
        for mark in self.at:
            self._move(mark, WAYS[action.id] if mark == "@" else self.mirror[action.id])
        homes = {"@": "OG", "m": "Q"}
        done = all(self._tile(*self.at[mark]) in homes[mark] for mark in self.at)
        return self._observe(Status.COMPLETED if done else Status.RUNNING)

    def _move(self, mark: str, way: tuple[int, int]) -> None:
        while True:
            row, col = self.at[mark][0] + way[0], self.at[mark][1] + way[1]
            tile = self._tile(row, col)
            if tile == "#" or (tile in "ABC" and tile.lower() not in self.keys):
                return
            self.at[mark] = row, col
            if tile in "abc":
                self.keys.append(tile)
            if tile in "ABC":
                self.keys.remove(tile.lower())
            if tile in "abcABC":
                self.map[row][col] = "."
            if tile == ">":
                way = 0, 1
            elif not self.ice or tile == "G":
                return

    def _find(self, mark: str) -> tuple[int, int] | None:
        return next(((r, row.index(mark)) for r, row in enumerate(self.rows) if mark in row), None)

    def _tile(self, row: int, col: int) -> str:
        return "." if self.map[row][col] in "@m" else self.map[row][col]

    def _observe(self, status: Status) -> Observation:
        frame = np.full((3 * len(self.map) + 3, 3 * len(self.map[0])), WALL, dtype=np.uint8)
        frame[:3] = HUD
        for r in range(len(self.map)):
            for c in range(len(self.map[0])):
                place, tile = frame[3 * r + 3 : 3 * r + 6, 3 * c : 3 * c + 3], self._tile(r, c)
                if tile != "#":
                    place[:] = FLOOR
                look, colour = {"O": (RING, 7), "Q": (RING, 8), ">": (BELT, 9), "G": (GOAL, 14)}.get(tile, (KEY, 0))
                if tile in "abcABC":
                    look, colour = (KEY if tile.islower() else DOOR), 10 + "abc".index(tile.lower())
                if tile not in "#.":
                    place[np.array(look) == 1] = colour
        for mark, look, colour in (("@", FIGURE, 7), ("m", MATE, 8)):
            if mark in self.at:
                r, c = self.at[mark]
                frame[3 * r + 3 : 3 * r + 6, 3 * c : 3 * c + 3][np.array(look) == 1] = colour
        for number, key in enumerate(self.keys):
            place = 3 * len(self.map[0]) - 3 - 3 * number
            frame[:3, place : place + 3][np.array(KEY) == 1] = 10 + "abc".index(key)
        frame = np.vstack((frame, frame[:2:-1])) if self.shown else frame
        return Observation((freeze(frame),), status, int(status is Status.COMPLETED), (UP, DOWN, LEFT, RIGHT))


def seen(world: Yard, actions: Sequence[int]) -> Record:
    """The record of these actions (0: reset)."""
    record = Record(1)
    record.extend(None, world.reset())
    for number in actions:
        record.extend(Action(number), world.step(Action(number)) if number else world.reset())
    return record
