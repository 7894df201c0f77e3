"""Tile world: key, lock, exit."""

from typing import NamedTuple

import numpy as np

N, C0 = 4, 2
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
SLOTS = {6: 58, 14: 54, 13: 50}  # R4
NAMES = {
    "1ff1f4f4ffff1ff1": "player",
    "6661616666611161": "key6",
    "6666616161616666": "lock6",
    "eee1e1eeeee111e1": "key14",
    "eeeee1e1e1e1eeee": "lock14",
    "ddd1d1ddddd111d1": "key13",
    "ddddd1d1d1d1dddd": "lock13",
    "8888800880088888": "exit",
    "7575575775755757": "check",
    "1" * 16: "floor",
}
PICTURES = {name: np.array([int(c, 36) for c in text], dtype=np.uint8).reshape(4, 4) for text, name in NAMES.items()}


class State(NamedTuple):
    board: tuple  # names by row of tiles; the player's own tile is floor
    player: tuple
    keys: tuple  # colours of the keys held
    done: bool
    over: bool
    base: bytes  # the frame
    shape: tuple


def initial_state(observation):
    frame = np.asarray(observation["frame"], dtype=np.uint8)
    rows, columns = frame.shape[0] // N, (frame.shape[1] - C0) // N  # R1
    board, player = [], (0, 0)
    for r in range(rows):
        line = []
        for c in range(columns):
            tile = frame[r * N : r * N + N, C0 + c * N : C0 + c * N + N]
            name = NAMES.get("".join(np.base_repr(v, 36).lower() for v in tile.flat), "wall")
            if r == 0:
                name = "wall"
            if name == "player":
                player, name = (r, c), "floor"
            line.append(name)
        board.append(tuple(line))
    keys = tuple(colour for colour, column in SLOTS.items() if frame[0, column] == colour)
    return State(tuple(board), player, keys, False, False, frame.tobytes(), frame.shape)


def step(state, action):
    dr, dc = MOVES[action.id]  # R2
    r, c = state.player[0] + dr, state.player[1] + dc
    if not (0 <= r < len(state.board) and 0 <= c < len(state.board[0])):
        return state
    what = state.board[r][c]
    if what == "wall":  # R3
        return state
    if what == "check":  # R7
        return state._replace(player=(r, c), over=True)
    if what.startswith("lock") and int(what[4:]) not in state.keys:  # R5
        return state
    if what == "exit":  # R6
        if any(name.startswith("lock") for line in state.board for name in line):
            return state
        return state._replace(player=(r, c), done=True)
    if what.startswith(("key", "lock")):  # R4, R5
        line = state.board[r]
        line = line[:c] + ("floor",) + line[c + 1 :]
        state = state._replace(board=state.board[:r] + (line,) + state.board[r + 1 :])
        if what.startswith("key"):
            state = state._replace(keys=tuple(sorted({*state.keys, int(what[3:])})))
    return state._replace(player=(r, c))


def render(state):
    frame = np.frombuffer(state.base, dtype=np.uint8).reshape(state.shape).copy()
    for r, line in enumerate(state.board):
        for c, name in enumerate(line):
            if name != "wall":
                frame[r * N : r * N + N, C0 + c * N : C0 + c * N + N] = PICTURES[name]
    r, c = state.player
    frame[r * N : r * N + N, C0 + c * N : C0 + c * N + N] = PICTURES["player"]
    for colour in state.keys:
        view = frame[0:4, SLOTS[colour] : SLOTS[colour] + 4]
        view[PICTURES["key6"] == 6] = colour  # R4
    return frame


def is_goal(state):
    return state.done  # R6


def is_over(state):
    return state.over  # R7
