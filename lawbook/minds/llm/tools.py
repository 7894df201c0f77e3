"""What a model may use while it reflects and compiles: Python over the record, earlier versions, its program. All from the case."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from lawbook.core import frame_text
from lawbook.core.hypothesis import ENGINE, RULEBOOK, Hypothesis
from lawbook.core.record import Action
from lawbook.minds.base import Case, Desk
from lawbook.minds.llm.model import Tool
from lawbook.minds.llm.parsing import clean, take_apart

ROUNDS = 6
"""Uses of tools in one reflection."""
MOST = 6_000
"""Characters of one output."""

_SPENT = "The {rounds} looks you had are spent; answer now."
_REQUEST = re.compile(r"\W*TOOL\W*:\W*(\w+)([^\n]*)", re.IGNORECASE)
_ACTION = re.compile(r"(\d{1,9})(?:@(\d{1,9}),(\d{1,9}))?")
_PLACE = re.compile(r"\s*(\d{1,9})\.(\d{1,9})\s*:(.*)", re.DOTALL)


class Tools:
    """The tools of one call, and how many of its `rounds` are left. Functions of the case; whatever goes wrong is a sentence."""

    def __init__(self, case: Case, rounds: int = ROUNDS) -> None:
        self._case, self._rounds, self._left = case, rounds, rounds

    def functions(self) -> tuple[Tool, ...]:
        """For a model that takes tool calls itself."""
        closer = (self.python, self.simulate) if self._case.desk else ()
        if not self._case.history:  # nothing to simulate, read or compare yet
            return closer[:1]
        return (*closer, self.read_version, self.diff_versions, self.counterexamples)

    def python(self, code: str) -> str:
        """Run Python over the record and get what it prints.

        Args:
            code: a script. `record` is the list of trajectories, oldest first; `record[-1]` is the present one, and `frames` and
                `actions` are its own. t.frames is (n + 1) x H x W uint8, t.frames[k] after k actions; t.actions[k] with .id .x
                .y led from t.frames[k] to t.frames[k + 1]; t.statuses, t.levels, t.available; t.animation(k). np and
                `perception` (components, objects, regions, changes, clicks, text) are there. Nothing is kept between runs.
        """
        return self._with_desk(lambda desk: desk.python(code))

    def simulate(self, actions: str, trajectory: int = -1, step: int = -1) -> str:
        """What the member's last accepted program says that actions would show. Nothing is sent.

        Args:
            actions: such as "3 3 6@10,20": numbers, a click as number@x,y
            trajectory: from which trajectory, counted from 0; -1 is the present one
            step: after how many of its actions; -1 is after all of them
        """
        wanted = [Action(int(i), *((int(x), int(y)) if x else ())) for i, x, y in _ACTION.findall(actions[:5_000])]
        if not wanted:
            return "There is no action to simulate; give numbers such as 3 3 6@10,20."
        return self._with_desk(lambda desk: desk.simulate(wanted, trajectory, None if step < 0 else step))

    def read_version(self, number: int) -> str:
        """The text of an earlier version.

        Args:
            number: as under "Earlier versions", from 1
        """
        return self._counted(lambda: self._version(number))

    def diff_versions(self, old: int, new: int) -> str:
        """What changed from one earlier version to another, as a unified diff.

        Args:
            old: a number as under "Earlier versions", from 1
            new: another
        """
        return self._counted(lambda: self._diff(old, new))

    def counterexamples(self) -> str:
        """Every place where a version of this hypothesis was found wrong, the newest first."""
        return self._counted(self._wrong)

    def asked(self, text: str) -> Callable[[], str] | None:
        """What a plain-text answer asks for, `TOOL: name ...`; None when it is no such request."""
        plain = clean(text)
        found = _REQUEST.search(plain)
        if found is None or found.start() > 2_000 or "DECISION" in plain.upper() or ENGINE in plain[: found.start()]:
            return None
        name, rest = found[1].lower(), found[2].strip(" `*:")
        numbers = [int(one) for one in re.findall(r"\d{1,9}", rest)[:2]]
        match name:
            case "python":
                blocks = take_apart(plain).blocks
                return lambda: (
                    self.python(blocks[-1].body) if blocks else self._counted(lambda: "There is no fenced block of code.")
                )
            case "simulate":
                placed = _PLACE.fullmatch(rest)
                if placed:
                    return lambda: self.simulate(placed[3], int(placed[1]), int(placed[2]))
                return lambda: self.simulate(rest)
            case "read" if numbers:
                return lambda: self.read_version(numbers[0])
            case "diff" if len(numbers) == 2:
                return lambda: self.diff_versions(*numbers)
            case "counterexamples":
                return self.counterexamples
        return lambda: self._counted(lambda: f"There is no tool {name[:40]} like that; use one as shown, or answer.")

    def _counted(self, look: Callable[[], str]) -> str:
        if self._left <= 0:
            return _SPENT.format(rounds=self._rounds)
        self._left -= 1
        told = frame_text.clip(look(), MOST)
        left = f"{self._left} more; or answer now." if self._left else _SPENT.format(rounds=self._rounds)
        return f"{told}\n({left})"

    def _with_desk(self, look: Callable[[Desk], str]) -> str:
        desk = self._case.desk
        return self._counted(lambda: look(desk) if desk is not None else "That is not to be had here.")

    def _hypothesis(self, number: int) -> Hypothesis | None:
        history = self._case.history
        return history[number - 1].hypothesis if 1 <= number <= len(history) else None

    def _version(self, number: int) -> str:
        found = self._hypothesis(number)
        return self._none(number) if found is None else "\n\n".join(f"{name}\n{text}" for name, text in _texts(found).items())

    def _diff(self, old: int, new: int) -> str:
        one, two = self._hypothesis(old), self._hypothesis(new)
        if one is None or two is None:
            return self._none(old if one is None else new)
        return difference(one, two) or "Nothing changed."

    def _none(self, number: int) -> str:
        return f"There is no version {number}; there are {len(self._case.history)}, counted from 1."

    def _wrong(self) -> str:
        told = [f"version {k}: {version.reason}" for k, version in enumerate(self._case.history, 1) if version.reason]
        if self._case.verdict is not None and self._case.verdict.reason:
            told.append(f"last of all: {self._case.verdict.reason}")
        return "\n\n".join(reversed(told)) or "Nothing was found wrong so far."


def difference(old: Hypothesis, new: Hypothesis) -> str:
    """A unified diff of every file, empty when nothing changed."""
    before, after = _texts(old), _texts(new)
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        one, two = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        lines += difflib.unified_diff(one, two, f"a/{name}", f"b/{name}", lineterm="", n=2)
    return "\n".join(lines)


def _texts(hypothesis: Hypothesis) -> dict[str, str]:
    book = {RULEBOOK: hypothesis.rulebook} if hypothesis.rulebook.strip() else {}
    return book | dict(hypothesis.files)
