"""The reading half of a door: observation, record, versions. Nothing here changes anything but the workspace."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lawbook.agents.api.notation import cell_of, place_of, shown, span_of, written
from lawbook.agents.api.workspace import differing
from lawbook.core import frame_text
from lawbook.core.hypothesis import RULEBOOK, Hypothesis
from lawbook.core.record import Observation, Status, Trajectory
from lawbook.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from lawbook.agents.api.dispatcher import Call

SHOWN = 40
"""Lines of a list, where an answer is one."""
MOST_TILE = 64
"""Cells of a side of a tile."""


# -- what was seen ---------------------------------------------------------------------------------------------------------------


def observe(
    call: Call,
    place: str = "now",
    rows: str | None = None,
    columns: str | None = None,
    since: str | None = None,
    frame: int | None = None,
    tiles: int | None = None,
    runs: bool = False,
    starts: bool = False,
    objects: bool = False,
    mixed: bool = False,
    animation: bool = False,
    png: str | None = None,
) -> str:
    """A frame on record as a board, tiles, runs, objects, a crop, a difference, an animation, or a PNG file."""
    record = call.session.record
    trajectory, step = place_of(place, record)
    seen = call.session.observe(trajectory, step)
    picked = seen.frame
    head = f"{trajectory}.{step} level {seen.level}, {seen.status}"
    if len(seen.frames) > 1:
        head += f", {len(seen.frames)} animation frames"
    if frame is not None:
        if not 0 <= frame < len(seen.frames):
            raise UsageError(f"There are animation frames 0 to {len(seen.frames) - 1} here.")
        picked, head = seen.frames[frame], f"{head}, frame {frame}"
    if png is not None:
        return _picture(call, picked, png)
    if since is not None:
        earlier = place_of(since, record)
        told = frame_text.difference(call.session.observe(*earlier).frame, picked)
        return f"{head}; since {earlier[0]}.{earlier[1]}: {told}"
    if animation:
        return f"{head}\n{frame_text.animation(seen.frames)}"
    if objects or mixed:
        return f"{head}\n{frame_text.objects(picked, mixed=mixed)}"
    crop = [None if span is None else span_of(span) for span in (rows, columns)]
    if tiles is not None:
        if tiles and not 2 <= tiles <= MOST_TILE:
            raise UsageError(f"Tiles are of 2 to {MOST_TILE} cells; without a number their size is looked for.")
        return f"{head}\n{frame_text.tiles(picked, tiles or None, *crop)}"
    if runs or starts:
        return f"{head}\n{frame_text.runs(picked, *crop, starts=starts)}"
    return f"{head}\n{frame_text.board(picked, *crop)}"


def _picture(call: Call, frame: np.typing.NDArray[np.uint8], name: str) -> str:
    from lawbook.view.palette import palette
    from lawbook.view.svg_png import indexed_png

    if not name.endswith(".png"):
        raise UsageError("A picture is a file that ends in .png, directly in your workspace.")
    scale = max(1, min(16, 1024 // max(frame.shape)))
    pixels = np.kron(frame, np.ones((scale, scale), dtype=np.uint8))
    colours = palette(call.session.world.spec.palette).colours[: int(frame.max()) + 1]
    call.workspace.write(name, indexed_png(pixels, colours))
    return f"{name}: {pixels.shape[1]} x {pixels.shape[0]} pixels, {scale} to a cell"


def came(before: Observation, after: Observation, place: str, *, ended: bool) -> str:
    """What one action led to: status, level, and the difference, which is all there is to read. ended: nothing follows."""
    head = f"{place} {after.status}"
    if after.status is Status.COMPLETED:
        return f"{head}: the level is completed" + (
            "" if ended else f"; level {after.level} begins:\n{frame_text.sight(after.frame)}"
        )
    if after.status is not Status.RUNNING:
        head += "; reset to go on"
    told = frame_text.difference(before.frame, after.frame)
    moving = f"\n(animation of {len(after.frames)} frames: ./law observe --animation)" if len(after.frames) > 1 else ""
    return f"{head}: {told}{moving}"


def counterexample(call: Call) -> str:
    """Where the last proposal, or the standing program, was found wrong; and what really changed there."""
    found = call.session.counterexample(call.member)
    if found is None:
        verdict = call.own.verdict
        if verdict is not None and not verdict.admissible and verdict.reason:
            return f"No counterexample; the last verdict was {verdict.outcome}: {verdict.reason}"
        return "There is no counterexample: nothing was found wrong last."
    lines = [f"{found.trajectory}.{found.step}: {shown(found.text)}"]
    if found.step and found.trajectory < len(call.session.record):
        there = call.session.record.trajectories[found.trajectory]
        if found.step <= len(there):
            lines.append(
                f"What action {found.action} really changed: "
                + frame_text.difference(*there.settled[found.step - 1 : found.step + 1])
            )
    return "\n".join(lines)


# -- the record ------------------------------------------------------------------------------------------------------------------


def record(
    call: Call, trajectory: int | None = None, cell: str | None = None, still: bool = False, find: str | None = None, start: int = 0
) -> str:
    """The whole record in a line each; one trajectory step by step; or a question to it."""
    seen = call.session.record
    if trajectory is not None and not 0 <= trajectory < len(seen):
        raise UsageError(f"Trajectories are numbered 0 to {len(seen) - 1}.")
    chosen = range(len(seen)) if trajectory is None else (trajectory,)
    if cell is not None:
        row, column = cell_of(cell, seen.here.first.frame.shape)
        return _listed(_changes_of(call, chosen, row, column), f"cell {row},{column} never changed", start)
    if still:
        return _still(call, chosen)
    if find is not None:
        wanted = call.session.observe(*place_of(find, seen)).frame
        found = [
            f"{t}.{s}" for t in chosen for s in np.flatnonzero((seen.trajectories[t].settled == wanted).all(axis=(1, 2))).tolist()
        ]
        return f"{len(found)} places show that frame: " + frame_text.clip(" ".join(found), 1500)
    if trajectory is None:
        return _listed([_summary(t, seen.trajectories[t]) for t in chosen], "nothing yet", start)
    return _listed(list(_steps(trajectory, seen.trajectories[trajectory])), "no action yet", start)


def _listed(lines: list[str], none: str, start: int) -> str:
    if not lines:
        return none
    start = max(0, start)
    shown = lines[start : start + SHOWN]
    left = len(lines) - start - len(shown)
    more = [f"({left:,} more: --start {start + len(shown)})"] if left > 0 else []
    return "\n".join([*shown, *more]) if shown else f"There are {len(lines):,} lines; start below that."


def _summary(number: int, trajectory: Trajectory) -> str:
    return (
        f"{number}: level {trajectory.first.level}, {len(trajectory)} steps, {trajectory.statuses[-1]}; "
        f"{written(trajectory.actions, 90) or 'no action'}"
    )


def _steps(number: int, trajectory: Trajectory) -> Iterator[str]:
    cells = (trajectory.settled[1:] != trajectory.settled[:-1]).sum(axis=(1, 2)).tolist()
    for step, ((action, seen), changed) in enumerate(zip(trajectory.steps, cells, strict=True), 1):
        ended = "" if seen.status is Status.RUNNING else f", {seen.status}"
        frames = f", {len(seen.frames)} frames" if len(seen.frames) > 1 else ""
        yield f"{number}.{step} action {action}: {changed} cells changed{frames}{ended}"


def _changes_of(call: Call, chosen: range | tuple[int, ...], row: int, column: int) -> list[str]:
    lines = []
    for t in chosen:
        there = call.session.record.trajectories[t]
        values = there.settled[:, row, column]
        lines += [
            f"{t}.{s + 1} action {there.steps[s][0]}: {frame_text.colour(values[s])} -> {frame_text.colour(values[s + 1])}"
            for s in np.flatnonzero(values[1:] != values[:-1]).tolist()
        ]
    return lines


def _still(call: Call, chosen: range | tuple[int, ...]) -> str:
    """By action: how often it was sent, how often nothing changed, and where."""
    sent: Counter[str] = Counter()
    still: dict[str, list[str]] = {}
    for t in chosen:
        there = call.session.record.trajectories[t]
        same = (there.settled[1:] == there.settled[:-1]).all(axis=(1, 2)).tolist()
        for s, ((action, seen), nothing) in enumerate(zip(there.steps, same, strict=True), 1):
            sent[str(action)] += 1
            if nothing and seen.status is Status.RUNNING:
                still.setdefault(str(action), []).append(f"{t}.{s}")
    lines = [
        f"action {action}: {len(still.get(action, []))} of {number} changed nothing"
        + (f" ({frame_text.clip(' '.join(still[action]), 200)})" if action in still else "")
        for action, number in sent.most_common()
    ]
    return _listed(lines, "nothing was sent yet", 0)


# -- versions --------------------------------------------------------------------------------------------------------------------


def history(call: Call, number: int | None = None) -> str:
    """Every proposal in a line; one of them whole."""
    settled = call.session.history(call.member)
    if number is not None:
        if not 1 <= number <= len(settled):
            raise UsageError(f"Proposals are numbered 1 to {len(settled)}." if settled else "Nothing was proposed yet.")
        one = settled[number - 1]
        return f"proposal {number}: {one.decision}, after {one.at} actions: {one.outcome}\n{one.reason}".rstrip()
    lines, accepted = [], 0
    before: Hypothesis | None = None
    for k, one in enumerate(settled, 1):
        told = one.outcome.value
        if told == "admissible":
            accepted += one.hypothesis != before
            before = one.hypothesis
            told = f"accepted, version {accepted}"
        reason = f": {' '.join(one.reason.split())[:100]}" if one.reason else ""
        lines.append(f"{k}. {one.decision} after {one.at} actions: {told}{reason}")
    return _listed(lines, "nothing was proposed yet", max(0, len(lines) - SHOWN))


def diff(call: Call, old: int | None = None, new: int | None = None) -> str:
    """The workspace against what was accepted last; one version against the present one; or two versions."""
    member = call.own
    if old is not None:
        numbers = (_version(call, old), _version(call, member.version if new is None else new))
        return call.session.diff(*numbers, call.member) or "no difference"
    if member.hypothesis is None:
        raise RefusedError("Nothing was accepted yet, so there is nothing to compare with; propose.")
    now, lines = call.workspace_hypothesis(), []
    for name in differing(member.hypothesis, now):
        one, two = (
            h.rulebook.splitlines() if name == RULEBOOK else h.files.get(name, "").splitlines() for h in (member.hypothesis, now)
        )
        if max(len(one), len(two)) > 5000:
            lines.append(f"{name}: too long to compare here ({len(one):,} lines against {len(two):,})")
        else:
            lines += difflib.unified_diff(one, two, f"accepted/{name}", f"workspace/{name}", lineterm="", n=1)
    return "\n".join(lines) or f"no difference: the workspace holds version {member.version}"


def restore(call: Call, version: int | None = None) -> str:
    """Put an accepted version back into the workspace."""
    member = call.own
    version = _version(call, member.version if version is None else version)
    hypothesis = call.session.restore(version, call.member)
    call.workspace.write_hypothesis(hypothesis)
    names = ", ".join(name for name in (RULEBOOK, *hypothesis.files) if name != RULEBOOK or hypothesis.rulebook)
    stands = " It is what was accepted last." if hypothesis == member.hypothesis else " Propose it before you execute."
    return f"version {version} is in your workspace: {names}.{stands}"


def _version(call: Call, number: int) -> int:
    if not call.own.version:
        raise RefusedError("Nothing was accepted yet; propose.")
    if not 1 <= number <= call.own.version:
        raise UsageError(f"Versions are numbered 1 to {call.own.version}; ./law history lists them.")
    return number
