"""`play` as a person sees it: a listener that keeps the scene, draws it now and then, and never disturbs the run."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from lawbook.core.record import Status
from lawbook.core.results import Prediction
from lawbook.ledger.ledger import Event, Kind, Ledger
from lawbook.minds.base import Why
from lawbook.protocols.protocol import Protocol as Rules
from lawbook.runs.event_log import Journal
from lawbook.runs.state import Sort, State
from lawbook.view.display_events import Ended, Missed, Opened, Planned, Proposed, Stepped, Told
from lawbook.view.event_stream import Teller, story
from lawbook.view.formatting import count, one_line
from lawbook.view.live_layout import COLOURS, Scene
from lawbook.view.motion_path import way
from lawbook.view.rulebook_diff import Change, changes

RATE, IDLE = 12, 3
"""Drawings a second at most while things happen, and while nothing does (so that the last thing to happen is always drawn)."""
PURSE = 25.0
"""Seconds that all pauses for the eye may take together, so that no run is held up for long."""

_THOUGHTS = {
    Why.START: "first sight: what might the rules be?",
    Why.MISMATCH: "that was wrong: what explains it, and all that was seen before?",
    Why.LEVEL: "a level is done: what carries over?",
    Why.NO_PLAN: "no way to a goal is seen: what is missing?",
    Why.REFUSED: "refused: how else?",
    Why.SIMPLIFY: "can it be said more simply?",
    Why.EXPLORE: "what should be found out?",
}


class Watched(Protocol):
    """What of a session is looked at."""

    journal: Journal
    rules: Rules
    budget: int

    @property
    def ahead(self) -> Sequence[Prediction]: ...


class Silent:
    """Shows nothing."""

    def watch(self, session: Watched) -> None:
        """From now on show this session."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Lines(Silent):
    """One line for every event worth telling, for pipes and logs."""

    def __init__(self, console: Console) -> None:
        self.console: Console | None = console

    def watch(self, session: Watched) -> None:
        state = session.journal.state
        self._teller = Teller(state, session.journal.ledger)
        for event in session.journal.ledger.events([Kind.OPEN]):
            self._say(self._teller.tell(event))
        self._teller.catch_up()
        session.journal.listeners.append(self._listen)

    def _listen(self, event: Event) -> None:
        try:
            self._say(self._teller.tell(event))
        except Exception:  # whatever is wrong with the telling, the run is not to suffer from it
            if os.environ.get("LAWBOOK_DEBUG"):
                raise
            self.console = None

    def _say(self, told: Told | None) -> None:
        if told is not None and told.line and self.console is not None:
            text = Text(f"{told.at:>5}  ", style="dim").append(told.line, style=COLOURS[told.mood] if told.mood != "plain" else "")
            self.console.print(text, soft_wrap=True, highlight=False)


class Picture(Silent):
    """The live display. board: draw it; pauses: give the eye time (a few hundredths of a second an action, PURSE in all)."""

    def __init__(self, console: Console, *, board: bool = True, pauses: bool = True) -> None:
        self.console = console
        self.scene = Scene(board=board)
        self._purse = PURSE if pauses else 0.0
        self._live = Live(console=console, refresh_per_second=IDLE, get_renderable=lambda: self.scene, vertical_overflow="crop")
        self._drawn, self._told = 0.0, -1
        self.failed = False

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def watch(self, session: Watched) -> None:
        self._session = session
        state, ledger = session.journal.state, session.journal.ledger
        self._teller = Teller(state, ledger, session.rules.compares)
        opening = next(ledger.events([Kind.OPEN]))
        run, spec = opening.body["run"], opening.body["spec"]
        self._baselines, self._baseline = spec["baselines"] or (), spec["baseline"]
        population = f", {run['population']} members" if run["population"] > 1 else ""
        self.scene = self.scene.but(
            world=run["world"],
            player=f"{run['mind']} under {run['protocol']}{population}, seed {run['seed']}",
            palette=spec["palette"],
            levels=spec["levels"],
            budget=run["budget"],
            frame=state.record.last.frame if state.record.last else None,
            title=_title(state, 0),
            rules=_standing(state, 0),
        )
        self._teller.catch_up()
        self._happened: list[tuple[int, str, str]] = []
        self._remember(state, ledger)
        self._tell(None)
        session.journal.listeners.append(self._listen)

    def _remember(self, state: State, ledger: Ledger) -> None:
        """What a run that is taken up again had told before, and the action that led to what is on the board."""
        for told, _ in story(ledger):
            if told.at > state.sent:
                break
            if isinstance(told, Stepped):
                self.scene = self.scene.but(action=told.action)
            if told.line and not isinstance(told, Opened):
                self._happened = [*self._happened[-20:], (told.at, told.mood, told.line)]
                self._told = told.seq

    def _listen(self, event: Event) -> None:
        if self.failed:
            return
        try:
            self._tell(self._teller.tell(event))
        except Exception:  # whatever is wrong with the drawing, the run is not to suffer from it
            if os.environ.get("LAWBOOK_DEBUG"):
                raise
            self.failed = True

    def _tell(self, told: Told | None) -> None:
        state, scene = self._session.journal.state, self.scene
        mood, doing = what_now(state, self._session.rules)
        if told is not None and told.line and told.seq > self._told:
            self._happened = [*self._happened[-20:], (told.at, told.mood, told.line)]
        seen: dict[str, object] = {}
        match told:
            case Stepped():
                seen = self._stepped(told, state)
            case Planned():
                frames = [scene.frame, *(prediction.frame for prediction in self._session.ahead)] if scene.frame is not None else []
                seen = {"way": way(frames)[1:], "wrong": None}
            case Proposed() if told.version is not None:
                # What is no longer asked has mostly been answered: only rules are struck out.
                shown = [change for change in told.changes if change.mark != "-" or change.name.startswith("R")]
                seen = {"rules": shown, "title": _title(state, told.member), "wrong": None}
            case Missed():
                seen = {"way": (), **self._missed(told)}
                mood = "bad"
            case Ended():
                seen = {"way": (), "doing": told.line}
        level, members = state.record.level, state.members
        spent = state.per_level.get(level, 0)
        known = self._baselines[level] if level < len(self._baselines) else None
        self.scene = scene.but(
            **{
                "mood": mood,
                "doing": doing,
                "level": level,
                "completed": level,
                "spent": spent,
                "baseline": f"{'best' if self._baseline == 'optimal' else self._baseline} {known}" if known else "",
                "actions": state.sent,
                "happened": tuple(self._happened),
                "counters": (
                    _counter(sum(m.version for m in members), "version"),
                    ("wrong", f"{state.mismatches}"),
                    ("refused", f"{sum(v.outcome != 'admissible' for m in members for v in m.history)}"),
                    _counter(sum(m.asked for m in members), "call"),
                ),
                **seen,
            }
        )
        self._draw(self._pause(told))

    def _stepped(self, told: Stepped, state: State) -> dict[str, object]:
        last = state.record.last
        scene = self.scene
        planned = told.sort is Sort.PLAN and told.status is Status.RUNNING
        return {
            "frame": last.frame if last else None,
            "action": told.action,
            "way": scene.way[1:] if planned else (),
            "wrong": None,
            "board_mood": 1 if told.status is Status.COMPLETED else 2 if state.record.needs_reset else 0,
        }

    def _missed(self, told: Missed) -> dict[str, object]:
        if told.predicted is None or told.observed is None:
            return {}
        ledger = self._session.journal.ledger
        predicted, observed = ledger.frame(told.predicted), ledger.frame(told.observed)
        return {"wrong": predicted != observed} if predicted.shape == observed.shape else {}

    def _pause(self, told: Told | None) -> float:
        """How long the eye needs for this, while there is something left in the purse."""
        match told:
            case Stepped(status=Status.RUNNING):
                length = 0.05
            case Stepped() | Missed():
                length = 0.7
            case Proposed() if told.version is not None:
                length = 0.5
            case Planned():
                length = 0.3
            case _:
                length = 0.0
        length = min(length, self._purse)
        self._purse -= length
        return length

    def _draw(self, pause: float) -> None:
        """Draw now, unless that was done a moment ago and nobody is to look at this for a while."""
        if pause or time.monotonic() - self._drawn >= 1 / RATE:
            self._live.refresh()
            self._drawn = time.monotonic()
        if pause:
            time.sleep(pause)


def what_now(state: State, rules: Rules) -> tuple[str, str]:
    """What is being done in this state, as (mood, words): a function of the state, so that it is right after a resume too."""
    if state.ending is not None:
        return ("good" if state.ending == "won" else "bad"), str(state.ending)
    if state.intent is not None and state.intent.sort is not Sort.PLAN:
        return "ask", f"{state.intent.sort}: {one_line(state.intent.question)}"
    for member in state.members:
        if member.proposal is not None or "propose" in member.pending:
            return "think", f"proving version {member.version + 1} on all {count(state.sent, 'action')} on record"
    if state.active is not None:
        active = state.active
        target = "to the goal" if active.subgoal is None else f"to find out: {one_line(active.question)}"
        return ("busy" if active.subgoal is None else "ask"), f"step {active.at + 1} of {len(active.actions)} {target}"
    if rules.needs_hypothesis:
        for member in state.members:
            if member.due and member.why is not None:
                return "think", _THOUGHTS[Why.REFUSED if member.rounds else member.why]
    if state.record.needs_reset:
        return "ask", "the level is over: once more"
    if any(member.admissible for member in state.members):
        return "busy", "looking for a way to the goal"
    return "ask", _THOUGHTS[Why.EXPLORE]


def _counter(number: int, one: str) -> tuple[str, str]:
    return one if number == 1 else f"{one}s", f"{number:,}"


def _standing(state: State, member: int) -> list[Change]:
    hypothesis = state.members[member].hypothesis
    return changes(hypothesis.rulebook, hypothesis.rulebook) if hypothesis else []


def _title(state: State, member: int) -> str:
    m = state.members[member]
    whose = f" of member {member}" if len(state.members) > 1 else ""
    if m.hypothesis is None:
        return f"rulebook{whose}"
    return f"rulebook{whose}, version {m.version}, {m.hypothesis.description_bytes:,} bytes"
