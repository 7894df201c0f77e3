"""Wrong use of the command line in one sentence that says what to do, instead of click's block."""

from __future__ import annotations

from collections.abc import Iterable

import click

from lawbook.core.plugins import suggest_name


def format_usage_error(error: click.UsageError, known_commands: Iterable[str]) -> str:
    """The sentence for what click found wrong, with the nearest name where one was mistyped."""
    program = error.ctx.command_path if error.ctx else "lawbook"
    advice = f"`{program} --help` tells what there is."
    match error:
        case click.NoSuchCommand():
            suggestion = suggest_name(error.command_name, known_commands)
            return f"There is no command {error.command_name!r}.{suggestion} `{program} --help` lists them."
        case click.NoSuchOption():
            suggestion = suggest_name(error.option_name, _list_options(error.ctx))
            return f"{program} has no option {error.option_name}.{suggestion} {advice}"
        case click.MissingParameter():
            return f"the following arguments are required: {_name_parameter(error.param)}; {advice}"
        case click.BadParameter():
            return f"{_name_parameter(error.param).lstrip('-')} {error.message.rstrip('.')}; {advice}"
    return f"{error.message.rstrip('.')}; {advice}"


def _list_options(context: click.Context | None) -> list[str]:
    """Every option of the command at hand, --help included."""
    parameters = context.command.get_params(context) if context else []
    return [name for parameter in parameters if isinstance(parameter, click.Option) for name in parameter.opts]


def _name_parameter(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "a value"
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.human_readable_name.strip("[].")
