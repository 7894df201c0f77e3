"""Tiles changed by clicks until every clue is satisfied."""

from itertools import product
from typing import NamedTuple

import numpy as np

GROUNDS, PANEL, BAR, SPENT, MARK = (4, 5), 4, 12, 11, 6


class State(NamedTuple):
    colours: tuple  # of the tiles
    clicks: int  # that changed something
    fixed: object  # Level


class Level:
    """What never changes in a level, read from its first frame."""

    def __init__(self, frame):
        self.frame = frame
        self.bytes = frame.tobytes()
        self.cycle = legend(frame)
        self.tiles, clues, marks = [], [], {}
        h, w = frame.shape
        for r in range(1, h - 6):
            for c in range(1, w - 6):
                ring = np.concatenate([frame[r - 1, c - 1:c + 7], frame[r + 6, c - 1:c + 7], frame[r:r + 6, c - 1], frame[r:r + 6, c + 6]])
                block = frame[r:r + 6, c:c + 6]
                if not (ring == PANEL).all() or (block == PANEL).any():
                    continue
                if (block == MARK).any():  # R6
                    marks[(r, c)] = [(i, j) for i in range(3) for j in range(3) if block[2 * i, 2 * j] == MARK]
                if (block == block[0, 0]).all() or (r, c) in marks:
                    self.tiles.append((r, c))  # R1
                else:
                    clues.append((r, c))  # R4
        index = {t: i for i, t in enumerate(self.tiles)}
        self.moves = []  # R2, R6: tiles that a click on tile i changes
        for i, (r, c) in enumerate(self.tiles):
            others = [index.get((r + 8 * (a - 1), c + 8 * (b - 1))) for a, b in marks.get((r, c), ()) if (a, b) != (1, 1)]
            self.moves.append([i, *(t for t in others if t is not None)])
        self.demands = []  # R4: (tile, colour, wanted)
        for r, c in clues:
            m = int(frame[r + 2, c + 2])
            for i, j in product(range(3), range(3)):
                t, part = index.get((r + 8 * (i - 1), c + 8 * (j - 1))), int(frame[r + 2 * i, c + 2 * j])
                if (i, j) != (1, 1) and t is not None and part in (0, 2):
                    self.demands.append((t, m, part == 0))
        self.limit = 32 if len(self.tiles) < 16 else 128 if marks else 96  # R3

    def __hash__(self):
        return hash(self.bytes)

    def __eq__(self, other):
        return isinstance(other, Level) and self.bytes == other.bytes


def legend(frame):  # R2
    c = next((c for c in range(frame.shape[1] - 3) if frame[0, c] not in GROUNDS), None)
    found = []
    if c is not None:
        for r in range(0, frame.shape[0] - 3, 4):
            block = frame[r:r + 4, c:c + 4]
            if (block != block[0, 0]).any() or block[0, 0] in GROUNDS:
                break
            found.append(int(block[0, 0]))
    return found or [9, 8]


def initial_state(observation):
    frame = np.array(observation["frame"])
    level = Level(frame)
    return State(tuple(int(frame[r + 2, c + 2]) for r, c in level.tiles), 0, level)


def clicked(colours, i, level):
    colours, cycle = list(colours), level.cycle
    for t in level.moves[i]:
        colours[t] = cycle[(cycle.index(colours[t]) + 1) % len(cycle)]
    return tuple(colours)


def step(state, action):
    for i, (r, c) in enumerate(state.fixed.tiles):
        if action.x is not None and r <= action.y < r + 6 and c <= action.x < c + 6:  # R2
            return State(clicked(state.colours, i, state.fixed), state.clicks + 1, state.fixed)
    return state


def render(state):
    frame = state.fixed.frame.copy()
    for (r, c), colour in zip(state.fixed.tiles, state.colours):
        block = frame[r:r + 6, c:c + 6]
        block[block != MARK] = colour
    w = frame.shape[1]
    gone = round(w * state.clicks / state.fixed.limit)
    frame[-1] = np.where(np.arange(w) >= w - gone, SPENT, BAR)  # R3
    return frame


def is_goal(state):
    return bool(state.fixed.demands) and all((state.colours[t] == m) == want for t, m, want in state.fixed.demands)  # R5


def is_over(state):
    return state.clicks >= state.fixed.limit


def groups(level):
    """Tiles that clicks tie together."""
    root = list(range(len(level.tiles)))
    for moved in level.moves:
        for t in moved:
            old, new = root[t], root[moved[0]]
            root = [new if x == old else x for x in root]
    return [[i for i, x in enumerate(root) if x == one] for one in sorted(set(root))]


def plan(state):
    """Group by group: every number of clicks on the marked tiles; the others then follow from the clues."""
    level, n, sent = state.fixed, len(state.fixed.cycle), []
    wanted = {}
    for t, m, want in level.demands:
        wanted.setdefault(t, []).append((m, want))
    for group in groups(level):
        marked = [i for i in group if len(level.moves[i]) > 1]
        best = None
        for times in product(range(n), repeat=len(marked)):
            colours, clicks = state.colours, [i for i, k in zip(marked, times) for _ in range(k)]
            for i in clicks:
                colours = clicked(colours, i, level)
            for t in (t for t in group if t in wanted):
                at = level.cycle.index(colours[t])
                k = next((k for k in range(n) if all((level.cycle[(at + k) % n] == m) == w for m, w in wanted[t])), None)
                if k is None or (k and t in marked):
                    break
                clicks += [t] * k
            else:
                if best is None or len(clicks) < len(best):
                    best = clicks
        sent += best or []
    return [(6, level.tiles[i][1] + 3, level.tiles[i][0] + 3) for i in sent]


def actions(state):
    return [(6, c + 3, r + 3) for r, c in state.fixed.tiles]
