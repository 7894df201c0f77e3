"""The operations of a door as rows of a table: what commands and MCP tools are made of, and how their arguments are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lawbook.core.plugins import suggest_name
from lawbook.errors import UsageError

OK, REFUSED, WRONG, CLOSED, BUG = 0, 1, 2, 3, 70
"""Exit codes of a command: done; refused, or not as predicted; wrong use; no run behind the door any more; a bug of ours."""

MAX_CHARACTERS = 6000
"""Characters of an answer, where an operation does not say less."""


class CommandResult(NamedTuple):
    """What a door answers: the text, and the exit code of the command."""

    text: str
    code: int = OK


@dataclass(frozen=True)
class Argument:
    """One argument. flags: `--rows`, and a short form, for an option; empty: it is given by its place.

    kind: text, number, size (a number that may be left out, and is 0 then), flag (no value), words (all that is left; for MCP a
    list, or one text with spaces).
    """

    name: str
    description: str
    kind: Literal["text", "number", "size", "flag", "words"] = "text"
    flags: tuple[str, ...] = ()
    required: bool = False
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        value = "|".join(self.choices) or self.name.upper()
        if self.kind == "words":
            text = f"{value} ..."
        elif not self.flags:
            text = value
        else:
            text = {"flag": self.flags[0], "size": f"{self.flags[0]} [N]"}.get(self.kind, f"{self.flags[0]} {value}")
        return text if self.required else f"[{text}]"

    def parse(self, value: object) -> Any:
        """A value as the operation takes it. Raises UsageError."""
        if self.kind == "flag":
            if isinstance(value, bool):
                return value
            raise UsageError(f"{self.name} is true or false.")
        if self.kind in ("number", "size"):
            text = str(value).strip() if type(value) in (int, str) else ""
            if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 9:
                raise UsageError(f"{self.name} is a whole number.")
            return int(text)
        if self.kind == "words":
            parts = value.split() if isinstance(value, str) else value
            if not isinstance(parts, list | tuple) or not all(type(part) in (str, int) for part in parts):
                raise UsageError(f"{self.name} is a list of words.")
            return tuple(str(part) for part in parts)
        if type(value) is int:
            value = str(value)
        if not isinstance(value, str):
            raise UsageError(f"{self.name} is text.")
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {value[:60]!r}.")
        return value

    @property
    def schema(self) -> dict[str, Any]:
        types: dict[str, dict[str, Any]] = {
            "text": {"type": "string"},
            "number": {"type": "integer"},
            "size": {"type": "integer"},
            "flag": {"type": "boolean"},
            "words": {"type": "array", "items": {"type": "string"}},
        }
        choices = {"enum": list(self.choices)} if self.choices else {}
        return {**types[self.kind], **choices, "description": self.description}


@dataclass(frozen=True)
class Operation:
    """One row. does(call, **arguments) gives the answer; max_characters: its size cap in characters; has_effects: it may change
    run or workspace; extra_help: what else its help says."""

    name: str
    description: str
    handler: Callable[..., str | CommandResult]
    arguments: tuple[Argument, ...] = ()
    max_characters: int = MAX_CHARACTERS
    has_effects: bool = False
    extra_help: str = ""

    @property
    def usage(self) -> str:
        return " ".join((f"./law {self.name}", *(argument.usage for argument in self.arguments)))

    @property
    def help(self) -> str:
        """Usage and what each argument means."""
        argument_lines = (
            f"  {', '.join(argument.flags) or argument.name.upper()}: {argument.description}" for argument in self.arguments
        )
        return "\n".join((self.usage, f"  {self.description}", *argument_lines, *([self.extra_help] if self.extra_help else [])))

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments, for MCP."""
        return {
            "type": "object",
            "properties": {argument.name: argument.schema for argument in self.arguments},
            "required": [argument.name for argument in self.arguments if argument.required],
            "additionalProperties": False,
        }

    def parse_words(self, words: Sequence[str]) -> dict[str, Any]:
        """Arguments from a command line. Raises UsageError with what would be right."""
        values: dict[str, Any] = {}
        positional = [argument for argument in self.arguments if not argument.flags]
        options = {flag: argument for argument in self.arguments for flag in argument.flags}
        remaining, literal = deque(words), False
        positional_words: deque[str] = deque()
        while remaining:
            word = remaining.popleft()
            flag, has_value, value = word.partition("=")
            if word == "--" and not literal:
                literal = True
            elif not literal and len(word) > 1 and word.startswith("-") and not word[1].isdecimal():
                if flag not in options:
                    raise UsageError(
                        f"{self.name} has no option {flag[:40]}.{suggest_name(flag[:40], options)} It is: {self.usage}"
                    )
                argument = options[flag]
                if argument.kind == "flag":
                    if has_value:
                        raise UsageError(f"{flag} takes no value.")
                    values[argument.name] = True
                elif argument.kind == "size" and not has_value and not (remaining and remaining[0].isdecimal()):
                    values[argument.name] = 0
                elif has_value or remaining:
                    values[argument.name] = argument.parse(value if has_value else remaining.popleft())
                else:
                    raise UsageError(f"{flag} needs a value: {argument.description}.")
            else:
                positional_words.append(word)
        for argument in positional:
            if argument.kind == "words":
                if positional_words:
                    values[argument.name], positional_words = argument.parse(tuple(positional_words)), deque()
            elif positional_words:
                values[argument.name] = argument.parse(positional_words.popleft())
        if positional_words:
            raise UsageError(f"{self.name} does not take {positional_words[0][:60]!r}. It is: {self.usage}")
        return self._require_all(values)

    def parse_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, as an MCP client sends them; None is as good as absent. Raises UsageError."""
        known = {argument.name: argument for argument in self.arguments}
        unknown = next((name for name in fields if name not in known), None)
        if unknown is not None:
            raise UsageError(f"{self.name} takes no {str(unknown)[:40]!r}; it takes {', '.join(known) or 'nothing'}.")
        return self._require_all({name: known[name].parse(value) for name, value in fields.items() if value is not None})

    def _require_all(self, values: dict[str, Any]) -> dict[str, Any]:
        for argument in self.arguments:
            if argument.required and argument.name not in values:
                raise UsageError(f"{self.name} needs {argument.name}: {argument.description}. It is: {self.usage}")
        return values


def find_operation(operations: Mapping[str, Operation], name: str) -> Operation:
    """Raises UsageError with the nearest there is."""
    if name not in operations:
        raise UsageError(
            f"There is no command {name[:40]!r}.{suggest_name(name[:40], operations)} There are: {', '.join(operations)}."
        )
    return operations[name]
