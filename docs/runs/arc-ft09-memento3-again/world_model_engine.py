"""Clue tiles and coloured neighbours."""

from typing import NamedTuple


import numpy as np

GAP = 8


class State(NamedTuple):
    base: bytes
    shape: tuple
    places: tuple  # (row, column) of each solid tile
    colours: tuple
    marks: tuple  # for each tile the indexes of those a click on it changes
    spots: tuple  # for each tile which of its dots are 6
    cycle: tuple  # the colours a click goes through
    clues: tuple  # (colour, ((tile index, dot), ...))
    used: int  # clicks


def dots(block):
    """The 3 x 3 dots of a 6 x 6 block, or None."""
    small = block[::2, ::2]
    return small if (np.kron(small, np.ones((2, 2), dtype=block.dtype)) == block).all() else None


def initial_state(observation):
    frame = np.asarray(observation["frame"], dtype=np.uint8)
    height, width = frame.shape
    found, solid = [], {}
    for r in range(1, height - 7):
        for c in range(1, width - 7):
            block = frame[r : r + 6, c : c + 6]
            ring = [*frame[r - 1, c : c + 6], *frame[r + 6, c : c + 6], *frame[r : r + 6, c - 1], *frame[r : r + 6, c + 6]]
            if any(v != 4 for v in ring) or block[0, 0] == 4:  # R1
                continue
            small = dots(block)
            if small is None:
                continue
            spot = small == 6
            if (small[~spot] == small[1, 1]).all():
                solid[r, c] = (int(small[1, 1]), tuple(map(tuple, spot.tolist())))  # R7
            else:
                found.append((r, c, small))  # R2
    places = tuple(sorted(solid))
    index = {place: i for i, place in enumerate(places)}
    clues = []
    for r, c, small in found:
        around = []
        for i in range(3):
            for j in range(3):
                place = (r + (i - 1) * GAP, c + (j - 1) * GAP)
                if (i, j) != (1, 1) and small[i, j] in (0, 2) and place in index:
                    around.append((index[place], int(small[i, j])))
        clues.append((int(small[1, 1]), tuple(around)))
    cycle = []
    for c in range(width - 4, 0, -1):  # R6
        block = frame[:4, c : c + 4]
        if (block == block[0, 0]).all() and block[0, 0] not in (4, 5):
            r = 0
            while frame[r, c] not in (4, 5) and (frame[r : r + 4, c : c + 4] == frame[r, c]).all():
                cycle.append(int(frame[r, c]))
                r += 4
            break
    marks = []
    for r, c in places:
        spot = solid[r, c][1]
        near = [(r + (i - 1) * GAP, c + (j - 1) * GAP) for i in range(3) for j in range(3) if spot[i][j]]
        marks.append(tuple(index[p] for p in [(r, c), *near] if p in index))  # R7
    return State(
        frame.tobytes(), frame.shape, places, tuple(solid[p][0] for p in places), tuple(marks),
        tuple(solid[p][1] for p in places), tuple(cycle) or (9, 8), tuple(clues), 0
    )


def total(state):
    n = len(state.places)
    return 128 if any(map(any, sum(state.spots, ()))) else 32 if n < 18 else 96  # R4


def shown(state):
    return min(state.shape[1], round(state.shape[1] * state.used / total(state)))  # R4


def tile_at(state, x, y):
    for i, (r, c) in enumerate(state.places):
        if r <= y < r + 6 and c <= x < c + 6:
            return i
    return None


def step(state, action):
    i = tile_at(state, action.x, action.y)
    if i is None:
        return state
    cycle = state.cycle
    colours = list(state.colours)
    for k in state.marks[i]:  # R7
        colours[k] = cycle[(cycle.index(colours[k]) + 1) % len(cycle)]  # R3
    colours = tuple(colours)
    return state._replace(colours=colours, used=state.used + 1)


def render(state):
    frame = np.frombuffer(state.base, dtype=np.uint8).reshape(state.shape).copy()
    for (r, c), colour, spot in zip(state.places, state.colours, state.spots):
        small = np.where(np.array(spot), 6, colour).astype(np.uint8)  # R7
        frame[r : r + 6, c : c + 6] = np.kron(small, np.ones((2, 2), dtype=np.uint8))
    if shown(state):
        frame[-1, max(0, state.shape[1] - shown(state)) :] = 11  # R4
    return frame


def is_goal(state):
    return all(
        (state.colours[i] == colour) == (dot == 0) for colour, around in state.clues for i, dot in around
    )  # R5


def is_over(state):
    return state.used >= total(state) and not is_goal(state)  # R4


def actions(state):
    return [(6, c + 3, r + 3) for r, c in state.places]


def plan(state):
    """How often to click on each tile: depth first, those with marks before the others."""
    size = len(state.cycle)
    fine = []
    for i in range(len(state.places)):
        rules = [(colour, dot) for colour, around in state.clues for j, dot in around if j == i]
        fine.append([all((colour == want) == (dot == 0) for want, dot in rules) for colour in state.cycle])
    order = sorted(range(len(fine)), key=lambda i: (-min(len(state.marks[i]), 3), -i))
    order.sort(key=lambda i: len(state.marks[i]) < 3)
    last = {}  # position in the order after which a tile changes no more
    for position, i in enumerate(order):
        for k in state.marks[i]:
            last[k] = position
    turned = [state.cycle.index(colour) for colour in state.colours]
    best = [None, []]
    counts = {}

    def go(position, cost):
        if best[0] is not None and cost >= best[0]:
            return
        if position == len(order):
            best[:] = [cost, list(counts.items())]
            return
        i = order[position]
        for n in range(size):
            for k in state.marks[i]:
                turned[k] += n
            if all(fine[k][turned[k] % size] for k in state.marks[i] if last[k] == position):
                counts[i] = n
                go(position + 1, cost + n)
            for k in state.marks[i]:
                turned[k] -= n
        counts.pop(i, None)

    go(0, 0)
    return [(6, state.places[i][1] + 3, state.places[i][0] + 3) for i, n in best[1] for _ in range(n)]
