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
    from lawbook.minds.llm import templates

    book = not given.no_rulebook
    if given.op is None:
        for op, names in templates.OPS.items():
            size = sum(len(templates.prompt(name, book).encode()) for name in names)
            print(f"{op:9}{templates.version(op):14}{size:6,} bytes  {' + '.join(names)}")
        return 0
    if given.op not in templates.OPS:
        raise UsageError(f"There is no operator {given.op!r}; choose one of {', '.join(templates.OPS)}.")
    print(f"# {given.op}, version {templates.version(given.op)}")
    for name in templates.OPS[given.op]:
        print(f"\n----- {name}.md\n\n{templates.prompt(name, book).rstrip()}")
    return 0
