from typing import NamedTuple
import numpy as np

FLOOR, MARK, BLOCK, AVATAR = 4, 11, 6, (10, 1)  # R2, R4, R5, R3
T = 8  # R1
Q = T // 4
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}  # R6
MID = np.zeros((T, T), dtype=bool)
MID[Q:-Q, Q:-Q] = True  # R4, R5


class State(NamedTuple):
    base: bytes      # the frame without avatar and blocks
    shape: tuple
    sprite: bytes
    pos: tuple
    blocks: tuple    # sorted
    marks: tuple
    free: frozenset  # the tiles that are no wall


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    rs, cs = np.nonzero(np.isin(f, AVATAR))  # R3
    if len(rs) == 0 or rs.max() - rs.min() != T - 1 or cs.max() - cs.min() != T - 1:
        raise ValueError("no single avatar")
    r, c = int(rs.min()), int(cs.min())
    sprite = f[r:r + T, c:c + T].tobytes()
    f[r:r + T, c:c + T] = FLOOR  # R6
    blocks, marks, free = [], [], set()
    for y in range(r % T, f.shape[0] - T + 1, T):  # R1
        for x in range(c % T, f.shape[1] - T + 1, T):
            tile = f[y:y + T, x:x + T]
            if (tile[~MID] == BLOCK).all():  # R5
                blocks.append((y, x))
                tile[~MID] = FLOOR
            if (tile[~MID] == FLOOR).all() and (tile[MID] == MARK).all():  # R4
                marks.append((y, x))
                free.add((y, x))
            elif (tile == FLOOR).all():  # R2
                free.add((y, x))
    if not marks or len(blocks) < len(marks):
        raise ValueError("blocks %r, marks %r" % (blocks, marks))
    return State(f.tobytes(), f.shape, sprite, (r, c), tuple(sorted(blocks)), tuple(marks), frozenset(free))  # R10


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    to = (state.pos[0] + d[0] * T, state.pos[1] + d[1] * T)  # R6
    if to not in state.free:  # R7
        return state
    if to in state.blocks:  # R8
        beyond = (to[0] + d[0] * T, to[1] + d[1] * T)
        if beyond not in state.free or beyond in state.blocks:
            return state
        state = state._replace(blocks=tuple(sorted(beyond if b == to else b for b in state.blocks)))
    return state._replace(pos=to)  # R4


def render(state):
    f = np.frombuffer(state.base, dtype=np.uint8).reshape(state.shape).copy()
    for y, x in state.blocks:  # R5
        f[y:y + T, x:x + T][~MID] = BLOCK
    r, c = state.pos
    f[r:r + T, c:c + T] = np.frombuffer(state.sprite, dtype=np.uint8).reshape(T, T)  # R3, R6
    return f


def is_goal(state):
    return all(m in state.blocks for m in state.marks)  # R9


def is_over(state):
    return False  # R11


def key(state):
    return state.pos, state.blocks
