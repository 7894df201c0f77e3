"""Tools that a model may use while it reflects and compiles: Python over the record, earlier versions, its program."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from lawbook.core import frame_text
from lawbook.core.hypothesis import ENGINE, RULEBOOK, Hypothesis
from lawbook.core.record import Action
from lawbook.minds.base import Case, MindToolsProtocol
from lawbook.minds.llm.model import Tool
from lawbook.minds.llm.parsing import clean_answer, parse_answer

MAX_TOOL_CALLS = 6
"""Uses of tools in one reflection."""
MAX_OUTPUT_CHARS = 6_000
"""Characters of one output."""

_NO_CALLS_LEFT = "The {rounds} looks you had are spent; answer now."
_REQUEST = re.compile(r"\W*TOOL\W*:\W*(\w+)([^\n]*)", re.IGNORECASE)
_ACTION = re.compile(r"(\d{1,9})(?:@(\d{1,9}),(\d{1,9}))?")
_POSITION = re.compile(r"\s*(\d{1,9})\.(\d{1,9})\s*:(.*)", re.DOTALL)


class Toolset:
    """The tools of one call, and how many of its `rounds` are left. Functions of the case; whatever goes wrong is a sentence."""

    def __init__(self, case: Case, max_calls: int = MAX_TOOL_CALLS) -> None:
        self._case, self._max_calls, self._calls_left = case, max_calls, max_calls

    def list_functions(self) -> tuple[Tool, ...]:
        """List the tools, for a model that takes tool calls itself."""
        mind_tool_functions = (self.python, self.simulate) if self._case.tools else ()
        if not self._case.history:  # nothing to simulate, read or compare yet
            return mind_tool_functions[:1]
        return (*mind_tool_functions, self.read_version, self.diff_versions, self.counterexamples)

    def python(self, code: str) -> str:
        """Run Python over the record and get what it prints.

        Args:
            code: a script. `record` is the list of trajectories, oldest first; `record[-1]` is the present one, and `frames` and
                `actions` are its own. t.frames is (n + 1) x H x W uint8, t.frames[k] after k actions; t.actions[k] with .id .x
                .y led from t.frames[k] to t.frames[k + 1]; t.statuses, t.levels, t.available; t.animation(k). np and
                `perception` (components, objects, regions, changes, clicks, text) are there. Nothing is kept between runs.
        """
        return self._run_with_mind_tools(lambda tools: tools.python(code))

    def simulate(self, actions: str, trajectory: int = -1, step: int = -1) -> str:
        """Show what the member's last accepted program says that actions would show. Nothing is sent.

        Args:
            actions: such as "3 3 6@10,20": numbers, a click as number@x,y
            trajectory: from which trajectory, counted from 0; -1 is the present one
            step: after how many of its actions; -1 is after all of them
        """
        parsed_actions = [Action(int(i), *((int(x), int(y)) if x else ())) for i, x, y in _ACTION.findall(actions[:5_000])]
        if not parsed_actions:
            return "There is no action to simulate; give numbers such as 3 3 6@10,20."
        return self._run_with_mind_tools(lambda tools: tools.simulate(parsed_actions, trajectory, None if step < 0 else step))

    def read_version(self, number: int) -> str:
        """Read the text of an earlier version.

        Args:
            number: as under "Earlier versions", from 1
        """
        return self._run_counted(lambda: self._format_version(number))

    def diff_versions(self, old: int, new: int) -> str:
        """Show what changed from one earlier version to another, as a unified diff.

        Args:
            old: a number as under "Earlier versions", from 1
            new: another
        """
        return self._run_counted(lambda: self._format_diff(old, new))

    def counterexamples(self) -> str:
        """List every place where a version of this hypothesis was found wrong, the newest first."""
        return self._run_counted(self._format_counterexamples)

    def parse_tool_request(self, text: str) -> Callable[[], str] | None:
        """Parse what a plain-text answer asks for, `TOOL: name ...`, into a call to make; None when it is no such request."""
        cleaned = clean_answer(text)
        request_match = _REQUEST.search(cleaned)
        if (
            request_match is None
            or request_match.start() > 2_000
            or "DECISION" in cleaned.upper()
            or ENGINE in cleaned[: request_match.start()]
        ):
            return None
        name, argument = request_match[1].lower(), request_match[2].strip(" `*:")
        numbers = [int(digits) for digits in re.findall(r"\d{1,9}", argument)[:2]]
        match name:
            case "python":
                blocks = parse_answer(cleaned).blocks
                return lambda: (
                    self.python(blocks[-1].body) if blocks else self._run_counted(lambda: "There is no fenced block of code.")
                )
            case "simulate":
                position = _POSITION.fullmatch(argument)
                if position:
                    return lambda: self.simulate(position[3], int(position[1]), int(position[2]))
                return lambda: self.simulate(argument)
            case "read" if numbers:
                return lambda: self.read_version(numbers[0])
            case "diff" if len(numbers) == 2:
                return lambda: self.diff_versions(*numbers)
            case "counterexamples":
                return self.counterexamples
        return lambda: self._run_counted(lambda: f"There is no tool {name[:40]} like that; use one as shown, or answer.")

    def _run_counted(self, run_tool: Callable[[], str]) -> str:
        if self._calls_left <= 0:
            return _NO_CALLS_LEFT.format(rounds=self._max_calls)
        self._calls_left -= 1
        output = frame_text.clip_text(run_tool(), MAX_OUTPUT_CHARS)
        calls_left_note = (
            f"{self._calls_left} more; or answer now." if self._calls_left else _NO_CALLS_LEFT.format(rounds=self._max_calls)
        )
        return f"{output}\n({calls_left_note})"

    def _run_with_mind_tools(self, run_tool: Callable[[MindToolsProtocol], str]) -> str:
        tools = self._case.tools
        return self._run_counted(lambda: run_tool(tools) if tools is not None else "That is not to be had here.")

    def _find_hypothesis(self, number: int) -> Hypothesis | None:
        history = self._case.history
        return history[number - 1].hypothesis if 1 <= number <= len(history) else None

    def _format_version(self, number: int) -> str:
        hypothesis = self._find_hypothesis(number)
        return (
            self._format_missing_version(number)
            if hypothesis is None
            else "\n\n".join(f"{name}\n{text}" for name, text in _collect_files(hypothesis).items())
        )

    def _format_diff(self, old: int, new: int) -> str:
        old_hypothesis, new_hypothesis = self._find_hypothesis(old), self._find_hypothesis(new)
        if old_hypothesis is None or new_hypothesis is None:
            return self._format_missing_version(old if old_hypothesis is None else new)
        return diff_hypotheses(old_hypothesis, new_hypothesis) or "Nothing changed."

    def _format_missing_version(self, number: int) -> str:
        return f"There is no version {number}; there are {len(self._case.history)}, counted from 1."

    def _format_counterexamples(self) -> str:
        reasons = [f"version {k}: {version.reason}" for k, version in enumerate(self._case.history, 1) if version.reason]
        if self._case.verdict is not None and self._case.verdict.reason:
            reasons.append(f"last of all: {self._case.verdict.reason}")
        return "\n\n".join(reversed(reasons)) or "Nothing was found wrong so far."


def diff_hypotheses(old: Hypothesis, new: Hypothesis) -> str:
    """Return a unified diff of every file, empty when nothing changed."""
    old_files, new_files = _collect_files(old), _collect_files(new)
    lines: list[str] = []
    for name in sorted(old_files.keys() | new_files.keys()):
        old_lines, new_lines = old_files.get(name, "").splitlines(), new_files.get(name, "").splitlines()
        lines += difflib.unified_diff(old_lines, new_lines, f"a/{name}", f"b/{name}", lineterm="", n=2)
    return "\n".join(lines)


def _collect_files(hypothesis: Hypothesis) -> dict[str, str]:
    rulebook_file = {RULEBOOK: hypothesis.rulebook} if hypothesis.rulebook.strip() else {}
    return rulebook_file | dict(hypothesis.files)
