import numpy as np
from typing import NamedTuple

MOVER = 10
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


class Level(NamedTuple):
    base: bytes       # frame without mover and rings
    shape: tuple
    n: int            # size of a tile
    r0: int           # cell of tile 0, 0
    c0: int
    floor: int
    sprite: bytes
    walls: frozenset
    marks: frozenset  # small blocks with floor round them: where rings belong


class S(NamedTuple):
    pos: tuple
    rings: tuple      # ((row, column), picture), sorted
    level: Level


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    rs, cs = np.nonzero(f == MOVER)
    if not len(rs):
        raise ValueError("no mover")
    r, c = int(rs.min()), int(cs.min())
    n = int(rs.max()) - r + 1
    if int(cs.max()) - c + 1 != n:
        raise ValueError("mover is not square")
    margin = set(f[8:, :4].ravel().tolist()) | set(f[-4:, :].ravel().tolist())
    values, counts = np.unique(f[~np.isin(f, sorted(margin))], return_counts=True)
    floor = int(values[counts.argmax()])
    fr, fc = np.nonzero(f == floor)
    r0 = r - (r - int(fr.min())) // n * n
    c0 = c - (c - int(fc.min())) // n * n
    rows, cols = (int(fr.max()) + 1 - r0) // n, (int(fc.max()) + 1 - c0) // n
    base = f.copy()
    sprite = f[r:r + n, c:c + n].tobytes()
    base[r:r + n, c:c + n] = floor
    walls, rings, marks = [], [], []
    q = n // 4
    for i in range(rows):
        for j in range(cols):
            t = base[r0 + i * n:r0 + (i + 1) * n, c0 + j * n:c0 + (j + 1) * n]
            codes = set(t.ravel().tolist())
            if codes == {floor}:
                continue
            if codes <= margin:
                walls.append((i, j))
                continue
            border = t.copy()
            border[q:n - q, q:n - q] = floor
            if np.all(border == floor):
                marks.append((i, j))
            else:
                ring = t.copy()
                inner = t[q:n - q, q:n - q]
                if not np.all(inner == floor):     # a ring that stands on a mark already
                    marks.append((i, j))
                    ring[q:n - q, q:n - q] = floor
                rings.append(((i, j), ring.tobytes()))
                t[ring != floor] = floor
    if not rings or not marks:
        raise ValueError("no ring or no mark")
    walls += [(i, j) for i in range(-1, rows + 1) for j in (-1, cols)]
    walls += [(i, j) for j in range(cols) for i in (-1, rows)]
    level = Level(base.tobytes(), f.shape, n, r0, c0, floor, sprite, frozenset(walls), frozenset(marks))
    return S(((r - r0) // n, (c - c0) // n), tuple(sorted(rings)), level)


def step(state, action):
    d = MOVES.get(action.id)
    if d is None:
        return state
    to = (state.pos[0] + d[0], state.pos[1] + d[1])
    walls = state.level.walls
    if to in walls:
        return state
    rings = dict(state.rings)
    if to in rings:
        beyond = (to[0] + d[0], to[1] + d[1])
        if beyond in walls or beyond in rings:    # guess
            return state
        rings[beyond] = rings.pop(to)
        return state._replace(pos=to, rings=tuple(sorted(rings.items())))
    return state._replace(pos=to)


def render(state):
    v = state.level
    f = np.frombuffer(v.base, dtype=np.uint8).reshape(v.shape).copy()

    def view(p):
        return f[v.r0 + p[0] * v.n:v.r0 + (p[0] + 1) * v.n, v.c0 + p[1] * v.n:v.c0 + (p[1] + 1) * v.n]

    for p, picture in state.rings:
        t = np.frombuffer(picture, dtype=np.uint8).reshape(v.n, v.n)
        w = view(p)
        w[t != v.floor] = t[t != v.floor]
    view(state.pos)[:] = np.frombuffer(v.sprite, dtype=np.uint8).reshape(v.n, v.n)
    return f


def is_goal(state):
    on = sum(p in state.level.marks for p, _ in state.rings)
    return on == min(len(state.rings), len(state.level.marks))


def key(state):
    return (state.pos, state.rings)
