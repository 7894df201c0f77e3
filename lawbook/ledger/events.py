"""What happens in a run, one frozen class for each kind of event. `codec` writes them as bodies and reads them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from lawbook.core.hypothesis import Decision, Trigger
from lawbook.core.record import Action, ActionKind, Status
from lawbook.core.results import Judgement, Probe, RunOutcome, Verdict
from lawbook.core.spending import Caps
from lawbook.ledger.opening import RecordedSettings, RecordedSpec

MIND_OPERATIONS = ("propose", "judge", "explore")
"""Calls of a mind; other CALL events tell of what stands around it: the model behind it, commands, an agent's own costs."""
COMMAND_OP, AGENT_OP = "door", "coder"
"""`op` of the CALL of a command, and of what an agent's own program cost."""
PERSON, CONFINEMENT_PROBE = "person", "probe"
"""`author` of a NOTE: a person who spoke to the run; what was found of an agent's confinement. Empty: the run itself."""


class EventKind(StrEnum):
    """What an event tells."""

    OPEN = "open"
    OBSERVE = "observe"
    PROPOSE = "propose"
    VERDICT = "verdict"
    INTEND = "intend"
    PLAN = "plan"
    DRAW = "draw"
    CALL = "call"
    NOTE = "note"
    CLOSE = "close"


@dataclass(frozen=True)
class RecordedSandbox:
    """What programs ran in, by the host's self-test. level: empty where no program was ever run (an imported recording)."""

    level: str
    facts: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RecordedConfinement:
    """How an agent's own program was confined: how well (`full`, ...), by what, and what the probe found."""

    level: str
    rung: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordingSource:
    """The recording that a run was imported from: its game, its play, SHA-256 of its lines in hexadecimal."""

    game: str
    guid: str
    digest: str


class PredictedOutcome(NamedTuple):
    """What a member predicted of an action.

    frame: id of the settled frame, 0 where a cell is left open. statuses: every status that is left possible. open_cells: id of
    the plane that holds k where a cell is left open under rule Uk; None: every cell is claimed.
    """

    frame: str
    statuses: frozenset[Status]
    open_cells: str | None = None

    @property
    def status(self) -> Status:
        """The likeliest of the statuses left possible."""
        return next(status for status in Status if status in self.statuses)

    @property
    def is_whole(self) -> bool:
        """Say whether every cell and the status are claimed."""
        return self.open_cells is None and len(self.statuses) == 1


@dataclass(frozen=True)
class StoredProposal:
    """A Proposal whose texts are ids. rulebook, files: None where they are unchanged."""

    decision: Decision
    rulebook: str | None = None
    files: Mapping[str, str] | None = None
    diagnosis: str = ""
    unusable: str = ""


@dataclass(frozen=True)
class StoredSubgoal:
    """A Subgoal whose source is an id."""

    source: str
    question: str
    unusable: str = ""


CallAnswer = StoredProposal | Judgement | StoredSubgoal | Probe | str
"""What a call came to: of a mind, by its operation; of the model behind it, the id of a text."""


@dataclass(frozen=True)
class OpenEvent:
    """A run begins, or is resumed (`is_resumed`, with the caps it goes on under).

    run: as it was asked for; spec: of its world; versions, sandbox: what it runs on (None: it does not say).
    recording: what it was imported from, None where it was played.
    """

    run: RecordedSettings
    spec: RecordedSpec
    versions: Mapping[str, str] | None = None
    sandbox: RecordedSandbox | None = None
    is_resumed: bool = False
    caps: Caps | None = None
    recording: RecordingSource | None = None


@dataclass(frozen=True, slots=True)
class ObserveEvent:
    """What came back. action: that led to it, None when the world was opened. frames: ids, the settled one last.

    trajectory: index of the one this step belongs to; of the new one after an opening or RESET. level: now being played, from 0.
    line: id of the rest of the recording's line that it was imported from. reward: what the action paid. is_unclaimed: what changed
    had been left open altogether, so that its action counts as sent without a prediction.
    """

    trajectory: int
    action: Action | None
    frames: tuple[str, ...]
    status: Status
    level: int
    available: tuple[int, ...]
    line: str | None = None
    reward: float = 0.0
    is_unclaimed: bool = False


@dataclass(frozen=True, slots=True)
class ProposeEvent:
    """A member proposes. trigger: why its mind was asked; cause: what it had been due for; n_actions: sent by then."""

    member: int
    trigger: Trigger
    cause: Trigger
    n_actions: int
    proposal: StoredProposal


@dataclass(frozen=True, slots=True)
class VerdictEvent:
    """about: `proposal` (the gate's answer), `prediction` (a live one was wrong), `explore` (an answer that cannot be used)."""

    member: int
    about: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class IntendEvent:
    """An action is announced before it is sent. plan_seq: the PLAN event it follows. predictions: by members that may steer."""

    action: Action
    kind: ActionKind
    member: int | None
    plan_seq: int | None
    question: str
    predictions: Mapping[int, PredictedOutcome]


@dataclass(frozen=True, slots=True)
class PlanEvent:
    """A search. actions: the plan, None where no way was found (then `reason` and `exhausted` say why).

    subgoal: id of its source, None for the goal. cut: which limit was hit. nodes: states expanded. seconds: wall clock. aim: goal,
    subgoal or frontier; None where it goes without saying. risk: how many of its states may be over, as far as its program knows.
    """

    member: int
    subgoal: str | None
    question: str
    nodes: int
    seconds: float
    cut: str | None
    actions: tuple[Action, ...] | None
    certified: bool = False
    method: str = ""
    reason: str = ""
    exhausted: bool = False
    aim: str | None = None
    risk: int = 0


@dataclass(frozen=True, slots=True)
class DrawEvent:
    """Which plan is followed. classes: members by identical plans; class_index: the one drawn; plan_seq: its PLAN event.

    predicted_frames, predicted_statuses: ids and possible statuses of what the plan is predicted to show, each None where an older
    run does not say. predicted_open_cells: ids of the planes of open cells, each None where all is claimed; None where all always
    is.
    """

    classes: tuple[tuple[int, ...], ...]
    class_index: int
    plan_seq: int
    predicted_frames: tuple[str, ...] | None = None
    predicted_statuses: tuple[frozenset[Status], ...] | None = None
    predicted_open_cells: tuple[str | None, ...] | None = None

    @property
    def predictions(self) -> tuple[PredictedOutcome, ...]:
        """Return what each action of the plan is predicted to show; nothing where a run does not say all of it.

        Raises ValueError where there are not as many frames as statuses.
        """
        if self.predicted_statuses is None:
            return ()
        planes = (None,) * len(self.predicted_statuses) if self.predicted_open_cells is None else self.predicted_open_cells
        rows = zip(self.predicted_frames or (), self.predicted_statuses, planes, strict=True)
        return tuple(PredictedOutcome(*row) for row in rows)


@dataclass(frozen=True, slots=True)
class NoPlanEvent:
    """Nobody has a plan: a draw from no classes. members: who is asked why."""

    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallEvent:
    """Somebody was asked: a mind (op: propose, judge, explore), the model behind it (`request`: digest of what was asked), or what
    stands around it: a command of an agent (COMMAND_OP), what its own program cost (AGENT_OP).

    number: how many of its kind this member had before. answer: None where there was none. receipt: what it cost. failure: why an
    inner call gave no answer.
    """

    member: int
    number: int
    op: str
    answer: CallAnswer | None
    seconds: float
    receipt: Mapping[str, Any]
    request: str | None = None
    failure: str | None = None

    @property
    def is_command(self) -> bool:
        return self.op == COMMAND_OP

    @property
    def is_model_call(self) -> bool:
        """Of the model behind a mind, and part of what the mind is being asked."""
        return self.request is not None

    @property
    def is_mind_call(self) -> bool:
        return self.op in MIND_OPERATIONS and not self.is_model_call


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """Words. author: who said them (PERSON, CONFINEMENT_PROBE), empty for the run itself. line: id of a whole line of a recording.

    member, confinement: whose agent is confined, and how.
    """

    text: str
    author: str = ""
    line: str | None = None
    member: int | None = None
    confinement: RecordedConfinement | None = None


@dataclass(frozen=True, slots=True)
class CloseEvent:
    """The run has ended. head: hash of the event before."""

    outcome: RunOutcome
    sentence: str
    head: str


AnyEvent = (
    OpenEvent
    | ObserveEvent
    | ProposeEvent
    | VerdictEvent
    | IntendEvent
    | PlanEvent
    | DrawEvent
    | NoPlanEvent
    | CallEvent
    | NoteEvent
    | CloseEvent
)

EVENT_CLASSES: Mapping[EventKind, tuple[type[AnyEvent], ...]] = {
    EventKind.OPEN: (OpenEvent,),
    EventKind.OBSERVE: (ObserveEvent,),
    EventKind.PROPOSE: (ProposeEvent,),
    EventKind.VERDICT: (VerdictEvent,),
    EventKind.INTEND: (IntendEvent,),
    EventKind.PLAN: (PlanEvent,),
    EventKind.DRAW: (DrawEvent, NoPlanEvent),
    EventKind.CALL: (CallEvent,),
    EventKind.NOTE: (NoteEvent,),
    EventKind.CLOSE: (CloseEvent,),
}
EVENT_KINDS: Mapping[type[Any], EventKind] = {
    event_class: kind for kind, classes in EVENT_CLASSES.items() for event_class in classes
}


def get_duration(event: AnyEvent) -> float:
    """Seconds that an event says its own work took: a call of a mind, a search, a look at a proposal. 0: it says nothing usable."""
    match event:
        case CallEvent() | PlanEvent():
            seconds = event.seconds
        case VerdictEvent():
            seconds = event.verdict.seconds
        case _:
            return 0.0
    return float(seconds) if 0 <= seconds < 1e9 else 0.0
