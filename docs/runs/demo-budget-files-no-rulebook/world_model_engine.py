"""A 4x4 avatar (codes 6, 1) walks on a lattice of 4x4 tiles; the target is the other figure on the floor.
Guesses: 1 up, 2 down, 3 left, 4 right; walls stop; standing on the target completes the level; the bar at the
bottom (seen) loses two columns from its right at each action, which turn to code 4; guess: the game is over when it is empty."""
from typing import NamedTuple
import numpy as np

AVATAR = (6, 1)
SPENT, COST = 4, 2
T = 4
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


class State(NamedTuple):
    base: bytes      # the frame without avatar and bar
    shape: tuple
    sprite: bytes
    floor: int
    back: int
    pos: tuple
    target: tuple
    bar: tuple       # row, column, height, code, or () without a bar
    left: int        # columns of the bar left
    full: int        # columns of the bar at the start
    refills: tuple   # (position, drawing) of each figure in the bar's code


def grid(state):
    return np.frombuffer(state.base, dtype=np.uint8).reshape(state.shape)


def find_bar(f, back, dot):
    """A bar of one code below the last row of tiles, on the surround."""
    rows = [y for y in range(f.shape[0] - T, f.shape[0]) if set(f[y].tolist()) - {back, dot}]
    if not rows:
        return (), 0
    y = rows[0]
    cols = np.nonzero(~np.isin(f[y], (back, dot)))[0]
    return (y, int(cols[0]), len(rows), int(f[y, cols[0]])), len(cols)


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    rs, cs = np.nonzero(np.isin(f, AVATAR))
    if len(rs) == 0 or rs.max() - rs.min() != T - 1 or cs.max() - cs.min() != T - 1:
        raise ValueError("no single 4x4 avatar")
    r, c = int(rs.min()), int(cs.min())
    sprite = f[r:r + T, c:c + T].copy()
    floor, back = int(sprite[0, 0]), int(f[0, 0])
    dots = [int(v) for v in f[T] if v != back]
    dot = dots[0] if dots else back
    f[r:r + T, c:c + T] = floor
    bar, left = find_bar(f, back, dot)
    if bar:
        y, x, h, _ = bar
        f[y:y + h, x:x + left] = SPENT
    targets, refills = [], []
    for y in range(r % T + T, f.shape[0] - T, T):
        for x in range(c % T, f.shape[1] - T + 1, T):
            tile = f[y:y + T, x:x + T]
            if not (tile == floor).all() and not (tile == back).any():
                if bar and (tile == bar[3]).any():  # guess: fills the bar when stepped on, and is gone
                    refills.append(((y, x), tile.tobytes()))
                    tile[:] = floor
                else:
                    targets.append((y, x))
    if len(targets) != 1:
        raise ValueError("targets found: %r" % (targets,))
    return State(f.tobytes(), f.shape, sprite.tobytes(), floor, back, (r, c), targets[0], bar, left, left, tuple(refills))


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    state = state._replace(left=max(0, state.left - COST))
    r, c = state.pos[0] + d[0] * T, state.pos[1] + d[1] * T
    if r < 0 or c < 0 or r + T > state.shape[0] or c + T > state.shape[1]:
        return state
    if (grid(state)[r:r + T, c:c + T] == state.back).any():  # a wall
        return state
    rest = tuple(i for i in state.refills if i[0] != (r, c))
    if rest != state.refills:
        state = state._replace(left=state.full, refills=rest)
    return state._replace(pos=(r, c))


def render(state):
    f = grid(state).copy()
    if state.bar:
        y, x, h, code = state.bar
        f[y:y + h, x:x + state.left] = code
    for (y, x), drawing in state.refills:
        f[y:y + T, x:x + T] = np.frombuffer(drawing, dtype=np.uint8).reshape(T, T)
    r, c = state.pos
    s = np.frombuffer(state.sprite, dtype=np.uint8).reshape(T, T)
    f[r:r + T, c:c + T] = s
    return f


def is_goal(state):
    return state.pos == state.target


def is_over(state):
    return bool(state.bar) and state.left == 0 and not is_goal(state)


def heuristic(state):
    return (abs(state.pos[0] - state.target[0]) + abs(state.pos[1] - state.target[1])) // T
