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
from lawbook.ledger.codec import action_of
from lawbook.ledger.ledger import Kind, Ledger, read_observation
from lawbook.runs.folder import RunFolder
from lawbook.scoring.billing import Counting, counting
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Replayed:
    """One run on a card. sent: actions that reached the server; of: that the run has. parted: where it went another way or failed;
    empty when every settled frame, status and level was the recorded one. plays, billed: as counted here."""

    run: str
    world: str
    guid: str
    sent: int
    of: int
    parted: str
    plays: int
    billed: int

    @property
    def whole(self) -> bool:
        return not self.parted


@dataclass(frozen=True)
class Submission:
    """card: what the server said when it was closed, as the toolkit's EnvironmentScorecard; None when it was not, or says nothing.

    agreed: the server billed what was counted here, run by run; failure: why the card could not be closed.
    """

    card_id: str
    mode: str
    runs: tuple[Replayed, ...]
    card: dict[str, Any] | None
    failure: str = ""

    @property
    def agreed(self) -> bool:
        return self.card is not None and all(self.billed(run) == (run.plays, run.billed) for run in self.runs if run.guid)

    @property
    def whole(self) -> bool:
        """Every run is on the card as it was recorded, and the server billed that, as far as it says."""
        return all(run.whole for run in self.runs) and (self.agreed or (self.card is None and not self.failure))

    def billed(self, run: Replayed) -> tuple[int, int]:
        """(plays, actions) that the server counted for this run."""
        games = self.card["environments"] if self.card else ()
        found = [play for game in games for play in game["runs"] if play.get("guid") == run.guid]
        return len(found), sum(play["actions"] for play in found)

    def json(self) -> dict[str, Any]:
        return {
            "card_id": self.card_id,
            "mode": self.mode,
            "score": self.card["score"] if self.card else None,
            "whole": self.whole,
            "agreed": self.agreed,
            "failure": self.failure,
            "runs": [
                {
                    "run": run.run,
                    "world": run.world,
                    "sent": run.sent,
                    "of": run.of,
                    "parted": run.parted,
                    "billed": {"here": [run.plays, run.billed], "server": list(self.billed(run))},
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
    say: Progress = lambda _: None,
) -> Submission:
    """Replay `folders`, in order, onto one scorecard and close it. Stops at the first difference and closes the card even so.

    mode: online or competition; card: one that is open already (it is left open). Raises UsageError before anything is sent, when a
    run cannot be submitted or no card is to be had.
    """
    runs = [(folder, _game(folder, mode)) for folder in folders]
    games = [game for _, game in runs]
    if mode == "competition" and len(set(games)) < len(games):
        twice = next(game for game in games if games.count(game) > 1)
        raise UsageError(f"A competition card takes each game once, and {twice} is there more than once; name one run of it.")
    used = card or scorecards.opened(mode, tags, source_url)
    say(f"card {used}")
    done: list[Replayed] = []
    for folder, game in runs:
        say(f"{folder.path.name}: {game}")
        done.append(_replayed(folder, settings.addressed(game, mode=mode, card=used), mode))
        if not done[-1].whole:
            break
    told, failure = None, ""
    try:
        told = scorecards.closed(used, mode) if not card else None if mode == "competition" else scorecards.read(used, mode)
    except UsageError as error:
        failure = str(error)
    return Submission(used, mode, tuple(done), told, failure)


def _game(folder: RunFolder, mode: str) -> str:
    """The game of a run as an address without options. Raises UsageError where the run cannot be submitted."""
    address = WorldAddress.parse(folder.config().world)
    if address.scheme != "arc" or address.options.get("mode") in settings.REMOTE:
        why = "was played on a server already" if address.scheme == "arc" else "is no game of ARC-AGI-3"
        raise UsageError(f"{folder.path} cannot be submitted: {address} {why}; name runs of arc: games that were played offline.")
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        plays = len(counting(ledger)[0].plays)
    if mode == "competition" and plays > 1:
        raise UsageError(
            f"{folder.path} restarted the whole game, which a competition card does not do; submit it with --mode online."
        )
    return f"arc:{address.name}"


def _replayed(folder: RunFolder, world: str, mode: str) -> Replayed:
    """Send what was recorded until it parts from the record, or the server does not answer. Failures are told, not raised."""
    address, sent, parted, guid = WorldAddress.parse(world), 0, "", ""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        opening = next(ledger.events([Kind.OPEN]))
        of = sum(1 for event in ledger.events([Kind.OBSERVE]) if event.body["action"] is not None)
        counts = Counting(opening.body["spec"]["levels"], competition=mode == "competition")
        try:
            with WorldProcess(address, environment=world_environment(address)) as there:
                guid = json.loads(there.spec.ticket)["guid"]
                for event in ledger.events([Kind.OBSERVE]):
                    action, recorded = action_of(event.body["action"]), read_observation(ledger, event.body)
                    seen = there.reset() if action is None or action == RESET else there.step(action)
                    if action is None:
                        counts.opened()
                    else:
                        sent += 1
                        counts.add(action, seen.status, seen.level)
                    parted = _difference(seen, recorded, sent, action)
                    if parted:
                        break
        except LawbookError as error:
            parted = f"After {sent} of {of} actions: {error}"
    return Replayed(folder.path.name, world, guid, sent, of, parted, *counts.billed)


def _difference(seen: Observation, recorded: Observation, sent: int, action: Action | None) -> str:
    where = f"Action {sent} ({action})" if action else "The opening"
    for what, one, two in (("status", seen.status, recorded.status), ("level", seen.level, recorded.level)):
        if one != two:
            return f"{where} led to {what} {one} on the server, and {two} is on record."
    cells = int(np.count_nonzero(seen.frame != recorded.frame)) if seen.frame.shape == recorded.frame.shape else seen.frame.size
    return f"{where} shows {cells} cells on the server that are others on record." if cells else ""
