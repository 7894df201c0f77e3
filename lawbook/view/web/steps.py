"""A window of a run: steps with what was meant, predicted and seen, frames by id, and the way that a plan shows."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from lawbook.core.record import Frame
from lawbook.errors import UsageError
from lawbook.ledger.codec import pack_action
from lawbook.view.display_events import Missed, Planned, Proposed, Told
from lawbook.view.formatting import one_line, shown
from lawbook.view.motion_path import way
from lawbook.view.run_index import Chronicle, Step

Json = dict[str, Any]
LONGEST, MOST_FRAMES, KEYS = 64, 512, 256
"""Most steps of a window, most frames of one answer, and most steps of a strip."""

_FRAME, _LENGTH = struct.Struct("<20sHH"), struct.Struct("<I")


def window(chronicle: Chronicle, first: int, last: int) -> bytes:
    """Steps `first` to `last`, inclusive, as far as there are any, and the frames that show them at rest, in one answer: length of
    the first part (32 bits, little-endian), the steps as JSON, the frames as `frames` has them. Raises UsageError."""
    return _answer(steps(chronicle, first, last), frames(chronicle, names(chronicle, first, last)))


def strip(chronicle: Chronicle) -> bytes:
    """Settled frames of some steps, evenly over the whole run, for whoever moves through it faster than windows come: as a window
    is packed, with [number, id] of each."""
    chronicle.read()
    every = max(1, -(-len(chronicle.steps) // KEYS))
    keys = [(step.number, step.frames[-1]) for step in chronicle.steps[::every]]
    return _answer([list(key) for key in keys], frames(chronicle, dict.fromkeys(name for _, name in keys)))


def _answer(found: list[Any], packed: bytes) -> bytes:
    text = json.dumps(found, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + packed


def steps(chronicle: Chronicle, first: int, last: int) -> list[Json]:
    """Steps `first` to `last`, inclusive, as far as there are any. Raises UsageError for a window that is none."""
    return [_step(chronicle, step) for step in _between(chronicle, first, last)]


def _between(chronicle: Chronicle, first: int, last: int) -> list[Step]:
    if not 0 <= first <= last or last - first >= LONGEST:
        raise UsageError(f"A window is at most {LONGEST} steps, from 0 on, not {first} to {last}.")
    chronicle.read(last + 2)  # what is followed next shows with the step after
    return chronicle.steps[first : last + 1]


def _step(chronicle: Chronicle, step: Step) -> Json:
    told, ahead = step.told, chronicle.ahead(step.number)
    answer: Json = {
        "n": step.number,
        "time": step.time,
        "level": step.level,
        "frames": list(step.frames),
        "ahead": ahead.number if ahead else None,
        "after": [entry for one in step.after if (entry := _entry(one))],
    }
    if told is None:
        return answer
    predictions = told.intent["predictions"].items()
    return answer | {
        "action": pack_action(told.action),
        "sort": told.sort.value,
        "member": told.intent["member"],
        "plan": told.intent["plan"],
        "question": shown(told.intent["question"], 600),
        "status": told.status.value,
        "was": told.level_before,
        "predicted": {m: {"frame": seen, "status": status, "exact": told.exact[int(m)]} for m, (seen, status) in predictions},
        "line": one_line(told.line, 300),
    }


def _entry(told: Told) -> Json | None:
    line = one_line(told.line, 300)
    if not line:
        return None
    entry: Json = {"kind": type(told).__name__.lower(), "mood": told.mood, "line": line}
    if isinstance(told, Proposed | Missed):
        entry["member"] = told.member
    if isinstance(told, Proposed):
        entry["number"] = told.number
    return entry


def names(chronicle: Chronicle, first: int, last: int) -> list[str]:
    """Ids of what is needed to show a window at rest: settled frames, and predictions that were not what came."""
    found: dict[str, None] = {}
    for step in _between(chronicle, first, last):
        found[step.frames[-1]] = None
        if step.told is not None:
            found.update((seen, None) for seen, _ in step.told.intent["predictions"].values())
    return list(found)


def frames(chronicle: Chronicle, wanted: Iterable[str]) -> bytes:
    """Frames one after another: id (20 bytes), height, width (16 bits each, little-endian), cells row by row (a byte each).

    Raises UsageError for an id that is none, or is not in the ledger, and for too many.
    """
    every = list(wanted)
    if len(every) > MOST_FRAMES:
        raise UsageError(f"At most {MOST_FRAMES} frames at once, not {len(every)}.")
    return b"".join(_packed(chronicle, name) for name in every)


def _packed(chronicle: Chronicle, name: str) -> bytes:
    try:
        binary = bytes.fromhex(name)
    except ValueError:
        binary = b""
    if len(binary) != 20:
        raise UsageError(f"{one_line(name, 50)!r} is no id of a frame.")
    frame = chronicle.ledger.seen(name)
    height, width = frame.shape
    return _FRAME.pack(binary, height, width) + frame.tobytes()


def plan(chronicle: Chronicle, number: int) -> Json:
    """A plan and the way it shows: one point for where it sets out and one for each of its actions. Raises UsageError."""
    chronicle.read()
    drawn = chronicle.plans.get(number)
    if drawn is None:
        raise UsageError(f"There is no plan {number} in this run that was followed.")
    body = drawn.plan
    points = way(list(_foreseen(chronicle, drawn)))
    return {
        "number": number,
        "from": drawn.at,
        "member": body["member"],
        "actions": body["actions"],
        "classes": drawn.classes,
        "drawn": drawn.drawn,
        "certified": body["certified"],
        "method": body["method"],
        "nodes": body["nodes"],
        "seconds": body["seconds"],
        "cut": body["cut"],
        "subgoal": None if body["subgoal"] is None else shown(chronicle.ledger.text(body["subgoal"]), 4000),
        "question": shown(body["question"], 600),
        "points": [[round(row, 2), round(column, 2)] for row, column in points],
        "line": one_line(drawn.line, 300),
    }


def _foreseen(chronicle: Chronicle, drawn: Planned) -> Iterator[Frame]:
    """What it set out from, and what its driver predicted: as drawn where that is on record, else of the actions that were sent."""
    yield chronicle.ledger.seen(chronicle.steps[drawn.at].frames[-1])
    if drawn.ahead:
        yield from map(chronicle.ledger.seen, drawn.ahead)
        return
    for step in chronicle.steps[drawn.at + 1 : drawn.at + 1 + len(drawn.plan["actions"])]:
        if step.told is None or step.told.intent["plan"] != drawn.number:
            return
        seen = step.told.intent["predictions"].get(str(drawn.plan["member"]))
        if seen is None:
            return
        yield chronicle.ledger.seen(seen[0])
