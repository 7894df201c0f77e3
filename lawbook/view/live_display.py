"""`play` as a person sees it: a listener that keeps the scene, draws it now and then, and never disturbs the run."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from lawbook.core.hypothesis import Trigger
from lawbook.core.record import ActionKind, Status
from lawbook.core.results import Prediction
from lawbook.ledger.events import EventKind, OpenEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.protocols.protocol import Protocol as Rules
from lawbook.runs.event_log import EventLog
from lawbook.runs.state import State
from lawbook.view.display_events import DisplayEvent, PlanStarted, PredictionFailed, ProposalJudged, RunEnded, RunOpened, StepTaken
from lawbook.view.event_stream import DisplayEventBuilder, read_display_events
from lawbook.view.formatting import format_count, format_one_line
from lawbook.view.live_layout import COLOURS, Scene
from lawbook.view.motion_path import find_motion_path
from lawbook.view.rulebook_diff import RuleChange, compare_rulebooks

REFRESH_RATE, IDLE_REFRESH_RATE = 12, 3
"""Drawings a second at most while things happen, and while nothing does (so that the last thing to happen is always drawn)."""
PAUSE_BUDGET_SECONDS = 25.0
"""Seconds that all pauses for the eye may take together, so that no run is held up for long."""

_ACTIVITY_BY_TRIGGER = {
    Trigger.START: "first sight: what might the rules be?",
    Trigger.MISMATCH: "that was wrong: what explains it, and all that was seen before?",
    Trigger.LEVEL: "a level is done: what carries over?",
    Trigger.NO_PLAN: "no way to a goal is seen: what is missing?",
    Trigger.REFUSED: "refused: how else?",
    Trigger.SIMPLIFY: "can it be said more simply?",
    Trigger.EXPLORE: "what should be found out?",
    Trigger.UNCLAIMED_END: "the end came where it was left open: can it be known now?",
}


class SessionProtocol(Protocol):
    """What of a session is looked at."""

    event_log: EventLog
    protocol: Rules
    budget: int

    @property
    def ahead(self) -> Sequence[Prediction]: ...


class NullDisplay:
    """Shows nothing."""

    def attach(self, session: SessionProtocol) -> None:
        """Show this session from now on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class PlainDisplay(NullDisplay):
    """One line for every event worth telling, for pipes and logs."""

    def __init__(self, console: Console) -> None:
        self.console: Console | None = console

    def attach(self, session: SessionProtocol) -> None:
        state = session.event_log.state
        self._event_builder = DisplayEventBuilder(state, session.event_log.ledger)
        for event in session.event_log.ledger.read_events([EventKind.OPEN]):
            self._print_event(self._event_builder.build(event))
        self._event_builder.load_history()
        session.event_log.listeners.append(self._on_event)

    def _on_event(self, event: Event) -> None:
        try:
            self._print_event(self._event_builder.build(event))
        except Exception:  # whatever is wrong with the telling, the run is not to suffer from it
            if os.environ.get("LAWBOOK_DEBUG"):
                raise
            self.console = None

    def _print_event(self, event: DisplayEvent | None) -> None:
        if event is not None and event.line and self.console is not None:
            text = Text(f"{event.at:>5}  ", style="dim").append(
                event.line, style=COLOURS[event.mood] if event.mood != "plain" else ""
            )
            self.console.print(text, soft_wrap=True, highlight=False)


class LiveDisplay(NullDisplay):
    """The live display. board: draw it; pauses: give the eye time (a few hundredths of a second an action, PAUSE_BUDGET_SECONDS
    in all)."""

    def __init__(self, console: Console, *, board: bool = True, pauses: bool = True) -> None:
        self.console = console
        self.scene = Scene(board=board)
        self._pause_budget = PAUSE_BUDGET_SECONDS if pauses else 0.0
        self._live = Live(
            console=console, refresh_per_second=IDLE_REFRESH_RATE, get_renderable=lambda: self.scene, vertical_overflow="crop"
        )
        self._last_drawn_at, self._last_seq = 0.0, -1
        self.has_failed = False

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def attach(self, session: SessionProtocol) -> None:
        self._session = session
        state, ledger = session.event_log.state, session.event_log.ledger
        self._event_builder = DisplayEventBuilder(state, ledger, session.protocol.compared_fields)
        opening = next(ledger.read_data(OpenEvent))
        run, spec = opening.run, opening.spec
        self._baselines, self._baseline_name = spec.baselines or (), spec.baseline
        population = f", {run.population} members" if run.population > 1 else ""
        self.scene = self.scene.with_changes(
            world=run.world,
            player=f"{run.mind} under {run.protocol}{population}, seed {run.seed}",
            palette=spec.palette,
            levels=spec.levels,
            budget=run.budget,
            frame=state.record.last.frame if state.record.last else None,
            title=_format_title(state, 0),
            rules=_list_rules(state, 0),
        )
        self._event_builder.load_history()
        self._history: list[tuple[int, str, str]] = []
        self._load_history(state, ledger)
        self._update_scene(None)
        session.event_log.listeners.append(self._on_event)

    def _load_history(self, state: State, ledger: Ledger) -> None:
        """What a run that is taken up again had told before, and the action that led to what is on the board."""
        for event, _ in read_display_events(ledger):
            if event.at > state.n_actions:
                break
            if isinstance(event, StepTaken):
                self.scene = self.scene.with_changes(action=event.action)
            if event.line and not isinstance(event, RunOpened):
                self._history = [*self._history[-20:], (event.at, event.mood, event.line)]
                self._last_seq = event.seq

    def _on_event(self, event: Event) -> None:
        if self.has_failed:
            return
        try:
            self._update_scene(self._event_builder.build(event))
        except Exception:  # whatever is wrong with the drawing, the run is not to suffer from it
            if os.environ.get("LAWBOOK_DEBUG"):
                raise
            self.has_failed = True

    def _update_scene(self, event: DisplayEvent | None) -> None:
        state, scene = self._session.event_log.state, self.scene
        mood, activity = describe_activity(state, self._session.protocol)
        if event is not None and event.line and event.seq > self._last_seq:
            self._history = [*self._history[-20:], (event.at, event.mood, event.line)]
        updates: dict[str, object] = {}
        match event:
            case StepTaken():
                updates = self._build_step_changes(event, state)
            case PlanStarted():
                frames = [scene.frame, *(prediction.frame for prediction in self._session.ahead)] if scene.frame is not None else []
                updates = {"way": find_motion_path(frames)[1:], "wrong": None}
            case ProposalJudged() if event.version is not None:
                # What is no longer asked has mostly been answered: only rules are struck out.
                visible_changes = [change for change in event.changes if change.mark != "-" or change.name.startswith(("R", "U"))]
                updates = {"rules": visible_changes, "title": _format_title(state, event.member), "wrong": None}
            case PredictionFailed():
                updates = {"way": (), **self._build_mismatch_changes(event)}
                mood = "bad"
            case RunEnded():
                updates = {"way": (), "doing": event.line}
        level, members = state.record.level, state.members
        n_level_actions = state.actions_per_level.get(level, 0)
        baseline = self._baselines[level] if level < len(self._baselines) else None
        self.scene = scene.with_changes(
            **{
                "mood": mood,
                "doing": activity,
                "level": level,
                "completed": level,
                "spent": n_level_actions,
                "baseline": f"{'best' if self._baseline_name == 'optimal' else self._baseline_name} {baseline}" if baseline else "",
                "actions": state.n_actions,
                "happened": tuple(self._history),
                "counters": (
                    _format_counter(sum(member.version for member in members), "version"),
                    ("wrong", f"{state.n_mismatches}"),
                    ("refused", f"{sum(version.outcome != 'admissible' for member in members for version in member.history)}"),
                    _format_counter(sum(member.n_calls for member in members), "call"),
                ),
                **updates,
            }
        )
        self._refresh(self._spend_pause(event))

    def _build_step_changes(self, event: StepTaken, state: State) -> dict[str, object]:
        last = state.record.last
        scene = self.scene
        is_planned = event.action_kind is ActionKind.PLAN and event.status is Status.RUNNING
        return {
            "frame": last.frame if last else None,
            "action": event.action,
            "way": scene.way[1:] if is_planned else (),
            "wrong": None,
            "board_mood": 1 if event.status is Status.COMPLETED else 2 if state.record.needs_reset else 0,
        }

    def _build_mismatch_changes(self, event: PredictionFailed) -> dict[str, object]:
        if event.predicted is None or event.observed is None:
            return {}
        ledger = self._session.event_log.ledger
        predicted, observed = ledger.get_frame(event.predicted), ledger.get_frame(event.observed)
        return {"wrong": predicted != observed} if predicted.shape == observed.shape else {}

    def _spend_pause(self, event: DisplayEvent | None) -> float:
        """How long the eye needs for this, while there is something left in the purse."""
        match event:
            case StepTaken(status=Status.RUNNING):
                seconds = 0.05
            case StepTaken() | PredictionFailed():
                seconds = 0.7
            case ProposalJudged() if event.version is not None:
                seconds = 0.5
            case PlanStarted():
                seconds = 0.3
            case _:
                seconds = 0.0
        seconds = min(seconds, self._pause_budget)
        self._pause_budget -= seconds
        return seconds

    def _refresh(self, pause_seconds: float) -> None:
        """Draw now, unless that was done a moment ago and nobody is to look at this for a while."""
        if pause_seconds or time.monotonic() - self._last_drawn_at >= 1 / REFRESH_RATE:
            self._live.refresh()
            self._last_drawn_at = time.monotonic()
        if pause_seconds:
            time.sleep(pause_seconds)


def describe_activity(state: State, protocol: Rules) -> tuple[str, str]:
    """Say what is being done in this state, as (mood, words): a function of the state, so that it is right after a resume too."""
    if state.outcome is not None:
        return ("good" if state.outcome == "won" else "bad"), str(state.outcome)
    if state.intent is not None and state.intent.kind is not ActionKind.PLAN:
        return "ask", f"{state.intent.kind}: {format_one_line(state.intent.question)}"
    for member in state.members:
        if member.proposal is not None or "propose" in member.pending_answers:
            return "think", f"proving version {member.version + 1} on all {format_count(state.n_actions, 'action')} on record"
    if state.active_plan is not None:
        active = state.active_plan
        target = "to the goal" if active.subgoal is None else f"to find out: {format_one_line(active.question)}"
        length_note = "" if active.executable.length is None else f" of {active.executable.length}"
        return ("busy" if active.subgoal is None else "ask"), f"step {active.n_sent + 1}{length_note} {target}"
    if protocol.needs_hypothesis:
        for member in state.members:
            if member.is_due and member.trigger is not None:
                return "think", _ACTIVITY_BY_TRIGGER[Trigger.REFUSED if member.n_refusals else member.trigger]
    if state.record.needs_reset:
        return "ask", "the level is over: once more"
    if any(member.admissible for member in state.members):
        return "busy", "looking for a way to the goal"
    return "ask", _ACTIVITY_BY_TRIGGER[Trigger.EXPLORE]


def _format_counter(number: int, singular: str) -> tuple[str, str]:
    return singular if number == 1 else f"{singular}s", f"{number:,}"


def _list_rules(state: State, member: int) -> list[RuleChange]:
    hypothesis = state.members[member].hypothesis
    return compare_rulebooks(hypothesis.rulebook, hypothesis.rulebook) if hypothesis else []


def _format_title(state: State, member: int) -> str:
    member_state = state.members[member]
    member_note = f" of member {member}" if len(state.members) > 1 else ""
    if member_state.hypothesis is None:
        return f"rulebook{member_note}"
    return f"rulebook{member_note}, version {member_state.version}, {member_state.hypothesis.description_bytes:,} bytes"
