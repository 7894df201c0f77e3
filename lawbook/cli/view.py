"""The commands that show runs to people: `view` in a browser, `watch` in a terminal, `report` and `compare` as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from lawbook.errors import UsageError

# As in cli.py: what costs time is imported where it is needed.

RUN = "a run's folder, its name below --out, or `last`"

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Add, out: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the commands into the parser; out adds --out."""
    viewed = command("view", _view, "look at runs in a browser, live while they are played")
    viewed.add_argument("runs", metavar="RUNS", nargs="?", type=Path, help="the folder of runs, or one run (default: --out)")
    viewed.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1); wider, a token is asked for")
    viewed.add_argument("--port", type=int, default=8778, help="0: whichever is free (default: 8778)")
    viewed.add_argument("--token", help="what a browser must know (default: none on 127.0.0.1, else a new one)")
    out(viewed)
    watched = command("watch", _watch, "follow a run that is played elsewhere, in the terminal")
    watched.add_argument("run", metavar="RUN", help=RUN)
    watched.add_argument("--plain", action="store_true", help="one line an event instead of the live display")
    watched.add_argument("--no-board", action="store_true", help="the live display without the board")
    out(watched)
    reported = command("report", _report, "write a run as one HTML file, or a level of it as pictures")
    reported.add_argument("run", metavar="RUN", help=RUN)
    reported.add_argument("-o", metavar="FILE", dest="file", type=Path, help="where to (default: report.html in the run)")
    reported.add_argument("--png", metavar="FILE", type=Path, help="the boards of a level, in order, as one picture")
    reported.add_argument("--gif", metavar="FILE", type=Path, help="every frame of a level, animated")
    reported.add_argument("--level", type=int, metavar="N", help="from 1 (default: the last that was completed)")
    out(reported)
    compared = command("compare", _compare, "write runs side by side, as one HTML file")
    compared.add_argument("runs", metavar="RUN", nargs="+", help=RUN)
    compared.add_argument("-o", metavar="FILE", dest="file", type=Path, default=Path("compare.html"), help="where to")
    out(compared)


def _view(given: argparse.Namespace) -> int:
    from lawbook.runs.folder import RunFolder

    try:
        from lawbook.view.web.serve import serve
    except ImportError as error:
        raise UsageError(
            f"The viewer needs {error.name}; pip install 'lawbook[view]' (in a clone: pip install '.[view]') brings it."
        ) from error
    out, run = given.runs or given.out, None
    if (out / "ledger.sqlite").is_file():
        path = RunFolder.open(out).path.resolve()
        out, run = path.parent, path.name
    if not 0 <= given.port <= 65535:
        raise UsageError(f"A port is a number from 0 to 65535, not {given.port}.")
    serve(out, given.host, given.port, given.token, run, lambda address: print(f"viewer  {address}", flush=True))
    return 0


def _watch(given: argparse.Namespace) -> int:
    from lawbook.cli import play, watch
    from lawbook.cli.run_lookup import folder_of

    folder = folder_of(given.run, given.out)
    _, stage = play.Show(plain=given.plain, fast=True, board=not given.no_board).stage()
    try:
        ended = watch.follow(folder, stage, whole=not hasattr(stage, "scene"))
    except KeyboardInterrupt:
        return 0
    if not ended:
        print(f"nobody is playing this run; go on with: lawbook play --resume {folder.path}", file=sys.stderr)
    return 0


def _report(given: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import folder_of, open_ledger
    from lawbook.view import export_images, html_report

    folder = folder_of(given.run, given.out)
    if given.level is not None and given.level < 1:
        raise UsageError(f"Levels are counted from 1, not {given.level}.")
    level = None if given.level is None else given.level - 1
    for target, draw in ((given.png, export_images.storyboard), (given.gif, export_images.film)):
        if target is not None:
            _write(target, draw(folder.ledger, level))
    if given.file is not None or (given.png is None and given.gif is None):
        with open_ledger(folder) as ledger:
            _write(given.file or folder.report, html_report.render(ledger).encode("utf-8", "backslashreplace"))
    return 0


def _compare(given: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import folder_of
    from lawbook.view import compare_page

    folders = [folder_of(run, given.out) for run in given.runs]
    page = compare_page.render([(folder.path.name, folder.ledger) for folder in folders])
    _write(given.file, page.encode("utf-8", "backslashreplace"))
    return 0


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another place.") from error
    print(path)
