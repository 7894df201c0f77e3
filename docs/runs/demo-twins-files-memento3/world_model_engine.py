from typing import NamedTuple
import numpy as np

FLOOR, WALL, AVATAR = 4, (12, 11), (6, 1)  # R2, R3
T = 4  # R1
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}  # R6
CROSS = np.eye(T, dtype=bool) | np.eye(T, dtype=bool)[::-1]  # R4


class State(NamedTuple):
    base: bytes
    h: int
    w: int
    sprite: bytes
    pos: tuple
    exit: tuple


def grid(state):
    return np.frombuffer(state.base, dtype=np.uint8).reshape(state.h, state.w)


def is_figure(tile):  # R4
    codes = set(tile.ravel().tolist()) - {FLOOR}
    return len(codes) == 1 and not codes & set(WALL + AVATAR)


def is_exit(tile):  # R4
    return is_figure(tile) and bool(((tile != FLOOR) == CROSS).all())


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    h, w = f.shape
    rs, cs = np.nonzero(np.isin(f, AVATAR))  # R3
    if len(rs) == 0 or rs.max() - rs.min() != T - 1 or cs.max() - cs.min() != T - 1:
        raise ValueError("no avatar")
    r, c = int(rs.min()), int(cs.min())
    sprite = f[r:r + T, c:c + T].tobytes()
    f[r:r + T, c:c + T] = FLOOR  # R6
    exits = [(y, x) for y in range(r % T, h - T + 1, T) for x in range(c % T, w - T + 1, T)
             if is_exit(f[y:y + T, x:x + T])]  # R1, R4
    if len(exits) != 1:
        raise ValueError("exits found: %r" % (exits,))
    return State(f.tobytes(), h, w, sprite, (r, c), exits[0])  # R5


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    r, c = state.pos[0] + d[0] * T, state.pos[1] + d[1] * T  # R6
    if r < 0 or c < 0 or r + T > state.h or c + T > state.w:  # R7
        return state
    tile = grid(state)[r:r + T, c:c + T]
    if not ((tile == FLOOR).all() or is_figure(tile)):  # R2, R7, R8, R10
        return state
    return state._replace(pos=(r, c))


def render(state):
    f = grid(state).copy()
    r, c = state.pos
    f[r:r + T, c:c + T] = np.frombuffer(state.sprite, dtype=np.uint8).reshape(T, T)  # R3, R6
    return f


def is_goal(state):
    return state.pos == state.exit  # R8


def is_over(state):
    return False  # R9


def key(state):
    return state.pos
