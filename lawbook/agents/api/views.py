"""The reading half of a door: observation, record, versions. Nothing here changes anything but the workspace."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator

import numpy as np

from lawbook.agents.api import sight
from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.notation import format_actions, format_counterexample, parse_cell, parse_place, parse_span
from lawbook.agents.api.workspace import find_changed_files
from lawbook.core import frame_text
from lawbook.core.animation_text import format_timeline
from lawbook.core.event_text import format_changes
from lawbook.core.hypothesis import RULEBOOK, Hypothesis
from lawbook.core.object_text import format_object_list
from lawbook.core.record import Record, Status, Trajectory
from lawbook.errors import RefusedError, UsageError
from lawbook.verification.open_cells import format_claims

PAGE_LINES = 40
"""Lines of a list, where an answer is one."""
MAX_TILE = 64
"""Cells of a side of a tile."""
NO_TILES = (
    f"no size of tiles from {frame_text.TILE_SIZES[0]} to {frame_text.TILE_SIZES[1]} makes this shorter; look at "
    "runs or objects, or name a size"
)


# -- what was seen ---------------------------------------------------------------------------------------------------------------


_FORMS = ("board", "tiles", "runs", "starts", "objects", "mixed", "animation", "level_map", "legend", "since", "png", "as_json")
_CROPPED = {"", "board", "tiles", "runs", "starts", "level_map"}
"""Forms of which a part can be asked for; "" is the shortest."""


def observe(
    context: CommandContext,
    place: str = "now",
    at: str | None = None,
    rows: str | None = None,
    columns: str | None = None,
    since: str | None = None,
    frame: int | None = None,
    tiles: int | None = None,
    board: bool = False,
    runs: bool = False,
    starts: bool = False,
    objects: bool = False,
    mixed: bool = False,
    animation: bool = False,
    level_map: bool = False,
    legend: bool = False,
    png: str | None = None,
    as_json: bool = False,
    file: str | None = None,
) -> str:
    """A frame on record in the form that is shortest, or as a board, tiles, runs, objects, a map, a difference, a time line, a
    picture.

    file: write it there instead of printing it. Raises UsageError where two forms are asked for at once.
    """
    arguments = locals()
    forms = [name for name in _FORMS if arguments[name] is not None and arguments[name] is not False]
    forms = [name for name in forms if (name, forms) not in (("runs", ["runs", "starts"]), ("objects", ["objects", "mixed"]))]
    if len(forms) > 1:
        raise UsageError(
            f"--{forms[0]} and --{forms[1]} are two ways to look; ask for one at a time.".replace("as_json", "json").replace(
                "level_map", "map"
            )
        )
    form = forms[0] if forms else ""
    if (rows or columns) and form not in _CROPPED:
        raise UsageError(
            f"--rows and --columns go with a board, tiles, runs or the map, not with --{form}.".replace("as_json", "json").replace(
                "level_map", "map"
            )
        )
    text = _format_view(context, place if at is None else at, form, since, frame, tiles, rows, columns, png)
    if file is None:
        return text
    context.workspace.write(file, text + "\n")
    return f"{file}: {len(text):,} characters"


def _format_view(
    context: CommandContext,
    place: str,
    form: str,
    since: str | None,
    frame: int | None,
    tiles: int | None,
    rows: str | None,
    columns: str | None,
    png: str | None,
) -> str:
    record, letters = context.session.record, context.memory.letters
    if form == "legend":
        return letters.format_legend() or "no tile has a letter yet"
    trajectory, step = parse_place(place, record)
    observation = context.session.get_observation(trajectory, step)
    chosen_frame = observation.frame
    header = f"{trajectory}.{step} level {observation.level}" + (
        "" if observation.status is Status.RUNNING else f", {observation.status}"
    )
    if len(observation.frames) > 1:
        header += f", {len(observation.frames)} animation frames"
    if frame is not None:
        if not 0 <= frame < len(observation.frames):
            raise UsageError(f"There are animation frames 0 to {len(observation.frames) - 1} here.")
        chosen_frame, header = observation.frames[frame], f"{header}, frame {frame}"
    if since is not None:
        since_place = parse_place(since, record)
        difference = format_changes(context.session.get_observation(*since_place).frame, chosen_frame, letters.find_letter)
        return f"{header}; since {since_place[0]}.{since_place[1]}: {difference}"
    crop = [None if span is None else parse_span(span) for span in (rows, columns)]
    if form == "tiles" and tiles and not 2 <= tiles <= MAX_TILE:
        raise UsageError(f"Tiles are of 2 to {MAX_TILE} cells; without a number their size is looked for.")
    match form:
        case "png":
            assert png is not None
            return _write_png(context, chosen_frame, png)
        case "as_json":
            return json.dumps(
                {"place": f"{trajectory}.{step}", "level": observation.level, "frame": chosen_frame.tolist()}, separators=(",", ":")
            )
        case "animation":
            return f"{header}\n{format_timeline(observation.frames, letters.find_letter)}"
        case "objects" | "mixed":
            clicks = context.session.world.spec.clicks
            return f"{header}\n{format_object_list(chosen_frame, mixed=form == 'mixed', click=clicks[0] if clicks else None)}"
        case "level_map":
            return sight.show_map(context, *crop)
        case "tiles":
            text = sight.show_tiles(context, chosen_frame, tiles or None, *crop)
            return f"{header}\n{text or NO_TILES}"
        case "runs" | "starts":
            return f"{header}\n{frame_text.format_runs(chosen_frame, *crop, starts=form == 'starts')}"
        case "board":
            return f"{header}\n{frame_text.format_board(chosen_frame, *crop)}"
        case _:
            return f"{header}\n{sight.show_shortest(context, chosen_frame, *crop)}"


def _write_png(context: CommandContext, frame: np.typing.NDArray[np.uint8], name: str) -> str:
    from lawbook.agents.api.picture import draw_board
    from lawbook.view.palette import get_palette

    if not name.endswith(".png"):
        raise UsageError("A picture is a file that ends in .png, in your workspace.")
    tiling = context.memory.letters.choose_tiling(frame)
    colours = get_palette(context.session.world.spec.palette).colours
    picture, (width, height) = draw_board(frame, colours, (8, 0, 0) if tiling is None else tiling)
    context.workspace.write(name, picture)
    return f"{name}: {width} x {height} pixels, with the numbers of rows and columns and the codes of the colours"


def show_counterexample(context: CommandContext) -> str:
    """Where the last proposal, or the standing program, was found wrong; and what really changed there."""
    example = context.session.get_counterexample(context.member)
    if example is None:
        verdict = context.member_state.verdict
        if verdict is not None and not verdict.admissible and verdict.reason:
            return f"No counterexample; the last verdict was {verdict.outcome}: {verdict.reason}"
        return "There is no counterexample: nothing was found wrong last."
    lines = [f"{example.trajectory}.{example.step}: {format_counterexample(example.text)}"]
    if example.step and example.trajectory < len(context.session.record):
        trajectory = context.session.record.trajectories[example.trajectory]
        if example.step <= len(trajectory):
            lines.append(
                f"What action {example.action} really changed: "
                + format_changes(
                    trajectory.get_frame(example.step - 1), trajectory.get_frame(example.step), context.memory.letters.find_letter
                )
            )
    return "\n".join(lines)


# -- the record ------------------------------------------------------------------------------------------------------------------


def show_record(
    context: CommandContext,
    trajectory: int | None = None,
    cell: str | None = None,
    still: bool = False,
    find: str | None = None,
    start: int = 0,
) -> str:
    """The whole record in a line each; one trajectory step by step; or a question to it."""
    record = context.session.record
    if trajectory is not None and not 0 <= trajectory < len(record):
        raise UsageError(f"Trajectories are numbered 0 to {len(record) - 1}.")
    trajectory_indices = range(len(record)) if trajectory is None else (trajectory,)
    if cell is not None:
        row, column = parse_cell(cell, record.current.first.frame.shape)
        return _format_page(
            _find_cell_changes(context, trajectory_indices, row, column), f"cell {row},{column} never changed", start
        )
    if still:
        return _count_unchanged(context, trajectory_indices)
    if find is not None:
        wanted_frame = context.session.get_observation(*parse_place(find, record)).frame
        places = [
            f"{t}.{s}"
            for t in trajectory_indices
            for s in np.flatnonzero((record.trajectories[t].settled_frames == wanted_frame).all(axis=(1, 2))).tolist()
        ]
        return f"{len(places)} places show that frame: " + frame_text.clip_text(" ".join(places), 1500)
    if trajectory is None:
        return _format_page([_summarize_trajectory(record, t) for t in trajectory_indices], "nothing yet", start)
    return _format_page(list(_format_steps(trajectory, record.trajectories[trajectory])), "no action yet", start)


def _format_page(lines: list[str], empty_text: str, start: int) -> str:
    if not lines:
        return empty_text
    start = max(0, start)
    page = lines[start : start + PAGE_LINES]
    n_left = len(lines) - start - len(page)
    more = [f"({n_left:,} more: --start {start + len(page)})"] if n_left > 0 else []
    return "\n".join([*page, *more]) if page else f"There are {len(lines):,} lines; start below that."


def _summarize_trajectory(record: Record, index: int) -> str:
    trajectory = record.trajectories[index]
    status = str(trajectory.statuses[-1])
    if trajectory.statuses[-1] is Status.RUNNING and index < len(record) - 1:
        status = "given up by a reset"
    return (
        f"{index}: level {trajectory.first.level}, {len(trajectory)} steps, {status}; "
        f"{format_actions(trajectory.actions, 90) or 'no action'}"
    )


def _format_steps(index: int, trajectory: Trajectory) -> Iterator[str]:
    change_counts = (trajectory.settled_frames[1:] != trajectory.settled_frames[:-1]).sum(axis=(1, 2)).tolist()
    for step, ((action, observation), n_changed) in enumerate(zip(trajectory.steps, change_counts, strict=True), 1):
        status_note = "" if observation.status is Status.RUNNING else f", {observation.status}"
        frames_note = f", {len(observation.frames)} frames" if len(observation.frames) > 1 else ""
        yield f"{index}.{step} action {action}: {n_changed} cells changed{frames_note}{status_note}"


def _find_cell_changes(context: CommandContext, trajectory_indices: range | tuple[int, ...], row: int, column: int) -> list[str]:
    lines = []
    for t in trajectory_indices:
        trajectory = context.session.record.trajectories[t]
        values = trajectory.settled_frames[:, row, column]
        lines += [
            f"{t}.{s + 1} action {trajectory.steps[s][0]}: {frame_text.format_colour(values[s])} -> "
            f"{frame_text.format_colour(values[s + 1])}"
            for s in np.flatnonzero(values[1:] != values[:-1]).tolist()
        ]
    return lines


def _count_unchanged(context: CommandContext, trajectory_indices: range | tuple[int, ...]) -> str:
    """By action: how often it was sent, how often nothing changed, and where."""
    sent_counts: Counter[str] = Counter()
    unchanged_places: dict[str, list[str]] = {}
    for t in trajectory_indices:
        trajectory = context.session.record.trajectories[t]
        is_unchanged = (trajectory.settled_frames[1:] == trajectory.settled_frames[:-1]).all(axis=(1, 2)).tolist()
        for s, ((action, observation), unchanged) in enumerate(zip(trajectory.steps, is_unchanged, strict=True), 1):
            sent_counts[str(action)] += 1
            if unchanged and observation.status is Status.RUNNING:
                unchanged_places.setdefault(str(action), []).append(f"{t}.{s}")
    lines = [
        f"action {action}: {len(unchanged_places.get(action, []))} of {count} changed nothing"
        + (f" ({frame_text.clip_text(' '.join(unchanged_places[action]), 200)})" if action in unchanged_places else "")
        for action, count in sent_counts.most_common()
    ]
    return _format_page(lines, "nothing was sent yet", 0)


# -- versions --------------------------------------------------------------------------------------------------------------------


def show_history(context: CommandContext, number: int | None = None) -> str:
    """Every proposal in a line; one of them whole."""
    proposals = context.session.get_history(context.member)
    if number is not None:
        if not 1 <= number <= len(proposals):
            raise UsageError(f"Proposals are numbered 1 to {len(proposals)}." if proposals else "Nothing was proposed yet.")
        proposal = proposals[number - 1]
        heading = f"proposal {number}: {proposal.decision}, after {proposal.n_actions} actions: {proposal.outcome}"
        claims = "" if proposal.claims is None else f"\n{format_claims(proposal.claims)}"
        return f"{heading}\n{proposal.reason}".rstrip() + claims
    lines, n_accepted = [], 0
    previous: Hypothesis | None = None
    for k, proposal in enumerate(proposals, 1):
        outcome = proposal.outcome.value
        if outcome == "admissible":
            n_accepted += proposal.hypothesis != previous
            previous = proposal.hypothesis
            outcome = f"accepted, version {n_accepted}"
        reason = f": {' '.join(proposal.reason.split())[:100]}" if proposal.reason else ""
        if proposal.claims is not None and not reason:
            reason = f" ({proposal.claims.n_lost:,} claims lost, {proposal.claims.n_won:,} won)"
        lines.append(f"{k}. {proposal.decision} after {proposal.n_actions} actions: {outcome}{reason}")
    return _format_page(lines, "nothing was proposed yet", max(0, len(lines) - PAGE_LINES))


def show_diff(context: CommandContext, old: int | None = None, new: int | None = None) -> str:
    """The workspace against what was accepted last; one version against the present one; or two versions."""
    member = context.member_state
    if old is not None:
        numbers = (_require_version(context, old), _require_version(context, member.version if new is None else new))
        return context.session.diff_versions(*numbers, context.member) or "no difference"
    if member.hypothesis is None:
        raise RefusedError("Nothing was accepted yet, so there is nothing to compare with; propose.")
    current, lines = context.read_hypothesis(), []
    for name in find_changed_files(member.hypothesis, current):
        one, two = (
            h.rulebook.splitlines() if name == RULEBOOK else h.files.get(name, "").splitlines()
            for h in (member.hypothesis, current)
        )
        if max(len(one), len(two)) > 5000:
            lines.append(f"{name}: too long to compare here ({len(one):,} lines against {len(two):,})")
        else:
            lines += difflib.unified_diff(one, two, f"accepted/{name}", f"workspace/{name}", lineterm="", n=1)
    return "\n".join(lines) or f"no difference: the workspace holds version {member.version}"


def restore(context: CommandContext, version: int | None = None) -> str:
    """Put an accepted version back into the workspace."""
    member = context.member_state
    version = _require_version(context, member.version if version is None else version)
    hypothesis = context.session.load_version(version, context.member)
    context.workspace.write_hypothesis(hypothesis)
    names = ", ".join(name for name in (RULEBOOK, *hypothesis.files) if name != RULEBOOK or hypothesis.rulebook)
    remark = " It is what was accepted last." if hypothesis == member.hypothesis else " Propose it before you execute."
    return f"version {version} is in your workspace: {names}.{remark}"


def _require_version(context: CommandContext, number: int) -> int:
    if not context.member_state.version:
        raise RefusedError("Nothing was accepted yet; propose.")
    if not 1 <= number <= context.member_state.version:
        raise UsageError(f"Versions are numbered 1 to {context.member_state.version}; ./law history lists them.")
    return number
