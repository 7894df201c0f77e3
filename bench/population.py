"""Does a population pay? Actions to completion over many seeds: `python bench/population.py --seeds 0:100`.

For N = 1, 2, 4, 8 members, with uniform sampling of the classes of plans (Eq. 32-33) and with the policy `disagree`: the cheapest
action on which members disagree most. Every action counts, resets included; a run that does not get there counts as its budget.
Ctrl-C prints what is there.
`against one`: how many actions fewer (-) or more than one member on the same seed, on average, and the standard error of that.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from unwalled import unwalled_run

from lawbook.core.results import RunOutcome
from lawbook.planning.population import POLICIES
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

WORLDS = {
    "twins": ("demo:twins?seed={}", 200),
    "decoys": ("py:decoys:SOURCE/FrozenLake-v1?map_seed={}&size=8&kinds=4", 250),
    "lake": ("gym:FrozenLake-v1?is_slippery=false&size=8&map_seed={}", 250),
}
"""World by name: its address with a place for the seed, and the budget."""


def spent(host: Host | None, world: str, budget: int, seed: int, members: int, policy: str) -> tuple[int, bool]:
    """Actions spent (the budget where it was not won), and whether the world was won. host None: a run without walls."""
    config = RunConfig(world.format(seed), mind="induce", population=members, policy=policy, budget=budget, seed=seed)
    with ExitStack() as stack:
        if host is None:
            session = stack.enter_context(unwalled_run(config))
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            _, session = stack.enter_context(start_run(config, Path(folder), host=host))
        play(session)
        won = session.state.outcome is RunOutcome.WON
        return session.state.n_actions if won else budget, won


def seed_of(world: str, budget: int, seed: int, sizes: list[int]) -> dict[tuple[int, str], tuple[int, bool]]:
    """What every population spends on one seed."""
    plans = [(members, policy) for members in sizes for policy in (POLICIES if members > 1 else POLICIES[:1])]
    return {(members, policy): spent(None, world, budget, seed, members, policy) for members, policy in plans}


def table(world: str, budget: int, done: dict[int, dict[tuple[int, str], tuple[int, bool]]]) -> str:
    lines = [f"\n{world.format('*')}, {len(done)} seeds ({min(done)} to {max(done)}), within {budget} actions"]
    lines += ["members policy    reached    mean  stdev  median  worst     against one"]
    for members, policy in next(iter(done.values())):
        runs = [found[members, policy] for found in done.values()]
        numbers = [number for number, _ in runs]
        against = [found[members, policy][0] - found[1, POLICIES[0]][0] for found in done.values()]
        spread, error = (statistics.stdev(those) if len(done) > 1 else 0.0 for those in (numbers, against))
        lines.append(
            f"{members:>7} {policy:8} {sum(won for _, won in runs):>4}/{len(runs):<4}{statistics.mean(numbers):>6.1f}"
            f" {spread:>6.1f} {statistics.median(numbers):>7.1f} {max(numbers):>6}"
            f"   {statistics.mean(against):>+6.1f} +- {error / len(done) ** 0.5:.1f}"
        )
    return "\n".join(lines)


def seeds(text: str) -> range:
    first, _, stop = text.partition(":")
    return range(int(first), int(stop))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds, default=range(100), help="FIRST:STOP (default 0:100)")
    parser.add_argument("--sizes", default="1,2,4,8", help="members, separated by commas (default 1,2,4,8)")
    parser.add_argument("--worlds", default="twins,decoys", help=f"of {', '.join(WORLDS)} (default twins,decoys)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--walls", action="store_true", help="once more in a sandbox, as in any other run, and compare")
    given = parser.parse_args()
    sizes = sorted({1, *map(int, given.sizes.split(","))})
    for world, budget in (WORLDS[name] for name in given.worlds.split(",")):
        done: dict[int, dict[tuple[int, str], tuple[int, bool]]] = {}
        with ProcessPoolExecutor(given.jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
            waiting = {pool.submit(seed_of, world, budget, seed, sizes): seed for seed in given.seeds}
            try:
                for found in as_completed(waiting):
                    done[waiting[found]] = found.result()
            except KeyboardInterrupt:
                for found in waiting:
                    found.cancel()  # those at work come to their end
        done = dict(sorted(done.items()))
        print(table(world, budget, done), flush=True)
        if given.walls:
            with Host() as host:
                same = [spent(host, world, budget, s, *how) == seen for s, found in done.items() for how, seen in found.items()]
            print(f"the same behind walls: {sum(same)} of {len(same)} runs")


if __name__ == "__main__":
    main()
