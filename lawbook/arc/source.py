"""ARC-AGI-3 games through the official `arc-agi` toolkit: `arc:<game>[/<version>]`, from a folder of one's own or over REST.

`mode=offline` (the default) plays what lies in the folder; `mode=normal` has the toolkit download what is missing there;
`mode=online` and `mode=competition` play on the server, billed to the scorecard that `card` names.

The folder is laid out as the toolkit lays it out (`<game>/<version>/metadata.json` with the game's source beside it); `--games` or
LAWBOOK_GAMES names it. A game is known by where it lies, since its metadata may name another version. Neither its name nor its
title is part of anything that a mind or a program is shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lawbook.arc.settings import GAMES, KEY, MODE, MODES, REMOTE
from lawbook.core.plugins import nearest
from lawbook.errors import UsageError
from lawbook.worlds.address_options import Options
from lawbook.worlds.world import World

_OVERRULING = (MODE, "ENVIRONMENTS_DIR", "RECORDINGS_DIR")


class ArcSource:
    """The entry point `arc`."""

    summary = f"ARC-AGI-3 games from the folder that --games or {GAMES} names, or on a server (--mode)."

    def names(self) -> Iterator[tuple[str, str]]:
        for name, folder in (installed() if os.environ.get(GAMES) else {}).items():
            known = _baselines(_metadata(folder, name))
            yield name, f"{len(known)} levels; people took {sum(known):,} actions." if known else "Nothing is known about it."

    def make(self, name: str, options: Mapping[str, str]) -> World:
        given = Options(f"arc:{name}", options)
        seed = given.whole("seed", 0, low=0, high=2**31 - 1)
        mode = given.word("mode", "offline", MODES)
        card, timeout = given.word("card", ""), given.number("timeout", 30.0, low=0.1, high=50.0)
        given.done()
        if mode in REMOTE:
            return self._remote(name, mode, card, timeout)
        if mode == "normal":
            self._download(name)
        folder = find(name)
        metadata = _metadata(folder, name)
        with environment_kept():
            from lawbook.arc import local
        try:
            return local.start(folder, metadata, _baselines(metadata), seed)
        except UsageError as error:
            raise UsageError(f"arc:{name}: {error}") from error

    def _remote(self, name: str, mode: str, card: str, timeout: float) -> World:
        with environment_kept():
            from lawbook.arc import remote

            # What people took is known where the game lies in the folder too; a server need not say.
            known = _baselines(_metadata(find(name), name)) if os.environ.get(GAMES) and _has(name) else None
            return remote.start(name, mode, card, timeout, known)

    def _download(self, name: str) -> None:
        root = os.environ.get(GAMES, "")
        if not root:
            raise UsageError(f"arc:{name}: name the folder that games are downloaded to with --games, or in {GAMES}.")
        with environment_kept():
            from lawbook.arc import remote

            remote.download(name, Path(root).expanduser())
        os.environ.pop(KEY, None)  # the game's own code runs in this process next


SOURCE = ArcSource()


def _has(name: str) -> bool:
    try:
        return bool(find(name))
    except UsageError:
        return False


def installed() -> dict[str, Path]:
    """Every game in the folder, by its path there (`<game>/<version>`). Raises UsageError where there is no folder."""
    named = os.environ.get(GAMES, "")
    root = Path(named).expanduser()
    if not named or not root.is_dir():
        what = f"{root} is no folder" if named else "No folder of games is known"
        raise UsageError(f"{what}; name the one that holds <game>/<version>/metadata.json with --games, or in {GAMES}.")
    folders = sorted(file.parent for file in root.rglob("metadata.json") if file.parent != root)
    return {folder.relative_to(root).as_posix(): folder for folder in folders}


def find(name: str) -> Path:
    """The folder of `<game>/<version>`, or of `<game>` where there is one version of it. Raises UsageError."""
    games = installed()
    if name in games:
        return games[name]
    versions = [f"arc:{known}" for known in games if known.startswith(f"{name}/")]
    if len(versions) == 1:
        return games[versions[0].removeprefix("arc:")]
    if versions:
        raise UsageError(f"There are {len(versions)} versions of arc:{name}; name one: {', '.join(versions)}.")
    there = f"There is: {', '.join(games)}." if games else f"The folder {os.environ[GAMES]} holds no game."
    near = nearest(name, [*(known.partition("/")[0] for known in games), *games])
    raise UsageError(f"There is no world arc:{name}.{near} {there}")


def _metadata(folder: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")
    except (OSError, ValueError) as error:
        raise UsageError(f"arc:{name}: its metadata.json cannot be read ({error}); mend that file.") from error
    return found


def _baselines(metadata: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Actions that people took, per level; None where they are not known."""
    found = metadata.get("baseline_actions")
    if isinstance(found, list) and found and all(type(number) is int for number in found):
        return tuple(found)
    return None


@contextmanager
def environment_kept() -> Iterator[None]:
    """The toolkit reads a `.env` of the working directory into our environment when it is imported; keep it as it was.

    Meanwhile no variable overrules what it is told. ONLY_RESET_LEVELS goes for good: it would change what a reset does.
    """
    before = dict(os.environ)
    before.pop("ONLY_RESET_LEVELS", None)
    for name in _OVERRULING:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
