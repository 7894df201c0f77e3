"""A small game of our own, laid out as the ARC toolkit lays games out, for tests of the adapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lawbook.core.record import RESET, Action

SOURCE = '''
import numpy as np
from arcengine import ARCBaseGame, Camera, GameAction, Level, Sprite

BILL = 63  # the row that counts what was sent: one cell an action, whatever it was


class Graffiti(Camera):
    """Gives its frames away, and draws over all of them later."""

    def __init__(self):
        super().__init__(background=0, letter_box=0)
        self.given = []

    def render(self, sprites):
        frame = super().render(sprites)
        self.given.append(frame)
        return frame


class Zq77(ARCBaseGame):
    """1 walks right in three frames; at column 4 the level is completed. 2 is game over. 6 leaves a mark where it clicks, after
    which 7 is there too and undoes nothing. 3 breaks the game, 4 wins it outright."""

    def __init__(self, seed=0):
        levels = []
        for number in range(3):
            walker = Sprite(np.full((1, 1), 8 + number, dtype=np.int8), name="walker", x=1, y=1 + seed)
            bill = Sprite(np.full((1, 64), -1, dtype=np.int8), name="bill", x=0, y=BILL)
            levels.append(Level([walker, bill], grid_size=(64, 64), name=str(number)))
        super().__init__("zq77", levels, Graffiti(), available_actions=[1, 2, 3, 4, 6])
        self._frames_left = 0

    def on_set_level(self, level):
        self._available_actions = [1, 2, 3, 4, 6]
        self._walker, self._bill = (level.get_sprites_by_name(name)[0] for name in ("walker", "bill"))

    def step(self):
        if self._frames_left == 0:
            for frame in self.camera.given:
                frame[:] = 15
            if self.action.id is GameAction.RESET:
                self.complete_action()
                return
            pixels = self._bill.pixels.copy()
            pixels[0, int((pixels[0] >= 0).sum())] = 5
            self._bill.pixels = pixels
        match self.action.id.value:
            case 1:
                self._frames_left = self._frames_left - 1 if self._frames_left else 2
                self._walker.move(1 if self._frames_left == 0 else 0, 0)
                self._walker.pixels = np.full((1, 1), 12 + self._frames_left, dtype=np.int8)
                if self._frames_left == 0:
                    self._walker.pixels = np.full((1, 1), 8 + self.level_index, dtype=np.int8)
                    if self._walker.x == 4:
                        self.next_level()
            case 2:
                self.lose()
            case 3:
                raise ArithmeticError("zq77 was not made for this")
            case 4:
                self.win()
            case 6:
                mark = Sprite(np.full((1, 1), 14, dtype=np.int8), x=self.action.data["x"], y=self.action.data["y"])
                self.current_level.add_sprite(mark)
                self._available_actions = [1, 2, 3, 4, 6, 7]
        if self._frames_left == 0:
            self.complete_action()
'''

BASELINES = [3, 4, 5]


def lay_out(root: Path, game: str = "zq77", version: str = "0a1b2c3d", source: str = SOURCE, **metadata: Any) -> Path:
    """`<root>/<game>/<version>/` with the game and its metadata; returns that folder."""
    folder = root / game / version
    folder.mkdir(parents=True)
    (folder / f"{game}.py").write_text(source, encoding="utf-8")
    given = {"game_id": f"{game}-{version}", "title": "A Walk in Zquare", "baseline_actions": BASELINES, "tags": []}
    (folder / "metadata.json").write_text(json.dumps(given | metadata), encoding="utf-8")
    return folder


WALK, LOSE, WIN, MARK = Action(1), Action(2), Action(4), Action(6, 3, 30)
LEVEL = [WALK] * 3
SCRIPTS = {
    "won": LEVEL * 3,
    "resets": [WALK, RESET, *LEVEL, WALK, RESET, RESET, *LEVEL],
    "a reset right after a level": [*LEVEL, RESET, *LEVEL, WALK],
    "game over": [WALK, LOSE, RESET, *LEVEL, LOSE, RESET, RESET, WALK],
    "won and played again": [*LEVEL * 3, RESET, *LEVEL, MARK],
    "a reset at once": [RESET, RESET, WALK],
    "nothing": [],
    "won outright": [*LEVEL, WIN],
}
