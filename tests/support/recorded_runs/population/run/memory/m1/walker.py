"""How a walking world goes: an avatar on a ground, and what it meets. The tables of what was learnt come from outside."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from looks import cells_of, figure_in, find, opened, patch, repaint
from predicates import holds

RUNNING, COMPLETED, OVER = range(3)
MOST = 64
"""Steps of one action, at most, where it slides or is carried."""


class State(NamedTuple):
    """ground: every cell without the avatar, row by row. body: which look of the avatar it has (-1: no avatar is seen), its upper
    left cell at (row, col). trail: how far a memorised history has been followed (-1: off every one of them). mates: every other
    figure that actions move: (body, row, col)."""

    ground: bytes
    width: int
    body: int
    row: int
    col: int
    status: int
    trail: int
    mates: tuple[tuple[int, int, int], ...] = ()


class Walker:
    """The program's functions over the tables of `laws` (a module or any object with these names):

    bodies: of each look of the avatar: {"look": rows of colours, -1 where it is transparent; "moves": {action: (rows, columns)};
    "turns": {action: body}, where there are any; "mate": number, where it is a look of another figure that actions move}.
    floor: colours of open ground. under: what lies below the avatar at the start: a colour, or None: what surrounds it.
    gates: (what is met, its key, place): open once no such key is left, or, where a row or a column is named, while it is shown
    there.
    contacts: what is met -> (what happens, (row, col, colour) painted there, counted from where the avatar would stand).
    far: what is met -> what is changed elsewhere then: ("copy", row, col): it is shown there too; (row, col, colour): painted.
    guess: what is taken to be the goal until it has been reached, or None.
    click: the id of the action that clicks, or None. turns: look -> the look it turns into when a click reaches it.
    around: (clicked look, colour clicked) -> offsets (rows, columns) of what the click reaches.
    goals: predicates, any of which completes the level: those of `predicates`, and ("home", ((body, what), ...)): each of these
    figures stands on what is named beside it.
    starts: first frame -> (body, row, col, colours below it) of every figure, where the general rules start it wrongly.
    places: (ground, body, row, col, mates, action) -> what follows. histories: (first frame, ((action, what follows or None),
    ...)).
    What follows: (body, row, col, status, changes of the ground, mates). Frames and grounds are named by their CRC-32.
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
        figures = self.laws.starts.get(mark) or self.sight(frame)
        for body, row, col, below in figures:
            if body >= 0:
                r, c, _ = self.cells[body]
                # R3: what a figure hides at the start.
                frame[row + r, col + c] = self.surrounding(frame, body, row, col) if below is None else below
        mates = tuple(figure[:3] for figure in figures[1:])
        body, row, col, _ = figures[0]
        return State(frame.tobytes(), frame.shape[1], body, row, col, RUNNING, self.trails.get(mark, -1), mates)

    def sight(self, frame: Any) -> Any:
        """(body, row, col, what lies below) of the avatar in a first frame, and of its mates."""
        found: dict[int, Any] = {}
        for body, known in enumerate(self.laws.bodies):
            # R1: the avatar is known by its look.
            for row, col in find(frame, known["look"]) if known.get("mate", 0) not in found else ():
                if all((row, col) != other[1:3] for other in found.values()):
                    found[known.get("mate", 0)] = body, row, col, self.laws.under
                    break
        return (found.pop(0, (-1, -1, -1, None)), *(found[mate] for mate in sorted(found)))

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
            body, row, col, status, changes, mates = memory
            return State(repaint(state.ground, state.width, changes), state.width, body, row, col, status, trail, mates)
        for _ in range(len(state.mates) and len(state.mates) + 1):
            state = turned(self.acts(state, action, name))  # R2: every figure has its turn
        if not state.mates:
            state = self.acts(state, action, name)
        return state if state.trail == trail else state._replace(trail=trail)

    def acts(self, state: State, action: Any, name: Any) -> State:
        """The state after the avatar's own part in an action."""
        if state.status != RUNNING:
            return state
        move = self.laws.bodies[state.body]["moves"].get(name) if state.body >= 0 else None
        if move is not None:
            state = self.moved(state, state.row + move[0], state.col + move[1], name)
        elif state.body >= 0 and name in self.laws.bodies[state.body].get("turns", ()):
            state = state._replace(body=self.laws.bodies[state.body]["turns"][name])  # R2: it turns where it stands
        elif (ahead := front(self.laws.bodies, state.body)) is not None and action.x is None:
            state = self.acted(state, state.row + ahead[0], state.col + ahead[1], name)
        elif self.laws.around and action.x is not None:
            state = self.clicked(state, action)
        return state  # R2: an action that is not known to move the avatar changes nothing

    def meets_next(self, state: State, action: Any) -> Any:
        """The most particular description of what this action would meet, or None."""
        name = action.id if action.x is None else (action.id, action.x, action.y)
        move = self.laws.bodies[state.body]["moves"].get(name) if state.body >= 0 else None
        if move is None:
            return None
        return self.meets(self.drawn(state), state.width, state.body, state.row + move[0], state.col + move[1])[0]

    def drawn(self, state: State) -> bytes:
        """The ground with the other figures on it, as the avatar meets it."""
        if not state.mates:
            return state.ground
        if state not in self.met:
            ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width).copy()
            for body, row, col in state.mates:
                r, c, colours = self.cells[body]
                ground[row + r, col + c] = colours
            self.met[state] = ground.tobytes()
        drawn: bytes = self.met[state]
        return drawn

    def memory(self, state: State, name: Any, trail: int) -> Any:
        """What was memorised for this moment, or None."""
        if trail in self.recalled:
            return self.recalled[trail]  # R7: memorised for one history
        if self.laws.places:
            place = zlib.crc32(state.ground), state.body, state.row, state.col, state.mates, name
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
        general = (exact, ("colour", colours)) if whole else (exact, shape, ("colour", colours))
        way = self.way(exact[1], ground)
        return general if way is None else ((*exact, way), (*shape, way), *general)

    def way(self, figure: Any, ground: Any) -> Any:
        """Is this figure a gate, and open or shut as things are? None where it is none."""
        for shown, key, place in self.laws.gates:
            colour = figure_in(figure, shown)
            if colour is not None:
                return "open" if opened(ground, key, place, colour) else "shut"  # R5: what has been taken opens it
        return None

    def moved(self, state: State, row: int, col: int, name: Any) -> State:
        """The state after an action that would take the avatar to (row, col), and on from there where that slides or carries."""
        rows, cols = row - state.row, col - state.col
        for _ in range(MOST):
            contact = self.meets(self.drawn(state), state.width, state.body, row, col)
            happens, paint = self.effect(contact, name)
            state = self.contacted(state, row, col, contact, happens, paint, name)
            if happens.startswith("carry"):
                rows, cols = map(int, happens.split()[1:])
            elif happens != "slide":
                break
            row, col = state.row + rows, state.col + cols
        return state

    def contacted(self, state: State, row: int, col: int, contact: Any, happens: str, paint: Any, name: Any) -> State:
        """The state after what is met at (row, col) has done what it does."""
        ground, body = state.ground, state.body
        if paint or self.laws.far:
            ground = self.painted(state, row, col, contact, name, paint)
        if happens == "push":
            return self.pushed(state, row, col, paint)
        if contact[0] == ("edge",) or happens in ("stop", "die outside"):
            row, col = state.row, state.col  # R5: it stays; beyond the edge nothing is seen, whatever happens
        elif happens == "die vanishing":
            body, row, col = -1, -1, -1
        if happens == "stop" and ground is state.ground:
            return state
        status = COMPLETED if happens == "win" else OVER if happens.startswith("die") else RUNNING
        return state._replace(ground=ground, body=body, row=row, col=col, status=status)

    def acted(self, state: State, row: int, col: int, name: Any) -> State:
        """The state after an action on what stands before the avatar, where such a law is known."""
        for key in self.meets(state.ground, state.width, state.body, row, col):
            if (key, name) in self.laws.contacts:
                _, paint = self.laws.contacts[key, name]
                contact = self.meets(state.ground, state.width, state.body, row, col)
                ground = self.painted(state, row, col, contact, name, paint)
                return state if ground is state.ground else state._replace(ground=ground)
        return state

    def painted(self, state: State, row: int, col: int, contact: Any, name: Any, paint: Any) -> bytes:
        """The ground after a contact at (row, col): painted there, and elsewhere."""
        changes = [(row + r, col + c, colour, 1) for r, c, colour in paint if 0 <= col + c < state.width]
        for far in self.elsewhere(contact, name):
            if far[0] == "copy":
                figure = enumerate(contact[0][1])
                changes += [(far[1] + r, far[2] + c, cell, 1) for r, line in figure for c, cell in enumerate(line) if cell >= 0]
            else:
                changes.append((*far, 1))
        return repaint(state.ground, state.width, changes)

    def elsewhere(self, contact: Any, name: Any) -> Any:
        """What a contact changes elsewhere: the most particular law decides."""
        for key in contact:
            for law in ((key, name), key):
                if law in self.laws.far:
                    return self.laws.far[law]
        return ()

    def pushed(self, state: State, row: int, col: int, paint: Any) -> State:
        """The state after what is met at (row, col) was pushed on, if what stands behind it can be entered."""
        ground, width, body = state.ground, state.width, state.body
        behind = 2 * row - state.row, 2 * col - state.col
        contact = self.meets(self.drawn(state), width, body, *behind)
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
        return state._replace(ground=cells.tobytes(), row=row, col=col)

    def clicked(self, state: State, action: Any) -> State:
        """The state after a click: what it reaches turns."""
        ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
        turning = next(iter(self.laws.turns))
        height, width = len(turning), len(turning[0])
        for (shown, colour), offsets in self.laws.around.items():
            if ground[action.y, action.x] != colour:
                continue
            margin = (len(shown) - height) // 2
            for row, col in self.standing(state, shown, margin):
                if 0 <= action.y - row - margin < height and 0 <= action.x - col - margin < width:
                    after = ground.copy()
                    for r, c in offsets:
                        there = patch(ground, row + r, col + c, height, width)
                        if there in self.laws.turns:
                            after[row + r : row + r + height, col + c : col + c + width] = self.laws.turns[there]
                    return state._replace(ground=after.tobytes())
        return state

    def standing(self, state: State, shown: Any, margin: int) -> list[tuple[int, int]]:
        """Where a look that answers to clicks stands: not where parts of several others only look like it."""
        key = state.ground, "standing"
        turning = next(iter(self.laws.turns))
        height, width = len(turning), len(turning[0])
        if key not in self.met:
            inner = (((len(look) - height) // 2, look) for look, _ in self.laws.around)
            found = {(row + m, col + m) for m, look in inner for row, col in self.places(state.ground, state.width, look)}
            rows, cols = np.array(sorted(found)).reshape(-1, 2).T
            _, at, counts = np.unique(rows % height * width + cols % width, return_inverse=True, return_counts=True)
            lost = (abs(rows[:, None] - rows) < height) & (abs(cols[:, None] - cols) < width) & (counts[at] > counts[at][:, None])
            self.met[key] = {(int(r), int(c)) for r, c, over in zip(rows, cols, lost.any(axis=1), strict=True) if not over}
        there = self.met[key]
        return [(r, c) for r, c in self.places(state.ground, state.width, shown) if (r + margin, c + margin) in there]

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
            tries += [(self.laws.click, col + c + margin, row + r + margin) for row, col in self.standing(state, shown, margin)]
        return tuple(tries)

    def completed(self, state: State) -> bool:
        """Does any of the predicates hold?"""
        return any(self.holds(state, *goal) for goal in self.laws.goals)

    def holds(self, state: State, kind: str, what: Any) -> bool:
        if kind != "home":
            ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
            return holds(kind, what, ground, lambda look: len(self.places(state.ground, state.width, look)))
        figures = ((state.body, state.row, state.col), *state.mates)
        homes = {body: self.meets(state.ground, state.width, body, row, col) for body, row, col in figures if body >= 0}
        return all(home in homes.get(body, ()) for body, home in what)

    def render(self, state: State) -> Any:
        frame = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
        figures = [figure for figure in (*state.mates, (state.body, state.row, state.col)) if figure[0] >= 0]
        frame = frame.copy() if figures else frame
        for body, row, col in figures:
            r, c, colours = self.cells[body]
            frame[row + r, col + c] = colours  # R3: a figure hides what is below it
        return frame

    def is_goal(self, state: State) -> bool:
        return state.status == COMPLETED or (bool(self.laws.goals) and state.status == RUNNING and self.completed(state))

    def is_over(self, state: State) -> bool:
        return state.status == OVER

    def key(self, state: State) -> Any:
        """A state without the history that led to it."""
        return *state[:6], state.mates


def turned(state: State) -> State:
    """The next figure in the avatar's place, and the avatar last of the others."""
    (body, row, col), *others = state.mates
    return state._replace(body=body, row=row, col=col, mates=(*others, (state.body, state.row, state.col)))


def turns(state: State) -> list[State]:
    """The state as each of its figures has it: in the avatar's place, the others its mates."""
    seen = [state]
    for _ in state.mates:
        seen.append(turned(seen[-1]))
    return seen


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
