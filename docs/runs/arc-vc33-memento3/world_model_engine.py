"""Liquid moved between regions by buttons, figures at its edge."""

from typing import NamedTuple

import numpy as np

EMPTY, LIQUID, WALL, BUTTON, STEP, WINDOW, LIT = 0, 3, 5, 9, 4, 1, 12


def runs(mask):
    edge = np.concatenate([[False], mask, [False]])
    flips = np.flatnonzero(edge[1:] != edge[:-1])
    return [(int(a), int(b)) for a, b in zip(flips[::2], flips[1::2])]


class Level:
    """A level turned so that the empty side is on the left; row 0, the counter, is left out."""

    def __init__(self, frame):
        self.frame, self.bytes = frame.copy(), frame.tobytes()
        self.turned = self.upright = False
        self.box = self.board(frame)
        r0, r1, c0, c1 = self.box
        body = frame[r0:r1, c0:c1]
        ways = [(up, turn) for up in (False, True) for turn in (False, True)]  # R6: the side with the buttons
        self.upright, self.turned = max(ways, key=lambda way: int((self.turn(body, *way)[:, 0] == BUTTON).sum()))
        self.body = body = self.view(frame)
        self.bars = bars = self.walls(body)  # R1
        height, width = body.shape
        self.unit = k = max(1, min((b - a for a, b in runs(body[:, 0] == BUTTON)), default=4))  # R2
        most = [int(np.argmax(np.append(np.isin(body[a], (EMPTY, LIQUID)), True))) for a, _ in bars]
        edges = [0, *(e for bar in bars for e in bar), height]
        self.regions = []  # (top, bottom, left, right, how many bars lie above)
        for n, (a, b) in enumerate(zip(edges[::2], edges[1::2])):
            walls = runs((body[a:b] == WALL).all(axis=0))  # R9
            sides = [0, *(e for wall in walls for e in wall), width]
            self.regions += [(a, b, c0, c1, n) for c0, c1 in zip(sides[::2], sides[1::2]) if c1 > c0]
        self.start, self.figures, self.most = [], [], []
        for m, (a, b, c0, c1, n) in enumerate(self.regions):
            rows = body[a:b, c0:c1]
            z = max((int(np.argmax(np.append(~np.isin(row, (EMPTY, BUTTON)), True))) for row in rows), default=0)
            self.start.append(z)
            self.most.append(min([c1, *most[max(n - 1, 0):n + 1]]) - c0)
            others = np.argwhere(~np.isin(rows, (EMPTY, LIQUID, BUTTON, WALL)))
            if len(others):
                self.figures.append((m, [(int(r), int(c) - z, int(rows[r, c])) for r, c in others]))  # R3
        self.buttons = []  # R2: (row, column, region that loses, region that gains)
        for m, (a, b, c0, c1, n) in enumerate(self.regions):
            for r, step in ((a, -1), (b - k, 1)):
                for c in range(c0, c1 - k + 1):
                    if (body[r:r + k, c:c + k] == BUTTON).all():
                        other = self.at(n + step, c)
                        if other is not None:
                            self.buttons.append((r, c, m, other))
        self.windows, self.marks = [], {}
        for n, (a, b) in enumerate(bars):
            for w0, w1 in runs(body[a] == WINDOW):  # R8
                self.windows.append((n, w0, w1, self.at(n, w0), self.at(n + 1, w0)))
            for r, c in np.argwhere(~np.isin(body[a:b], (WALL, LIQUID, EMPTY, WINDOW))):
                self.marks.setdefault((int(body[a + r, c]), n), set()).add(int(c))
        self.colours = {colour for colour, _ in self.marks}
        self.limit = 200 if len(self.windows) >= 3 else 75 if k == 2 else 50  # R5

    def at(self, n, c):
        return next((m for m, (_, _, c0, c1, own) in enumerate(self.regions) if own == n and c0 <= c < c1), None)

    @staticmethod
    def walls(body):
        return runs(body[:, 0] == WALL)

    @staticmethod
    def board(frame):  # R7
        r0, r1, c0, c1 = 1, frame.shape[0], 0, frame.shape[1]
        while r0 < r1 and (frame[r0, :] == STEP).all():
            r0 += 1
        while r1 > r0 and (frame[r1 - 1, :] == STEP).all():
            r1 -= 1
        while c0 < c1 and (frame[r0:r1, c0] == STEP).all():
            c0 += 1
        while c1 > c0 and (frame[r0:r1, c1 - 1] == STEP).all():
            c1 -= 1
        return r0, r1, c0, c1

    def view(self, frame):
        r0, r1, c0, c1 = self.box
        return self.turn(frame[r0:r1, c0:c1], self.upright, self.turned)

    @staticmethod
    def turn(body, upright, turned):
        body = body.T if upright else body
        return body[:, ::-1] if turned else body

    def place(self, x, y):
        """Of a click: row and column in the turned board."""
        r, c = y - self.box[0], x - self.box[2]
        r, c = (c, r) if self.upright else (r, c)
        return r, (self.body.shape[1] - 1 - c if self.turned else c)

    def click(self, r, c):
        c = self.body.shape[1] - 1 - c if self.turned else c
        r, c = (c, r) if self.upright else (r, c)
        return (6, int(c) + self.box[2], int(r) + self.box[0])

    def __hash__(self):
        return hash(self.bytes)

    def __eq__(self, other):
        return isinstance(other, Level) and self.bytes == other.bytes


    def edge(self, widths, m):
        return self.regions[m][2] + widths[m]

    def lit(self, widths):  # R8
        return [one for one in self.windows if self.edge(widths, one[3]) == self.edge(widths, one[4]) == one[1]]


class State(NamedTuple):
    widths: tuple  # of the empty space of each region
    homes: tuple  # region of each figure
    clicks: int
    level: object


def initial_state(observation):
    level = Level(np.array(observation["frame"]))
    return State(tuple(level.start), tuple(n for n, _ in level.figures), 0, level)


def step(state, action):
    level, widths, homes = state.level, list(state.widths), state.homes
    if action.x is not None:
        r, c = level.place(action.x, action.y)
        k = level.unit
        for top, left, a, b in level.buttons:  # R2
            if top <= r < top + k and left <= c < left + k and widths[b] >= k and widths[a] + k <= level.most[a]:
                widths[a] += k
                widths[b] -= k
                break
        for n, w0, w1, p, q in level.lit(state.widths):  # R8
            a, b = level.bars[n]
            if a <= r < b and w0 <= c < w1:
                homes = tuple({p: q, q: p}.get(home, home) for home in homes)
    return State(tuple(widths), homes, state.clicks + 1, level)


def render(state):
    level = state.level
    frame = level.frame.copy()
    body = level.view(frame)
    for (a, b, c0, c1, _), z in zip(level.regions, state.widths):  # R1
        body[a:b, c0:c1] = np.where(np.arange(c1 - c0) < z, EMPTY, LIQUID)
        body[a:b][level.body[a:b] == BUTTON] = BUTTON
    for n, w0, w1, *_ in level.lit(state.widths):  # R8
        a, b = level.bars[n]
        body[a:b, w0:w1] = LIT
        body[a - 2, w0 + level.unit - 1:w1 - level.unit + 1] = EMPTY
        body[b + 1, w0 + level.unit - 1:w1 - level.unit + 1] = EMPTY
    for m, (born, cells) in zip(state.homes, level.figures):  # R3
        top, bottom, *_ = level.regions[m]
        if m != born:  # R8
            low, high = min(r for r, *_ in cells), max(r for r, *_ in cells)
            top += (bottom - top) // 2 - (high - low + 1) // 2 - low
        for r, c, colour in cells:
            if 0 <= c + level.edge(state.widths, m) < body.shape[1]:
                body[r + top, c + level.edge(state.widths, m)] = colour
    gone = round(frame.shape[1] * state.clicks / level.limit)
    if gone:
        frame[0, -gone:] = STEP  # R5
    return frame


def is_goal(state):
    level = state.level
    for m, (_, cells) in zip(state.homes, level.figures):  # R4
        colour = next((colour for _, _, colour in cells if colour in level.colours), None)
        flank, n = {c + level.edge(state.widths, m) for _, c, own in cells if own == colour}, level.regions[m][4]
        if flank not in (level.marks.get((colour, n - 1)), level.marks.get((colour, n))):
            return False
    return bool(level.figures)


def is_over(state):
    return state.clicks >= state.level.limit


def actions(state):
    level = state.level
    windows = [level.click(level.bars[n][0] + 1, w0 + 1) for n, w0, *_ in level.lit(state.widths)]
    return [level.click(r, c) for r, c, *_ in level.buttons] + windows


def key(state):
    return state.widths, state.homes
