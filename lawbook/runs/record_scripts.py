"""Python over the record, in the sandbox: what a mind, or an agent at a door, may run to look at what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lawbook.core.record import Record, Trajectory
from lawbook.sandbox.host import Host

MAX_CODE_CHARS = 100_000
MAX_SETTLED_BYTES, MAX_ANIMATION_BYTES = 64 << 20, 16 << 20
"""Bytes of settled frames and of animations that are handed over, the newest trajectories first."""
DEFAULT_TIMEOUT_S, MAX_OUTPUT_BYTES = 10.0, 20_000
"""Wall clock, and bytes of output that are kept."""

GUIDE = """\
`record` is the list of trajectories, oldest first; record[-1] is the one being played. Of each:
  t.frames        (n + 1) x H x W uint8: t.frames[0] the first sight, t.frames[k] the settled frame after k actions
  t.actions       the n actions, with .id, .x (column) and .y (row); t.actions[k] led from t.frames[k] to t.frames[k + 1]
  t.statuses, t.levels, t.available       n + 1 of each
  t.animation(k)  every frame that came after k actions, the settled one last
`frames` and `actions` are those of record[-1]. np (numpy) and perception (components, objects, regions, changes, clicks, text)
are there, and the standard library; no files, no network, no other processes. Only what is printed comes back, at most 20,000
bytes within 10 seconds; nothing is kept from one run to the next."""
"""What whoever writes such code has to know."""


def run_script(
    host: Host,
    record: Record,
    code: str,
    *,
    seconds: float = DEFAULT_TIMEOUT_S,
    max_bytes: int = MAX_OUTPUT_BYTES,
    modules: Mapping[str, str] | None = None,
    name: str | None = None,
) -> str:
    """Run `code` over the record; return what it prints, with the sentence of what stopped it where something did.

    See GUIDE for what it finds. Runs in a fresh sandboxed process, for `seconds` at most; a trajectory's frames go in, nothing but
    text comes out. Never raises for what the code does. modules: file name -> source of what it may import, a program first of all;
    name: of the file that the code is from.
    """
    if len(code) > MAX_CODE_CHARS:
        return f"Code of {len(code):,} characters is too long; keep it under {MAX_CODE_CHARS:,}."
    rows, blobs = pack_record(record)
    with host.fork() as worker:
        text, n_dropped, fault = worker.analyse(code, rows, blobs, seconds=seconds, max_bytes=max_bytes, modules=modules, name=name)
    parts = ["".join(character if character.isprintable() or character in "\n\t" else "?" for character in text).rstrip("\n")]
    if n_dropped:
        parts.append(f"[cut: {n_dropped:,} more bytes were printed; print less]")
    if fault is not None:
        parts.append(fault.reason)
    return "\n".join(line for line in parts if line) or "(nothing was printed; print what you want to see)"


def pack_record(record: Record) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Pack the record as (a row for each trajectory, blobs of frames that the rows name by number), the newest frames first.

    As many frames as the limits allow.
    """
    rows: list[dict[str, Any]] = []
    blobs: list[bytes] = []
    settled_left, animation_left = MAX_SETTLED_BYTES, MAX_ANIMATION_BYTES
    for trajectory in reversed(record.trajectories):
        row = _pack_trajectory(trajectory)
        settled_left -= trajectory.settled_frames.nbytes
        animation_left -= sum(row["moving"]) * trajectory.first.frame.nbytes
        row["blobs"] = [None, None]
        if settled_left >= 0:
            row["blobs"][0] = len(blobs)
            blobs.append(trajectory.settled_frames.tobytes())
        if animation_left >= 0 and any(row["moving"]):
            row["blobs"][1] = len(blobs)
            blobs.append(_pack_animations(trajectory, row["moving"]))
        rows.append(row)
    return rows[::-1], blobs


def _pack_trajectory(trajectory: Trajectory) -> dict[str, Any]:
    observations = [trajectory.first, *(observation for _, observation in trajectory.steps)]
    return {
        "shape": trajectory.first.frame.shape,
        "actions": trajectory.actions,
        "statuses": trajectory.statuses,
        "levels": [observation.level for observation in observations],
        "available": [observation.available for observation in observations],
        "moving": [len(observation.frames) - 1 for observation in observations],
    }


def _pack_animations(trajectory: Trajectory, counts: list[int]) -> bytes:
    """All frames before the settled ones, in order. The first sight has none: its trajectory begins with what had settled."""
    steps = enumerate((observation for _, observation in trajectory.steps), 1)
    return b"".join(
        step_observation.frames[frame_index].tobytes() for k, step_observation in steps for frame_index in range(counts[k])
    )
