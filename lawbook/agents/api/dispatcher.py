"""The door: one command of one member, whole. Read, decided by the session, answered in few words, counted in the ledger."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lawbook.agents.api import status
from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.memory import DoorMemory
from lawbook.agents.api.notation import format_counterexample
from lawbook.agents.api.operation import BUG, CLOSED, OK, REFUSED, WRONG, CommandResult, Operation, find_operation
from lawbook.agents.api.operations import OPERATIONS, format_summary
from lawbook.agents.api.usage import UsageCounter
from lawbook.agents.api.workspace import Workspace
from lawbook.core import frame_text
from lawbook.core.record import Observation
from lawbook.core.results import VerdictKind
from lawbook.errors import LawbookError, RefusedError, UsageError
from lawbook.ledger.contents import load_observation
from lawbook.ledger.events import COMMAND_OP, PERSON, CallEvent, IntendEvent, NoteEvent, ObserveEvent, VerdictEvent
from lawbook.ledger.ledger import Event
from lawbook.runs.session import Session

MAX_NEWS_CHARACTERS = 2500
"""Characters of what others did, at most, in front of an answer."""


class CommandDispatcher:
    """The operations of a session for the agents of its members, one command at a time.

    workspaces: one a member. Whatever is thrown, an answer comes: a refusal is one sentence that says what to do. Not for two
    threads at once; `SocketServer` sees to that. `failure` is set when the run cannot go on in this process (its world or host
    failed).
    """

    def __init__(self, session: Session, workspaces: Sequence[Workspace]) -> None:
        if len(workspaces) != len(session.state.members):
            raise UsageError(f"{len(session.state.members)} members need as many workspaces, not {len(workspaces)}.")
        self.session, self.workspaces = session, list(workspaces)
        self.usage = UsageCounter()
        self._memories = [DoorMemory.load(workspace) for workspace in self.workspaces]
        self.failure: LawbookError | None = None
        self._commanding_member: int | None = None
        self._person_messages: list[list[str]] = [[] for _ in workspaces]
        self._peer_steps: list[list[status.PeerStep]] = [[] for _ in workspaces]
        self._mismatches: list[str] = ["" for _ in workspaces]
        self._last_actor: int | None = None
        self._last_observation: Observation | None = None
        for event in session.event_log.ledger:
            self._on_event(event, live=False)
        self._listener: Callable[[Event], None] = self._on_event
        session.event_log.listeners.append(self._listener)

    def close(self) -> None:
        """Listen no more. The session is left as it is."""
        if self._listener in self.session.event_log.listeners:
            self.session.event_log.listeners.remove(self._listener)

    # -- answering ---------------------------------------------------------------------------------------------------------------

    def run_command(self, member: int, argv: Sequence[str], stdin: str = "") -> CommandResult:
        """The answer to a command line of `member`, without its `./law`."""
        words = [str(word) for word in argv]
        name = words[0] if words else "help"
        if name in ("help", "--help", "-h") or any(word in ("--help", "-h") for word in words[1:]):
            topic = next((word for word in words if word in OPERATIONS), None)
            return self._run_counted(
                member, "help", lambda: CommandResult(OPERATIONS[topic].help if topic else self._format_help()), 5000
            )
        return self._run_operation(member, name, lambda operation: operation.parse_words(words[1:]), stdin)

    def call_tool(self, member: int, name: str, fields: Mapping[str, Any]) -> CommandResult:
        """The answer to a tool call, its arguments by name."""
        return self._run_operation(member, name, lambda operation: operation.parse_fields(fields), "")

    def _run_operation(
        self, member: int, name: str, parse_arguments: Callable[[Operation], dict[str, Any]], stdin: str
    ) -> CommandResult:
        def run() -> CommandResult:
            operation = find_operation(OPERATIONS, name)
            arguments = parse_arguments(operation)
            if self.failure is not None:
                return CommandResult(_CLOSED_MESSAGE, CLOSED)
            result = operation.handler(
                CommandContext(self.session, self.workspaces[member], member, self.usage, stdin, self._memories[member]),
                **arguments,
            )
            return result if isinstance(result, CommandResult) else CommandResult(result)

        max_characters = OPERATIONS[name].max_characters if name in OPERATIONS else 1500
        return self._run_counted(member, name if name in OPERATIONS else "unknown", run, max_characters)

    def _run_counted(self, member: int, command: str, operation: Callable[[], CommandResult], max_characters: int) -> CommandResult:
        """Run it, put the news before it, keep it to its size, write down what it cost."""
        started, self._commanding_member, had_ended = time.perf_counter(), member, self.session.outcome
        try:
            result = self._run_guarded(operation)
        finally:
            self._commanding_member = None
        text = frame_text.clip_text(_clean(result.text), max_characters)
        news = self._take_news(member)
        if news:
            text = f"{news}\n--\n{text}"
        if (
            self.failure is None and not had_ended
        ):  # the command that ends the run is counted too, after its end; none that comes later
            receipt: dict[str, float | int | str] = {"command": command, "characters": len(text), "refused": result.code != OK}
            seconds = time.perf_counter() - started
            try:
                self.session.add_cost(member, self.usage.n_commands[member], COMMAND_OP, receipt, seconds)
            except LawbookError as error:
                self.failure = error
        return CommandResult(text, result.code)

    def _run_guarded(self, operation: Callable[[], CommandResult]) -> CommandResult:
        try:
            return operation()
        except RefusedError as error:
            return CommandResult(str(error), REFUSED)
        except UsageError as error:
            return CommandResult(str(error), WRONG)
        except LawbookError as error:  # its sentence is for whoever runs this, and may name the world
            self.failure = error
            return CommandResult(_CLOSED_MESSAGE, CLOSED)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return CommandResult("That failed inside Lawbook, through no fault of yours; try it another way.", BUG)

    def _format_help(self) -> str:
        return f"{format_summary()}\n./law COMMAND --help tells more; GUIDE.md tells how to work."

    # -- what others did ---------------------------------------------------------------------------------------------------------

    def _on_event(self, event: Event, live: bool = True) -> None:
        self.usage.add(event)
        match event.data:
            case IntendEvent(member=member):
                self._last_actor = self._commanding_member if live and self._commanding_member is not None else member
            case ObserveEvent() as observed if len(self._peer_steps) > 1:
                self._queue_peer_step(observed)
            case VerdictEvent(member=member, about="prediction", verdict=verdict):
                if member != self._last_actor and len(self._mismatches) > 1:
                    is_compared = verdict.outcome is VerdictKind.COUNTEREXAMPLE
                    self._mismatches[member] = format_counterexample(verdict.reason) if is_compared else verdict.reason
            case NoteEvent(text=text, author=author) if author == PERSON:
                for messages in self._person_messages:
                    messages.append(text)
            case CallEvent(is_command=True, member=member) if not live:
                self._clear_news(member)
            case _:
                pass

    def _queue_peer_step(self, observed: ObserveEvent) -> None:
        """Tell the other members of an action and what came back."""
        before, self._last_observation = self._last_observation, load_observation(self.session.event_log.ledger, observed)
        action = observed.action
        if action is None or before is None:
            return
        same_shape = before.frame.shape == self._last_observation.frame.shape
        peer_step = status.PeerStep(
            self._last_actor,
            action,
            int((before.frame != self._last_observation.frame).sum()) if same_shape else 0,
            self._last_observation,
        )
        for member, peer_steps in enumerate(self._peer_steps):
            if member != self._last_actor:
                peer_steps.append(peer_step)

    def _take_news(self, member: int) -> str:
        """Person's words, and what others sent, since this member's last command; told once."""
        parts = [
            f"A person says: {message}" for message in self._person_messages[member]
        ]  # whole: they are kept short when they are said
        if self._peer_steps[member]:
            parts.append(
                frame_text.clip_text(
                    "since your last command:\n" + status.format_peer_steps(self._peer_steps[member]), MAX_NEWS_CHARACTERS
                )
            )
        if self._mismatches[member]:
            parts.append(f"your prediction of that was wrong, and your model is falsified: {self._mismatches[member]}")
        self._clear_news(member)
        return _clean("\n".join(parts))

    def _clear_news(self, member: int) -> None:
        if 0 <= member < len(self._person_messages):
            self._person_messages[member], self._peer_steps[member], self._mismatches[member] = [], [], ""


_CLOSED_MESSAGE = "The run cannot go on just now: something behind the door failed. Whoever started it can resume it; stop here."


def _clean(text: str) -> str:
    """Without control characters, which a terminal would obey, and without lone surrogates, which nothing can write."""
    printable = "".join(c if c >= " " or c in "\n\t" else "?" for c in text)
    return printable.encode("utf-8", "replace").decode("utf-8")
