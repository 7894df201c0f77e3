"""The command `prompts`: what language models are told, in which version."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from lawbook.errors import UsageError

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Add) -> None:
    """Put the command into the parser."""
    shown = command("prompts", _prompts, "list the prompts of language models with their versions, or print those of one operator")
    shown.add_argument("op", metavar="OP", nargs="?", help="reflect, revise, compile, judge, simplify, explore or direct")
    shown.add_argument("--no-rulebook", action="store_true", help="as the protocol no-rulebook has it")


def _prompts(given: argparse.Namespace) -> int:
    from lawbook.minds.llm import prompts

    book = not given.no_rulebook
    if given.op is None:
        for op, names in prompts.OPS.items():
            size = sum(len(prompts.prompt(name, book).encode()) for name in names)
            print(f"{op:9}{prompts.version(op):14}{size:6,} bytes  {' + '.join(names)}")
        return 0
    if given.op not in prompts.OPS:
        raise UsageError(f"There is no operator {given.op!r}; choose one of {', '.join(prompts.OPS)}.")
    print(f"# {given.op}, version {prompts.version(given.op)}")
    for name in prompts.OPS[given.op]:
        print(f"\n----- {name}.md\n\n{prompts.prompt(name, book).rstrip()}")
    return 0
