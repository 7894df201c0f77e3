"""The command `prompts`: what language models are told, in which version."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from lawbook.errors import UsageError

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(add_command: AddCommand) -> None:
    """Put the command into the parser."""
    prompts_parser = add_command(
        "prompts", _print_prompts, "list the prompts of language models with their versions, or print those of one operator"
    )
    prompts_parser.add_argument("op", metavar="OP", nargs="?", help="reflect, revise, compile, judge, simplify, explore or direct")
    prompts_parser.add_argument("--no-rulebook", action="store_true", help="as the protocol no-rulebook has it")


def _print_prompts(args: argparse.Namespace) -> int:
    from lawbook.minds.llm import templates

    has_rulebook = not args.no_rulebook
    if args.op is None:
        for op, names in templates.OPERATOR_PROMPTS.items():
            size = sum(len(templates.load_prompt(name, has_rulebook).encode()) for name in names)
            print(f"{op:9}{templates.compute_version(op):14}{size:6,} bytes  {' + '.join(names)}")
        return 0
    if args.op not in templates.OPERATOR_PROMPTS:
        raise UsageError(f"There is no operator {args.op!r}; choose one of {', '.join(templates.OPERATOR_PROMPTS)}.")
    print(f"# {args.op}, version {templates.compute_version(args.op)}")
    for name in templates.OPERATOR_PROMPTS[args.op]:
        print(f"\n----- {name}.md\n\n{templates.load_prompt(name, has_rulebook).rstrip()}")
    return 0
