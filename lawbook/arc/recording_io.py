"""Recordings and runs: a recording becomes a run folder that anybody can learn from, and a run becomes a recording again."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

from lawbook.arc import recording_format
from lawbook.arc.recording_format import Line
from lawbook.core.record import RESET, Action, Observation, Record, Status
from lawbook.errors import UsageError
from lawbook.ledger.codec import action_of
from lawbook.ledger.ledger import Kind, Ledger, pack_observation, read_observation
from lawbook.protocols.protocol import find_protocol
from lawbook.runs.folder import RunConfig, RunFolder, versions
from lawbook.runs.state import Ending
from lawbook.worlds.address import WorldAddress, check
from lawbook.worlds.arcengine_outcome import STATES, outcome
from lawbook.worlds.world import WorldSpec

_GZIP = b"\x1f\x8b"
_EVERY = 100
"""Lines to a transaction of an import."""

# What the engine of ARC-AGI-3 knows; other recordings have the actions that are in them.
_ARC_ACTIONS, _ARC_CLICKS = frozenset(range(1, 8)), frozenset({6})


# -- reading ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What a whole recording holds: found by reading all of it before anything is written."""

    game: str
    guid: str
    spec: WorldSpec
    actions: int
    won: bool
    digest: str

    @property
    def world(self) -> str:
        """The address of the world it was recorded in, as far as it tells: its `game_id`, or the ARC-AGI-3 game of that name."""
        if _is_address(self.game):
            return self.game
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.game).strip("-") or "unknown"
        return f"arc:{name.replace('-', '/', 1)}"


class Told(NamedTuple):
    """What one line adds to the record. action: None for the opening; trajectory: which it belongs to, a new one for RESET."""

    action: Action | None
    seen: Observation
    trajectory: int


class Telling:
    """Takes lines in order and says what each tells; knows where the record stands by then, and holds none of it."""

    def __init__(self) -> None:
        self.levels: int | None = None
        self.last: Observation | None = None
        self.trajectory, self.actions = 0, 0

    @property
    def won(self) -> bool:
        last = self.last
        return last is not None and last.status is Status.COMPLETED and self.levels is not None and last.level >= self.levels

    def take(self, line: Line) -> Told | None:
        """None: an action that changed nothing, since the level or the game was over. Raises ValueError where a line does not
        follow from those before it. The first line opens the record, whatever its action was."""
        if line.state not in STATES:
            raise ValueError(f"its `state` is none of {', '.join(STATES)} ({line.state!r})")
        if self.last is None:
            self.levels = line.levels
            return self._add(None, line, Status.RUNNING, line.completed)
        if line.levels != self.levels:
            raise ValueError(f"its `win_levels` is {line.levels or 0}, and was {self.levels or 0} before")
        reset = line.action == RESET
        if not reset and (self.won or self.last.status in (Status.OVER, Status.TRUNCATED)):
            return None
        status, level = outcome(line.state, line.completed, line.levels, self.last.level, reset=reset)
        if line.truncated and status is not Status.COMPLETED:
            status = Status.TRUNCATED
        return self._add(line.action, line, status, level)

    def _add(self, action: Action | None, line: Line, status: Status, level: int) -> Told:
        if not line.frames:
            raise ValueError("it has no frames, although nothing was over")
        shape = line.frames[-1].shape
        if self.last is not None and shape != self.last.frame.shape:
            raise ValueError(f"its frames are {shape[0]} x {shape[1]}, and were of another shape before")
        if action is not None and ((action.x or 0) >= shape[1] or (action.y or 0) >= shape[0]):
            raise ValueError(f"its click at x={action.x}, y={action.y} lies outside the frame")
        completed = self.last is not None and self.last.status is Status.COMPLETED and not self.won
        self.trajectory += completed + (action == RESET)
        self.actions += action is not None
        self.last = Observation(line.frames, status, level, line.available, line.reward)
        return Told(action, self.last, self.trajectory)


def survey(file: Path) -> Survey:
    """Read a whole recording. Raises UsageError that names the line where it is malformed, and what is wrong there."""
    telling, first = Telling(), None
    digest, used, clicks = sha256(), set[int](), set[int]()
    for text, line, told in _told(file, telling):
        digest.update(text.encode() + b"\n")
        first = first or line
        used |= {line.action.id, *line.available} if told else set()
        clicks |= {line.action.id} if line.action.x is not None else set()
    if first is None:
        raise UsageError(f"{file} holds no line; a recording has one for each action.")
    if not _is_address(first.game):
        used, clicks = used | _ARC_ACTIONS, clicks | _ARC_CLICKS
    spec = WorldSpec(
        shape=(first.frames[-1].shape[0], first.frames[-1].shape[1]),
        actions=tuple(sorted(used - {RESET.id})) or (1,),
        clicks=tuple(sorted(clicks)),
        levels=telling.levels,
        baseline="optimal" if _is_address(first.game) else "human",
    )
    return Survey(first.game, first.guid, spec, telling.actions, telling.won, digest.hexdigest())


def record_of(file: Path) -> tuple[Record, WorldSpec]:
    """A whole recording as a record, and what it tells of its world. Raises UsageError as `survey` does."""
    found, telling = survey(Path(file)), Telling()
    record = Record(found.spec.levels)
    for _, _, told in _told(Path(file), telling):
        if told is not None:
            record.extend(told.action, told.seen)
    return record, found.spec


def _told(file: Path, telling: Telling) -> Iterator[tuple[str, Line, Told | None]]:
    """Every line that is not blank: its text, what it says, what it tells."""
    number, game = 0, None
    try:
        with _opened(file) as stream:
            for raw in stream:
                number += 1
                text = raw.removesuffix(b"\n").decode("utf-8")
                if not text.strip():
                    continue
                line = recording_format.parse(text)
                game = line.game if game is None else game
                if line.game != game:
                    raise ValueError(f"it is of another game ({line.game!r}) than the lines before it")
                yield text, line, telling.take(line)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise UsageError(f"{file} cannot be read ({error.strerror}); name a .jsonl or .jsonl.gz recording.") from error
        raise UsageError(f"{file} breaks off after line {number}: its compression is damaged; get it anew.") from error
    except ValueError as error:
        raise UsageError(f"{file}, line {max(number, 1)}: {error}; mend or leave out that line.") from error


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    """The file's lines, unpacked where it begins as gzip does, whatever its name."""
    with file.open("rb") as stream:
        yield gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP else stream  # type: ignore[misc]


def _is_address(game: str) -> bool:
    """Whether a `game_id` is the address of a world, as in our own recordings; ARC-AGI-3's have no colon."""
    try:
        return bool(WorldAddress.parse(game))
    except UsageError:
        return False


# -- importing -------------------------------------------------------------------------------------------------------------------


def import_recording(file: Path, out: Path, config: RunConfig | None = None) -> RunFolder:
    """A run folder in `out` that holds all of a recording, and can be resumed like any run that broke off.

    config: what the run will be asked for when it goes on (its budget counts from the recording's end, its world may be left empty
    for the one the recording names). The record is the recording's; every line is kept, so that `export_run` gives it back byte
    for byte. The folder appears when it is complete. Raises UsageError that names the line where the file is malformed.
    """
    config = config or RunConfig("")
    find_protocol(config.protocol)
    if config.world:
        check(WorldAddress.parse(config.world))
    file, found = Path(file), survey(Path(file))
    config = replace(config, world=config.world or found.world, budget=config.budget + found.actions)
    try:
        out.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".import-", dir=out))
    except OSError as error:
        raise UsageError(f"Cannot make a run folder in {out} ({error.strerror}); choose another with --out.") from error
    try:
        made = RunFolder.make(staging, config)
        with Ledger.create(made.ledger) as ledger:
            _write(ledger, file, found, config)
        return RunFolder(_settle(made.path, out))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(ledger: Ledger, file: Path, found: Survey, config: RunConfig) -> None:
    telling, count = Telling(), 0
    opening = {
        "run": asdict(config),
        "versions": versions(),
        "spec": asdict(found.spec),
        "sandbox": {"level": "", "facts": {}},
        "recording": {"game": found.game, "guid": found.guid, "digest": found.digest},
    }
    digest = sha256()
    for count, (text, line, told) in enumerate(_told(file, telling)):
        digest.update(text.encode() + b"\n")
        if count == 0:
            ledger.append(Kind.OPEN, opening, now=line.time)
        if told is None:
            body = {"text": "An action that changed nothing: the level was over.", "line": ledger.put_text(text)}
            ledger.append(Kind.NOTE, body, now=line.time)
        else:
            body = pack_observation(ledger, told.seen, told.action, told.trajectory)
            ledger.append(Kind.OBSERVE, {**body, "line": ledger.put_text(line.rest)}, now=line.time)
        if count % _EVERY == _EVERY - 1:
            ledger.commit()
    if digest.hexdigest() != found.digest:
        raise UsageError(f"{file} was changed while it was read; import it again.")
    if found.won:
        sentence = "The last level is completed, by whoever was recorded."
        ledger.append(Kind.CLOSE, {"outcome": Ending.WON.value, "sentence": sentence, "head": ledger.head})
    ledger.commit()


def _settle(made: Path, out: Path) -> Path:
    """Move a finished folder to its place, under another name where something has its own."""
    for number in range(1, 1000):
        path = out / (made.name if number == 1 else f"{made.name}-{number}")
        if path.exists():
            continue
        try:
            return made.rename(path)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"Cannot make a run folder in {out} ({error.strerror}); choose another with --out.") from error
    raise UsageError(f"{out} holds too many runs of this second; choose another folder with --out.")


# -- exporting -------------------------------------------------------------------------------------------------------------------


def lines(ledger: Ledger) -> Iterator[str]:
    """A run as lines of a recording: those it was imported from exactly as they were, its own in the toolkit's form.

    Raises UsageError where the ledger holds no run.
    """
    opening = next(ledger.events(), None)
    if opening is None or opening.kind is not Kind.OPEN:
        raise UsageError("This ledger has no opening: the run was ended before it began; start another.")
    levels, came = opening.body["spec"]["levels"], opening.body.get("recording")
    game = came["game"] if came else _game(opening.body["run"]["world"])
    guid = came["guid"] if came else str(uuid.UUID(opening.hash[:32]))
    since, won = 0, False  # steps since the level began
    for event in ledger.events([Kind.OBSERVE, Kind.NOTE]):
        body: Any = event.body
        if event.kind is Kind.NOTE:
            if "line" in body:
                yield ledger.text(body["line"])
            continue
        action, seen = action_of(body["action"]), read_observation(ledger, body)
        reset = action is None or action == RESET
        if "line" in body:
            rest = ledger.text(body["line"])
        else:
            state = "GAME_OVER" if seen.status is Status.OVER else "NOT_FINISHED"
            if seen.status is Status.COMPLETED and levels is not None and seen.level >= levels:
                state = "WIN"
            rest = recording_format.compose(
                time=event.time,
                game=game,
                guid=guid,
                action=action or RESET,
                state=state,
                completed=seen.level,
                levels=levels,
                available=seen.available,
                full_reset=reset and (since == 0 or won),
                truncated=seen.status is Status.TRUNCATED,
                reward=seen.reward,
            )
        yield recording_format.written(rest, seen.frames)
        won = seen.status is Status.COMPLETED and levels is not None and seen.level >= levels
        since = 0 if reset or seen.status is Status.COMPLETED else since + 1


def export_run(folder: RunFolder, file: Path) -> int:
    """Write a run as a recording, compressed where the name ends in .gz; returns the number of lines. Raises UsageError."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    count = 0
    try:
        with Ledger.open(folder.ledger, readonly=True) as ledger, part.open("wb") as plain:
            zipped = gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if file.suffix == ".gz" else None
            for line in lines(ledger):
                (zipped or plain).write(line.encode() + b"\n")
                count += 1
            if zipped:
                zipped.close()
        part.replace(file)
        return count
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); choose another place with -o.") from error
    finally:
        part.unlink(missing_ok=True)


def _game(world: str) -> str:
    """What stands as `game_id`: the toolkit's own name of an ARC-AGI-3 game, else the address of the world."""
    if not _is_address(world):
        return world
    address = WorldAddress.parse(world)
    return address.name.replace("/", "-", 1) if address.scheme == "arc" and not address.options else world
