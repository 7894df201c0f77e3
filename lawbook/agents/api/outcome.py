"""What came of actions that were sent: a line a step, alike ones in one, what is unusual first; as text, as JSON, or hardly
anything."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lawbook.agents.api.change_detection import find_counters
from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.notation import format_numbers
from lawbook.agents.api.sight import find_hiding_colour, look_after, show_new_level
from lawbook.agents.api.status import format_reason
from lawbook.core.event_text import NOTHING, build_signature, format_changes
from lawbook.core.frame_events import find_events
from lawbook.core.record import Action, Observation, Record, Status
from lawbook.core.results import ExecutionResult
from lawbook.core.tile_letters import TileView

MAX_STEP_LINES = 30
"""Lines of steps; those that are left out are counted."""
MAX_LOOKED_BACK = 400
"""Steps that are looked through for the last time an action was sent."""


_PREAMBLE = re.compile(
    r"^Trajectory \d+ \(level \d+\), step \d+, action \S+; everything before it was reproduced\. ?"
    r"(The status is running, as predicted\. ?)?"
)
"""What whoever sent the action knows."""


class Sent(NamedTuple):
    """What was sent: from which place on record, how many of how many actions; execution: what the session says of it."""

    trajectory: int
    step: int
    n_sent: int
    n_asked: int
    before: Observation
    execution: ExecutionResult


class Shown(NamedTuple):
    """How an answer is wanted."""

    quiet: bool = False
    as_json: bool = False
    look: bool = False


class StepLine(NamedTuple):
    """number: among those sent, from 1. signature: what happened, without where."""

    number: int
    action: Action
    status: Status
    n_changed: int
    text: str
    signature: Hashable


def describe_sent(context: CommandContext, sent: Sent, shown: Shown, notes: Sequence[str] = ()) -> str:
    """The answer to a command that sent something. notes: what else there is to say, such as why it stopped."""
    if shown.as_json:
        return json.dumps(_build_json(context, sent, notes), separators=(",", ":"))
    lines = list(_describe_model(context, sent))
    is_falsified = context.member in sent.execution.falsified
    is_predicted = _is_as_predicted(context, sent)
    observation = sent.execution.observation
    if shown.quiet or (is_predicted and sent.n_asked > 1):
        place = "" if observation is None else f"{sent.trajectory}.{sent.step + sent.n_sent} {observation.status}"
        lines = [place, *lines] if place and shown.quiet else lines
    elif sent.n_sent:
        steps = list_steps(context, sent._replace(step=sent.step + sent.n_sent - 1, n_sent=1) if is_falsified else sent, shown.look)
        lines = [*format_steps(steps), *lines]
    lines += notes
    if observation is not None and sent.n_sent and not shown.quiet:
        lines += _describe_end(context, sent, observation)
    if shown.look and not context.session.outcome and observation is not None and observation.status is not Status.COMPLETED:
        lines.append(look_after(context))
    return "\n".join([*filter(None, lines), describe_remaining(context)])


def describe_remaining(context: CommandContext) -> str:
    """Actions left, or how the run ended."""
    if context.session.outcome:
        return f"The run has ended: {context.session.outcome}."
    return f"{context.session.actions_left:,} actions left"


def list_steps(context: CommandContext, sent: Sent, is_map_shown: bool = False) -> list[StepLine]:
    """What each of the actions sent did. is_map_shown: what comes out of fog, or goes into it, is told there."""
    record, letters = context.session.record, context.memory.letters
    recorded, counters = record.trajectories[sent.trajectory], find_counters(record)
    tiling, views = letters.tiling, None
    lines: list[StepLine] = []
    fog = find_hiding_colour(context) if is_map_shown else None
    for k in range(sent.step + 1, sent.step + sent.n_sent + 1):
        action, observation = recorded.steps[k - 1]
        before, after = recorded.get_frame(k - 1), recorded.get_frame(k)
        number = k - sent.step
        if observation.status is Status.COMPLETED:
            lines.append(StepLine(number, action, observation.status, 0, "the level is completed", "completed"))
            continue
        if fog is not None:
            before = np.where((before == fog) | (after == fog), after, before)
        if tiling is not None and (before != after).mean() > 0.01:
            both: list[TileView] = [letters.build_view(frame, tiling) for frame in (before, after)]
            views = both[0], both[1]
        events = find_events(before, after)
        text = format_changes(before, after, letters.find_letter, views, events)
        text += _describe_animation(observation, before)
        signature = observation.status, build_signature(events, counters)
        lines.append(StepLine(number, action, observation.status, int((before != after).sum()), text, signature))
        views = None
    legend = letters.take_news("".join(line.text for line in lines if line.text.startswith("tiles ")))
    if legend:
        lines[-1] = lines[-1]._replace(text="\n".join([lines[-1].text, *legend]))
        context.memory.save_legend(context.workspace)
    return lines


def format_steps(lines: Sequence[StepLine]) -> list[str]:
    """A line for each thing that happened, the rarest first; the last step where there are several alike."""
    groups: dict[Hashable, list[StepLine]] = {}
    for line in lines:
        key = (line.action, line.signature) if line.signature != (Status.RUNNING, frozenset()) else line.signature
        groups.setdefault(key, []).append(line)
    texts = []
    ordered = sorted(groups.values(), key=lambda group: (len(group), group[0].number)) if len(lines) > 3 else groups.values()
    for group in list(ordered)[:MAX_STEP_LINES]:
        last, status = group[-1], "" if group[-1].status is Status.RUNNING else f" {group[-1].status}"
        if len(lines) == 1:
            texts.append(f"action {last.action}{status}: {last.text}")
            continue
        numbers = format_numbers([line.number for line in group])
        actions = " ".join(dict.fromkeys(str(line.action) for line in group))
        alike = f" (the last; {len(group)} alike)" if len(group) > 1 and last.text != NOTHING else ""
        texts.append(f"{numbers} (action {actions}){status}: {last.text}{alike}")
    if len(groups) > MAX_STEP_LINES:
        texts.append(f"(and {sum(map(len, list(ordered)[MAX_STEP_LINES:]))} steps more; ./law record tells them)")
    return texts


def is_unusual(record: Record) -> bool:
    """Whether the last action did something else than it did the last time it was sent; no where it is sent for the first time."""
    trajectory = record.current if len(record.current) else record.trajectories[-2] if len(record) > 1 else record.current
    if not len(trajectory):
        return False
    action, observation = trajectory.steps[-1]
    if observation.status is not Status.RUNNING:
        return True
    counters, n_looked = find_counters(record), 0
    now = build_signature(find_events(*trajectory.settled_frames[-2:]), counters)
    for earlier in reversed(record.trajectories):
        last = len(earlier) - 1 if earlier is trajectory else len(earlier)
        for k in range(last, 0, -1):
            n_looked += 1
            if n_looked > MAX_LOOKED_BACK:
                return False
            if earlier.steps[k - 1][0] == action and earlier.steps[k - 1][1].status is not Status.COMPLETED:
                frames = earlier.settled_frames[k - 1 : k + 1]
                is_running = earlier.steps[k - 1][1].status is Status.RUNNING
                return not is_running or now != build_signature(find_events(frames[0], frames[1]), counters)
    return False


# -- parts of an answer ----------------------------------------------------------------------------------------------------------


def _is_as_predicted(context: CommandContext, sent: Sent) -> bool:
    return context.member_state.admissible and sent.n_sent > 0 and context.member not in sent.execution.falsified


def _describe_model(context: CommandContext, sent: Sent) -> list[str]:
    execution = sent.execution
    if context.member in execution.falsified:
        consequence = (
            ""
            if not sent.n_sent
            else "a prediction was wrong"
            if sent.n_asked == 1
            else "a prediction was wrong, and nothing more was sent"
        )
        reason = _PREAMBLE.sub("", format_reason(context.member_state.verdict)) or execution.halt_reason
        return [f"{consequence or 'nothing was sent'}; your model is falsified: {reason}"]
    if context.member_state.admissible and sent.n_sent:
        return ["as predicted", *([execution.halt_reason] if execution.halt_reason.startswith("stopped") else [])]
    if execution.halt_reason and not context.session.outcome:
        return [execution.halt_reason if execution.halt_reason.startswith("stopped") else f"halted: {execution.halt_reason}"]
    return []


def _describe_end(context: CommandContext, sent: Sent, observation: Observation) -> list[str]:
    """What follows: the next level, or that a reset is due."""
    if observation.status is Status.COMPLETED and not context.session.outcome:
        return [f"level {observation.level} begins:", show_new_level(context, observation.frame)]
    if observation.status in (Status.OVER, Status.TRUNCATED):
        return [f"the level is {observation.status}: ./law reset"]
    return []


def _describe_animation(observation: Observation, before: np.typing.NDArray[np.uint8]) -> str:
    """What an animation showed that is not to be seen before or after it."""
    if len(observation.frames) < 2:
        return ""
    settled = observation.frame
    passing = np.zeros(settled.shape, dtype=np.bool_)
    for frame in observation.frames[:-1]:
        if frame.shape == settled.shape == before.shape:
            passing |= (frame != before) & (frame != settled)
    if not passing.any():
        return ""
    rows, columns = np.flatnonzero(passing.any(axis=1)), np.flatnonzero(passing.any(axis=0))
    return (
        f"; on the way {len(observation.frames)} frames, {int(passing.sum()):,} cells in rows {rows[0]}-{rows[-1]}, columns "
        f"{columns[0]}-{columns[-1]} changed and went back (./law observe --animation)"
    )


def _build_json(context: CommandContext, sent: Sent, notes: Sequence[str]) -> dict[str, Any]:
    session, observation = context.session, sent.execution.observation
    steps = list_steps(context, sent)
    return {
        "sent": sent.n_sent,
        "asked": sent.n_asked,
        "place": f"{sent.trajectory}.{sent.step + sent.n_sent}",
        "status": None if observation is None else str(observation.status),
        "level": session.record.level,
        "predicted": None if not (context.member_state.admissible or sent.execution.falsified) else _is_as_predicted(context, sent),
        "steps": [{"action": str(step.action), "cells": step.n_changed, "what": step.text} for step in steps],
        "notes": [*_describe_model(context, sent), *notes],
        "left": session.actions_left,
        "outcome": None if session.outcome is None else str(session.outcome),
    }
