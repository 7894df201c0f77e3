import numpy as np
from typing import NamedTuple

FLOOR = 4
MOVER = 6          # the code of the thing that is moved
CROSS = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], dtype=bool)  # the target's shape, in any colour
N = 4
MOVES = {1: (-N, 0), 2: (N, 0), 3: (0, -N), 4: (0, N)}


class S(NamedTuple):
    r: int
    c: int
    base: bytes      # frame without the mover
    sprite: bytes    # N x N, FLOOR is see-through
    goals: tuple
    w: int
    walls: bytes     # codes of the margin


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    rs, cs = np.nonzero(f == MOVER)
    if not len(rs):
        raise ValueError("no mover")
    r, c = int(rs.min()), int(cs.min())
    if rs.max() - r != N - 1 or cs.max() - c != N - 1:
        raise ValueError("mover is not N x N: %s %s" % (rs, cs))
    sprite = f[r:r + N, c:c + N].tobytes()
    base = f.copy()
    base[r:r + N, c:c + N] = FLOOR
    walls = bytes(sorted(set(f[8:, :6].ravel().tolist())))
    if FLOOR in walls:
        raise ValueError("floor in the margin")
    goals = []
    for y in range(r % N, f.shape[0] - N + 1, N):
        for x in range(c % N, f.shape[1] - N + 1, N):
            t = base[y:y + N, x:x + N]
            if np.array_equal(t != FLOOR, CROSS):
                goals.append((y, x))
    if not goals:
        raise ValueError("no target")
    return S(r, c, base.tobytes(), sprite, tuple(goals), f.shape[1], walls)


def _grid(state):
    return np.frombuffer(state.base, dtype=np.uint8).reshape(-1, state.w)


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    g = _grid(state)
    r, c = state.r + d[0], state.c + d[1]
    # a wall is a tile of margin codes only; anything else can be entered (guess)
    if all(v in state.walls for v in g[r:r + N, c:c + N].ravel().tolist()):
        return state
    return state._replace(r=r, c=c)


def render(state):
    f = _grid(state).copy()
    s = np.frombuffer(state.sprite, dtype=np.uint8).reshape(N, N)
    v = f[state.r:state.r + N, state.c:state.c + N]
    v[:] = s       # the mover's tile is opaque (seen on the cross in the animation)
    return f


def is_goal(state):
    return (state.r, state.c) in state.goals


def key(state):
    return (state.r, state.c)
