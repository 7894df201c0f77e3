import numpy as np
from typing import NamedTuple

SIZE, PITCH, MINI, BLOCK = 6, 8, 2, 4
ACTIVE = 4            # R2: background of what can be changed
SAME, OTHER, NONE = 0, 2, 3    # R5
MARK = 6              # R1
COUNT, SPENT = 12, 11   # R6
AROUND = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


class Level(NamedTuple):
    frame: bytes
    shape: tuple
    tiles: tuple      # (row, column) of every active tile
    effects: tuple    # of every tile: the indices of the tiles that a click on it changes
    clues: tuple      # (middle code, ((index of tile, mini code), ...))
    cycle: tuple      # codes in the order of clicks
    length: int       # cells of the counter (R6)
    budget: int       # actions that it stands for (R6)


class S(NamedTuple):
    codes: tuple      # of the tiles
    used: int         # actions since the start (R6)
    level: Level


def _minis(f, y, x):
    """The middle code and the eight outer ones of a square of mini-cells; None where it is none."""
    t = f[y:y + SIZE, x:x + SIZE]
    m = t[::MINI, ::MINI]
    if not np.array_equal(np.repeat(np.repeat(m, MINI, 0), MINI, 1), t):
        return None
    return int(m[1, 1]), [int(m[1 + a, 1 + b]) for a, b in AROUND]


def _is_clue(minis):
    demands = {SAME, OTHER, NONE}     # R1
    return minis is not None and minis[0] not in demands and set(minis[1]) <= demands


def initial_state(observation):
    f = np.array(observation["frame"], dtype=np.uint8)
    h, w = f.shape
    found = [(y, x, _minis(f, y, x)) for y in range(1, h - SIZE) for x in range(1, w - SIZE)]
    found = [(y, x, m) for y, x, m in found if _is_clue(m) and int(f[y - 1, x - 1]) == ACTIVE]   # R1, R2
    if not found:
        raise ValueError("no active clue")
    places, marks = {}, {}
    for y in range(found[0][0] % PITCH, h - SIZE, PITCH):     # R1: the lattice
        for x in range(found[0][1] % PITCH, w - SIZE, PITCH):
            if y < 1 or x < 1 or int(f[y - 1, x - 1]) != ACTIVE:    # R2
                continue
            m = _minis(f, y, x)
            if m is None or m[0] in (ACTIVE, MARK) or not set(m[1]) <= {m[0], MARK}:
                continue
            places[(y, x)] = m[0]
            marks[(y, x)] = [d for d, code in zip(AROUND, m[1]) if code == MARK]
    if not places:
        raise ValueError("no tile")
    tiles = tuple(sorted(places))
    number = {p: i for i, p in enumerate(tiles)}

    def at(p, d):
        return number.get((p[0] + d[0] * PITCH, p[1] + d[1] * PITCH))

    effects = tuple((i,) + tuple(at(p, d) for d in marks[p] if at(p, d) is not None)
                    for i, p in enumerate(tiles))    # R3
    clues = tuple((m[0], tuple((at((y, x), d), mini) for d, mini in zip(AROUND, m[1])
                               if mini != NONE and at((y, x), d) is not None)) for y, x, m in found)   # R5
    palette = []      # R3
    top = np.nonzero(f[0] != f[0, 0])[0]
    if len(top):
        left = int(top.min())
        while f[BLOCK * len(palette), left] != f[0, 0]:
            t = f[BLOCK * len(palette):BLOCK * (len(palette) + 1), left:left + BLOCK]
            if len(set(t.ravel().tolist())) != 1:
                raise ValueError("palette is not of blocks")
            palette.append(int(t[0, 0]))
    codes = set(places.values()) | {m for m, _ in clues}
    cycle = tuple(palette) or tuple(sorted(codes))
    if not codes <= set(cycle):
        raise ValueError("codes %s are not in the palette %s" % (codes, cycle))
    length = int((f[-1] == COUNT).sum())     # R6
    if not length:
        raise ValueError("no counter")
    budget = (32, 32, 96, 96, 128)[min(observation["level"], 4)]    # R6
    level = Level(f.tobytes(), f.shape, tiles, effects, clues, cycle, length, budget)
    return S(tuple(places[p] for p in tiles), 0, level)


def _clicked(level, codes, i, times=1):
    codes, cycle = list(codes), level.cycle
    for j in level.effects[i]:     # R3
        codes[j] = cycle[(cycle.index(codes[j]) + times) % len(cycle)]
    return tuple(codes)


def step(state, action):
    if action.id != 6 or action.x is None:
        return state
    v = state.level
    state = state._replace(used=state.used + 1)     # R6
    for i, (r, c) in enumerate(v.tiles):
        if r <= action.y < r + SIZE and c <= action.x < c + SIZE:     # R3
            return state._replace(codes=_clicked(v, state.codes, i))
    return state      # R4


def render(state):
    v = state.level
    f = np.frombuffer(v.frame, dtype=np.uint8).reshape(v.shape).copy()   # R6
    for (r, c), code in zip(v.tiles, state.codes):
        t = f[r:r + SIZE, c:c + SIZE]
        t[t == t[SIZE // 2, SIZE // 2]] = code     # R1: marks stay
    x = np.nonzero(f[-1] == COUNT)[0]     # R6
    lost = min(v.length, round(state.used * v.length / v.budget))     # a half goes to the even number
    f[-1, x[v.length - lost:]] = SPENT
    return f


def _wrong(level, codes):
    return {i for middle, demands in level.clues for i, mini in demands
            if (codes[i] == middle) != (mini == SAME)}      # R5


def is_goal(state):
    return not _wrong(state.level, state.codes)      # R5


def is_over(state):
    return state.used >= state.level.budget and not is_goal(state)      # R6


def key(state):
    return (state.codes, state.used)


def _click(level, i):
    r, c = level.tiles[i]
    return (6, c + SIZE // 2, r + SIZE // 2)


def actions(state):
    return [_click(state.level, i) for i in range(len(state.level.tiles))]


def plan(state):
    v = state.level
    count = len(v.tiles)
    touched = [[i for i in range(count) if j in v.effects[i]] for j in range(count)]
    allowed = [set(v.cycle) for _ in range(count)]       # codes that meet all demands on a tile
    for middle, demands in v.clues:
        for j, mini in demands:
            allowed[j] &= {middle} if mini == SAME else set(v.cycle) - {middle}
    clicks, seen = [], set()
    for start in range(count):
        if start in seen:
            continue
        group, todo = [], [start]      # tiles that affect each other
        seen.add(start)
        while todo:
            i = todo.pop()
            group.append(i)
            for j in sorted(set(v.effects[i]) | {k for j in v.effects[i] for k in touched[j]} | set(touched[i])):
                if j not in seen:
                    seen.add(j)
                    todo.append(j)
        place = {i: n for n, i in enumerate(group)}
        due = [[] for _ in group]      # tiles that are settled once this click is fixed
        for j in group:
            due[max(place[i] for i in touched[j])].append(j)
        best = [None, 10 ** 9]

        def search(n, codes, chosen, cost):
            if cost >= best[1]:
                return
            if n == len(group):
                best[:] = [chosen, cost]
                return
            for times in range(len(v.cycle)):
                then = _clicked(v, codes, group[n], times)
                if all(then[j] in allowed[j] for j in due[n]):
                    search(n + 1, then, chosen + (times,), cost + times)

        search(0, state.codes, (), 0)
        if best[0] is None:
            return []
        for i, times in zip(group, best[0]):
            clicks += [_click(v, i)] * times
    return clicks
