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
from lawbook.cli.run_lookup import folder_of, open_ledger
from lawbook.core.spending import OPTIONS, Caps
from lawbook.errors import LawbookError, UsageError

# Imports that cost time stand where they are needed: `lawbook --version` is to answer at once.
if TYPE_CHECKING:
    from rich.text import Text

    from lawbook.view.metrics import Brief

INSTALL = "install it with pip, or in a clone run make setup and then .venv/bin/lawbook"

PAUSED, USAGE, REPORT_IT = 1, 2, 70
"""Exit codes besides those of the errors: paused, wrong use, and a bug of ours (EX_SOFTWARE of sysexits.h)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises, SystemExit aside (`--help`, `--version`)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # texts by others may hold what the terminal cannot write
    try:
        chosen = _parser().parse_args(arguments)
        code = chosen.command(chosen)
        sys.stdout.flush()
        return int(code)
    except LawbookError as error:
        return _fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        if (error.name or "") not in ("numpy", "rich", "arcengine", "tomli_w"):
            return _bug(error)
        return _fail(f"Lawbook needs Python 3.12 or newer and its packages; {error.name} is missing: {INSTALL}.", USAGE)
    except BrokenPipeError:
        # `| head` has seen enough. What is still buffered goes nowhere, or Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail("interrupted.", PAUSED)
    except Exception as error:
        return _bug(error)


def _bug(error: Exception) -> int:
    if os.environ.get("LAWBOOK_DEBUG"):
        raise error
    kind = type(error).__name__
    return _fail(f"this is a bug in Lawbook ({kind}: {error}); please report it, with what LAWBOOK_DEBUG=1 shows.", REPORT_IT)


def _fail(sentence: str, code: int) -> int:
    from lawbook.view.formatting import one_line

    print(f"lawbook: {one_line(sentence)}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """argparse, with one sentence instead of a usage block."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's. What a command does not know it says itself: it knows what it has instead."""
        found, left = super().parse_known_args(args, namespace)
        wrong = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
        if wrong and self._subparsers is None:
            from lawbook.core.plugins import nearest

            near = nearest(wrong, self._option_string_actions)
            raise UsageError(f"{self.prog} has no option {wrong}.{near} `{self.prog} --help` tells what there is.")
        return found, left

    def error(self, message: str) -> NoReturn:
        number = re.fullmatch(r"argument (?:-\w/)?-*([\w-]+): invalid int value: ('.*')", message, re.DOTALL)
        if number:
            message = f"{number[1]} is a whole number, not {number[2]}"
        unknown = re.match(r"argument COMMAND: invalid choice: ('.*?') \(choose from (.*)\)", message)
        if unknown:
            from lawbook.core.plugins import nearest

            near = nearest(unknown[1], re.findall(r"\w+", unknown[2]))
            message = f"There is no command {unknown[1]}.{near}"
            raise UsageError(f"{message} `{self.prog} --help` lists them.")
        raise UsageError(f"{message.rstrip('.')}; `{self.prog} --help` tells what there is.")


def _parser() -> _Parser:
    parser = _Parser(prog="lawbook", description=__import__("lawbook").__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"lawbook {__version__}")
    parser.set_defaults(command=lambda _: _help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, does: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        made.set_defaults(command=does)
        return made

    def on_run(name: str, does: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = command(name, does, about)
        made.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
        options.out_option(made)
        return made

    _play_options(command("play", _play, "play a world, or go on with a run (--resume)"))
    options.games_option(command("worlds", _worlds, "list the worlds there are"))
    command("minds", _minds, "list the minds there are")
    options.out_option(command("runs", _runs, "list runs, the newest first"))
    shown = on_run("show", _show, "the numbers of a run")
    shown.add_argument("--json", action="store_true", help="as one JSON object")
    proof = on_run("verify", _verify, "replay a run's final hypotheses on its record, from the ledger alone")
    proof.add_argument("--program", metavar="DIR", type=Path, help="a program of your own instead: the modules in this folder")
    history = on_run("history", _history, "every proposal of a run: why, the rulebook's diff, accepted or refused")
    history.add_argument("--member", type=int, metavar="N", help="only this member, from 0")
    history.add_argument("--full", action="store_true", help="the program's diff and the whole texts too")
    book = on_run("rulebook", _rulebook, "print the rulebook as it stands")
    book.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    program = on_run("program", _program, "print the program as it stands")
    program.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    view.add_commands(command, options.out_option)
    audit.add_commands(command, options.out_option)
    scoring.add_commands(command, options.out_option)
    recordings.add_commands(command)
    drive.add_commands(command)
    prompts.add_commands(command)
    picture = on_run("picture", _picture, "draw a run as one SVG")
    picture.add_argument("-o", metavar="FILE", dest="file", type=Path, required=True, help="where to")
    return parser


def _play_options(play: argparse.ArgumentParser) -> None:
    play.add_argument("world", metavar="WORLD", nargs="?", help="such as demo:maze?seed=3; `lawbook worlds` lists them")
    play.add_argument("--resume", metavar="RUN", help="go on with a run: its folder, its name below --out, or `last`")
    options.run_options(play)
    play.add_argument(
        "--weak-sandbox", action="store_true", default=None, help="run although programs cannot be kept from files or network"
    )
    options.games_option(play)
    scoring.add_mode(play)
    options.out_option(play)
    play.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    play.add_argument("--quiet", action="store_true", help="print nothing but failures")
    play.add_argument("--plain", action="store_true", help="one line an event instead of the live display")
    play.add_argument("--fast", action="store_true", help="no pauses for the eye in the live display")
    play.add_argument("--no-board", action="store_true", help="the live display without the board")


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return USAGE


# -- play ------------------------------------------------------------------------------------------------------------------------


def _play(given: argparse.Namespace) -> int:
    from lawbook.cli import play

    options.find_games(given)
    asked = options.asked(given)
    show = play.Show(json=given.json, quiet=given.quiet, plain=given.plain, fast=given.fast, board=not given.no_board)
    if given.resume is None:
        if given.world is None:
            raise UsageError("play needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
        return scoring.on_card(given, lambda world: play.new(world, asked, given.out, show))
    online = {name: value for name in ("mode", "card", "tag", "source_url") if (value := getattr(given, name))}
    raised = {name: asked.pop(name) for name in OPTIONS if name in asked}
    if given.world is not None or asked or online:
        extra = given.world or "--" + next(iter(asked | online)).replace("_", "-")
        raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
    return play.resume(folder_of(given.resume, given.out), show, Caps.of(raised))


# -- what there is ---------------------------------------------------------------------------------------------------------------


def _worlds(given: argparse.Namespace) -> int:
    from lawbook.core import plugins
    from lawbook.worlds.address import GROUP, world_source

    options.find_games(given)
    found = plugins.offered(GROUP)
    _list(((kind, f"{kind}:") for kind in found), world_source, lambda kind, source: plugins.absent(found[kind], kind, source))
    return 0


def _minds(given: argparse.Namespace) -> int:
    from lawbook.minds.registry import mind_names, mind_source

    _list(((name, "") for name in mind_names()), mind_source)
    return 0


def _list(
    kinds: Iterable[tuple[str, str]], load: Callable[[str], object], lacks: Callable[[str, object], str] = lambda *_: ""
) -> None:
    """Every kind with its summary and names. One that cannot be had is listed with the sentence that says why."""
    from rich.text import Text

    lines: list[Text] = []
    for kind, prefix in kinds:
        try:
            source = load(kind)
            names, summary = [(str(n), str(a)) for n, a in source.names()], str(source.summary)  # type: ignore[attr-defined]
            summary = " ".join(filter(None, (summary, lacks(kind, source))))
        except UsageError as error:
            names, summary = [], str(error)
        except Exception as error:  # somebody else's source: one that is broken does not hide the others
            names, summary = [], f"could not be listed ({type(error).__name__}: {error})"
        lines.append(Text.assemble((f"{kind}: " if prefix else f"{kind}  ", "bold"), summary))
        lines += [Text.assemble(f"  {prefix}{name}  ", (about, "dim")) for name, about in names if name != kind]
    _print(lines)


# -- runs ------------------------------------------------------------------------------------------------------------------------


def _runs(given: argparse.Namespace) -> int:
    from lawbook.runs.folder import runs_in
    from lawbook.view import text_output
    from lawbook.view.metrics import brief

    rows: list[tuple[str, Brief | str]] = []
    for folder in runs_in(given.out):
        try:
            with open_ledger(folder) as ledger:
                told = folder.path.name, brief(ledger)
                list(text_output.runs([told]))  # one that was altered must not keep the others from being listed
                rows.append(told)
        except LawbookError as error:
            rows.append((folder.path.name, str(error)))
    if not rows:
        raise UsageError(f"There are no runs in {given.out}; `lawbook play` makes one, and --out names another folder.")
    _print(text_output.runs(rows))
    return 0


def _show(given: argparse.Namespace) -> int:
    from lawbook.view import text_output
    from lawbook.view.metrics import numbers

    folder = folder_of(given.run, given.out)
    with open_ledger(folder) as ledger:
        found = numbers(ledger)
        if given.json:
            import json

            print(json.dumps(found.json() | {"run": str(folder.path)}))
        else:
            _print(text_output.show(found, folder.path))
    return 0


def _verify(given: argparse.Namespace) -> int:
    from lawbook.runs.recheck import check, program_in
    from lawbook.view import text_output

    folder = folder_of(given.run, given.out)
    config = folder.config()
    with open_ledger(folder) as ledger:
        files = program_in(given.program) if given.program else None
        checked = check(ledger, files=files, weak=config.weak_sandbox, memory_mb=config.memory_mb)
    _print(text_output.checked(checked))
    return 0 if checked.holds else 1


def _history(given: argparse.Namespace) -> int:
    from lawbook.view import text_output

    with open_ledger(folder_of(given.run, given.out)) as ledger:
        _print(text_output.history(ledger, member=given.member, full=given.full))
    return 0


def _rulebook(given: argparse.Namespace) -> int:
    from lawbook.core.hypothesis import RULEBOOK

    return _text(given, lambda files: [files[RULEBOOK]])


def _program(given: argparse.Namespace) -> int:
    from lawbook.core.hypothesis import RULEBOOK

    def sources(files: dict[str, str]) -> list[str]:
        names = [name for name in files if name != RULEBOOK]
        return [files[names[0]]] if len(names) == 1 else [f"# {name}\n\n{files[name]}" for name in names]

    return _text(given, sources)


def _text(given: argparse.Namespace, pick: Callable[[dict[str, str]], list[str]]) -> int:
    """Print texts of one member's hypothesis: as they are into a pipe, cleaned where a terminal would obey them."""
    from lawbook.runs.recheck import fallen
    from lawbook.runs.state import fold
    from lawbook.view.formatting import clean
    from lawbook.view.rulebook_diff import texts

    with open_ledger(folder_of(given.run, given.out)) as ledger:
        state = fold(ledger)
    members = state.members
    if not 0 <= given.member < len(members):
        raise UsageError(f"There is no member {given.member}; this run has {len(members)}, counted from 0.")
    hypothesis = members[given.member].hypothesis
    if hypothesis is None:
        raise UsageError(
            f"Member {given.member} of this run never had a hypothesis that was accepted; `lawbook history` shows what it tried."
        )
    if why := fallen(members[given.member], state.record):
        print(f"lawbook: {why}; this is what it said.", file=sys.stderr)
    for text in pick(texts(hypothesis)):
        print(clean(text) if sys.stdout.isatty() else text, end="" if text.endswith("\n") else "\n")
    return 0


def _picture(given: argparse.Namespace) -> int:
    from lawbook.view import summary_svg

    with open_ledger(folder_of(given.run, given.out)) as ledger:
        _write(given.file, summary_svg.draw(ledger))
    print(given.file)
    return 0


# -- inside ----------------------------------------------------------------------------------------------------------------------


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another place with -o.") from error


def _print(lines: Iterable[Text]) -> None:
    from lawbook.view.console import Terminal

    console = Terminal(file=sys.stdout, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)
