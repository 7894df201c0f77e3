"""What a command costs besides its own work, and what an agent reads of a whole game: `python bench/doors.py`.

A command is timed from the start of ./law to its end. Its own work is what the door reports of itself (the ledger's `seconds`); the
rest is the start of a process, the way there and back, and the printing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.socket_server import serve
from lawbook.ledger.events import CallEvent
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session

LINES = (["status"], ["brief"], ["observe"], ["observe", "--since", "0.0"], ["record"], ["budget"], ["probe", "1", "-m", "?"])


def own_seconds(session: Session) -> float:
    """Of the last command."""
    calls = [call for call in session.event_log.ledger.read_data(CallEvent) if call.is_command]
    return float(calls[-1].seconds)


def law(workspace: Path, line: list[str]) -> tuple[float, int]:
    """(seconds, characters) of one command."""
    began = time.perf_counter()
    done = subprocess.run([workspace / "law", *line], capture_output=True, text=True, check=False)
    return time.perf_counter() - began, len(done.stdout) - 1


def bare_start() -> float:
    """Seconds that the interpreter behind ./law takes to do nothing, as busy as this machine is now."""
    began = time.perf_counter()
    subprocess.run([os.path.realpath(sys.executable), "-IS", "-c", "pass"], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="demo:maze", help="64 x 64 cells (default: demo:maze)")
    parser.add_argument("--times", type=int, default=30, help="each command so many times (default: 30)")
    settings = parser.parse_args()
    config = RunConfig(settings.world, mind="drive", protocol="vanilla", budget=10 * settings.times + 100)
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        start_run(config, Path(folder) / "runs", mind=ExternalAgentMind()) as (_, session),
    ):
        workspace = Path(folder) / "ws"
        with serve(session, [workspace]) as server:
            besides: list[float] = []
            print(f"workload: {settings.world}, each command {settings.times} times; Python {sys.version.split()[0]}")
            for line in LINES:
                whole, own, printed = [], [], 0
                for _ in range(settings.times):
                    seconds, printed = law(workspace, line)
                    with server.lock:
                        own.append(own_seconds(session))
                    whole.append(seconds)
                rest = [1e3 * (a - b) for a, b in zip(whole, own, strict=True)]
                besides += rest
                work = 1e3 * statistics.median(own)
                print(
                    f"{' '.join(line):24} {statistics.median(rest):5.0f} ms besides its own {work:5.1f} ms; {printed:,} characters"
                )
            bare = statistics.median(bare_start() for _ in range(settings.times))
            print(f"for comparison: {1e3 * bare:.0f} ms (median) to start a bare Python and end it")
            late = sorted(besides)[int(0.95 * len(besides))]
            print(f"all: {statistics.median(besides):.0f} ms (median), {late:.0f} ms (95 of 100) besides its own work")


if __name__ == "__main__":
    main()
