"""The command line, thin: read arguments, call what does the work, end every failure in one sentence and its exit code.

Exit codes: 0 won (or done), 1 ended without winning or paused, 2 wrong use, 3 the world or the host failed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lawbook import __version__
from lawbook.cli import audit, drive, options, prompts, recordings, scoring, view
from lawbook.cli.run_lookup import find_run_folder, open_ledger
from lawbook.core.spending import OPTIONS, Caps
from lawbook.errors import LawbookError, UsageError

# Imports that cost time stand where they are needed: `lawbook --version` is to answer at once.
if TYPE_CHECKING:
    from rich.text import Text

    from lawbook.view.metrics import RunSummary

INSTALL_HINT = "install it with pip, or in a clone run make setup and then .venv/bin/lawbook"

PAUSED, USAGE, INTERNAL_ERROR = 1, 2, 70
"""Exit codes besides those of the errors: paused, wrong use, and a bug of ours (EX_SOFTWARE of sysexits.h)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises, SystemExit aside (`--help`, `--version`)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # texts by others may hold what the terminal cannot write
    try:
        args = _build_parser().parse_args(arguments)
        code = args.command(args)
        sys.stdout.flush()
        return int(code)
    except LawbookError as error:
        return _report_failure(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        if (error.name or "") not in ("numpy", "rich", "arcengine", "tomli_w"):
            return _report_bug(error)
        return _report_failure(
            f"Lawbook needs Python 3.12 or newer and its packages; {error.name} is missing: {INSTALL_HINT}.", USAGE
        )
    except BrokenPipeError:
        # `| head` has seen enough. What is still buffered goes nowhere, or Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _report_failure("interrupted.", PAUSED)
    except Exception as error:
        return _report_bug(error)


def _report_bug(error: Exception) -> int:
    if os.environ.get("LAWBOOK_DEBUG"):
        raise error
    error_name = type(error).__name__
    return _report_failure(
        f"this is a bug in Lawbook ({error_name}: {error}); please report it, with what LAWBOOK_DEBUG=1 shows.", INTERNAL_ERROR
    )


def _report_failure(sentence: str, code: int) -> int:
    from lawbook.view.formatting import format_one_line

    print(f"lawbook: {format_one_line(sentence)}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """argparse, with one sentence instead of a usage block."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's. What a command does not know it says itself: it knows what it has instead."""
        parsed, unknown = super().parse_known_args(args, namespace)
        unknown_option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if unknown_option and self._subparsers is None:
            from lawbook.core.plugins import suggest_name

            suggestion = suggest_name(unknown_option, self._option_string_actions)
            raise UsageError(f"{self.prog} has no option {unknown_option}.{suggestion} `{self.prog} --help` tells what there is.")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        number_match = re.fullmatch(r"argument (?:-\w/)?-*([\w-]+): invalid int value: ('.*')", message, re.DOTALL)
        if number_match:
            message = f"{number_match[1]} is a whole number, not {number_match[2]}"
        command_match = re.match(r"argument COMMAND: invalid choice: ('.*?') \(choose from (.*)\)", message)
        if command_match:
            from lawbook.core.plugins import suggest_name

            suggestion = suggest_name(command_match[1], re.findall(r"\w+", command_match[2]))
            message = f"There is no command {command_match[1]}.{suggestion}"
            raise UsageError(f"{message} `{self.prog} --help` lists them.")
        raise UsageError(f"{message.rstrip('.')}; `{self.prog} --help` tells what there is.")


def _build_parser() -> _Parser:
    parser = _Parser(prog="lawbook", description=__import__("lawbook").__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"lawbook {__version__}")
    parser.set_defaults(command=lambda _: _print_help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def add_command(name: str, handler: Callable[[argparse.Namespace], int], description: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=description, description=description, allow_abbrev=False)
        subparser.set_defaults(command=handler)
        return subparser

    def add_run_command(name: str, handler: Callable[[argparse.Namespace], int], description: str) -> argparse.ArgumentParser:
        subparser = add_command(name, handler, description)
        subparser.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
        options.add_out_option(subparser)
        return subparser

    _add_play_options(add_command("play", _play, "play a world, or go on with a run (--resume)"))
    options.add_games_option(add_command("worlds", _list_worlds, "list the worlds there are"))
    add_command("minds", _list_minds, "list the minds there are")
    options.add_out_option(add_command("runs", _list_runs, "list runs, the newest first"))
    show_parser = add_run_command("show", _show, "the numbers of a run")
    show_parser.add_argument("--json", action="store_true", help="as one JSON object")
    verify_parser = add_run_command("verify", _verify, "replay a run's final hypotheses on its record, from the ledger alone")
    verify_parser.add_argument(
        "--program", metavar="DIR", type=Path, help="a program of your own instead: the modules in this folder"
    )
    history_parser = add_run_command(
        "history", _show_history, "every proposal of a run: why, the rulebook's diff, accepted or refused"
    )
    history_parser.add_argument("--member", type=int, metavar="N", help="only this member, from 0")
    history_parser.add_argument("--full", action="store_true", help="the program's diff and the whole texts too")
    rulebook_parser = add_run_command("rulebook", _print_rulebook, "print the rulebook as it stands")
    rulebook_parser.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    program_parser = add_run_command("program", _print_program, "print the program as it stands")
    program_parser.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    view.add_commands(add_command, options.add_out_option)
    audit.add_commands(add_command, options.add_out_option)
    scoring.add_commands(add_command, options.add_out_option)
    recordings.add_commands(add_command)
    drive.add_commands(add_command)
    prompts.add_commands(add_command)
    picture_parser = add_run_command("picture", _draw_picture, "draw a run as one SVG")
    picture_parser.add_argument("-o", metavar="FILE", dest="file", type=Path, required=True, help="where to")
    return parser


def _add_play_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("world", metavar="WORLD", nargs="?", help="such as demo:maze?seed=3; `lawbook worlds` lists them")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run: its folder, its name below --out, or `last`")
    options.add_run_options(parser)
    parser.add_argument(
        "--weak-sandbox", action="store_true", default=None, help="run although programs cannot be kept from files or network"
    )
    options.add_games_option(parser)
    scoring.add_mode_options(parser)
    options.add_out_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    parser.add_argument("--quiet", action="store_true", help="print nothing but failures")
    parser.add_argument("--plain", action="store_true", help="one line an event instead of the live display")
    parser.add_argument("--fast", action="store_true", help="no pauses for the eye in the live display")
    parser.add_argument("--no-board", action="store_true", help="the live display without the board")


def _print_help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return USAGE


# -- play ------------------------------------------------------------------------------------------------------------------------


def _play(args: argparse.Namespace) -> int:
    from lawbook.cli import play

    options.set_games_folder(args)
    run_settings = options.read_run_settings(args)
    display_options = play.DisplayOptions(
        json=args.json, quiet=args.quiet, plain=args.plain, fast=args.fast, board=not args.no_board
    )
    if args.resume is None:
        if args.world is None:
            raise UsageError("play needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
        return scoring.play_on_card(args, lambda world: play.play_new_run(world, run_settings, args.out, display_options))
    card_options = {name: value for name in ("mode", "card", "tag", "source_url") if (value := getattr(args, name))}
    raised_caps = {name: run_settings.pop(name) for name in OPTIONS if name in run_settings}
    if args.world is not None or run_settings or card_options:
        extra = args.world or "--" + next(iter(run_settings | card_options)).replace("_", "-")
        raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
    return play.continue_run(find_run_folder(args.resume, args.out), display_options, Caps.from_settings(raised_caps))


# -- what there is ---------------------------------------------------------------------------------------------------------------


def _list_worlds(args: argparse.Namespace) -> int:
    from lawbook.core import plugins
    from lawbook.worlds.address import GROUP, load_world_source

    options.set_games_folder(args)
    sources = plugins.list_entry_points(GROUP)
    _print_sources(
        ((kind, f"{kind}:") for kind in sources),
        load_world_source,
        lambda kind, source: plugins.describe_missing_package(sources[kind], kind, source),
    )
    return 0


def _list_minds(args: argparse.Namespace) -> int:
    from lawbook.minds.registry import list_mind_names, load_mind_source

    _print_sources(((name, "") for name in list_mind_names()), load_mind_source)
    return 0


def _print_sources(
    kinds: Iterable[tuple[str, str]], load: Callable[[str], object], describe_missing: Callable[[str, object], str] = lambda *_: ""
) -> None:
    """Every kind with its summary and names. One that cannot be had is listed with the sentence that says why."""
    from rich.text import Text

    lines: list[Text] = []
    for kind, prefix in kinds:
        try:
            source = load(kind)
            names, summary = [(str(n), str(a)) for n, a in source.names()], str(source.summary)  # type: ignore[attr-defined]
            summary = " ".join(filter(None, (summary, describe_missing(kind, source))))
        except UsageError as error:
            names, summary = [], str(error)
        except Exception as error:  # somebody else's source: one that is broken does not hide the others
            names, summary = [], f"could not be listed ({type(error).__name__}: {error})"
        lines.append(Text.assemble((f"{kind}: " if prefix else f"{kind}  ", "bold"), summary))
        lines += [Text.assemble(f"  {prefix}{name}  ", (description, "dim")) for name, description in names if name != kind]
    _print_lines(lines)


# -- runs ------------------------------------------------------------------------------------------------------------------------


def _list_runs(args: argparse.Namespace) -> int:
    from lawbook.runs.folder import list_runs
    from lawbook.view import text_output
    from lawbook.view.metrics import summarize_run

    rows: list[tuple[str, RunSummary | str]] = []
    for folder in list_runs(args.out):
        try:
            with open_ledger(folder) as ledger:
                row = folder.path.name, summarize_run(ledger)
                list(text_output.format_runs([row]))  # one that was altered must not keep the others from being listed
                rows.append(row)
        except LawbookError as error:
            rows.append((folder.path.name, str(error)))
    if not rows:
        raise UsageError(f"There are no runs in {args.out}; `lawbook play` makes one, and --out names another folder.")
    _print_lines(text_output.format_runs(rows))
    return 0


def _show(args: argparse.Namespace) -> int:
    from lawbook.view import text_output
    from lawbook.view.metrics import compute_metrics

    folder = find_run_folder(args.run, args.out)
    with open_ledger(folder) as ledger:
        run_numbers = compute_metrics(ledger)
        if args.json:
            import json

            print(json.dumps(run_numbers.to_json() | {"run": str(folder.path)}))
        else:
            _print_lines(text_output.format_metrics(run_numbers, folder.path))
    return 0


def _verify(args: argparse.Namespace) -> int:
    from lawbook.runs.recheck import load_program_files, recheck_run
    from lawbook.view import text_output

    folder = find_run_folder(args.run, args.out)
    config = folder.load_config()
    with open_ledger(folder) as ledger:
        files = load_program_files(args.program) if args.program else None
        recheck = recheck_run(ledger, files=files, weak=config.weak_sandbox, memory_mb=config.memory_mb)
    _print_lines(text_output.format_recheck(recheck))
    return 0 if recheck.holds else 1


def _show_history(args: argparse.Namespace) -> int:
    from lawbook.view import text_output

    with open_ledger(find_run_folder(args.run, args.out)) as ledger:
        _print_lines(text_output.format_history(ledger, member=args.member, full=args.full))
    return 0


def _print_rulebook(args: argparse.Namespace) -> int:
    from lawbook.core.hypothesis import RULEBOOK

    return _print_hypothesis(args, lambda files: [files[RULEBOOK]])


def _print_program(args: argparse.Namespace) -> int:
    from lawbook.core.hypothesis import RULEBOOK

    def format_sources(files: dict[str, str]) -> list[str]:
        names = [name for name in files if name != RULEBOOK]
        return [files[names[0]]] if len(names) == 1 else [f"# {name}\n\n{files[name]}" for name in names]

    return _print_hypothesis(args, format_sources)


def _print_hypothesis(args: argparse.Namespace, pick: Callable[[dict[str, str]], list[str]]) -> int:
    """Print texts of one member's hypothesis: as they are into a pipe, cleaned where a terminal would obey them."""
    from lawbook.runs.recheck import explain_fall
    from lawbook.runs.state import fold_events
    from lawbook.view.formatting import clean
    from lawbook.view.rulebook_diff import collect_texts

    with open_ledger(find_run_folder(args.run, args.out)) as ledger:
        state = fold_events(ledger)
    members = state.members
    if not 0 <= args.member < len(members):
        raise UsageError(f"There is no member {args.member}; this run has {len(members)}, counted from 0.")
    hypothesis = members[args.member].hypothesis
    if hypothesis is None:
        raise UsageError(
            f"Member {args.member} of this run never had a hypothesis that was accepted; `lawbook history` shows what it tried."
        )
    if reason := explain_fall(members[args.member], state.record):
        print(f"lawbook: {reason}; this is what it said.", file=sys.stderr)
    for text in pick(collect_texts(hypothesis)):
        print(clean(text) if sys.stdout.isatty() else text, end="" if text.endswith("\n") else "\n")
    return 0


def _draw_picture(args: argparse.Namespace) -> int:
    from lawbook.view import summary_svg

    with open_ledger(find_run_folder(args.run, args.out)) as ledger:
        _write_file(args.file, summary_svg.render(ledger))
    print(args.file)
    return 0


# -- inside ----------------------------------------------------------------------------------------------------------------------


def _write_file(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another place with -o.") from error


def _print_lines(lines: Iterable[Text]) -> None:
    from lawbook.view.console import Terminal

    console = Terminal(file=sys.stdout, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)
