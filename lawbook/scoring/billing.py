"""Counting as the scorecard of ARC-AGI-3 counts: plays, and in each what every level cost, from a ledger or action by action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lawbook.core.record import RESET, Action, Status
from lawbook.core.results import RunOutcome
from lawbook.errors import UsageError
from lawbook.ledger.events import CloseEvent, EventKind, IntendEvent, ObserveEvent, OpenEvent
from lawbook.ledger.ledger import Ledger
from lawbook.scoring.rhae import LevelResult, game_score


@dataclass
class Play:
    """One play of a game, from a restart of the whole game to the next.

    actions: sent in it. A reset costs one, except that a restart of the whole game opens the next play and costs nothing.
    resets: of those, how many were resets. completed: levels that are, by now. completions: (levels completed, actions by then),
    each time that number changed. won, over: what the game last said about itself, as the scorecard keeps it.
    """

    actions: int = 0
    resets: int = 0
    completed: int = 0
    completions: list[tuple[int, int]] = field(default_factory=list)
    won: bool = False
    over: bool = False

    def list_levels(self, baselines: Sequence[int | None]) -> list[tuple[int, int | None, bool]]:
        """List (actions, baseline, completed) of every level.

        Actions since the last completion belong to the first level that is not completed.
        """
        rows, previous_total = [], 0
        for number, baseline in enumerate(baselines):
            is_completed = number < len(self.completions)
            actions_so_far = self.completions[number][1] if is_completed else self.actions
            rows.append((actions_so_far - previous_total, baseline, is_completed))
            previous_total = actions_so_far
        return rows

    def score(self, baselines: Sequence[int | None] | None) -> float | None:
        """Compute RHAE of this play, 0 to 100.

        None where a baseline is unknown; 0 where more levels were completed than have one.
        """
        if not baselines or None in baselines:
            return None
        if len(self.completions) > len(baselines):
            return 0.0
        return game_score(
            [LevelResult(actions, baseline or 0, is_completed) for actions, baseline, is_completed in self.list_levels(baselines)]
        )


class ScoreCounter:
    """Feed it every action with the status and level that followed, in order; `plays` are then what a scorecard would hold.

    levels: how many the game has, None where it never says. competition: on a competition card.

    A reset restarts the whole game when nothing was sent since the level began (in competition it does nothing, and is billed),
    and after a win, as on the engine. A game won outright, without its levels, has completed none of the rest.
    """

    def __init__(self, levels: int | None, *, competition: bool = False) -> None:
        self.plays: list[Play] = []
        self._n_levels, self._competition, self._level = levels, competition, 0
        self._actions_since_start, self._last_was_reset = 0, True

    def start_play(self) -> None:
        """Begin a play: at the first observation, or a restart of the whole game."""
        self.plays.append(Play())
        self._level = self._actions_since_start = 0
        self._last_was_reset = True

    def add(self, action: Action, status: Status, level: int) -> None:
        """Count an action with the status that followed and the level, from 0, being played then. A play must have begun."""
        play = self.plays[-1]
        if action == RESET:
            if play.won or (self._actions_since_start == 0 and not self._competition):
                self.start_play()
                return
            play.actions += 1
            # One that does nothing is billed as what was sent before it: the scorecard is shown the last answer once more.
            play.resets += self._actions_since_start > 0 or self._last_was_reset
            self._last_was_reset = self._last_was_reset or self._actions_since_start > 0
            self._actions_since_start, self._level = 0, level
            return
        self._last_was_reset = False
        play.actions += 1
        self._actions_since_start += 1
        play.over = play.over or status is Status.OVER
        if status is not Status.COMPLETED:
            return
        play.won = play.won or (self._n_levels is not None and level >= self._n_levels)
        if level == self._level + 1:
            play.completed = level
            play.completions.append((level, play.actions))
        self._level, self._actions_since_start = level, 0 if not play.won else self._actions_since_start

    def add_unanswered_action(self) -> None:
        """Count an action that was sent, and of which nothing came back, as billed."""
        if self.plays:
            self.plays[-1].actions += 1

    @property
    def billed(self) -> tuple[int, int]:
        """(plays, actions in all of them): what a scorecard says of them."""
        return len(self.plays), sum(play.actions for play in self.plays)


@dataclass(frozen=True)
class RunScore:
    """What a run's ledger tells of one game. baseline: what the baselines are, "human" or "optimal"."""

    world: str
    mind: str
    protocol: str
    seed: int
    levels: int | None
    baselines: tuple[int | None, ...] | None
    baseline: str
    plays: tuple[Play, ...]
    outcome: str | None

    @property
    def best(self) -> Play:
        """The play that scores: the best one, the first of equals."""
        return max(self.plays, key=lambda play: (play.score(self.baselines) or 0.0, play.completed))

    @property
    def actions(self) -> int:
        """Of all plays together, as the scorecard has it."""
        return sum(play.actions for play in self.plays)

    @property
    def completed(self) -> int:
        return max(play.completed for play in self.plays)

    @property
    def rhae(self) -> float | None:
        """Of the best play, 0 to 100; None where nobody knows the baselines."""
        return self.best.score(self.baselines)


def count_run(ledger: Ledger) -> tuple[ScoreCounter, RunScore]:
    """Count a run. Reads no frame. Raises UsageError when the ledger has no opening or no first observation."""
    opening: OpenEvent | None = None
    outcome: RunOutcome | None = None
    counter, has_pending_action = ScoreCounter(None), False
    for event in ledger.read_events([EventKind.OPEN, EventKind.INTEND, EventKind.OBSERVE, EventKind.CLOSE]):
        match event.data:
            case OpenEvent() as data if opening is None:
                opening = data
                counter = ScoreCounter(data.spec.levels, competition="mode=competition" in data.run.world)
            case IntendEvent():
                has_pending_action = True
            case ObserveEvent(action=None):
                counter.start_play()
            case ObserveEvent(action=Action() as action, status=status, level=level):
                has_pending_action = False
                counter.add(action, status, level)
            case CloseEvent() as closing:
                outcome = closing.outcome
    if opening is None or not counter.plays:
        raise UsageError("This run ended before it began; there is nothing to score.")
    if has_pending_action and outcome is RunOutcome.IN_DOUBT:
        counter.add_unanswered_action()
    run, spec = opening.run, opening.spec
    run_score = RunScore(
        world=run.world,
        mind=run.mind,
        protocol=run.protocol,
        seed=run.seed,
        levels=spec.levels,
        baselines=spec.baselines,
        baseline=spec.baseline,
        plays=tuple(counter.plays),
        outcome=outcome,
    )
    return counter, run_score
