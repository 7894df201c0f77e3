"""Everything that a page could ask of a run, packed to be carried in one file, within so many bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

from lawbook.view.run_index import RunIndex
from lawbook.view.web import charts, members, overview, proposals, steps

Json = dict[str, Any]
FRAMES_PER_PACK = 128
"""Frames that are compressed together: neighbours are alike, and a look at one step unpacks one."""

_LEFT_OUT_NOTE = "It is left out of this file; `lawbook view` has it."
_PREDICTED_PLANES = ("frame", "open")
"""Parts of a prediction that are ids of planes."""
_SHAPE = struct.Struct("<HH")


@dataclass(frozen=True)
class OfflineRun:
    """name, state: of the run. data, texts: zlib of JSON. frames: zlib of FRAMES_PER_PACK frames each (height, width, 16 bits
    each, cells), by their numbers; in `data` numbers stand for ids."""

    name: str
    state: str
    data: bytes
    texts: bytes
    frames: tuple[bytes, ...]


def pack_run(run_index: RunIndex, run_name: str, max_bytes: int) -> OfflineRun:
    """Pack everything that a page could ask of a run.

    max_bytes: what all of it may take in base64; frames that do not fit are left out, those of animations first.
    """
    series_data = charts.build_series(run_index)
    step_list = [
        step
        for k in range(0, len(run_index.steps), steps.MAX_WINDOW_STEPS)
        for step in steps.list_steps(run_index, k, k + steps.MAX_WINDOW_STEPS - 1)
    ]
    compressed_texts = _compress_json(_collect_texts(run_index, max_bytes // 4))
    packer = _FramePacker(run_index, step_list)
    answers: Json = {
        "head": overview.describe_run(run_index),
        "overview": overview.build_overview(run_index),
        "plans": {data.plan_seq: steps.describe_plan(run_index, data.plan_seq) for data in run_index.plan_draws},
        "proposals": proposals.list_proposals(run_index),
        "members": members.describe_members(run_index),
        "draws": members.list_draws(run_index),
        "series": series_data,
        "pack": FRAMES_PER_PACK,
    }
    # What is told shrinks when frames are left out, so that what it takes with all of them is enough.
    data = _compress_json(answers | {"steps": packer.renumber_steps(None)})
    packs, n_kept = packer.build_packs(max_bytes - _compute_base64_size([data, compressed_texts]) - 1000)
    if n_kept < len(packer.numbers_by_id):
        series_data["left_out"] = len(packer.numbers_by_id) - n_kept
        data = _compress_json(answers | {"steps": packer.renumber_steps(n_kept)})
    return OfflineRun(run_name, answers["overview"]["state"], data, compressed_texts, tuple(packs))


def _collect_texts(run_index: RunIndex, max_bytes: int) -> Json:
    """Proposals whole, the versions first, as many as there is room for."""
    ranked = sorted(run_index.proposals, key=lambda event: (event.version is None, event.number))
    found: Json = {}
    bytes_left = max_bytes
    for event in ranked:
        proposal = found[str(event.number)] = proposals.describe_proposal(run_index, event.number)
        bytes_left -= len(zlib.compress(json.dumps(proposal["texts"]).encode(), 1)) // 2  # together they take about half
        if bytes_left < 0:
            proposal["texts"] = [{**text, "rows": [], "cut": _LEFT_OUT_NOTE} for text in proposal["texts"]]
    return found


class _FramePacker:
    """All frames of some steps in the order in which they are kept: those that show steps at rest before those of animations."""

    def __init__(self, run_index: RunIndex, steps: Sequence[Json]) -> None:
        self._run_index, self._steps = run_index, steps
        resting_ids = dict.fromkeys(frame_id for step in steps for frame_id in _find_resting_frames(step))
        moving_ids = dict.fromkeys(frame_id for step in steps for frame_id in step["frames"])
        self.numbers_by_id = {frame_id: number for number, frame_id in enumerate(dict.fromkeys([*resting_ids, *moving_ids]))}

    def build_packs(self, max_bytes: int) -> tuple[list[bytes], int]:
        """As many packs as there is room for, and how many frames are in them."""
        packs: list[bytes] = []
        n_kept = 0
        for frame_ids in batched(self.numbers_by_id, FRAMES_PER_PACK):
            pack = zlib.compress(b"".join(self._pack_frames(frame_ids)), 9)
            max_bytes -= _compute_base64_size([pack])
            if max_bytes < 0:
                break
            packs.append(pack)
            n_kept += len(frame_ids)
        return packs, n_kept

    def _pack_frames(self, frame_ids: Iterable[str]) -> Iterator[bytes]:
        for frame_id in frame_ids:
            frame = self._run_index.ledger.read_frame(frame_id)
            yield _SHAPE.pack(*frame.shape) + frame.tobytes()

    def renumber_steps(self, n_kept: int | None) -> list[Json]:
        """The steps with numbers for ids. n_kept: how many frames are, the first ones (None: all)."""
        return [self._renumber_step(step, len(self.numbers_by_id) if n_kept is None else n_kept) for step in self._steps]

    def _renumber_step(self, step: Json, n_kept: int) -> Json:
        *moving_numbers, settled_number = (self.numbers_by_id[frame_id] for frame_id in step["frames"])
        renumbered = step | {"frames": [*(number for number in moving_numbers if number < n_kept), settled_number]}
        if "predicted" in step:
            renumbered["predicted"] = {
                member: prediction
                | {part: self.numbers_by_id[prediction[part]] for part in _PREDICTED_PLANES if part in prediction}
                for member, prediction in step["predicted"].items()
            }
        return renumbered


def _find_resting_frames(step: Json) -> Iterator[str]:
    yield step["frames"][-1]
    for prediction in step.get("predicted", {}).values():
        yield from (prediction[part] for part in _PREDICTED_PLANES if part in prediction)


def _compress_json(content: Json) -> bytes:
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)


def _compute_base64_size(blobs: Iterable[bytes]) -> int:
    return sum(-(-len(blob) // 3) * 4 + 100 for blob in blobs)
