"""Tiles of 6x6, 8 apart, around clue tiles. A clue is 3x3 fields of 2x2 cells: its middle has a colour, the eight others speak of
the eight tiles around it: 0 = that tile has the middle's colour, 2 = it has another, 3 = nothing (no tile there).
Panels on the background with one on another code: the former are solved examples, the latter is to be solved.
A click gives a tile the next of the colours, in the order of the squares at the top, and guess: a tile with marks of 6 in some
of its 3x3 fields takes along the neighbours that the marks point to. The level is complete when every clue holds.
The bar in the last row shows what is left of a budget of actions, in whole cells; what is spent is b at its right; guess: the game is
over when it is empty."""
from itertools import product
from typing import NamedTuple
import numpy as np

T, PITCH, F = 6, 8, 2
SAME, OTHER, NOTHING, MARK = 0, 2, 3, 6
SPENT = 11
BUDGETS = (32, 32, 96, 96, 128)   # actions that the whole bar lasts, by level; guess: from level 4 on as there


class State(NamedTuple):
    base: bytes
    shape: tuple
    palette: tuple   # the colours of tiles, in the order of clicks
    tiles: tuple     # (y, x, its 9 fields: True where marked)
    changes: tuple   # for each tile the indices of the tiles that a click on it changes
    demands: tuple   # (index of the tile, colour, True if it must be that colour)
    colours: tuple
    budget: int
    used: int        # actions


def fields_at(f, y, x):
    """The 3x3 fields of 2x2 cells at y, x, or None."""
    block = f[y:y + T, x:x + T]
    if block.shape != (T, T):
        return None
    fields = block[::F, ::F]
    return fields if (np.kron(fields, np.ones((F, F), dtype=np.uint8)) == block).all() else None


def clue_at(f, y, x):
    fields = fields_at(f, y, x)
    if fields is None:
        return None
    around = [int(v) for k, v in enumerate(fields.ravel()) if k != 4]
    if any(v not in (SAME, OTHER, NOTHING) for v in around) or int(fields[1, 1]) in (SAME, OTHER, NOTHING, MARK):
        return None
    return fields


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    h, w = f.shape
    back = int(f[0, 0])
    clues = {}
    for y in range(1, h - T):
        for x in range(1, w - T):
            if f[y, x] in (SAME, OTHER, NOTHING):
                fields = clue_at(f, y, x)
                if fields is not None:
                    clues[(y, x)] = fields
    todo = [p for p in clues if f[p[0] - 1, p[1] - 1] != back] or list(clues)
    if not todo:
        raise ValueError("no clue")
    y0, x0 = todo[0]
    gap = int(f[y0 - 1, x0 - 1])

    tiles, colours, index = [], [], {}
    for y in range(y0 % PITCH, h - T, PITCH):
        for x in range(x0 % PITCH, w - T, PITCH):
            if y < 1 or x < 1 or (y, x) in clues or f[y - 1, x - 1] != gap and f[y + T, x + T] != gap:
                continue
            fields = fields_at(f, y, x)
            if fields is None:
                continue
            codes = set(fields.ravel().tolist()) - {MARK}
            if len(codes) == 1 and not codes & {back, gap}:
                index[(y, x)] = len(tiles)
                tiles.append((y, x, tuple(bool(v == MARK) for v in fields.ravel())))
                colours.append(codes.pop())

    def around(y, x):
        return [(k, index.get((y + (k // 3 - 1) * PITCH, x + (k % 3 - 1) * PITCH))) for k in range(9) if k != 4]

    changes = tuple((index[(y, x)],) + tuple(t for k, t in around(y, x) if marks[k] and t is not None) for y, x, marks in tiles)
    palette = set(colours)
    demands = []
    for (y, x), fields in clues.items():
        middle = int(fields[1, 1])
        palette.add(middle)
        if (y, x) in todo:
            for k, t in around(y, x):
                v = int(fields.ravel()[k])
                if t is not None and v != NOTHING:
                    demands.append((t, middle, v == SAME))
    if not demands:
        raise ValueError("the clues speak of no tile")
    shown = []  # squares of 4x4 at the top: the colours in the order of clicks
    xs = np.nonzero(f[0] != back)[0]
    if len(xs):
        for y in range(0, h - 4, 4):
            v = int(f[y, xs[0]])
            if v == back:
                break
            shown.append(v)
    order = shown if palette <= set(shown) else sorted(palette, reverse=True)
    return State(f.tobytes(), f.shape, tuple(order), tuple(tiles), changes, tuple(demands), tuple(colours),
                 BUDGETS[min(observation["level"], len(BUDGETS) - 1)], 0)


def clicked(state, colours, k, n=1):
    colours = list(colours)
    for t in state.changes[k]:
        colours[t] = state.palette[(state.palette.index(colours[t]) + n) % len(state.palette)]
    return tuple(colours)


def step(state, action):
    state = state._replace(used=min(state.budget, state.used + 1))
    if action.id != 6:
        return state
    for k, (y, x, _) in enumerate(state.tiles):
        if y <= action.y < y + T and x <= action.x < x + T:
            return state._replace(colours=clicked(state, state.colours, k))
    return state


def render(state):
    f = np.frombuffer(state.base, dtype=np.uint8).reshape(state.shape).copy()
    for (y, x, marks), v in zip(state.tiles, state.colours):
        fields = np.where(np.array(marks).reshape(3, 3), MARK, v).astype(np.uint8)
        f[y:y + T, x:x + T] = np.kron(fields, np.ones((F, F), dtype=np.uint8))
    w = state.shape[1]
    spent = round(w * state.used / state.budget)  # halves to even
    f[-1, w - spent:] = SPENT
    return f


def fits(state, k, v):
    return all((v == colour) == same for t, colour, same in state.demands if t == k)


def is_goal(state):
    return all((state.colours[t] == colour) == same for t, colour, same in state.demands)


def is_over(state):
    return state.used == state.budget and not is_goal(state)


def actions(state):
    return [(6, x + T // 2, y + T // 2) for y, x, _ in state.tiles]


def key(state):
    return state.colours


def solve_two(state):
    """With two colours: which tiles to click, from the linear equations modulo 2; the fewest clicks where few are free."""
    count = len(state.tiles)
    wrong = {}
    for t in sorted({t for t, _, _ in state.demands}):
        fitting = [v for v in state.palette if fits(state, t, v)]
        if not fitting:
            return None
        if len(fitting) == 1:
            wrong[t] = int(state.colours[t] != fitting[0])
    rows = []  # bits: unknowns, and at bit count the right side
    for t, b in wrong.items():
        rows.append(sum(1 << k for k in range(count) if t in state.changes[k]) | b << count)
    pivots = {}
    for k in range(count):
        at = next((i for i, row in enumerate(rows) if row >> k & 1 and i not in pivots.values()), None)
        if at is None:
            continue
        pivots[k] = at
        rows = [row ^ rows[at] if i != at and row >> k & 1 else row for i, row in enumerate(rows)]
    if any(row == 1 << count for row in rows):
        return None
    free = [k for k in range(count) if k not in pivots]
    best = None
    for bits in product((0, 1), repeat=min(len(free), 12)):
        x = {k: b for k, b in zip(free, bits)}
        chosen = sum(1 << k for k, b in x.items() if b)
        for k, i in pivots.items():
            x[k] = (rows[i] >> count & 1) ^ (bin(rows[i] & chosen).count("1") & 1)
        if best is None or sum(x.values()) < sum(best.values()):
            best = x
    return best


def plan(state):
    """The clicks on tiles that take others along are tried in all numbers; each of the others is then set for itself."""
    if len(state.palette) == 2:
        best = solve_two(state) or {}
        return [(6, state.tiles[k][1] + T // 2, state.tiles[k][0] + T // 2) for k in sorted(best) if best[k]]
    n = len(state.palette)
    ok = [[fits(state, k, v) for v in state.palette] for k in range(len(state.tiles))]
    wide = [k for k, c in enumerate(state.changes) if len(c) > 1]
    best = None
    for counts in product(range(n), repeat=len(wide)):
        colours = state.colours
        for k, m in zip(wide, counts):
            colours = clicked(state, colours, k, m)
        numbers = dict(zip(wide, counts))
        for k in range(len(state.tiles)):
            i = state.palette.index(colours[k])
            if k in numbers:
                if not ok[k][i]:
                    break
                continue
            m = next((m for m in range(n) if ok[k][(i + m) % n]), None)
            if m is None:
                break
            numbers[k] = m
        else:
            if best is None or sum(numbers.values()) < sum(best.values()):
                best = numbers
    if best is None:
        return []
    out = []
    for k in sorted(best, key=lambda k: (k not in wide, k)):
        y, x, _ = state.tiles[k]
        out += [(6, x + T // 2, y + T // 2)] * best[k]
    return out
