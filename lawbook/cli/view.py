"""The commands that show runs to people: `view` in a browser, `watch` in a terminal, `report` and `compare` as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from lawbook.errors import UsageError

# As in main.py: what costs time is imported where it is needed.

RUN_HELP = "a run's folder, its name below --out, or `last`"

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(add_command: AddCommand, add_out_option: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the commands into the parser; out adds --out."""
    view_parser = add_command("view", _view, "look at runs in a browser, live while they are played")
    view_parser.add_argument("runs", metavar="RUNS", nargs="?", type=Path, help="the folder of runs, or one run (default: --out)")
    view_parser.add_argument(
        "--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1); wider, a token is asked for"
    )
    view_parser.add_argument("--port", type=int, default=8778, help="0: whichever is free (default: 8778)")
    view_parser.add_argument("--token", help="what a browser must know (default: none on 127.0.0.1, else a new one)")
    add_out_option(view_parser)
    watch_parser = add_command("watch", _watch, "follow a run that is played elsewhere, in the terminal")
    watch_parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    watch_parser.add_argument("--plain", action="store_true", help="one line an event instead of the live display")
    watch_parser.add_argument("--no-board", action="store_true", help="the live display without the board")
    add_out_option(watch_parser)
    report_parser = add_command("report", _report, "write a run as one HTML file, or a level of it as pictures")
    report_parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    report_parser.add_argument("-o", metavar="FILE", dest="file", type=Path, help="where to (default: report.html in the run)")
    report_parser.add_argument("--png", metavar="FILE", type=Path, help="the boards of a level, in order, as one picture")
    report_parser.add_argument("--gif", metavar="FILE", type=Path, help="every frame of a level, animated")
    report_parser.add_argument("--level", type=int, metavar="N", help="from 1 (default: the last that was completed)")
    add_out_option(report_parser)
    compare_parser = add_command("compare", _compare, "write runs side by side, as one HTML file")
    compare_parser.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    compare_parser.add_argument("-o", metavar="FILE", dest="file", type=Path, default=Path("compare.html"), help="where to")
    add_out_option(compare_parser)


def _view(args: argparse.Namespace) -> int:
    from lawbook.runs.folder import RunFolder

    try:
        from lawbook.view.web.serve import serve
    except ImportError as error:
        raise UsageError(
            f"The viewer needs {error.name}; pip install 'lawbook[view]' (in a clone: pip install '.[view]') brings it."
        ) from error
    runs_folder, run_name = args.runs or args.out, None
    if (runs_folder / "ledger.sqlite").is_file():
        run_path = RunFolder.open(runs_folder).path.resolve()
        runs_folder, run_name = run_path.parent, run_path.name
    if not 0 <= args.port <= 65535:
        raise UsageError(f"A port is a number from 0 to 65535, not {args.port}.")
    serve(runs_folder, args.host, args.port, args.token, run_name, lambda address: print(f"viewer  {address}", flush=True))
    return 0


def _watch(args: argparse.Namespace) -> int:
    from lawbook.cli import play, watch
    from lawbook.cli.run_lookup import find_run_folder

    folder = find_run_folder(args.run, args.out)
    _, display = play.DisplayOptions(plain=args.plain, fast=True, board=not args.no_board).make_display()
    try:
        has_ended = watch.follow(folder, display, from_start=not hasattr(display, "scene"))
    except KeyboardInterrupt:
        return 0
    if not has_ended:
        print(f"nobody is playing this run; go on with: lawbook play --resume {folder.path}", file=sys.stderr)
    return 0


def _report(args: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import find_run_folder, open_ledger
    from lawbook.view import export_images, html_report

    folder = find_run_folder(args.run, args.out)
    if args.level is not None and args.level < 1:
        raise UsageError(f"Levels are counted from 1, not {args.level}.")
    level = None if args.level is None else args.level - 1
    for path, render_image in ((args.png, export_images.render_storyboard), (args.gif, export_images.render_animation)):
        if path is not None:
            _write(path, render_image(folder.ledger, level))
    if args.file is not None or (args.png is None and args.gif is None):
        with open_ledger(folder) as ledger:
            _write(args.file or folder.report, html_report.render(ledger).encode("utf-8", "backslashreplace"))
    return 0


def _compare(args: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import find_run_folder
    from lawbook.view import compare_page

    folders = [find_run_folder(run, args.out) for run in args.runs]
    page = compare_page.render([(folder.path.name, folder.ledger) for folder in folders])
    _write(args.file, page.encode("utf-8", "backslashreplace"))
    return 0


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another place.") from error
    print(path)
