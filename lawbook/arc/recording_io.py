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
from typing import IO, NamedTuple

from lawbook.arc import recording_format
from lawbook.arc.recording_format import RecordingLine
from lawbook.core.record import RESET, Action, Observation, Record, Status, completes_last_level
from lawbook.core.results import RunOutcome
from lawbook.errors import UsageError
from lawbook.ledger.contents import load_observation, store_observation
from lawbook.ledger.events import CloseEvent, EventKind, NoteEvent, ObserveEvent, OpenEvent, RecordedSandbox, RecordingSource
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.folder import RunConfig, RunFolder, collect_versions
from lawbook.worlds.address import WorldAddress, check_scheme
from lawbook.worlds.arcengine_outcome import STATES, interpret_state
from lawbook.worlds.world import WorldSpec, pack_spec

_GZIP = b"\x1f\x8b"
_LINES_PER_COMMIT = 100
"""Lines to a transaction of an import."""

# What the engine of ARC-AGI-3 knows; other recordings have the actions that are in them.
_ARC_ACTIONS, _ARC_CLICKS = frozenset(range(1, 8)), frozenset({6})


# -- reading ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordingSummary:
    """What a whole recording holds: found by reading all of it before anything is written."""

    game: str
    guid: str
    spec: WorldSpec
    n_actions: int
    won: bool
    digest: str

    @property
    def world(self) -> str:
        """The address of the world it was recorded in, as far as it tells: its `game_id`, or the ARC-AGI-3 game of that name."""
        if _is_address(self.game):
            return self.game
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.game).strip("-") or "unknown"
        return f"arc:{name.replace('-', '/', 1)}"


class RecordedStep(NamedTuple):
    """What one line adds to the record. action: None for the opening; trajectory: which it belongs to, a new one for RESET."""

    action: Action | None
    observation: Observation
    trajectory: int


class RecordingReader:
    """Takes lines in order and says what each tells; knows where the record stands by then, and holds none of it."""

    def __init__(self) -> None:
        self.levels: int | None = None
        self.last_observation: Observation | None = None
        self.trajectory, self.n_actions = 0, 0

    @property
    def won(self) -> bool:
        last = self.last_observation
        return last is not None and completes_last_level(last, self.levels)

    def read_line(self, line: RecordingLine) -> RecordedStep | None:
        """None: an action that changed nothing, since the level or the game was over. Raises ValueError where a line does not
        follow from those before it. The first line opens the record, whatever its action was."""
        if line.state not in STATES:
            raise ValueError(f"its `state` is none of {', '.join(STATES)} ({line.state!r})")
        if self.last_observation is None:
            self.levels = line.levels
            return self._add(None, line, Status.RUNNING, line.completed)
        if line.levels != self.levels:
            raise ValueError(f"its `win_levels` is {line.levels or 0}, and was {self.levels or 0} before")
        reset = line.action == RESET
        if not reset and (self.won or self.last_observation.status in (Status.OVER, Status.TRUNCATED)):
            return None
        status, level = interpret_state(line.state, line.completed, line.levels, self.last_observation.level, reset=reset)
        if line.truncated and status is not Status.COMPLETED:
            status = Status.TRUNCATED
        return self._add(line.action, line, status, level)

    def _add(self, action: Action | None, line: RecordingLine, status: Status, level: int) -> RecordedStep:
        if not line.frames:
            raise ValueError("it has no frames, although nothing was over")
        shape = line.frames[-1].shape
        if self.last_observation is not None and shape != self.last_observation.frame.shape:
            raise ValueError(f"its frames are {shape[0]} x {shape[1]}, and were of another shape before")
        if action is not None and ((action.x or 0) >= shape[1] or (action.y or 0) >= shape[0]):
            raise ValueError(f"its click at x={action.x}, y={action.y} lies outside the frame")
        follows_completion = self.last_observation is not None and self.last_observation.status is Status.COMPLETED and not self.won
        self.trajectory += follows_completion + (action == RESET)
        self.n_actions += action is not None
        self.last_observation = Observation(line.frames, status, level, line.available, line.reward)
        return RecordedStep(action, self.last_observation, self.trajectory)


def summarize_recording(file: Path) -> RecordingSummary:
    """Read a whole recording. Raises UsageError that names the line where it is malformed, and what is wrong there."""
    reader, first_line = RecordingReader(), None
    digest, action_ids, click_ids = sha256(), set[int](), set[int]()
    for text, line, step in _read_steps(file, reader):
        digest.update(text.encode() + b"\n")
        first_line = first_line or line
        action_ids |= {line.action.id, *line.available} if step else set()
        click_ids |= {line.action.id} if line.action.x is not None else set()
    if first_line is None:
        raise UsageError(f"{file} holds no line; a recording has one for each action.")
    if not _is_address(first_line.game):
        action_ids, click_ids = action_ids | _ARC_ACTIONS, click_ids | _ARC_CLICKS
    spec = WorldSpec(
        shape=(first_line.frames[-1].shape[0], first_line.frames[-1].shape[1]),
        actions=tuple(sorted(action_ids - {RESET.id})) or (1,),
        clicks=tuple(sorted(click_ids)),
        levels=reader.levels,
        baseline="optimal" if _is_address(first_line.game) else "human",
    )
    return RecordingSummary(first_line.game, first_line.guid, spec, reader.n_actions, reader.won, digest.hexdigest())


def read_record(file: Path) -> tuple[Record, WorldSpec]:
    """A whole recording as a record, and what it tells of its world. Raises UsageError as `survey` does."""
    summary, reader = summarize_recording(Path(file)), RecordingReader()
    record = Record(summary.spec.levels)
    for _, _, step in _read_steps(Path(file), reader):
        if step is not None:
            record.extend(step.action, step.observation)
    return record, summary.spec


def _read_steps(file: Path, reader: RecordingReader) -> Iterator[tuple[str, RecordingLine, RecordedStep | None]]:
    """Every line that is not blank: its text, what it says, what it tells."""
    line_number, game = 0, None
    try:
        with _open_stream(file) as stream:
            for raw in stream:
                line_number += 1
                text = raw.removesuffix(b"\n").decode("utf-8")
                if not text.strip():
                    continue
                line = recording_format.parse_line(text)
                game = line.game if game is None else game
                if line.game != game:
                    raise ValueError(f"it is of another game ({line.game!r}) than the lines before it")
                yield text, line, reader.read_line(line)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise UsageError(f"{file} cannot be read ({error.strerror}); name a .jsonl or .jsonl.gz recording.") from error
        raise UsageError(f"{file} breaks off after line {line_number}: its compression is damaged; get it anew.") from error
    except ValueError as error:
        raise UsageError(f"{file}, line {max(line_number, 1)}: {error}; mend or leave out that line.") from error


@contextmanager
def _open_stream(file: Path) -> Iterator[IO[bytes]]:
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
    get_protocol(config.protocol)
    if config.world:
        check_scheme(WorldAddress.parse(config.world))
    file, summary = Path(file), summarize_recording(Path(file))
    config = replace(config, world=config.world or summary.world, budget=config.budget + summary.n_actions)
    try:
        out.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".import-", dir=out))
    except OSError as error:
        raise UsageError(f"Cannot make a run folder in {out} ({error.strerror}); choose another with --out.") from error
    try:
        staged = RunFolder.create(staging, config)
        with Ledger.create(staged.ledger) as ledger:
            _write_events(ledger, file, summary, config)
        return RunFolder(_move_into_place(staged.path, out))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write_events(ledger: Ledger, file: Path, summary: RecordingSummary, config: RunConfig) -> None:
    reader, count = RecordingReader(), 0
    opening = OpenEvent(
        RecordedSettings(asdict(config)),
        RecordedSpec(pack_spec(summary.spec)),
        collect_versions(),
        RecordedSandbox("", {}),
        recording=RecordingSource(summary.game, summary.guid, summary.digest),
    )
    digest = sha256()
    for count, (text, line, step) in enumerate(_read_steps(file, reader)):
        digest.update(text.encode() + b"\n")
        if count == 0:
            ledger.write(opening, now=line.time)
        if step is None:
            sentence = "An action that changed nothing: the level was over."
            ledger.write(NoteEvent(sentence, line=ledger.put_text(text)), now=line.time)
        else:
            observed = store_observation(ledger, step.observation, step.action, step.trajectory)
            ledger.write(replace(observed, line=ledger.put_text(line.rest)), now=line.time)
        if count % _LINES_PER_COMMIT == _LINES_PER_COMMIT - 1:
            ledger.commit()
    if digest.hexdigest() != summary.digest:
        raise UsageError(f"{file} was changed while it was read; import it again.")
    if summary.won:
        sentence = "The last level is completed, by whoever was recorded."
        ledger.write(CloseEvent(RunOutcome.WON, sentence, ledger.head))
    ledger.commit()


def _move_into_place(staged: Path, out: Path) -> Path:
    """Move a finished folder to its place, under another name where something has its own."""
    for number in range(1, 1000):
        path = out / (staged.name if number == 1 else f"{staged.name}-{number}")
        if path.exists():
            continue
        try:
            return staged.rename(path)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"Cannot make a run folder in {out} ({error.strerror}); choose another with --out.") from error
    raise UsageError(f"{out} holds too many runs of this second; choose another folder with --out.")


# -- exporting -------------------------------------------------------------------------------------------------------------------


def format_lines(ledger: Ledger) -> Iterator[str]:
    """A run as lines of a recording: those it was imported from exactly as they were, its own in the toolkit's form.

    Raises UsageError where the ledger holds no run.
    """
    opening = next(ledger.read_events(), None)
    if opening is None or not isinstance(opening.data, OpenEvent):
        raise UsageError("This ledger has no opening: the run was ended before it began; start another.")
    levels, source = opening.data.spec.levels, opening.data.recording
    game = source.game if source else _format_game_id(opening.data.run.world)
    guid = source.guid if source else str(uuid.UUID(opening.hash[:32]))
    steps_in_level, won = 0, False  # steps since the level began
    for event in ledger.read_events([EventKind.OBSERVE, EventKind.NOTE]):
        data = event.data
        if not isinstance(data, ObserveEvent):
            if isinstance(data, NoteEvent) and data.line is not None:
                yield ledger.get_text(data.line)
            continue
        action, observation = data.action, load_observation(ledger, data)
        reset = action is None or action == RESET
        if data.line is not None:
            rest = ledger.get_text(data.line)
        else:
            state = "GAME_OVER" if observation.status is Status.OVER else "NOT_FINISHED"
            if completes_last_level(observation, levels):
                state = "WIN"
            rest = recording_format.compose_line(
                time=event.time,
                game=game,
                guid=guid,
                action=action or RESET,
                state=state,
                completed=observation.level,
                levels=levels,
                available=observation.available,
                full_reset=reset and (steps_in_level == 0 or won),
                truncated=observation.status is Status.TRUNCATED,
                reward=observation.reward,
            )
        yield recording_format.format_line(rest, observation.frames)
        won = completes_last_level(observation, levels)
        steps_in_level = 0 if reset or observation.status is Status.COMPLETED else steps_in_level + 1


def export_run(folder: RunFolder, file: Path) -> int:
    """Write a run as a recording, compressed where the name ends in .gz; returns the number of lines. Raises UsageError."""
    partial_file = file.with_name(f".{file.name}.{os.getpid()}.part")
    count = 0
    try:
        with Ledger.open(folder.ledger, readonly=True) as ledger, partial_file.open("wb") as stream:
            compressed = gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if file.suffix == ".gz" else None
            for line in format_lines(ledger):
                (compressed or stream).write(line.encode() + b"\n")
                count += 1
            if compressed:
                compressed.close()
        partial_file.replace(file)
        return count
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); choose another place with -o.") from error
    finally:
        partial_file.unlink(missing_ok=True)


def _format_game_id(world: str) -> str:
    """What stands as `game_id`: the toolkit's own name of an ARC-AGI-3 game, else the address of the world."""
    if not _is_address(world):
        return world
    address = WorldAddress.parse(world)
    return address.name.replace("/", "-", 1) if address.scheme == "arc" and not address.options else world
