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

from lawbook.arc.settings import GAMES_VARIABLE, KEY_VARIABLE, MODE_VARIABLE, MODES, REMOTE_MODES
from lawbook.core.plugins import suggest_name
from lawbook.errors import UsageError
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.world import World

_OVERRIDING_VARIABLES = (MODE_VARIABLE, "ENVIRONMENTS_DIR", "RECORDINGS_DIR")


class ArcSource:
    """The entry point `arc`."""

    summary = f"ARC-AGI-3 games from the folder that --games or {GAMES_VARIABLE} names, or on a server (--mode)."

    def names(self) -> Iterator[tuple[str, str]]:
        for name, folder in (find_installed_games() if os.environ.get(GAMES_VARIABLE) else {}).items():
            baselines = _get_baselines(_read_metadata(folder, name))
            yield (
                name,
                f"{len(baselines)} levels; people took {sum(baselines):,} actions." if baselines else "Nothing is known about it.",
            )

    def make(self, name: str, options: Mapping[str, str]) -> World:
        address_options = AddressOptions(f"arc:{name}", options)
        seed = address_options.get_int("seed", 0, low=0, high=2**31 - 1)
        mode = address_options.get_str("mode", "offline", MODES)
        card, timeout = address_options.get_str("card", ""), address_options.get_float("timeout", 30.0, low=0.1, high=50.0)
        address_options.reject_unread()
        if mode in REMOTE_MODES:
            return self._start_remote(name, mode, card, timeout)
        if mode == "normal":
            self._download(name)
        folder = find_game_folder(name)
        metadata = _read_metadata(folder, name)
        with preserve_environment():
            from lawbook.arc import local
        try:
            return local.start(folder, metadata, _get_baselines(metadata), seed)
        except UsageError as error:
            raise UsageError(f"arc:{name}: {error}") from error

    def _start_remote(self, name: str, mode: str, card: str, timeout: float) -> World:
        with preserve_environment():
            from lawbook.arc import remote

            # What people took is known where the game lies in the folder too; a server need not say.
            baselines = (
                _get_baselines(_read_metadata(find_game_folder(name), name))
                if os.environ.get(GAMES_VARIABLE) and _is_installed(name)
                else None
            )
            return remote.start(name, mode, card, timeout, baselines)

    def _download(self, name: str) -> None:
        root = os.environ.get(GAMES_VARIABLE, "")
        if not root:
            raise UsageError(f"arc:{name}: name the folder that games are downloaded to with --games, or in {GAMES_VARIABLE}.")
        with preserve_environment():
            from lawbook.arc import remote

            remote.download(name, Path(root).expanduser())
        os.environ.pop(KEY_VARIABLE, None)  # the game's own code runs in this process next


SOURCE = ArcSource()


def _is_installed(name: str) -> bool:
    try:
        return bool(find_game_folder(name))
    except UsageError:
        return False


def find_installed_games() -> dict[str, Path]:
    """Every game in the folder, by its path there (`<game>/<version>`). Raises UsageError where there is no folder."""
    folder_name = os.environ.get(GAMES_VARIABLE, "")
    root = Path(folder_name).expanduser()
    if not folder_name or not root.is_dir():
        problem = f"{root} is no folder" if folder_name else "No folder of games is known"
        raise UsageError(f"{problem}; name the one that holds <game>/<version>/metadata.json with --games, or in {GAMES_VARIABLE}.")
    folders = sorted(file.parent for file in root.rglob("metadata.json") if file.parent != root)
    return {folder.relative_to(root).as_posix(): folder for folder in folders}


def find_game_folder(name: str) -> Path:
    """The folder of `<game>/<version>`, or of `<game>` where there is one version of it. Raises UsageError."""
    games = find_installed_games()
    if name in games:
        return games[name]
    versions = [f"arc:{candidate}" for candidate in games if candidate.startswith(f"{name}/")]
    if len(versions) == 1:
        return games[versions[0].removeprefix("arc:")]
    if versions:
        raise UsageError(f"There are {len(versions)} versions of arc:{name}; name one: {', '.join(versions)}.")
    listing = f"There is: {', '.join(games)}." if games else f"The folder {os.environ[GAMES_VARIABLE]} holds no game."
    suggestion = suggest_name(name, [*(candidate.partition("/")[0] for candidate in games), *games])
    raise UsageError(f"There is no world arc:{name}.{suggestion} {listing}")


def _read_metadata(folder: Path, name: str) -> dict[str, Any]:
    try:
        metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
        if not isinstance(metadata, dict):
            raise ValueError("it is no JSON object")
    except (OSError, ValueError) as error:
        raise UsageError(f"arc:{name}: its metadata.json cannot be read ({error}); mend that file.") from error
    return metadata


def _get_baselines(metadata: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Actions that people took, per level; None where they are not known."""
    baselines = metadata.get("baseline_actions")
    if isinstance(baselines, list) and baselines and all(type(number) is int for number in baselines):
        return tuple(baselines)
    return None


@contextmanager
def preserve_environment() -> Iterator[None]:
    """The toolkit reads a `.env` of the working directory into our environment when it is imported; keep it as it was.

    Meanwhile no variable overrules what it is told. ONLY_RESET_LEVELS goes for good: it would change what a reset does.
    """
    saved = dict(os.environ)
    saved.pop("ONLY_RESET_LEVELS", None)
    for name in _OVERRIDING_VARIABLES:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)
