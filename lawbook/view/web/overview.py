"""What a page needs of a run before any board: what it is (no reading needed), and where on its time line everything lies."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from lawbook.core.record import Status
from lawbook.view.formatting import one_line
from lawbook.view.palette import css, palette
from lawbook.view.run_index import Chronicle

Json = dict[str, Any]
COLUMNS = 2000
"""Most stretches of one kind of action that are told apart on a time line; a screen has no more columns."""


def head(chronicle: Chronicle) -> Json:
    """What the opening says, and the colours."""
    opened = chronicle.opened
    run, spec, colours = opened.run, opened.spec, palette(opened.spec["palette"])
    return {
        **{name: one_line(str(run[name]), 200) for name in ("world", "mind", "protocol")},
        **{name: run[name] for name in ("population", "seed", "budget")},
        **{name: spec[name] for name in ("shape", "levels", "baselines", "baseline", "actions", "clicks")},
        "began": opened.time,
        "colours": [css(colour) for colour in colours.colours],
        "faces": colours.faces,
    }


def overview(chronicle: Chronicle, alive: bool = False) -> Json:
    """Where everything lies, by step. Reads to the end. alive: somebody is playing it."""
    chronicle.read()
    steps, numbers = list(chronicle.steps), chronicle.numbers()
    levels = [(level, next(group)[0]) for level, group in groupby(((s.number, s.level) for s in steps), key=lambda one: one[1])]
    return {
        "steps": len(steps) - 1,
        "seq": chronicle.seq,
        "state": numbers.outcome or ("playing" if alive else "paused"),
        "sentence": one_line(numbers.sentence, 300),
        "completed": numbers.levels_completed,
        "levels": [{"level": level, "from": first} for level, first in levels],
        "kinds": _kinds(chronicle),
        "misses": sorted({miss.at for miss in chronicle.misses}),
        "ends": [[s.number, s.told.status.value] for s in steps if s.told and s.told.status is not Status.RUNNING],
        "versions": [[p.at, p.member, p.version, p.number] for p in chronicle.proposals if p.version is not None],
        "refusals": [[p.at, p.member, p.number] for p in chronicle.proposals if not p.accepted],
        "proposals": len(chronicle.proposals),
        "members": [
            {"version": member.version, "admissible": member.admissible, "believes": member.hypothesis is not None}
            for member in chronicle.state.members
        ],
    }


def _kinds(chronicle: Chronicle) -> list[list[Any]]:
    """[first step, kind of action] of every stretch of one kind; where there are too many, of even pieces with their commonest."""
    sorts = [step.told.sort.value for step in chronicle.steps if step.told is not None]
    stretches = [[1 + next(group)[0], sort] for sort, group in groupby(enumerate(sorts), key=lambda one: one[1])]
    if len(stretches) <= COLUMNS:
        return stretches
    size = -(-len(sorts) // COLUMNS)
    pieces = (sorts[k : k + size] for k in range(0, len(sorts), size))
    return [[1 + k * size, max(piece, key=piece.count)] for k, piece in enumerate(pieces)]
