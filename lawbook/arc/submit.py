"""Replay runs onto a scorecard: the recorded actions go to the server, and every settled frame is compared with the ledger.

A run thinks as long as it likes offline; what it did is submitted afterwards, in one go, before a card can go stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lawbook.arc import scorecards, settings
from lawbook.core.record import RESET, Action, Observation
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.contents import load_steps
from lawbook.ledger.events import ObserveEvent, OpenEvent
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunFolder
from lawbook.scoring.billing import ScoreCounter, count_run
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess

ProgressReporter = Callable[[str], None]


@dataclass(frozen=True)
class SubmittedRun:
    """One run on a card. n_sent: actions that reached the server; n_recorded: that the run has. difference: where it went another
    way or failed; empty when every settled frame, status and level was the recorded one. n_plays, n_billed: as counted here."""

    run: str
    world: str
    guid: str
    n_sent: int
    n_recorded: int
    difference: str
    n_plays: int
    n_billed: int

    @property
    def is_complete(self) -> bool:
        return not self.difference


@dataclass(frozen=True)
class Submission:
    """card: what the server said when it was closed, as the toolkit's EnvironmentScorecard; None when it was not, or says nothing.

    is_billing_consistent: the server billed what was counted here, run by run; failure: why the card could not be closed.
    """

    card_id: str
    mode: str
    runs: tuple[SubmittedRun, ...]
    card: dict[str, Any] | None
    failure: str = ""

    @property
    def is_billing_consistent(self) -> bool:
        return self.card is not None and all(self.count_billed(run) == (run.n_plays, run.n_billed) for run in self.runs if run.guid)

    @property
    def is_complete(self) -> bool:
        """Every run is on the card as it was recorded, and the server billed that, as far as it says."""
        return all(run.is_complete for run in self.runs) and (
            self.is_billing_consistent or (self.card is None and not self.failure)
        )

    def count_billed(self, run: SubmittedRun) -> tuple[int, int]:
        """(plays, actions) that the server counted for this run."""
        games = self.card["environments"] if self.card else ()
        plays = [play for game in games for play in game["runs"] if play.get("guid") == run.guid]
        return len(plays), sum(play["actions"] for play in plays)

    def json(self) -> dict[str, Any]:
        return {
            "card_id": self.card_id,
            "mode": self.mode,
            "score": self.card["score"] if self.card else None,
            "whole": self.is_complete,
            "agreed": self.is_billing_consistent,
            "failure": self.failure,
            "runs": [
                {
                    "run": run.run,
                    "world": run.world,
                    "sent": run.n_sent,
                    "of": run.n_recorded,
                    "parted": run.difference,
                    "billed": {"here": [run.n_plays, run.n_billed], "server": list(self.count_billed(run))},
                }
                for run in self.runs
            ],
            "card": self.card,
        }


def submit(
    folders: Sequence[RunFolder],
    mode: str,
    *,
    card: str = "",
    tags: Sequence[str] = (),
    source_url: str = "",
    report_progress: ProgressReporter = lambda _: None,
) -> Submission:
    """Replay `folders`, in order, onto one scorecard and close it. Stops at the first difference and closes the card even so.

    mode: online or competition; card: one that is open already (it is left open). Raises UsageError before anything is sent, when a
    run cannot be submitted or no card is to be had.
    """
    runs = [(folder, _require_game(folder, mode)) for folder in folders]
    games = [game for _, game in runs]
    if mode == "competition" and len(set(games)) < len(games):
        repeated_game = next(game for game in games if games.count(game) > 1)
        raise UsageError(
            f"A competition card takes each game once, and {repeated_game} is there more than once; name one run of it."
        )
    card_id = card or scorecards.open_card(mode, tags, source_url)
    report_progress(f"card {card_id}")
    submitted_runs: list[SubmittedRun] = []
    for folder, game in runs:
        report_progress(f"{folder.path.name}: {game}")
        submitted_runs.append(_replay_run(folder, settings.add_options(game, mode=mode, card=card_id), mode))
        if not submitted_runs[-1].is_complete:
            break
    card_summary, failure = None, ""
    try:
        card_summary = (
            scorecards.close_card(card_id, mode)
            if not card
            else None
            if mode == "competition"
            else scorecards.read_card(card_id, mode)
        )
    except UsageError as error:
        failure = str(error)
    return Submission(card_id, mode, tuple(submitted_runs), card_summary, failure)


def _require_game(folder: RunFolder, mode: str) -> str:
    """The game of a run as an address without options. Raises UsageError where the run cannot be submitted."""
    address = WorldAddress.parse(folder.load_config().world)
    if address.scheme != "arc" or address.options.get("mode") in settings.REMOTE_MODES:
        reason = "was played on a server already" if address.scheme == "arc" else "is no game of ARC-AGI-3"
        raise UsageError(
            f"{folder.path} cannot be submitted: {address} {reason}; name runs of arc: games that were played offline."
        )
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        n_plays = len(count_run(ledger)[0].plays)
    if mode == "competition" and n_plays > 1:
        raise UsageError(
            f"{folder.path} restarted the whole game, which a competition card does not do; submit it with --mode online."
        )
    return f"arc:{address.name}"


def _replay_run(folder: RunFolder, world: str, mode: str) -> SubmittedRun:
    """Send what was recorded until it parts from the record, or the server does not answer. Failures are told, not raised."""
    address, n_sent, difference, guid = WorldAddress.parse(world), 0, "", ""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        opening = next(ledger.read_data(OpenEvent))
        n_recorded = sum(1 for event in ledger.read_data(ObserveEvent) if event.action is not None)
        counter = ScoreCounter(opening.spec.levels, competition=mode == "competition")
        try:
            with WorldProcess(address, environment=world_environment(address)) as world_process:
                guid = json.loads(world_process.spec.ticket)["guid"]
                for action, recorded in load_steps(ledger):
                    observation = world_process.reset() if action is None or action == RESET else world_process.step(action)
                    if action is None:
                        counter.start_play()
                    else:
                        n_sent += 1
                        counter.add(action, observation.status, observation.level)
                    difference = _describe_difference(observation, recorded, n_sent, action)
                    if difference:
                        break
        except LawbookError as error:
            difference = f"After {n_sent} of {n_recorded} actions: {error}"
    return SubmittedRun(folder.path.name, world, guid, n_sent, n_recorded, difference, *counter.billed)


def _describe_difference(observation: Observation, recorded: Observation, n_sent: int, action: Action | None) -> str:
    where = f"Action {n_sent} ({action})" if action else "The opening"
    for quantity, one, two in (("status", observation.status, recorded.status), ("level", observation.level, recorded.level)):
        if one != two:
            return f"{where} led to {quantity} {one} on the server, and {two} is on record."
    n_cells = (
        int(np.count_nonzero(observation.frame != recorded.frame))
        if observation.frame.shape == recorded.frame.shape
        else observation.frame.size
    )
    return f"{where} shows {n_cells} cells on the server that are others on record." if n_cells else ""
