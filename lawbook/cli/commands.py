"""The commands by their words. The module of a command is imported when its word was typed: `lawbook --version` answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import click

import lawbook
from lawbook.errors import UsageError

COMMANDS = {
    "play": "play a world, or go on with a run (--resume)",
    "worlds": "list the worlds there are",
    "minds": "list the minds there are",
    "runs": "list runs, the newest first",
    "show": "the numbers of a run",
    "verify": "replay a run's final hypotheses on its record, from the ledger alone",
    "history": "every proposal of a run: why, the rulebook's diff, accepted or refused",
    "rulebook": "print the rulebook as it stands",
    "program": "print the program as it stands",
    "view": "look at runs in a browser, live while they are played",
    "watch": "follow a run that is played elsewhere, in the terminal",
    "report": "write a run as one HTML file, or a level of it as pictures",
    "compare": "write runs side by side, as one HTML file",
    "audit": "does the ledger of a run tell the truth? exit code 0: all of it holds, 1: not",
    "score": "what runs are worth: levels, actions, RHAE, beside what is published",
    "regress": "plan every completed level again, in the program as it stands; nothing is sent",
    "submit": "replay runs onto a scorecard, checking every frame, and close it",
    "card": "what a scorecard says so far, or at its end (--close)",
    "campaign": "play worlds x minds x protocols x seeds from a TOML file, or go on with it",
    "import": "make a run of a recording, to go on with (play --resume) for --budget more actions",
    "induce": "learn from the first part of a recording, foretell the rest one step ahead",
    "export": "write a run as a recording of the ARC toolkit",
    "drive": "let an agent drive a run from a workspace, behind the same gate",
    "mcp": "let an MCP client on stdin and stdout drive a run; the run stops when it hangs up",
    "say": "say something to whoever plays a run; it counts as assisted from then on",
    "prompts": "list the prompts of language models with their versions, or print those of one operator",
    "picture": "draw a run as one SVG",
}
"""Each command's word, and what it does, in the order of `lawbook --help`."""

SHARED_MODULES = {"say": "drive", "program": "rulebook", "import": "recordings", "induce": "recordings", "export": "recordings"}
"""The modules of commands that do not stand in one of their own name."""

HELP_WIDTH = 120
"""Columns that help takes at most; in a narrower terminal it takes what there is."""


class Command(click.Command):
    """A command of click's, stricter about words that begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with three habits of the standard library's parser kept: an option never takes the next option for its value,
        `-o=FILE` means FILE, and a number or a text such as `- turn left` is no bundle of options. Raises click.UsageError.
        """
        takes_value = {
            name: not option.is_flag for option in self.get_params(ctx) if isinstance(option, click.Option) for name in option.opts
        }
        options, positionals, unfinished = list[str](), list[str](), ""
        for position, word in enumerate(args):
            if unfinished and word in ("--", *takes_value):
                break
            if unfinished:
                options.append(word)
                unfinished = ""
            elif word == "--":
                positionals += args[position + 1 :]
                break
            elif _is_option(word):
                is_joined = word[2:3] == "=" and takes_value.get(word[:2], False)
                options.append(word.replace("=", "", 1) if is_joined else word)
                unfinished = word if takes_value.get(word) else ""
            else:
                positionals.append(word)
        if unfinished:
            raise click.BadOptionUsage(unfinished, f"{unfinished} needs a value", ctx)
        try:
            return super().parse_args(ctx, [*options, "--", *positionals])
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and " " not in word.partition("=")[0]


class LazyGroup(click.Group):
    """Commands that are imported when they are needed, and listed without."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            importlib.import_module(f"lawbook.cli.{SHARED_MODULES.get(cmd_name, cmd_name)}")
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    help=lawbook.__doc__,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
)
@click.version_option(lawbook.__version__, prog_name="lawbook", message="%(prog)s %(version)s")
@click.pass_context
def root(context: click.Context) -> int:
    """Show what there is, when no command was typed."""
    if context.invoked_subcommand is not None:
        return 0
    click.echo(context.get_help())
    return UsageError.exit_code


def command(word: str) -> Callable[[Callable[..., int]], click.Command]:
    """A decorator that makes a function the command of this word; it returns the exit code."""
    return root.command(word, help=COMMANDS[word])


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that was typed and return its exit code. Raises LawbookError; UsageError for wrong use, in one sentence."""
    try:
        with root.make_context("lawbook", list(arguments)) as context:
            return int(root.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        from lawbook.cli.usage_sentences import format_usage_error  # here: what finds the nearest name takes time to import

        raise UsageError(format_usage_error(error, known_commands=COMMANDS)) from error
