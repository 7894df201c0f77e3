"""How a walking world goes: an avatar on a ground, and what it meets. The tables of what was learnt come from outside."""

from __future__ import annotations

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np

RUNNING, COMPLETED, OVER = range(3)


class State(NamedTuple):
    """ground: every cell without the avatar, row by row. body: which look of the avatar it has (-1: no avatar is seen), its upper
    left cell at (row, col). trail: how far a memorised history has been followed (-1: off every one of them)."""

    ground: bytes
    width: int
    body: int
    row: int
    col: int
    status: int
    trail: int


def find(frame: Any, look: Any) -> list[tuple[int, int]]:
    """Upper left cells (row, col) of every place where the frame shows this look (rows of colours, -1: any colour)."""
    height, width = len(look), len(look[0])
    rows, cols = frame.shape[0] - height + 1, frame.shape[1] - width + 1
    if rows < 1 or cols < 1:
        return []
    there = np.ones((rows, cols), dtype=bool)
    for r, line in enumerate(look):
        for c, colour in enumerate(line):
            if colour >= 0:
                there &= frame[r : r + rows, c : c + cols] == colour
    return [(int(r), int(c)) for r, c in np.argwhere(there)]


def cells_of(look: Any) -> Any:
    """Rows, columns and colours of a look's own cells, counted from its upper left one, as three arrays."""
    cells = [(r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    return tuple(np.array(cells).T)


class Walker:
    """The program's functions over the tables of `laws` (a module or any object with these names):

    bodies: of each look of the avatar: {"look": rows of colours, -1 where it is transparent; "moves": {action: (rows, columns)}}.
    floor: colours of open ground. under: what lies below the avatar at the start: a colour, or None: what surrounds it.
    contacts: what is met -> (what happens, (row, col, colour) painted there, counted from where the avatar would stand).
    guess: what is taken to be the goal until it has been reached, or None.
    starts: first frame -> (body, row, col, colours below it), where the general rules start it wrongly.
    places: (ground, row, col, action) -> what follows. histories: (first frame, ((action, what follows or None), ...)).
    What follows: (body, row, col, status, changes of the ground). Frames and grounds are named by their CRC-32.
    """

    def __init__(self, laws: Any) -> None:
        self.laws = laws
        self.cells = [cells_of(body["look"]) for body in laws.bodies]
        self.boxes = [box(body) for body in laws.bodies]
        self.met: dict[Any, Any] = {}
        self.trails: dict[Any, int] = {}
        self.recalled: dict[int, Any] = {}
        for start, steps in laws.histories:
            trail = self.trails.setdefault(start, len(self.trails))
            for action, effect in steps:
                trail = self.trails.setdefault((trail, action), len(self.trails))
                if effect is not None:
                    self.recalled[trail] = effect

    def follow(self, trail: int, name: Any) -> int:
        """How far a memorised history has been followed after one more action."""
        return self.trails.get((trail, name), -1)

    def initial_state(self, observation: Any) -> State:
        frame = np.array(observation["frame"])
        mark = zlib.crc32(frame.tobytes())
        body, row, col, below = self.laws.starts.get(mark) or self.sight(frame)
        if body >= 0:
            r, c, _ = self.cells[body]
            # R3: what the avatar hides at the start.
            frame[row + r, col + c] = self.surrounding(frame, body, row, col) if below is None else below
        return State(frame.tobytes(), frame.shape[1], body, row, col, RUNNING, self.trails.get(mark, -1))

    def sight(self, frame: Any) -> tuple[int, int, int, Any]:
        """Where the avatar is in a first frame."""
        for body, known in enumerate(self.laws.bodies):
            # R1: the avatar is known by its look.
            for row, col in find(frame, known["look"]):
                return body, row, col, self.laws.under
        return -1, -1, -1, None

    def surrounding(self, frame: Any, body: int, row: int, col: int) -> int:
        """The commonest colour in and around the avatar's box, itself aside."""
        around = np.array(frame, dtype=np.int16)
        r, c, _ = self.cells[body]
        around[row + r, col + c] = -1
        height, width = len(self.laws.bodies[body]["look"]), len(self.laws.bodies[body]["look"][0])
        ring = around[max(row - 1, 0) : row + height + 1, max(col - 1, 0) : col + width + 1]
        seen = ring[ring >= 0]
        return int(np.bincount(seen).argmax()) if seen.size else 0

    def step(self, state: State, action: Any) -> State:
        if state.status != RUNNING:
            return state
        name = action.id if action.x is None else (action.id, action.x, action.y)
        trail = self.follow(state.trail, name)
        memory = self.memory(state, name, trail)
        if memory is not None:
            body, row, col, status, changes = memory
            return State(repaint(state.ground, state.width, changes), state.width, body, row, col, status, trail)
        move = self.laws.bodies[state.body]["moves"].get(name) if state.body >= 0 else None
        if move is not None:
            state = self.moved(state, state.row + move[0], state.col + move[1], name)
        # R2: an action that is not known to move the avatar changes nothing.
        return state if state.trail == trail else state._replace(trail=trail)

    def memory(self, state: State, name: Any, trail: int) -> Any:
        """What was memorised for this moment, or None."""
        if trail in self.recalled:
            return self.recalled[trail]  # R7: memorised for one history
        if self.laws.places:
            return self.laws.places.get((zlib.crc32(state.ground), state.row, state.col, name))  # R6: memorised for one place
        return None

    def effect(self, contact: Any, name: Any) -> Any:
        """What a contact does, and what it paints: the most particular law decides."""
        contacts = self.laws.contacts
        for key in contact:
            if (key, name) in contacts:
                return contacts[key, name]
            if key in contacts:
                return contacts[key]
            if key == self.laws.guess:
                return "win", ()
        return "stop", ()  # R5: what has not been met is taken to block

    def meets(self, ground: bytes, width: int, body: int, row: int, col: int) -> Any:
        """What the avatar would meet standing at (row, col): descriptions of it, the most particular first."""
        place = ground, body, row, col
        if place not in self.met:
            self.met[place] = self.describe(np.frombuffer(ground, np.uint8).reshape(-1, width), body, row, col)
        return self.met[place]

    def describe(self, ground: Any, body: int, row: int, col: int) -> tuple[Any, ...]:
        look, (top, left, height, width) = self.laws.bodies[body]["look"], self.boxes[body]
        if row < 0 or col < 0 or row + len(look) > ground.shape[0] or col + len(look[0]) > ground.shape[1]:
            return (("edge",),)
        top, left = row + top, col + left
        patch = ground[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)].tolist()
        # R4: open ground, and figures on it.
        figure = [[-1 if colour in self.laws.floor else colour for colour in line] for line in patch]
        colours = tuple(sorted({colour for line in figure for colour in line} - {-1}))
        if not colours:
            return (("floor",),)
        exact = ("exact", tuple(map(tuple, figure)))
        shape = ("shape", tuple("".join(".#"[colour >= 0] for colour in line) for line in figure))
        whole = "." not in "".join(shape[1])
        return (exact, ("colour", colours)) if whole else (exact, shape, ("colour", colours))

    def moved(self, state: State, row: int, col: int, name: Any) -> State:
        """The state after an action that would take the avatar to (row, col)."""
        ground, width, body, _, _, status, trail = state
        contact = self.meets(ground, width, body, row, col)
        happens, paint = self.effect(contact, name)
        if paint:
            changes = [(row + r, col + c, colour, 1) for r, c, colour in paint if 0 <= col + c < width]
            ground = repaint(ground, width, changes)
        if contact[0] == ("edge",) or happens in ("stop", "die outside"):
            row, col = state.row, state.col  # R5: it stays; beyond the edge nothing is seen, whatever happens
        elif happens == "die vanishing":
            body, row, col = -1, -1, -1
        if happens == "stop" and not paint:
            return state
        status = COMPLETED if happens == "win" else RUNNING if happens in ("enter", "stop") else OVER
        return State(ground, width, body, row, col, status, trail)

    def render(self, state: State) -> Any:
        frame = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
        if state.body < 0:
            return frame
        r, c, colours = self.cells[state.body]
        frame = frame.copy()
        frame[state.row + r, state.col + c] = colours  # R3: the avatar hides what is below it
        return frame

    def is_goal(self, state: State) -> bool:
        return state.status == COMPLETED

    def is_over(self, state: State) -> bool:
        return state.status == OVER


def box(body: Any) -> tuple[int, int, int, int]:
    """The patch that a contact is judged by: the avatar's own box, or one step's length where that is more, on the same middle.
    (top, left) counted from the avatar's upper left cell, (height, width)."""
    look, moves = body["look"], body["moves"].values()
    height = max([len(look), *(abs(rows) for rows, _ in moves)])
    width = max([len(look[0]), *(abs(columns) for _, columns in moves)])
    return (len(look) - height) // 2, (len(look[0]) - width) // 2, height, width


def repaint(ground: bytes, width: int, changes: Any) -> bytes:
    """The ground after changes: (row, col, colour, how many cells to the right), or the whole ground, packed."""
    if isinstance(changes, str):
        return zlib.decompress(base64.b85decode(changes))
    if not changes:
        return ground
    cells = bytearray(ground)
    for row, col, colour, run in changes:
        for at in range(row * width + col, row * width + col + run):
            if 0 <= at < len(cells):
                cells[at] = colour
    return bytes(cells)
