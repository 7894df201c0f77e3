"""What is not known of a walking world: which cells and which endings its program leaves open, and what it takes in as it looks."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from lawbook.minds.induce.layers import COMPLETED, OVER, RUNNING
from lawbook.minds.induce.looks import find
from lawbook.minds.induce.nearby import Presses, find_button
from lawbook.minds.induce.watcher import mark_rows


class State(NamedTuple):
    """world: the state below. doubt: of each cell the rule under which its ground is not known until it is seen; empty: none is.
    hinge: the rule under which what the last action came to is not known; lost: the same, and something was done since, so that all
    is open. ends: what may have completed the level by that, or None. refuted: what did not complete the level in this attempt,
    though it might have. walks: the actions that move. fresh: where a view goes with the avatar, the cells that have been in it
    from the start, so that it is not known whether they are shown without it; else empty. stood: where figures were before an
    action of which it is not known what it came to."""

    world: Any
    doubt: bytes = b""
    hinge: int = 0
    lost: int = 0
    ends: Any = None
    refuted: tuple[Any, ...] = ()
    walks: tuple[int, ...] = ()
    fresh: bytes = b""
    stood: tuple[Any, ...] = ()

    @property
    def core(self) -> Any:
        """The state of the world at the bottom."""
        return self.world.core


class Believer:
    """The program's functions over a world of layers and the tables of `unknown`:

    rules: what is not known -> the number k of the rule Uk that says so.
    areas: (rows from, to, columns from, to, colours) of cells that are open while they show one of these colours.
    contacts: what is met (a description, one with an action, or a place with an action) of which the outcome is not known: -> the
    places that it may change elsewhere, and whether it may complete the level. grounds: the rows of the grounds that it names.
    idle: actions that have not been seen to do anything, and were tried too seldom to say that they do nothing.
    clicked: colours of which it is known what a click on them does. pressed: those of buttons, and presses: what these do, see
    Presses. hidden: it is not known what lies below figures at the start.
    overlaps: which of two things in one place is in front is not known. endless: when the game is over is not known.
    """

    def __init__(self, unknown: Any, world: Any) -> None:
        self.unknown, self.world = unknown, world
        self.rules, self.presses = unknown.rules, Presses(unknown.presses)
        self.grounded: dict[Any, list[Any]] = {}
        for key in unknown.contacts:
            if key[0] == "when":
                self.grounded.setdefault(key[2:], []).append(key)

    # -- the contract's functions ---------------------------------------------------------------------------------------------

    def initial_state(self, observation: Any) -> State:
        frame = np.asarray(observation["frame"])
        world = self.world.initial_state(observation)
        doubt = b""
        if self.unknown.hidden:
            plane = np.zeros(frame.shape, np.uint8)
            for rows, cols, _ in self.figures(world.core):
                plane[rows, cols] = self.rules["hidden"]  # U-hidden
            doubt = plane.tobytes() if plane.any() else b""
        fresh = np.zeros(frame.shape, bool)
        if world.lit and world.core.body >= 0:
            fresh[self.world.shown(world.core.row, world.core.col, frame.shape)] = True
        return State(world, doubt, walks=self.find_walks(observation), fresh=fresh.tobytes() if fresh.any() else b"")

    def find_walks(self, observation: Any) -> tuple[int, ...]:
        return tuple(action for action in observation.get("available_actions", ()) if action in self.unknown.walks)

    def step(self, state: State, action: Any) -> State:
        if state.lost or (state.hinge == 0 and self.world.status(state.world) != RUNNING):
            return state
        if state.hinge:
            return state._replace(lost=state.hinge)  # nothing was looked at since
        watcher = self.world.core
        watcher.notes.clear()
        world = self.world.step(state.world, action)
        if action.x is not None and self.unknown.pressed:
            pressed = self.press(state, world, action)
            if pressed is not None:
                return pressed
        rule, ends, plane = self.judge(state, action)
        doubt = self.keep_doubt(state, world, rule, plane)
        core = state.core
        stood = ((core.body, core.row, core.col), *core.mates) if rule else ()
        return State(world, doubt, rule, 0, ends, state.refuted, state.walks, state.fresh, stood)

    def press(self, state: State, world: Any, action: Any) -> State | None:
        """The state after a click on a button that is known; None where it is none."""
        shape = len(state.core.ground) // state.core.width, state.core.width
        ground = np.frombuffer(world.core.ground, np.uint8).reshape(shape)
        if ground[action.y, action.x] not in self.unknown.pressed:
            return None
        button = find_button(ground, action.y, action.x)
        if button not in self.presses.buttons:
            return None
        if any(key in self.unknown.contacts for key in self.name_acts(state, (action.id, action.x, action.y))):
            return None
        doubt = np.frombuffer(state.doubt, np.uint8).reshape(shape) if state.doubt else None
        pressed, is_open = self.presses.press(ground, None if doubt is None else doubt > 0, button)
        world = world._replace(core=world.core._replace(ground=pressed.tobytes()))
        kept = self.keep_doubt(state, world, self.rules["presses"] if is_open.any() else 0, is_open)  # U-presses
        return State(world, kept, 0, 0, None, state.refuted, state.walks, state.fresh)

    def render(self, state: State) -> Any:
        frame = self.world.render(state.world)
        if state.lost:
            return np.full(frame.shape, -state.lost, np.int16)
        plane = self.find_open(state, frame)
        if plane is None or not plane.any():
            return frame
        return np.where(plane > 0, -plane.astype(np.int16), frame)

    def is_goal(self, state: State) -> Any:
        if state.lost or state.ends is not None:
            return None
        return False if state.hinge else self.world.status(state.world) == COMPLETED

    def is_over(self, state: State) -> Any:
        if state.lost or state.hinge:
            return None
        status = self.world.status(state.world)
        if self.unknown.endless:
            return False if status == COMPLETED else None  # U-endless
        return status == OVER

    def actions(self, state: State) -> Any:
        """What a search should try; nothing where it is not known where things are."""
        if state.lost or state.hinge:
            return ()
        return self.world.actions(state.world) if self.world.core.laws.around else state.walks

    def key(self, state: State) -> Any:
        return self.world.key(state.world), state.hinge, state.lost, state.ends

    def update(self, state: State, observation: Any) -> State:
        """The state after a look at what is there."""
        frame = np.asarray(observation["frame"])
        refuted = state.refuted
        if state.ends is not None and not state.lost:
            refuted = tuple(dict.fromkeys((*refuted, state.ends)))
        walks = self.find_walks(observation) or state.walks
        world, is_found = state.world, True
        if state.lost or state.hinge or not np.array_equal(self.world.render(world), frame) or self.world.status(world) != RUNNING:
            world, is_found = self.look(world, frame)
        fresh = state.fresh
        if fresh and world.core.body >= 0:
            still = np.zeros(frame.shape, bool)
            window = self.world.shown(world.core.row, world.core.col, frame.shape)
            still[window] = np.frombuffer(fresh, bool).reshape(frame.shape)[window]
            fresh = still.tobytes() if still.any() else b""
        if not is_found:
            return State(world, b"", 0, self.rules["unseen"], None, refuted, walks, fresh)
        return State(world, self.clear_doubt(state, world), 0, 0, None, refuted, walks, fresh)

    # -- what the functions above are made of ---------------------------------------------------------------------------------

    def judge(self, state: State, action: Any) -> tuple[int, Any, Any]:
        """(rule under which what came of the action is not known, or 0; what may have completed the level, or None; the part of
        the frame that is open, or None: all of it)."""
        name = action.id if action.x is None else (action.id, action.x, action.y)
        if action.id in self.unknown.idle:
            return self.rules["idle"], None, None  # U-idle
        if action.x is not None and not any(key in self.unknown.contacts for key in self.name_acts(state, name)):
            return self.judge_click(state, action)
        watcher = self.world.core
        for key in () if watcher.notes else self.name_acts(state, name):
            if key in self.unknown.contacts:
                return self.open_boxes(state, self.unknown.contacts[key], key)
        for body, row, col, contact, met_by, happens in watcher.notes:
            top, left, height, width = watcher.boxes[body]
            rows, cols = slice(max(row + top, 0), max(row + top + height, 0)), slice(max(col + left, 0), max(col + left + width, 0))
            if not watcher.knows(contact, met_by):
                ends = watcher.laws.guess if happens == "win" and watcher.laws.guess not in state.refuted else None
                return self.rules["unmet"], ends, None  # U-unmet
            if state.doubt:
                doubt = np.frombuffer(state.doubt, np.uint8).reshape(-1, state.core.width)[rows, cols]
                if doubt.any():
                    return int(doubt.max()), None, None
            if self.world.view:
                ground = np.frombuffer(state.core.ground, np.uint8).reshape(-1, state.core.width)[rows, cols]
                if (ground == self.world.view[0]).any():
                    return self.rules["dark"], None, None  # U-dark
            for key in self.name_contexts(state, row, col, contact, name):
                if key in self.unknown.contacts:
                    return self.open_boxes(state, self.unknown.contacts[key], key)  # U-contacts
        return 0, None, None

    def name_contexts(self, state: State, row: int, col: int, contact: Any, name: Any) -> Any:
        """What a contact may be known by to the table `contacts`, the most general first."""
        kinds = [key for key in reversed(contact) if key not in (("floor",), ("edge",))]
        yield from kinds
        yield from ((key, name) for key in kinds)
        yield "at", row, col, name
        yield self.name_place(state, row, col, name)

    def name_place(self, state: State, row: int, col: int, name: Any) -> Any:
        """A place and an action on this very ground; where the ground is not all known, on any that it may be."""
        if state.doubt and (row, col, name) in self.grounded:
            width = state.core.width
            known = [not any(state.doubt[at : at + width]) for at in range(0, len(state.doubt), width)]
            marks = mark_rows(state.core.ground, width)
            for key in self.grounded[row, col, name]:
                if all(
                    one == other
                    for one, other, is_known in zip(marks, self.unknown.grounds[key[1]], known, strict=True)
                    if is_known
                ):
                    return key
        return "when", zlib.crc32(state.core.ground), row, col, name

    def name_acts(self, state: State, name: Any) -> Any:
        """What an action that meets nothing may be known by to the table `contacts`, the most general first."""
        yield ("act",), name
        yield self.name_place(state, -1, -1, name)

    def open_boxes(self, state: State, doubtful: Any, key: Any) -> tuple[int, Any, Any]:
        """What is open where what a contact does is not known: where its figures stand and go, and what it changed elsewhere."""
        ends, places = doubtful
        watcher = self.world.core
        shape = len(state.core.ground) // state.core.width, state.core.width
        plane = np.zeros(shape, bool)
        for body, row, col in ((state.core.body, state.core.row, state.core.col), *state.core.mates):
            if body >= 0:
                top, left, height, width = watcher.boxes[body]
                plane[max(row + top, 0) : row + top + height, max(col + left, 0) : col + left + width] = True
        for body, row, col, *_ in watcher.notes:
            top, left, height, width = watcher.boxes[body]
            plane[max(row + top, 0) : max(row + top + height, 0), max(col + left, 0) : max(col + left + width, 0)] = True
        for top, left, height, width in places:
            plane[top : top + height, left : left + width] = True
        return self.rules["contacts"], key if ends and key not in state.refuted else None, plane

    def judge_click(self, state: State, action: Any) -> tuple[int, Any, Any]:
        frame = self.world.render(state.world)
        colour = int(frame[action.y, action.x])
        is_known = colour in self.unknown.clicked and colour not in self.unknown.pressed
        return (0, None, None) if is_known else (self.rules["idle"], None, None)  # U-idle

    def figures(self, core: Any) -> Any:
        """(rows, columns, colours) of the cells of every figure that is seen."""
        for body, row, col in ((core.body, core.row, core.col), *core.mates):
            if body >= 0:
                r, c, colours = self.world.core.cells[body]
                yield row + r, col + c, colours

    def find_areas(self, frame: Any) -> Any:
        """The cells that are open at all times, as a plane of their rule; None where there are none."""
        if not self.unknown.areas:
            return None
        plane = np.zeros(frame.shape, np.uint8)
        for top, bottom, left, right, colours in self.unknown.areas:
            part = frame[top : bottom + 1, left : right + 1]
            plane[top : bottom + 1, left : right + 1][np.isin(part, colours)] = self.rules["areas"]  # U-areas
        return plane

    def find_open(self, state: State, frame: Any) -> Any:
        """A plane of the rules under which cells are open, 0 where they are claimed; None where all are claimed."""
        core = state.core
        plane = self.find_areas(frame)
        if state.doubt:
            doubt = np.frombuffer(state.doubt, np.uint8).reshape(frame.shape)
            if not state.hinge:
                doubt = doubt.copy()
                for rows, cols, _ in self.figures(core):
                    doubt[rows, cols] = 0
            plane = doubt if plane is None else np.maximum(plane, doubt)
        if self.unknown.overlaps:
            mask = self.find_overlaps(core, frame.shape)
            if mask.any():
                plane = np.where(mask, self.rules["overlaps"], 0 if plane is None else plane).astype(np.uint8)  # U-overlaps
        if state.world.lit:
            window = self.world.shown(core.row, core.col, frame.shape)
            is_dark = np.zeros(frame.shape, bool)
            is_dark[window] = frame[window] == self.world.view[0]
            if state.fresh:
                is_fresh = np.frombuffer(state.fresh, bool).reshape(frame.shape).copy()
                is_fresh[window] = False
                is_dark |= is_fresh
            if is_dark.any():
                plane = np.where(is_dark, self.rules["dark"], 0 if plane is None else plane).astype(np.uint8)  # U-dark
        return plane

    def find_overlaps(self, core: Any, shape: Any) -> Any:
        """Cells of a figure in which something else is too."""
        ground = np.frombuffer(core.ground, np.uint8).reshape(shape)
        count = np.zeros(shape, np.uint8)
        for rows, cols, _ in self.figures(core):
            count[rows, cols] += 1
        is_floor = np.isin(ground, np.array(self.world.core.laws.floor, np.uint8))
        return (count > 1) | ((count > 0) & ~is_floor)

    def look(self, world: Any, frame: Any) -> tuple[Any, bool]:
        """The state below as a frame shows it, and whether the avatar is seen; what is not shown is as it was."""
        layers, core = self.world, world.core
        plain, ticks, lost = layers.bare(frame)
        ticks = tuple(
            old if old[0] >= 0 and strip.gone(frame, old[0]) == strip.emptied(old[1]) else new
            for strip, old, new in zip(layers.strips, world.ticks, ticks, strict=True)
        )
        ground = np.frombuffer(core.ground, np.uint8).reshape(plain.shape)
        spots = [self.find_figure(plain, ground, figure) for figure in ((core.body, core.row, core.col), *core.mates)]
        is_visible = np.ones(plain.shape, bool)
        if world.lit:
            is_visible = plain != layers.view[0]
            if spots[0][0] >= 0:
                window = layers.shown(spots[0][1], spots[0][2], plain.shape)
                is_lit = is_visible.copy()
                is_lit[window] = np.frombuffer(world.lit, bool).reshape(plain.shape)[window]
                world = world._replace(lit=(is_lit | np.frombuffer(world.lit, bool).reshape(plain.shape)).tobytes())
                is_visible[window] = True
        seen = np.where(is_visible, plain, ground)
        core = core._replace(
            body=spots[0][0], row=spots[0][1], col=spots[0][2], status=RUNNING, mates=tuple(s for s in spots[1:] if s[0] >= 0)
        )
        for rows, cols, _ in self.figures(core):
            seen[rows, cols] = ground[rows, cols]
        core = core._replace(ground=seen.tobytes())
        return world._replace(core=core, ticks=ticks, lost=lost, status=-1), spots[0][0] >= 0 or not layers.core.laws.bodies

    def find_figure(self, frame: Any, ground: Any, figure: Any) -> tuple[int, int, int]:
        """Where a figure is seen: where it was to be, or else next to that; body -1: nowhere."""
        walker = self.world.core
        body, row, col = figure
        bodies = walker.laws.bodies
        mate = bodies[body].get("mate", 0) if body >= 0 else 0
        places = [
            (other, r, c)
            for other, table in enumerate(bodies)
            if table.get("mate", 0) == mate
            for r, c in find(frame, table["look"])
        ]
        if figure in places:
            return body, row, col
        if body >= 0 and self.unknown.overlaps:
            r, c, colours = walker.cells[body]
            shown, below = frame[row + r, col + c], ground[row + r, col + c]
            is_floor = np.isin(below, np.array(walker.laws.floor, np.uint8))
            if ((shown == colours) | ~is_floor).all():
                return body, row, col
        if body < 0:
            return places[0] if len(places) == 1 else (-1, -1, -1)
        return min(places, key=lambda place: (abs(place[1] - row) + abs(place[2] - col), place), default=(-1, -1, -1))

    def keep_doubt(self, state: State, world: Any, rule: int, plane: Any) -> bytes:
        """The doubt after a step: what was not known before, what is open at all times, and what this step has left open."""
        areas = self.find_areas(self.world.render(world)) if self.unknown.areas else None
        if not rule and areas is None:
            return state.doubt
        shape = len(world.core.ground) // world.core.width, world.core.width
        doubt = np.frombuffer(state.doubt, np.uint8).reshape(shape) if state.doubt else np.zeros(shape, np.uint8)
        if areas is not None:
            doubt = np.maximum(doubt, areas)
        if rule:
            is_new = doubt == 0 if plane is None else plane & (doubt == 0)
            doubt = np.where(is_new, np.uint8(rule), doubt)
        return doubt.tobytes()

    def clear_doubt(self, state: State, world: Any) -> bytes:
        """The doubt after a look: what figures still hide, and what a view does not show."""
        if not state.doubt:
            return b""
        doubt = np.frombuffer(state.doubt, np.uint8).reshape(-1, world.core.width)
        remaining = np.zeros_like(doubt)
        stood = state.stood or ((state.core.body, state.core.row, state.core.col), *state.core.mates)
        for body, row, col in ((world.core.body, world.core.row, world.core.col), *world.core.mates):
            if body >= 0:
                r, c, _ = self.world.core.cells[body]
                below = doubt[row + r, col + c]
                if (body, row, col) in stood and not state.lost:  # it has not been where something happened
                    below = np.where(below == self.rules["hidden"], below, 0)
                remaining[row + r, col + c] = below
        return remaining.tobytes() if remaining.any() else b""
