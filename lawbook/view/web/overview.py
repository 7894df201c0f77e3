"""What a page needs of a run before any board: what it is (no reading needed), and where on its time line everything lies."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from lawbook.core.record import Status
from lawbook.view.formatting import format_one_line
from lawbook.view.palette import format_css, get_palette
from lawbook.view.run_index import RunIndex

Json = dict[str, Any]
MAX_STRETCHES = 2000
"""Most stretches of one kind of action that are told apart on a time line; a screen has no more columns."""


def describe_run(run_index: RunIndex) -> Json:
    """Describe what the opening says, and the colours."""
    opening = run_index.opening
    run, spec, colours = opening.run, opening.spec, get_palette(opening.spec.palette)
    return {
        "world": format_one_line(run.world, 200),
        "mind": format_one_line(run.mind, 200),
        "protocol": format_one_line(run.protocol, 200),
        "population": run.population,
        "seed": run.seed,
        "budget": run.budget,
        "shape": list(spec.shape),
        "levels": spec.levels,
        "baselines": None if spec.baselines is None else list(spec.baselines),
        "baseline": spec.baseline,
        "actions": list(spec.actions),
        "clicks": list(spec.clicks),
        "began": opening.time,
        "colours": [format_css(colour) for colour in colours.colours],
        "faces": colours.faces,
    }


def build_overview(run_index: RunIndex, is_played: bool = False) -> Json:
    """List where everything lies, by step. Reads to the end. is_played: somebody is playing it."""
    run_index.read_events()
    steps, metrics = list(run_index.steps), run_index.compute_metrics()
    levels = [
        (level, next(group)[0]) for level, group in groupby(((step.number, step.level) for step in steps), key=lambda pair: pair[1])
    ]
    return {
        "steps": len(steps) - 1,
        "seq": run_index.seq,
        "state": metrics.outcome or ("playing" if is_played else "paused"),
        "sentence": format_one_line(metrics.sentence, 300),
        "completed": metrics.levels_completed,
        "levels": [{"level": level, "from": first} for level, first in levels],
        "kinds": _find_kind_stretches(run_index),
        "misses": sorted({mismatch.at for mismatch in run_index.mismatches}),
        "ends": [
            [step.number, step.event.status.value] for step in steps if step.event and step.event.status is not Status.RUNNING
        ],
        "versions": [
            [proposal.at, proposal.member, proposal.version, proposal.number]
            for proposal in run_index.proposals
            if proposal.version is not None
        ],
        "refusals": [
            [proposal.at, proposal.member, proposal.number] for proposal in run_index.proposals if not proposal.is_accepted
        ],
        "proposals": len(run_index.proposals),
        "members": [
            {"version": member.version, "admissible": member.admissible, "believes": member.hypothesis is not None}
            for member in run_index.state.members
        ],
    }


def _find_kind_stretches(run_index: RunIndex) -> list[list[Any]]:
    """[first step, kind of action] of every stretch of one kind; where there are too many, of even pieces with their commonest."""
    kinds = [step.event.action_kind.value for step in run_index.steps if step.event is not None]
    stretches = [[1 + next(group)[0], kind] for kind, group in groupby(enumerate(kinds), key=lambda pair: pair[1])]
    if len(stretches) <= MAX_STRETCHES:
        return stretches
    size = -(-len(kinds) // MAX_STRETCHES)
    pieces = (kinds[k : k + size] for k in range(0, len(kinds), size))
    return [[1 + k * size, max(piece, key=piece.count)] for k, piece in enumerate(pieces)]
