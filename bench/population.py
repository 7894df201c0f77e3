"""Does a population pay? Actions to completion over many seeds: `python bench/population.py --seeds 0:100`.

For N = 1, 2, 4, 8 members with uniform sampling of the classes of plans (Eq. 32-33), and `disagree`: of the plans on the table
take the one whose first action is foretold most differently by the members, the shortest of those. A run that does not get there
counts as its budget.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lawbook import population
from lawbook.answers import Plan
from lawbook.host.host import Host
from lawbook.launch import new_run
from lawbook.run import play
from lawbook.runfolder import RunConfig
from lawbook.state import Ending

WORLDS = {"demo:twins?seed={}": 200, "gym:FrozenLake-v1?is_slippery=false&size=8&map_seed={}": 250}
"""World by seed, and the budget."""
SIZES = (1, 2, 4, 8)


def disagreeing(plans: Mapping[int, Plan], groups: list[list[int]]) -> int:
    """Index of the class to follow: the plan on which the members' plans part soonest, the shortest of those."""

    def rank(index: int) -> tuple[int, int]:
        plan = plans[groups[index][0]]
        others = [plans[group[0]] for k, group in enumerate(groups) if k != index]
        differ = sum(other.actions[:1] != plan.actions[:1] for other in others)
        return -differ, len(plan.actions)

    return min(range(len(groups)), key=rank)


def actions(host: Host, out: Path, world: str, budget: int, seed: int, members: int, policy: str) -> tuple[int, bool]:
    """Actions spent, and whether the world was won."""
    uniform = population.draw
    config = RunConfig(world, mind="induce", population=members, budget=budget, seed=seed)
    with new_run(config, out, host=host) as (_, session):
        if policy == "disagree":

            def draw(groups: list[list[int]], *_: Any) -> int:
                found = {member: plan for member in session.admissible() if isinstance(plan := session.plan(member), Plan)}
                return disagreeing(found, groups)

            population.draw = draw  # type: ignore[assignment]
        try:
            play(session)
        finally:
            population.draw = uniform
        won = session.state.ending is Ending.WON
        return session.state.sent if won else budget, won


def seeds(text: str) -> range:
    first, _, stop = text.partition(":")
    return range(int(first), int(stop))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds, default=range(100), help="FIRST:STOP (default 0:100)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="members, separated by commas (default 1,2,4,8)")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    with Host() as host, tempfile.TemporaryDirectory() as folder:
        for pattern, budget in WORLDS.items():
            print(f"\n{pattern.format('*')}, {len(given.seeds)} seeds, within {budget} actions")
            print("members policy     reached   mean  stdev  median  worst")
            for members in sizes:
                for policy in ("uniform", "disagree") if members > 1 else ("uniform",):
                    runs = [actions(host, Path(folder), pattern.format(s), budget, s, members, policy) for s in given.seeds]
                    spent = [number for number, _ in runs]
                    print(
                        f"{members:>7} {policy:9} {sum(won for _, won in runs):>4}/{len(runs):<4}{statistics.mean(spent):>6.1f}"
                        f" {statistics.pstdev(spent):>6.1f} {statistics.median(spent):>7.1f} {max(spent):>6}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
