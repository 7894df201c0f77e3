"""The operations of a door as rows of a table: what commands and MCP tools are made of, and how their arguments are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lawbook.core.plugins import nearest
from lawbook.errors import UsageError

OK, REFUSED, WRONG, CLOSED, BUG = 0, 1, 2, 3, 70
"""Exit codes of a command: done; refused, or not as predicted; wrong use; no run behind the door any more; a bug of ours."""

MOST = 6000
"""Characters of an answer, where an operation does not say less."""


class Reply(NamedTuple):
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
    about: str
    kind: Literal["text", "number", "size", "flag", "words"] = "text"
    flags: tuple[str, ...] = ()
    required: bool = False
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        value = "|".join(self.choices) or self.name.upper()
        if self.kind == "words":
            shown = f"{value} ..."
        elif not self.flags:
            shown = value
        else:
            shown = {"flag": self.flags[0], "size": f"{self.flags[0]} [N]"}.get(self.kind, f"{self.flags[0]} {value}")
        return shown if self.required else f"[{shown}]"

    def read(self, given: object) -> Any:
        """A value as the operation takes it. Raises UsageError."""
        if self.kind == "flag":
            if isinstance(given, bool):
                return given
            raise UsageError(f"{self.name} is true or false.")
        if self.kind in ("number", "size"):
            text = str(given).strip() if type(given) in (int, str) else ""
            if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 9:
                raise UsageError(f"{self.name} is a whole number.")
            return int(text)
        if self.kind == "words":
            parts = given.split() if isinstance(given, str) else given
            if not isinstance(parts, list | tuple) or not all(type(part) in (str, int) for part in parts):
                raise UsageError(f"{self.name} is a list of words.")
            return tuple(str(part) for part in parts)
        if type(given) is int:
            given = str(given)
        if not isinstance(given, str):
            raise UsageError(f"{self.name} is text.")
        if self.choices and given not in self.choices:
            raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {given[:60]!r}.")
        return given

    @property
    def schema(self) -> dict[str, Any]:
        kinds: dict[str, dict[str, Any]] = {
            "text": {"type": "string"},
            "number": {"type": "integer"},
            "size": {"type": "integer"},
            "flag": {"type": "boolean"},
            "words": {"type": "array", "items": {"type": "string"}},
        }
        chosen = {"enum": list(self.choices)} if self.choices else {}
        return {**kinds[self.kind], **chosen, "description": self.about}


@dataclass(frozen=True)
class Operation:
    """One row. does(call, **arguments) gives the answer; most: its size cap in characters; acts: it may change run or workspace;
    more: what else its help says."""

    name: str
    about: str
    does: Callable[..., str | Reply]
    arguments: tuple[Argument, ...] = ()
    most: int = MOST
    acts: bool = False
    more: str = ""

    @property
    def usage(self) -> str:
        return " ".join((f"./law {self.name}", *(argument.usage for argument in self.arguments)))

    @property
    def help(self) -> str:
        """Usage and what each argument means."""
        told = (f"  {', '.join(one.flags) or one.name.upper()}: {one.about}" for one in self.arguments)
        return "\n".join((self.usage, f"  {self.about}", *told, *([self.more] if self.more else [])))

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments, for MCP."""
        return {
            "type": "object",
            "properties": {argument.name: argument.schema for argument in self.arguments},
            "required": [argument.name for argument in self.arguments if argument.required],
            "additionalProperties": False,
        }

    def read_words(self, words: Sequence[str]) -> dict[str, Any]:
        """Arguments from a command line. Raises UsageError with what would be right."""
        given: dict[str, Any] = {}
        places = [argument for argument in self.arguments if not argument.flags]
        options = {flag: argument for argument in self.arguments for flag in argument.flags}
        rest, literal = deque(words), False
        loose: deque[str] = deque()
        while rest:
            word = rest.popleft()
            flag, equals, value = word.partition("=")
            if word == "--" and not literal:
                literal = True
            elif not literal and len(word) > 1 and word.startswith("-") and not word[1].isdecimal():
                if flag not in options:
                    raise UsageError(f"{self.name} has no option {flag[:40]}.{nearest(flag[:40], options)} It is: {self.usage}")
                argument = options[flag]
                if argument.kind == "flag":
                    if equals:
                        raise UsageError(f"{flag} takes no value.")
                    given[argument.name] = True
                elif argument.kind == "size" and not equals and not (rest and rest[0].isdecimal()):
                    given[argument.name] = 0
                elif equals or rest:
                    given[argument.name] = argument.read(value if equals else rest.popleft())
                else:
                    raise UsageError(f"{flag} needs a value: {argument.about}.")
            else:
                loose.append(word)
        for argument in places:
            if argument.kind == "words":
                if loose:
                    given[argument.name], loose = argument.read(tuple(loose)), deque()
            elif loose:
                given[argument.name] = argument.read(loose.popleft())
        if loose:
            raise UsageError(f"{self.name} does not take {loose[0][:60]!r}. It is: {self.usage}")
        return self._whole(given)

    def read_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, as an MCP client sends them; None is as good as absent. Raises UsageError."""
        known = {argument.name: argument for argument in self.arguments}
        unknown = next((name for name in fields if name not in known), None)
        if unknown is not None:
            raise UsageError(f"{self.name} takes no {str(unknown)[:40]!r}; it takes {', '.join(known) or 'nothing'}.")
        return self._whole({name: known[name].read(value) for name, value in fields.items() if value is not None})

    def _whole(self, given: dict[str, Any]) -> dict[str, Any]:
        for argument in self.arguments:
            if argument.required and argument.name not in given:
                raise UsageError(f"{self.name} needs {argument.name}: {argument.about}. It is: {self.usage}")
        return given


def find(table: Mapping[str, Operation], name: str) -> Operation:
    """Raises UsageError with the nearest there is."""
    if name not in table:
        raise UsageError(f"There is no command {name[:40]!r}.{nearest(name[:40], table)} There are: {', '.join(table)}.")
    return table[name]
