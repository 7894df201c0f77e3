import numpy as np
from typing import NamedTuple

MOVER = 6
N = 4
BAR, SPENT, COST = 14, 4, 2   # R7
MOVES = {1: (-N, 0), 2: (N, 0), 3: (0, -N), 4: (0, N)}  # R3
INNER = np.zeros((N, N), dtype=bool)
INNER[1:3, 1:3] = True


class S(NamedTuple):
    r: int
    c: int
    left: int        # columns of the bar that are left (R7)
    refills: tuple   # places of the refills that are left (R8)
    full: int
    base: bytes      # frame without mover and refills
    first: bytes     # frame without mover
    sprite: bytes
    goals: tuple
    walls: bytes
    w: int


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    # R2
    rs, cs = np.nonzero(f == MOVER)
    if not len(rs):
        raise ValueError("no mover")
    r, c = int(rs.min()), int(cs.min())
    if rs.max() - r != N - 1 or cs.max() - c != N - 1:
        raise ValueError("mover is not N x N")
    # R1
    walls = set(f[8:60, :6].ravel().tolist())
    field = f[8:60, 6:58]
    codes = [v for v in field.ravel().tolist() if v not in walls]
    floor = max(sorted(set(codes)), key=codes.count)
    sprite = f[r:r + N, c:c + N].tobytes()
    first = f.copy()
    first[r:r + N, c:c + N] = floor
    base = first.copy()
    full = int((f[61] == BAR).sum())   # R7
    goals, refills = [], []
    for y in range(8 + (r - 8) % N, 60 - N + 1, N):
        for x in range(6 + (c - 6) % N, 58 - N + 1, N):
            t = first[y:y + N, x:x + N]
            inner, ring = set(t[INNER].tolist()), set(t[~INNER].tolist())
            if len(inner) == len(ring) == 1 and inner != ring and not (inner | ring) & (walls | {floor}):
                goals.append((y, x))       # R5
            elif full and BAR in inner | ring and inner | ring <= {BAR, floor}:
                refills.append((y, x))     # R8
                base[y:y + N, x:x + N] = floor
    if not goals:
        raise ValueError("no target")
    return S(r, c, full, tuple(refills), full, base.tobytes(), first.tobytes(), sprite, tuple(goals),
             bytes(sorted(walls)), f.shape[1])


def _grid(data, w):
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, w)


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    state = state._replace(left=max(0, state.left - COST))   # R7
    r, c = state.r + d[0], state.c + d[1]
    t = _grid(state.base, state.w)[r:r + N, c:c + N].ravel().tolist()
    if all(v in state.walls for v in t):   # R1, R3, R4
        return state
    state = state._replace(r=r, c=c)
    if (r, c) in state.refills:   # R8
        state = state._replace(left=state.full, refills=tuple(p for p in state.refills if p != (r, c)))
    return state


def render(state):
    f = _grid(state.base, state.w).copy()   # R6
    first = _grid(state.first, state.w)
    for y, x in state.refills:   # R8
        f[y:y + N, x:x + N] = first[y:y + N, x:x + N]
    for y in (61, 62):           # R7
        x = np.nonzero(f[y] == BAR)[0]
        f[y, x[state.left:]] = SPENT
    f[state.r:state.r + N, state.c:state.c + N] = np.frombuffer(state.sprite, dtype=np.uint8).reshape(N, N)  # R2
    return f


def is_goal(state):
    return (state.r, state.c) in state.goals   # R5


def is_over(state):
    return state.full > 0 and state.left == 0 and not is_goal(state)   # R7


def key(state):
    return (state.r, state.c, state.left, state.refills)
