"""What an action costs beyond the toolkit's own client, online: `python bench/remote.py [--actions N]`.

The toolkit's REST server runs in a process of its own on loopback and serves one demo game. The same random actions are sent to it
twice, block by block in turn: through the toolkit's own client alone, and through everything an action of ours passes:
gate, intent and outcome durably in the ledger, the world's own process, the record. Resets are not timed.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from lawbook.arc import settings
from lawbook.core.record import Action, Status
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run

GAME = """
from random import Random
from lawbook.worlds.demo.maze import build
from lawbook.worlds.demo.puzzle import PuzzleGame

class Maze(PuzzleGame):
    def __init__(self):
        made = build(Random("maze:0"))
        super().__init__(made.stages, made.theme, blinking=made.blinking)
"""
BLOCK = 50


def lay_out(root: Path) -> None:
    folder = root / "maze" / "1"
    folder.mkdir(parents=True)
    (folder / "maze.py").write_text(GAME, encoding="utf-8")
    (folder / "metadata.json").write_text(json.dumps({"game_id": "maze-1", "baseline_actions": [9] * 5}), encoding="utf-8")


def serve(root: Path, port: int) -> None:
    from arc_agi import Arcade, OperationMode

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    Arcade("bench", operation_mode=OperationMode.OFFLINE, environments_dir=str(root)).listen_and_serve("127.0.0.1", port)


@contextmanager
def serving(root: Path) -> Iterator[str]:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--serve", str(port), "--root", str(root)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                requests.get(f"{url}/api/healthcheck", timeout=1)
                break
            except requests.RequestException:
                time.sleep(0.1)
        yield url
    finally:
        server.kill()
        server.wait()


def toolkit(url: str, card: str) -> Any:
    """The toolkit's own client, on a play of its own."""
    from arc_agi import EnvironmentInfo
    from arc_agi.remote_wrapper import RemoteEnvironmentWrapper

    quiet = logging.Logger("quiet", logging.CRITICAL)
    return RemoteEnvironmentWrapper(url, EnvironmentInfo(game_id="maze-1"), os.environ[settings.KEY_VARIABLE], quiet, card)


def resident(pid: int) -> float:
    """Megabytes of a process."""
    return int(Path("/proc", str(pid), "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=1000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.root, given.serve)
        return
    from arcengine import GameAction

    from lawbook.arc import scorecards, settings

    with tempfile.TemporaryDirectory() as place, serving_games(Path(place)) as url:
        os.environ.update({settings.URL_VARIABLE: url, settings.KEY_VARIABLE: "bench"})
        card, dice = scorecards.open_card("online"), random.Random(0)
        theirs, bare, ours = toolkit(url, card), list[float](), list[float]()
        config = RunConfig(f"arc:maze?mode=online&card={card}", mind="random", protocol="vanilla", budget=10 * given.actions)
        with start_run(config, Path(place) / "runs") as (_, session):
            pids = (os.getpid(), session.world.pid)  # type: ignore[attr-defined]
            before, began = [resident(pid) for pid in pids], time.perf_counter()
            while len(ours) < given.actions and not session.outcome:
                block = [Action(dice.randrange(1, 5)) for _ in range(BLOCK)]
                for action in block:
                    start = time.perf_counter()
                    seen = theirs.step(GameAction.from_id(action.id))
                    bare.append(time.perf_counter() - start)
                    if seen is None or seen.state.name != "NOT_FINISHED":
                        theirs.reset()
                for action in block:
                    start = time.perf_counter()
                    sent = session.probe(action, "?")
                    ours.append(time.perf_counter() - start)
                    if sent.observation is not None and sent.observation.status is Status.OVER:
                        session.reset("over")
            run, world = (resident(pid) - was for pid, was in zip(pids, before, strict=True))
            took = time.perf_counter() - began
        one, two = statistics.median(bare) * 1e3, statistics.median(ours) * 1e3
        print(f"{len(ours):,} actions in {took:.0f} s, median a step: toolkit's client {one:.2f} ms ({1e3 / one:.0f}/s), ", end="")
        print(f"through everything {two:.2f} ms ({1e3 / two:.0f}/s): {two - one:+.2f} ms; ", end="")
        print(f"memory of the run's process {run:+.1f} MB, of the world's {world:+.1f} MB")


@contextmanager
def serving_games(place: Path) -> Iterator[str]:
    lay_out(place / "games")
    with serving(place / "games") as url:
        yield url


if __name__ == "__main__":
    main()
