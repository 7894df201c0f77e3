"""`prompts`: what language models are told, in which version."""

from __future__ import annotations

import click

from lawbook.cli.commands import command
from lawbook.errors import UsageError
from lawbook.minds.llm import templates


@command("prompts")
@click.argument("operator", metavar="[OP]", required=False, help="reflect, revise, compile, judge, simplify, explore or direct")
@click.option("--no-rulebook", is_flag=True, help="as the protocol no-rulebook has it")
@click.option("--open", "allows_open", is_flag=True, help="as the protocol belief has it")
def print_prompts(operator: str | None, no_rulebook: bool, allows_open: bool) -> int:
    arm = {"rulebook": not no_rulebook, "allows_open": allows_open}
    if operator is None:
        for name, parts in templates.OPERATOR_PROMPTS.items():
            size = sum(len(templates.load_prompt(part, **arm).encode()) for part in parts)
            print(f"{name:9}{templates.compute_version(name):14}{size:6,} bytes  {' + '.join(parts)}")
        return 0
    if operator not in templates.OPERATOR_PROMPTS:
        raise UsageError(f"There is no operator {operator!r}; choose one of {', '.join(templates.OPERATOR_PROMPTS)}.")
    print(f"# {operator}, version {templates.compute_version(operator)}")
    for part in templates.OPERATOR_PROMPTS[operator]:
        print(f"\n----- {part}.md\n\n{templates.load_prompt(part, **arm).rstrip()}")
    return 0
