"""Everything that a page could ask of a run, packed to be carried in one file, within so many bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

from lawbook.view.run_index import Chronicle
from lawbook.view.web import charts, members, overview, proposals, steps

Json = dict[str, Any]
PACK = 128
"""Frames that are compressed together: neighbours are alike, and a look at one step unpacks one."""

_LEFT_OUT = "It is left out of this file; `lawbook view` has it."
_SHAPE = struct.Struct("<HH")


@dataclass(frozen=True)
class Packed:
    """name, state: of the run. told, texts: zlib of JSON. frames: zlib of PACK frames each (height, width, 16 bits each, cells), by
    their numbers; in `told` numbers stand for ids."""

    name: str
    state: str
    told: bytes
    texts: bytes
    frames: tuple[bytes, ...]


def packed(chronicle: Chronicle, name: str, room: int) -> Packed:
    """room: bytes that all of it may take in base64."""
    numbers = charts.series(chronicle)
    every = [one for k in range(0, len(chronicle.steps), steps.LONGEST) for one in steps.steps(chronicle, k, k + steps.LONGEST - 1)]
    texts = _zipped(_texts(chronicle, room // 4))
    frames = _Frames(chronicle, every)
    answers: Json = {
        "head": overview.head(chronicle),
        "overview": overview.overview(chronicle),
        "plans": {told.number: steps.plan(chronicle, told.number) for told in chronicle.draws},
        "proposals": proposals.proposals(chronicle),
        "members": members.members(chronicle),
        "draws": members.draws(chronicle),
        "series": numbers,
        "pack": PACK,
    }
    # What is told shrinks when frames are left out, so that what it takes with all of them is enough.
    told = _zipped(answers | {"steps": frames.renumbered(None)})
    packs, kept = frames.packs(room - _in_base64([told, texts]) - 1000)
    if kept < len(frames.names):
        numbers["left_out"] = len(frames.names) - kept
        told = _zipped(answers | {"steps": frames.renumbered(kept)})
    return Packed(name, answers["overview"]["state"], told, texts, tuple(packs))


def _texts(chronicle: Chronicle, most: int) -> Json:
    """Proposals whole, the versions first, as many as there is room for."""
    ranked = sorted(chronicle.proposals, key=lambda told: (told.version is None, told.number))
    found: Json = {}
    left = most
    for told in ranked:
        one = found[str(told.number)] = proposals.proposal(chronicle, told.number)
        left -= len(zlib.compress(json.dumps(one["texts"]).encode(), 1)) // 2  # together they take about half
        if left < 0:
            one["texts"] = [{**text, "rows": [], "cut": _LEFT_OUT} for text in one["texts"]]
    return found


class _Frames:
    """All frames of some steps in the order in which they are kept: those that show steps at rest before those of animations."""

    def __init__(self, chronicle: Chronicle, every: Sequence[Json]) -> None:
        self._chronicle, self._every = chronicle, every
        resting = dict.fromkeys(name for step in every for name in _resting(step))
        moving = dict.fromkeys(name for step in every for name in step["frames"])
        self.names = {name: number for number, name in enumerate(dict.fromkeys([*resting, *moving]))}

    def packs(self, room: int) -> tuple[list[bytes], int]:
        """As many packs as there is room for, and how many frames are in them."""
        found: list[bytes] = []
        kept = 0
        for names in batched(self.names, PACK):
            pack = zlib.compress(b"".join(self._packed(names)), 9)
            room -= _in_base64([pack])
            if room < 0:
                break
            found.append(pack)
            kept += len(names)
        return found, kept

    def _packed(self, names: Iterable[str]) -> Iterator[bytes]:
        for name in names:
            frame = self._chronicle.ledger.seen(name)
            yield _SHAPE.pack(*frame.shape) + frame.tobytes()

    def renumbered(self, kept: int | None) -> list[Json]:
        """The steps with numbers for ids. kept: how many frames are, the first ones (None: all)."""
        return [self._renumbered(step, len(self.names) if kept is None else kept) for step in self._every]

    def _renumbered(self, step: Json, kept: int) -> Json:
        *moving, settled = (self.names[name] for name in step["frames"])
        answer = step | {"frames": [*(number for number in moving if number < kept), settled]}
        if "predicted" in step:
            answer["predicted"] = {m: one | {"frame": self.names[one["frame"]]} for m, one in step["predicted"].items()}
        return answer


def _resting(step: Json) -> Iterator[str]:
    yield step["frames"][-1]
    yield from (one["frame"] for one in step.get("predicted", {}).values())


def _zipped(found: Json) -> bytes:
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode(), 9)


def _in_base64(blobs: Iterable[bytes]) -> int:
    return sum(-(-len(blob) // 3) * 4 + 100 for blob in blobs)
