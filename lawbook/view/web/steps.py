"""A window of a run: steps with what was meant, predicted and seen, frames by id, and the way that a plan shows."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from lawbook.core.record import Frame
from lawbook.errors import UsageError
from lawbook.ledger.body_parts import pack_action
from lawbook.ledger.events import PredictedOutcome
from lawbook.view.display_events import DisplayEvent, PlanStarted, PredictionFailed, ProposalJudged
from lawbook.view.formatting import format_one_line, truncate_text
from lawbook.view.motion_path import find_motion_path
from lawbook.view.run_index import RunIndex, Step

Json = dict[str, Any]
MAX_WINDOW_STEPS, MOST_FRAMES, MAX_STRIP_STEPS = 64, 512, 256
"""Most steps of a window, most frames of one answer, and most steps of a strip."""

_FRAME, _LENGTH = struct.Struct("<20sHH"), struct.Struct("<I")


def pack_window(run_index: RunIndex, first: int, last: int) -> bytes:
    """Pack steps `first` to `last`, inclusive, as far as there are any, with the frames that show them at rest, in one answer.

    That is: length of the first part (32 bits, little-endian), the steps as JSON, the frames as `pack_frames` has them. Raises
    UsageError for a window that is none.
    """
    return _pack_answer(list_steps(run_index, first, last), pack_frames(run_index, list_frame_ids(run_index, first, last)))


def pack_strip(run_index: RunIndex) -> bytes:
    """Pack settled frames of some steps, evenly over the whole run, for whoever moves through it faster than windows come.

    It is packed as a window is, with [number, id] of each.
    """
    run_index.read_events()
    stride = max(1, -(-len(run_index.steps) // MAX_STRIP_STEPS))
    key_frames = [(step.number, step.frames[-1]) for step in run_index.steps[::stride]]
    return _pack_answer(
        [list(key_frame) for key_frame in key_frames], pack_frames(run_index, dict.fromkeys(frame_id for _, frame_id in key_frames))
    )


def _pack_answer(content: list[Any], packed_frames: bytes) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + packed_frames


def list_steps(run_index: RunIndex, first: int, last: int) -> list[Json]:
    """List steps `first` to `last`, inclusive, as far as there are any. Raises UsageError for a window that is none."""
    return [_describe_step(run_index, step) for step in _slice_steps(run_index, first, last)]


def _slice_steps(run_index: RunIndex, first: int, last: int) -> list[Step]:
    if not 0 <= first <= last or last - first >= MAX_WINDOW_STEPS:
        raise UsageError(f"A window is at most {MAX_WINDOW_STEPS} steps, from 0 on, not {first} to {last}.")
    run_index.read_events(last + 2)  # what is followed next shows with the step after
    return run_index.steps[first : last + 1]


def _describe_step(run_index: RunIndex, step: Step) -> Json:
    event, next_plan = step.event, run_index.find_next_plan(step.number)
    result: Json = {
        "n": step.number,
        "time": step.time,
        "level": step.level,
        "frames": list(step.frames),
        "ahead": next_plan.plan_seq if next_plan else None,
        "after": [entry for later_event in step.later_events if (entry := _describe_event(later_event))],
    }
    if event is None:
        return result
    predictions = event.intent.predictions.items()
    return result | {
        "action": pack_action(event.action),
        "sort": event.action_kind.value,
        "member": event.intent.member,
        "plan": event.intent.plan_seq,
        "question": truncate_text(event.intent.question, 600),
        "status": event.status.value,
        "was": event.level_before,
        "predicted": {str(member): _describe_prediction(outcome, event.exact_by_member[member]) for member, outcome in predictions},
        "line": format_one_line(event.line, 300),
    }


def _describe_prediction(outcome: PredictedOutcome, is_exact: bool | None) -> Json:
    """Say what was claimed; `open` and `statuses` only where something was left open."""
    described: Json = {"frame": outcome.frame, "status": outcome.status.value, "exact": is_exact}
    if outcome.open_cells is not None:
        described["open"] = outcome.open_cells
    if len(outcome.statuses) > 1:
        described["statuses"] = sorted(status.value for status in outcome.statuses)
    return described


def _describe_event(event: DisplayEvent) -> Json | None:
    line = format_one_line(event.line, 300)
    if not line:
        return None
    entry: Json = {"kind": type(event).__name__.lower(), "mood": event.mood, "line": line}
    if isinstance(event, ProposalJudged | PredictionFailed):
        entry["member"] = event.member
    if isinstance(event, ProposalJudged):
        entry["number"] = event.number
    return entry


def list_frame_ids(run_index: RunIndex, first: int, last: int) -> list[str]:
    """List the ids of what is needed to show a window at rest: settled frames, and predictions that were not what came."""
    frame_ids: dict[str, None] = {}
    for step in _slice_steps(run_index, first, last):
        frame_ids[step.frames[-1]] = None
        if step.event is not None:
            for outcome in step.event.intent.predictions.values():
                frame_ids.update((frame_id, None) for frame_id in (outcome.frame, outcome.open_cells) if frame_id is not None)
    return list(frame_ids)


def pack_frames(run_index: RunIndex, frame_ids: Iterable[str]) -> bytes:
    """Pack frames one after another: id (20 bytes), height, width (16 bits each, little-endian), cells row by row (a byte each).

    Raises UsageError for an id that is none, or is not in the ledger, and for too many.
    """
    id_list = list(frame_ids)
    if len(id_list) > MOST_FRAMES:
        raise UsageError(f"At most {MOST_FRAMES} frames at once, not {len(id_list)}.")
    return b"".join(_pack_frame(run_index, frame_id) for frame_id in id_list)


def _pack_frame(run_index: RunIndex, frame_id: str) -> bytes:
    try:
        id_bytes = bytes.fromhex(frame_id)
    except ValueError:
        id_bytes = b""
    if len(id_bytes) != 20:
        raise UsageError(f"{format_one_line(frame_id, 50)!r} is no id of a frame.")
    frame = run_index.ledger.read_frame(frame_id)
    height, width = frame.shape
    return _FRAME.pack(id_bytes, height, width) + frame.tobytes()


def describe_plan(run_index: RunIndex, number: int) -> Json:
    """Describe a plan and the way it shows: one point, in cells, for where it sets out and one for each of its actions.

    Raises UsageError when no plan has that number.
    """
    run_index.read_events()
    plan_event = run_index.plans.get(number)
    if plan_event is None:
        raise UsageError(f"There is no plan {number} in this run that was followed.")
    plan = plan_event.plan
    points = find_motion_path(list(_read_plan_frames(run_index, plan_event)))
    return {
        "number": number,
        "from": plan_event.at,
        "member": plan.member,
        "actions": [pack_action(action) for action in plan.actions or ()],
        "classes": [list(members) for members in plan_event.classes],
        "drawn": plan_event.drawn_class,
        "certified": plan.certified,
        "method": plan.method,
        "nodes": plan.nodes,
        "seconds": plan.seconds,
        "cut": plan.cut,
        "subgoal": None if plan.subgoal is None else truncate_text(run_index.ledger.get_text(plan.subgoal), 4000),
        "question": truncate_text(plan.question, 600),
        "points": [[round(row, 2), round(column, 2)] for row, column in points],
        "line": format_one_line(plan_event.line, 300),
    }


def _read_plan_frames(run_index: RunIndex, plan_event: PlanStarted) -> Iterator[Frame]:
    """What it set out from, and what its driver predicted: as drawn where that is on record, else of the actions that were sent."""
    yield run_index.ledger.read_frame(run_index.steps[plan_event.at].frames[-1])
    if plan_event.predicted_frames:
        yield from map(run_index.ledger.read_frame, plan_event.predicted_frames)
        return
    for step in run_index.steps[plan_event.at + 1 : plan_event.at + 1 + plan_event.n_actions]:
        if step.event is None or step.event.intent.plan_seq != plan_event.plan_seq:
            return
        prediction = step.event.intent.predictions.get(plan_event.plan.member)
        if prediction is None:
            return
        yield run_index.ledger.read_frame(prediction.frame)
