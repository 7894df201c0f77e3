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
    counts = np.bincount(frame.ravel(), minlength=256)
    wanted = [(int(counts[colour]), r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    _, r, c, colour = min(wanted)  # the rarest first leaves fewest places to look at
    there_r, there_c = np.nonzero(frame[r : r + rows, c : c + cols] == colour)
    for _, r, c, colour in sorted(wanted)[1:]:
        if not there_r.size:
            return []
        fits = frame[there_r + r, there_c + c] == colour
        if not fits.all():
            there_r, there_c = there_r[fits], there_c[fits]
    return list(zip(there_r.tolist(), there_c.tolist(), strict=True))


def cells_of(look: Any) -> Any:
    """Rows, columns and colours of a look's own cells, counted from its upper left one, as three arrays."""
    cells = [(r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    return tuple(np.array(cells).T)


class Walker:
    """The program's functions over the tables of `laws` (a module or any object with these names):

    bodies: of each look of the avatar: {"look": rows of colours, -1 where it is transparent; "moves": {action: (rows, columns)};
    "turns": {action: body}, where there are any}.
    floor: colours of open ground. under: what lies below the avatar at the start: a colour, or None: what surrounds it.
    contacts: what is met -> (what happens, (row, col, colour) painted there, counted from where the avatar would stand).
    guess: what is taken to be the goal until it has been reached, or None.
    click: the id of the action that clicks, or None. turns: look -> the look it turns into when a click reaches it.
    around: (clicked look, colour clicked) -> offsets (rows, columns) of what the click reaches.
    goals: predicates over the ground, any of which completes the level: ("none", look): no such look is left.
    starts: first frame -> (body, row, col, colours below it), where the general rules start it wrongly.
    places: (ground, body, row, col, action) -> what follows. histories: (first frame, ((action, what follows or None), ...)).
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
        elif state.body >= 0 and name in self.laws.bodies[state.body].get("turns", ()):
            state = state._replace(body=self.laws.bodies[state.body]["turns"][name])  # R2: it turns where it stands
        elif (ahead := front(self.laws.bodies, state.body)) is not None and action.x is None:
            state = self.acted(state, state.row + ahead[0], state.col + ahead[1], name)
        elif self.laws.around and action.x is not None:
            state = self.clicked(state, action)
        # R2: an action that is not known to move the avatar changes nothing.
        return state if state.trail == trail else state._replace(trail=trail)

    def meets_next(self, state: State, action: Any) -> Any:
        """The most particular description of what this action would meet, or None."""
        name = action.id if action.x is None else (action.id, action.x, action.y)
        move = self.laws.bodies[state.body]["moves"].get(name) if state.body >= 0 else None
        if move is None:
            return None
        return self.meets(state.ground, state.width, state.body, state.row + move[0], state.col + move[1])[0]

    def memory(self, state: State, name: Any, trail: int) -> Any:
        """What was memorised for this moment, or None."""
        if trail in self.recalled:
            return self.recalled[trail]  # R7: memorised for one history
        if self.laws.places:
            place = zlib.crc32(state.ground), state.body, state.row, state.col, name
            return self.laws.places.get(place)  # R6: memorised for one place
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
        if happens == "push":
            return self.pushed(state, row, col, paint)
        if contact[0] == ("edge",) or happens in ("stop", "die outside"):
            row, col = state.row, state.col  # R5: it stays; beyond the edge nothing is seen, whatever happens
        elif happens == "die vanishing":
            body, row, col = -1, -1, -1
        if happens == "stop" and not paint:
            return state
        status = COMPLETED if happens == "win" else RUNNING if happens in ("enter", "stop") else OVER
        return State(ground, width, body, row, col, status, trail)

    def acted(self, state: State, row: int, col: int, name: Any) -> State:
        """The state after an action on what stands before the avatar, where such a law is known."""
        for key in self.meets(state.ground, state.width, state.body, row, col):
            if (key, name) in self.laws.contacts:
                _, paint = self.laws.contacts[key, name]
                changes = [(row + r, col + c, colour, 1) for r, c, colour in paint if 0 <= col + c < state.width]
                return state._replace(ground=repaint(state.ground, state.width, changes)) if changes else state
        return state

    def pushed(self, state: State, row: int, col: int, paint: Any) -> State:
        """The state after what is met at (row, col) was pushed on, if what stands behind it can be entered."""
        ground, width, body, _, _, status, trail = state
        behind = 2 * row - state.row, 2 * col - state.col
        contact = self.meets(ground, width, body, *behind)
        happens, _ = self.effect(contact, None)
        if contact[0] == ("edge",) or happens != "enter":
            return state
        top, left, high, wide = self.boxes[body]
        cells = np.frombuffer(ground, np.uint8).reshape(-1, width).copy()
        thing = patch(cells, row + top, col + left, high, wide)
        if thing is None or patch(cells, behind[0] + top, behind[1] + left, high, wide) is None:
            return state
        there = cells[behind[0] + top : behind[0] + top + high, behind[1] + left : behind[1] + left + wide]
        shown = np.array(thing, dtype=np.uint8)
        own = ~np.isin(shown, np.array(self.laws.floor, dtype=np.uint8))
        there[own] = shown[own]
        for r, c, colour in paint:
            cells[row + r, col + c] = colour
        return State(cells.tobytes(), width, body, row, col, status, trail)

    def clicked(self, state: State, action: Any) -> State:
        """The state after a click: what it reaches turns."""
        ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
        turning = next(iter(self.laws.turns))
        height, width = len(turning), len(turning[0])
        for (shown, colour), offsets in self.laws.around.items():
            if ground[action.y, action.x] != colour:
                continue
            margin = (len(shown) - height) // 2
            for row, col in self.places(state.ground, state.width, shown):
                if 0 <= action.y - row - margin < height and 0 <= action.x - col - margin < width:
                    after = ground.copy()
                    for r, c in offsets:
                        there = patch(ground, row + r, col + c, height, width)
                        if there in self.laws.turns:
                            after[row + r : row + r + height, col + c : col + c + width] = self.laws.turns[there]
                    return state._replace(ground=after.tobytes())
        return state

    def places(self, ground: bytes, width: int, shown: Any) -> list[tuple[int, int]]:
        """Where the ground shows a look."""
        key = ground, shown
        if key not in self.met:
            self.met[key] = find(np.frombuffer(ground, np.uint8).reshape(-1, width), shown)
        found: list[tuple[int, int]] = self.met[key]
        return found

    def actions(self, state: State) -> Any:
        """Moves, and one click on everything that is known to answer."""
        tries: list[Any] = [(move, None, None) for move in (self.laws.bodies[state.body]["moves"] if state.body >= 0 else ())]
        for shown, colour in self.laws.around:
            margin = (len(shown) - len(next(iter(self.laws.turns)))) // 2
            inner = [line[margin : len(line) - margin] for line in shown[margin : len(shown) - margin]]
            r, c = next((r, c) for r, line in enumerate(inner) for c, cell in enumerate(line) if cell == colour)
            tries += [
                (self.laws.click, col + c + margin, row + r + margin) for row, col in self.places(state.ground, state.width, shown)
            ]
        return tuple(tries)

    def completed(self, state: State) -> bool:
        """Does any of the predicates hold?"""
        return any(not self.places(state.ground, state.width, shown) for _, shown in self.laws.goals)

    def render(self, state: State) -> Any:
        frame = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
        if state.body < 0:
            return frame
        r, c, colours = self.cells[state.body]
        frame = frame.copy()
        frame[state.row + r, state.col + c] = colours  # R3: the avatar hides what is below it
        return frame

    def is_goal(self, state: State) -> bool:
        return state.status == COMPLETED or (bool(self.laws.goals) and state.status == RUNNING and self.completed(state))

    def is_over(self, state: State) -> bool:
        return state.status == OVER

    def key(self, state: State) -> Any:
        """A state without the history that led to it."""
        return state[:6]


def box(body: Any) -> tuple[int, int, int, int]:
    """The patch that a contact is judged by: the avatar's own box, or one step's length where that is more, on the same middle.
    (top, left) counted from the avatar's upper left cell, (height, width)."""
    look, moves = body["look"], body["moves"].values()
    height = max([len(look), *(abs(rows) for rows, _ in moves)])
    width = max([len(look[0]), *(abs(columns) for _, columns in moves)])
    return (len(look) - height) // 2, (len(look[0]) - width) // 2, height, width


def front(bodies: Any, body: int) -> Any:
    """The one way that an avatar which turns can go as it stands; None for any other."""
    if body < 0 or "turns" not in bodies[body]:
        return None
    ways = set(bodies[body]["moves"].values())
    return next(iter(ways)) if len(ways) == 1 else None


def patch(ground: Any, row: int, col: int, height: int, width: int) -> Any:
    """A part of the ground as rows of colours; None where it reaches beyond."""
    if row < 0 or col < 0 or row + height > ground.shape[0] or col + width > ground.shape[1]:
        return None
    return tuple(map(tuple, ground[row : row + height, col : col + width].tolist()))


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
