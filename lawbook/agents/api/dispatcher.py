"""The door: one command of one member, whole. Read, decided by the session, answered in few words, counted in the ledger."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lawbook.agents.api import actions, status
from lawbook.agents.api.notation import shown
from lawbook.agents.api.operation import BUG, CLOSED, OK, REFUSED, WRONG, Operation, Reply, find
from lawbook.agents.api.operations import OPERATIONS, summary
from lawbook.agents.api.usage import DOOR, Tally
from lawbook.agents.api.workspace import Workspace
from lawbook.core import frame_text
from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Observation
from lawbook.core.results import Outcome, Subgoal
from lawbook.errors import LawbookError, RefusedError, UsageError
from lawbook.ledger.codec import action_of
from lawbook.ledger.ledger import Event, Kind, read_observation
from lawbook.runs.session import Session
from lawbook.runs.state import Member

NEWS = 2500
"""Characters of what others did, at most, in front of an answer."""


@dataclass(frozen=True)
class Call:
    """One command being answered: whose it is, and what it may use."""

    door: Door
    member: int
    stdin: str = ""

    @property
    def session(self) -> Session:
        return self.door.session

    @property
    def workspace(self) -> Workspace:
        return self.door.workspaces[self.member]

    @property
    def own(self) -> Member:
        """The state of the member whose door this is."""
        return self.session.state.members[self.member]

    def workspace_hypothesis(self) -> Hypothesis:
        """What stands in the workspace now. Raises RefusedError where it cannot be read."""
        return self.workspace.hypothesis(rulebook=self.session.rules.needs_rulebook)

    def require_proposed(self) -> None:
        """Raises RefusedError where the protocol needs a hypothesis and the workspace holds another than the accepted one."""
        refusal = actions.unfit_to_act(self)
        if refusal:
            raise RefusedError(refusal)

    def subgoal(self, text: str | None, message: str) -> Subgoal | None:
        return actions.named_subgoal(text, message, self)


class Door:
    """The operations of a session for the agents of its members, one command at a time.

    workspaces: one a member. Whatever is thrown, an answer comes: a refusal is one sentence that says what to do. Not for two
    threads at once; `Server` sees to that. `broken` is set when the run cannot go on in this process (its world or host failed).
    """

    def __init__(self, session: Session, workspaces: Sequence[Workspace]) -> None:
        if len(workspaces) != len(session.state.members):
            raise UsageError(f"{len(session.state.members)} members need as many workspaces, not {len(workspaces)}.")
        self.session, self.workspaces = session, list(workspaces)
        self.tally = Tally()
        self.broken: LawbookError | None = None
        self._acting: int | None = None
        self._words: list[list[str]] = [[] for _ in workspaces]
        self._moves: list[list[status.Move]] = [[] for _ in workspaces]
        self._fallen: list[str] = ["" for _ in workspaces]
        self._mover: int | None = None
        self._seen: Observation | None = None
        for event in session.journal.ledger:
            self._hear(event, live=False)
        self._listener: Callable[[Event], None] = self._hear
        session.journal.listeners.append(self._listener)

    def close(self) -> None:
        """Listen no more. The session is left as it is."""
        if self._listener in self.session.journal.listeners:
            self.session.journal.listeners.remove(self._listener)

    # -- answering ---------------------------------------------------------------------------------------------------------------

    def answer(self, member: int, argv: Sequence[str], stdin: str = "") -> Reply:
        """The answer to a command line of `member`, without its `./law`."""
        words = [str(word) for word in argv]
        name = words[0] if words else "help"
        if name in ("help", "--help", "-h") or any(word in ("--help", "-h") for word in words[1:]):
            topic = next((word for word in words if word in OPERATIONS), None)
            return self._counted(member, "help", lambda: Reply(OPERATIONS[topic].help if topic else self._help()), 5000)
        return self._run(member, name, lambda operation: operation.read_words(words[1:]), stdin)

    def tool(self, member: int, name: str, fields: Mapping[str, Any]) -> Reply:
        """The answer to a tool call, its arguments by name."""
        return self._run(member, name, lambda operation: operation.read_fields(fields), "")

    def _run(self, member: int, name: str, read: Callable[[Operation], dict[str, Any]], stdin: str) -> Reply:
        def answered() -> Reply:
            operation = find(OPERATIONS, name)
            given = read(operation)
            if self.broken is not None:
                return Reply(_SORRY, CLOSED)
            found = operation.does(Call(self, member, stdin), **given)
            return found if isinstance(found, Reply) else Reply(found)

        most = OPERATIONS[name].most if name in OPERATIONS else 1500
        return self._counted(member, name if name in OPERATIONS else "unknown", answered, most)

    def _counted(self, member: int, command: str, deed: Callable[[], Reply], most: int) -> Reply:
        """Run it, put the news before it, keep it to its size, write down what it cost."""
        began, self._acting, ended = time.perf_counter(), member, self.session.ended
        try:
            reply = self._safely(deed)
        finally:
            self._acting = None
        text = frame_text.clip(_clean(reply.text), most)
        news = self._news(member)
        if news:
            text = f"{news}\n--\n{text}"
        if self.broken is None and not ended:  # the command that ends the run is counted too, after its end; none that comes later
            receipt = {"command": command, "characters": len(text), "refused": reply.code != OK}
            call = {"member": member, "call": self.tally.turns[member], "op": DOOR, "answer": None}
            try:
                self.session.journal.append(Kind.CALL, {**call, "seconds": time.perf_counter() - began, "receipt": receipt})
                self.session.journal.commit()
            except LawbookError as error:
                self.broken = error
        return Reply(text, reply.code)

    def _safely(self, deed: Callable[[], Reply]) -> Reply:
        try:
            return deed()
        except RefusedError as error:
            return Reply(str(error), REFUSED)
        except UsageError as error:
            return Reply(str(error), WRONG)
        except LawbookError as error:  # its sentence is for whoever runs this, and may name the world
            self.broken = error
            return Reply(_SORRY, CLOSED)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return Reply("That failed inside Lawbook, through no fault of yours; try it another way.", BUG)

    def _help(self) -> str:
        return f"{summary()}\n./law COMMAND --help tells more; GUIDE.md tells how to work."

    # -- what others did ---------------------------------------------------------------------------------------------------------

    def _hear(self, event: Event, live: bool = True) -> None:
        self.tally.add(event)
        body = event.body
        match event.kind:
            case Kind.INTEND:
                self._mover = self._acting if live and self._acting is not None else body["member"]
            case Kind.OBSERVE if len(self._moves) > 1:
                self._moved(event)
            case Kind.VERDICT if body["about"] == "prediction":
                if body["member"] != self._mover and len(self._fallen) > 1:
                    verdict = body["verdict"]
                    reason = str(verdict["reason"])
                    self._fallen[body["member"]] = shown(reason) if verdict["outcome"] == Outcome.COUNTEREXAMPLE else reason
            case Kind.NOTE if body.get("by") == "person":
                for words in self._words:
                    words.append(str(body["text"]))
            case Kind.CALL if body["op"] == DOOR and not live:
                self._forget(int(body["member"]))
            case _:
                pass

    def _moved(self, event: Event) -> None:
        """Tell the other members of an action and what came back."""
        before, self._seen = self._seen, read_observation(self.session.journal.ledger, event.body)
        action = action_of(event.body["action"])
        if action is None or before is None:
            return
        alike = before.frame.shape == self._seen.frame.shape
        move = status.Move(self._mover, action, int((before.frame != self._seen.frame).sum()) if alike else 0, self._seen)
        for member, moves in enumerate(self._moves):
            if member != self._mover:
                moves.append(move)

    def _news(self, member: int) -> str:
        """Person's words, and what others sent, since this member's last command; told once."""
        parts = [f"A person says: {words}" for words in self._words[member]]  # whole: they are kept short when they are said
        if self._moves[member]:
            parts.append(frame_text.clip("since your last command:\n" + status.news_of(self._moves[member]), NEWS))
        if self._fallen[member]:
            parts.append(f"your prediction of that was wrong, and your model is falsified: {self._fallen[member]}")
        self._forget(member)
        return _clean("\n".join(parts))

    def _forget(self, member: int) -> None:
        if 0 <= member < len(self._words):
            self._words[member], self._moves[member], self._fallen[member] = [], [], ""


_SORRY = "The run cannot go on just now: something behind the door failed. Whoever started it can resume it; stop here."


def _clean(text: str) -> str:
    """Without control characters, which a terminal would obey, and without lone surrogates, which nothing can write."""
    plain = "".join(c if c >= " " or c in "\n\t" else "?" for c in text)
    return plain.encode("utf-8", "replace").decode("utf-8")
