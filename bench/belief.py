"""What it is worth to say that one does not know: all demo games under memento3 and under belief: `python bench/belief.py`.

The built-in mind plays some layouts (seeds) of each game under both protocols, with the same budget. Of each game the means over
its layouts are printed: actions, mismatches, accepted versions, bytes of the last description, levels completed, and the share of
the cells that changed which were claimed, of pairs (level, frame, action) seen for the first time and of all steps. A game counts
as completed under a protocol where every layout was won; games that are completed under neither are left out of the bar.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from lawbook.core.results import RunOutcome
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops import play
from lawbook.sandbox.host import Host
from lawbook.verification.claims import ChangedCells, count_claims

GAMES = ("maze", "twins", "keys", "push", "lights", "budget", "fog", "mirror", "meter", "dusk", "overlap", "sequence", "scroll")
NEW_GAMES = ("meter", "dusk", "overlap", "sequence", "scroll")
PROTOCOLS = ("memento3", "belief")
MISMATCH_RATIO, MIN_CLAIMED_SHARE = 5, 0.7


class Played(NamedTuple):
    """One run."""

    won: bool
    actions: int
    mismatches: int
    versions: int
    description_bytes: int
    levels: int
    wrong_steps: int
    steps: int
    changed: ChangedCells
    first_seen: ChangedCells
    seconds: float


def play_game(game: str, seed: int, protocol: str, budget: int, nodes: int) -> Played:
    began = time.perf_counter()
    config = RunConfig(f"demo:{game}?seed={seed}", mind="induce", protocol=protocol, budget=budget, seed=seed, nodes=nodes)
    with Host() as host, tempfile.TemporaryDirectory() as out:
        with start_run(config, Path(out), host=host) as (folder, session):
            play(session)
            state = session.state
        ledger = Ledger.open(folder.path / "ledger.sqlite", readonly=True)
        claims = count_claims(ledger)
        ledger.close()
    hypothesis = state.members[0].hypothesis
    return Played(
        won=state.outcome is RunOutcome.WON,
        actions=state.n_actions,
        mismatches=state.n_mismatches,
        versions=len(state.accepted_versions),
        description_bytes=0 if hypothesis is None else hypothesis.description_bytes,
        levels=state.n_completed,
        wrong_steps=claims.n_wrong_steps,
        steps=claims.n_steps,
        changed=claims.changed,
        first_seen=claims.first_seen,
        seconds=time.perf_counter() - began,
    )


def pool_share(cells: Sequence[ChangedCells]) -> float:
    """The claimed share of the cells of all these together."""
    total = ChangedCells()
    for some in cells:
        total.add(some)
    share = total.claimed_share
    return 0.0 if share is None else share


def format_row(game: str, protocol: str, runs: Sequence[Played]) -> str:
    def mean(name: str) -> float:
        return float(statistics.mean(getattr(run, name) for run in runs))

    wrong = 1000 * sum(run.wrong_steps for run in runs) / max(sum(run.steps for run in runs), 1)
    return (
        f"{game:9} {protocol:9} {sum(run.won for run in runs):>3}/{len(runs)} {mean('levels'):>6.1f} {mean('actions'):>8.1f}"
        f" {mean('mismatches'):>10.1f} {mean('versions'):>8.1f} {mean('description_bytes'):>8.0f}"
        f" {pool_share([run.first_seen for run in runs]):>10.0%} {pool_share([run.changed for run in runs]):>5.0%}"
        f" {wrong:>8.1f} {mean('seconds'):>7.1f}"
    )


HEADER = (
    "game      protocol   won levels  actions mismatches versions    bytes first seen   all  per 1000 seconds\n"
    "                                                                      claimed of changed  wrong"
)


def judge(results: Mapping[str, Mapping[str, Sequence[Played]]]) -> list[str]:
    """The bar, in sentences."""
    lines, counted = [], []
    for game, by_protocol in results.items():
        if any(all(run.won for run in runs) for runs in by_protocol.values()):
            counted.append(game)
    lines.append(f"completed under neither, left out: {', '.join(game for game in results if game not in counted) or 'none'}")
    more = []
    for game in counted:
        actions = {protocol: statistics.mean(run.actions for run in runs) for protocol, runs in results[game].items()}
        if actions["belief"] > actions["memento3"]:
            more.append(f"{game} ({actions['belief']:.1f} against {actions['memento3']:.1f})")
    lines.append(f"games with more actions on the mean: {', '.join(more) or 'none'}")
    new = [game for game in counted if game in NEW_GAMES]
    totals = {protocol: sum(run.mismatches for game in new for run in results[game][protocol]) for protocol in PROTOCOLS}
    ratio = totals["memento3"] / max(totals["belief"], 1)
    lines.append(
        f"mismatches on the new games that count ({', '.join(new) or 'none'}): {totals['memento3']} and {totals['belief']}, "
        f"{ratio:.1f} times fewer (bar {MISMATCH_RATIO})"
    )
    for game in new:
        share = pool_share([run.changed for run in results[game]["belief"]])
        lines.append(f"changed cells claimed on {game}: {share:.0%} (bar {MIN_CLAIMED_SHARE:.0%})")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", default=",".join(GAMES), help="demo games, separated by commas (default: all)")
    parser.add_argument("--seeds", default="0:5", help="layouts, FIRST:STOP (default 0:5)")
    parser.add_argument("--budget", type=int, default=300, help="actions of a run (default 300)")
    parser.add_argument("--nodes", type=int, default=5_000, help="states that a search expands (default 5,000)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    given = parser.parse_args()
    first, _, stop = given.seeds.partition(":")
    seeds, games = range(int(first), int(stop)), given.games.split(",")
    results: dict[str, dict[str, dict[int, Played]]] = {game: {protocol: {} for protocol in PROTOCOLS} for game in games}
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = {
            pool.submit(play_game, game, seed, protocol, given.budget, given.nodes): (game, protocol, seed)
            for game in games
            for seed in seeds
            for protocol in PROTOCOLS
        }
        for done in as_completed(waiting):
            game, protocol, seed = waiting[done]
            results[game][protocol][seed] = run = done.result()
            print(
                f"{game} {seed} {protocol}: {run.actions} actions, {run.mismatches} mismatches, {run.seconds:.0f} s",
                file=sys.stderr,
            )
            if all(len(runs) == len(seeds) for runs in results[game].values()):  # what there is, should somebody not wait
                for name, runs in results[game].items():
                    print(format_row(game, name, list(runs.values())), file=sys.stderr)
    rows = {game: {protocol: list(runs.values()) for protocol, runs in by.items()} for game, by in results.items()}
    print(f"layouts {given.seeds}, within {given.budget} actions, {given.nodes:,} states a search\n{HEADER}")
    for game, by_protocol in rows.items():
        print("\n".join(format_row(game, protocol, runs) for protocol, runs in by_protocol.items()))
    for protocol in PROTOCOLS:
        print(format_row("all", protocol, [run for by_protocol in rows.values() for run in by_protocol[protocol]]))
    print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
