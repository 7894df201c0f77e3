"""Recordings: the toolkit's form read and written byte for byte, runs made of them, and what is malformed refused by its line."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arc_games import lay_out
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakes import LAKE
from minds import DOCS, Scripted, replaced, worked_example

from lawbook.arc import recording_io
from lawbook.arc.recording_format import format_line, parse_line
from lawbook.arc.recording_io import export_run, import_recording, summarize_recording
from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import RESET, Action, Record, Status
from lawbook.core.results import ProgramError, RunOutcome, VerdictKind
from lawbook.errors import UsageError
from lawbook.ledger.events import EventKind, ObserveEvent
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder, list_runs
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify
from lawbook.worlds.address import WorldAddress, make_world

SHARED = Path(__file__).parents[3] / "shared" / "data" / "recordings"
GAMES = sorted(file.name.partition(".")[0] for file in SHARED.glob("*.recording.jsonl.gz")) or ["none"]


def record_of(folder: RunFolder) -> Record:
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        record = fold_events(ledger).record
        for trajectory in record:  # animation is read when it is looked at: look while the ledger is open
            for _, seen in [(None, trajectory.first), *trajectory.steps]:
                object.__setattr__(seen, "frames", tuple(seen.frames))
        return record


def told(record: Record) -> list[Any]:
    """Everything a record says, so that two can be compared."""
    return [
        [
            (action and tuple(action), o.status, o.level, o.available, [(frame.shape, frame.tobytes()) for frame in o.frames])
            for action, o in [(None, trajectory.first), *trajectory.steps]
        ]
        for trajectory in record
    ]


def round_trip(folder: RunFolder, to: Path) -> bytes:
    export_run(folder, to)
    return to.read_bytes()


# -- one line ---------------------------------------------------------------------------------------------------------------

texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["RESET", *(f"ACTION{number}" for number in range(1, 13)), 0, 3])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Any line a recorder might write: fields in any order, more of them than the form knows, and any way of writing JSON."""
    height, width, count = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(0, 3))
    data = {
        "game_id": draw(texts),
        "state": draw(st.sampled_from(["NOT_FINISHED", "WIN", "GAME_OVER", "ANYTHING"])),
        "levels_completed": draw(st.integers(0, 300)),
        "win_levels": draw(st.integers(0, 300)),
        "action_input": {"id": draw(names), "data": draw(st.sampled_from([{}, {"x": 3, "y": 0}])), "reasoning": draw(values)},
        "guid": draw(texts | st.none()),
        "full_reset": draw(st.booleans()),
        "available_actions": draw(st.lists(st.integers(0, 9), max_size=4)),
        "frame": [[[draw(st.integers(0, 255)) for _ in range(width)] for _ in range(height)] for _ in range(count)],
    }
    data |= draw(st.dictionaries(texts.filter(lambda name: name not in data), values, max_size=2))
    line = {"timestamp": draw(st.sampled_from(["2026-11-30T09:53:46.965612+00:00", "yesterday", 7])), "data": data}
    line["data"] = dict(draw(st.permutations(list(data.items()))))
    if draw(st.booleans()):
        line = dict(reversed(line.items()))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " :  ")]))
    return json.dumps(line, separators=separators, ensure_ascii=draw(st.booleans()))


@given(lines())
@settings(max_examples=200, deadline=None)
def test_a_line_is_written_again_byte_for_byte(text: str) -> None:
    line = parse_line(text)
    assert format_line(line.rest, line.frames) == text
    data = json.loads(text)["data"]
    assert [frame.tolist() for frame in line.frames] == data["frame"]
    assert (line.completed, line.levels or 0, line.state) == (data["levels_completed"], data["win_levels"], data["state"])
    assert list(line.available) == [number for number in data["available_actions"] if number]
    as_the_toolkit_does = text == json.dumps(json.loads(text))
    assert (json.loads(line.rest)["data"]["frame"] is None) == as_the_toolkit_does  # frames are kept once, by content


# -- whole recordings ---------------------------------------------------------------------------------------------------------


@st.composite
def plays(draw: st.DrawFn) -> tuple[list[str], Record]:
    """A game as it might go, as lines, and the record it makes."""
    levels, level, over = draw(st.sampled_from([None, 1, 2, 3])), 0, False
    dice = random.Random(draw(st.integers(0, 2**32)))
    record = Record(levels)
    lines: list[str] = []

    def line(name: str, data: dict[str, int], frames: list[Any], state: str, **more: Any) -> None:
        body = {"game_id": "ab12-34", "state": state, "levels_completed": level, "win_levels": levels or 0}
        body |= {"action_input": {"id": name, "data": data, "reasoning": None}, "guid": "g", "full_reset": False}
        body |= {"available_actions": [1, 2, 6], "frame": [frame.tolist() for frame in frames], **more}
        lines.append(
            json.dumps({"timestamp": "2026-11-30T09:53:46.965612+00:00", "data": body}, separators=dice.choice([None, (",", ":")]))
        )

    def frames() -> list[np.ndarray]:
        return [np.array([[dice.randrange(256) for _ in range(3)] for _ in range(2)], np.uint8) for _ in range(dice.randint(1, 3))]

    def see(action: Action | None, shown: list[np.ndarray], status: Status) -> None:
        record.extend(action, recording_io.Observation(tuple(shown), status, level, (1, 2, 6)))

    shown = frames()
    line("RESET", {}, shown, "NOT_FINISHED")
    see(None, shown, Status.RUNNING)
    for _ in range(draw(st.integers(0, 25))):
        what = dice.choice(["step", "step", "step", "click", "complete", "over", "truncate", "reset"])
        if over and what != "reset":
            line("ACTION1", {}, [], "GAME_OVER")  # billed, and nothing comes of it
            continue
        shown = frames()
        match what:
            case "step":
                number = dice.choice([1, 2])
                line(f"ACTION{number}", {}, shown, "NOT_FINISHED")
                see(Action(number), shown, Status.RUNNING)
            case "click":
                click = {"x": dice.randrange(3), "y": dice.randrange(2)}
                line("ACTION6", click, shown, "NOT_FINISHED")
                see(Action(6, **click), shown, Status.RUNNING)
            case "complete":
                level += 1
                over = level == levels
                line("ACTION1", {}, shown, "WIN" if over else "NOT_FINISHED")
                see(Action(1), shown, Status.COMPLETED)
            case "over" | "truncate":
                over = True
                state, more = ("GAME_OVER", {}) if what == "over" else ("NOT_FINISHED", {"truncated": True})
                line("ACTION2", {}, shown, state, **more)
                see(Action(2), shown, Status.OVER if what == "over" else Status.TRUNCATED)
            case "reset":
                level = 0 if record.is_won else level
                over = False
                line("RESET", {}, shown, "NOT_FINISHED")
                see(RESET, shown, Status.RUNNING)
    return lines, record


@given(plays())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_recording_becomes_its_record_and_comes_back_byte_for_byte(tmp_path: Path, played: tuple[list[str], Record]) -> None:
    text, expected = played
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([*text, ""]), encoding="utf-8")
    folder = import_recording(file, tmp_path / "runs")
    found = record_of(folder)
    assert told(found) == told(expected) and found.n_actions == expected.n_actions
    assert round_trip(folder, tmp_path / "b.jsonl") == file.read_bytes()
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert ledger.check() is None
        assert (EventKind.CLOSE in {event.kind for event in ledger}) == expected.is_won


def walked(tmp_path: Path, host: Host, world: str, actions: list[Action]) -> RunFolder:
    """A run of our own that did this, resetting where it had to."""
    config = RunConfig(world, mind="scripted", protocol="vanilla", budget=len(actions) * 2)
    with start_run(config, tmp_path, host=host, mind=Scripted()) as (folder, session):
        for action in actions:
            if session.record.needs_reset:
                session.reset("it is over")
            session.probe(action, "?")
    return folder


def test_a_run_of_our_own_goes_out_and_comes_in_the_same(tmp_path: Path, host: Host) -> None:
    """Over, truncated, reset and won: FrozenLake's own time limit is a thing the form has no word for."""
    left, right, down = Action(1), Action(3), Action(2)
    actions = [right, down, right, *[left] * 100, down, down, right, right, down, right]
    ours = walked(tmp_path, host, LAKE, actions)
    first = round_trip(ours, tmp_path / "a.jsonl.gz")
    text = gzip.decompress(first).decode().splitlines()
    assert [json.loads(line)["data"]["game_id"] for line in text] == [LAKE] * len(text)
    folder = import_recording(tmp_path / "a.jsonl.gz", tmp_path / "in")
    assert told(record_of(folder)) == told(record_of(ours))
    statuses = {o.status for trajectory in record_of(folder) for _, o in trajectory.steps}
    assert statuses == {Status.RUNNING, Status.OVER, Status.TRUNCATED, Status.COMPLETED}
    assert folder.load_config().world == LAKE
    assert round_trip(folder, tmp_path / "b.jsonl.gz") == first


def test_what_the_toolkit_records_and_what_we_record_are_one(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same actions in the same game, once through the toolkit with its own recorder and once through us."""
    from arc_agi import Arcade, OperationMode
    from arcengine import GameAction

    games = tmp_path / "games"
    lay_out(games)
    monkeypatch.setenv("LAWBOOK_GAMES", str(games))
    walk, mark = Action(1), Action(6, 9, 60)
    sent = [walk, mark, Action(7), walk, walk, walk, Action(2), walk]  # completes level 1; the 2 is game over, and needs a reset
    ours = walked(tmp_path, host, "arc:zq77/0a1b2c3d", sent)

    arcade = Arcade(operation_mode=OperationMode.OFFLINE, environments_dir=str(games), recordings_dir=str(tmp_path / "rec"))
    env = arcade.make("zq77-0a1b2c3d", save_recording=True)
    assert env is not None
    for action in [*sent[:-1], RESET, sent[-1]]:
        data = {} if action.x is None else {"x": action.x, "y": action.y}
        env.reset() if action == RESET else env.step(GameAction.from_id(action.id), data=data)
    (theirs,) = (tmp_path / "rec").rglob("*.jsonl")

    folder = import_recording(theirs, tmp_path / "in")
    assert folder.load_config().world == "arc:zq77/0a1b2c3d"
    assert round_trip(folder, tmp_path / "back.jsonl") == theirs.read_bytes()
    assert told(record_of(folder)) == told(record_of(ours))
    round_trip(ours, tmp_path / "ours.jsonl")
    for one, other in zip((tmp_path / "ours.jsonl").read_text().splitlines(), theirs.read_text().splitlines(), strict=True):
        mine, their = json.loads(one), json.loads(other)
        assert list(mine) == list(their) and list(mine["data"]) == list(their["data"])
        assert {**mine["data"], "guid": None} == {**their["data"], "guid": None}


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_recordings_of_real_games_come_back_byte_for_byte(game: str, tmp_path: Path) -> None:
    file = SHARED / f"{game}.recording.jsonl.gz"
    if not file.is_file():
        pytest.skip("there are no shared recordings beside this checkout")
    folder = import_recording(file, tmp_path)
    assert record_of(folder).n_actions == 600
    assert round_trip(folder, tmp_path / "back.jsonl") == gzip.decompress(file.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_a_real_game_shows_again_what_was_recorded(game: str, tmp_path: Path, host: Host) -> None:
    """The record is brought back in the game itself, every frame compared: the adapter and the recorder agree."""
    file = SHARED / f"{game}.recording.jsonl.gz"
    if not file.is_file():
        pytest.skip("there are no shared recordings beside this checkout")
    try:
        make_world(WorldAddress.parse(summarize_recording(file).world)).close()
    except UsageError as error:
        pytest.skip(f"no such game here: {error}")
    folder = import_recording(file, tmp_path, RunConfig("", mind="scripted", protocol="vanilla", budget=5))
    with resume_run(folder, host=host, mind=Scripted()) as session:
        assert session.state.n_actions == 600 and session.actions_left == 5 and not session.outcome


# -- learning from them ---------------------------------------------------------------------------------------------------------


def test_any_program_can_be_verified_on_it_and_any_mind_can_go_on_from_it(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(5)
    ours = walked(tmp_path, host, LAKE, [Action(dice.randint(1, 3)) for _ in range(30)])
    assert not record_of(ours).is_won
    export_run(ours, tmp_path / "a.jsonl")
    config = RunConfig("", mind="scripted", budget=20)
    folder = import_recording(tmp_path / "a.jsonl", tmp_path / "in", config)

    right, wrong = worked_example(), replaced(worked_example(), "return here(state) == 1  # R3", "return False  # R3")
    record = record_of(folder)
    for hypothesis, outcome in ((right, VerdictKind.ADMISSIBLE), (wrong, VerdictKind.COUNTEREXAMPLE)):
        program = host.load(hypothesis.files)
        assert not isinstance(program, ProgramError)
        assert verify(program, record).outcome is outcome
        said = re.search(r"```python\n(from pathlib.*?)```", (DOCS / "worlds.md").read_text(encoding="utf-8"), re.DOTALL)
        assert said is not None
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / ENGINE).write_text(hypothesis.files[ENGINE], encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        names: dict[str, Any] = {"folder": folder.path}
        exec(said[1], names)  # noqa: S102  (what the document says, word for word)
        assert names["verdict"].outcome is outcome

    mind = Scripted([right])
    with resume_run(folder, host=host, mind=mind) as session:
        assert session.actions_left == 20
        assert play(session) is RunOutcome.WON
        assert len(mind.cases[0].record.trajectories) >= len(record) - 1
        assert session.state.n_mismatches == 0
    # What it did itself goes out in the same form, after what it came from.
    lines = round_trip(folder, tmp_path / "b.jsonl").splitlines()
    before = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert lines[: len(before)] == before and len(lines) > len(before)
    assert json.loads(lines[-1])["data"]["state"] == "WIN"
    assert {json.loads(line)["data"]["guid"] for line in lines} == {json.loads(before[0])["data"]["guid"]}


def test_the_built_in_mind_learns_from_a_recording(tmp_path: Path, host: Host) -> None:
    dice = random.Random(1)
    world = "gym:FrozenLake-v1?size=4&map_seed=3"
    ours = walked(tmp_path, host, world, [Action(dice.randint(1, 4)) for _ in range(40)])
    export_run(ours, tmp_path / "a.jsonl")
    folder = import_recording(tmp_path / "a.jsonl", tmp_path / "in", RunConfig("", budget=40))
    if record_of(folder).is_won:
        pytest.fail("choose dice that do not win, or there is nothing left to learn for")
    with resume_run(folder, host=host) as session:
        assert play(session) is RunOutcome.WON


# -- what is malformed ------------------------------------------------------------------------------------------------------------

GOOD = {
    "game_id": "ab12-34",
    "state": "NOT_FINISHED",
    "levels_completed": 0,
    "win_levels": 3,
    "action_input": {"id": "ACTION1", "data": {}, "reasoning": None},
    "guid": "g",
    "full_reset": False,
    "available_actions": [1, 6],
    "frame": [[[1, 2], [3, 4]]],
}


def with_(**changed: Any) -> str:
    return json.dumps({"timestamp": "2026-11-30T09:53:46+00:00", "data": {**GOOD, **changed}})


def click(**data: Any) -> str:
    return with_(action_input={"id": "ACTION6", "data": data, "reasoning": None})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object with `data`"),
        ('{"data": 3}', "no JSON object with `data`"),
        (json.dumps({"data": {name: value for name, value in GOOD.items() if name != "frame"}}), "holds no `frame`"),
        (with_(frame=None), "holds no `frame`"),
        (with_(frame=[]), "no frames, although nothing was over"),
        (with_(frame=[[[1, 2], [3]]]), "no list of grids"),
        (with_(frame=[[1, 2]]), "no list of grids"),
        (with_(frame=[[[1, 256], [3, 4]]]), "numbers from 0 to 255"),
        (with_(frame=[[[1, -1], [3, 4]]]), "numbers from 0 to 255"),
        (with_(frame=[[[1.0, 2], [3, 4]]]), "numbers from 0 to 255"),
        (with_(frame=[[["1", 2], [3, 4]]]), "numbers from 0 to 255"),
        (with_(frame=[[[True, True], [True, True]]]), "numbers from 0 to 255"),
        (with_(frame=[[[10**30, 2], [3, 4]]]), "numbers from 0 to 255"),
        (with_(frame=[[[1, 2, 3], [4, 5, 6]]]), "2 x 3, and were of another shape"),
        (with_(state="LOST"), "none of NOT_PLAYED"),
        (with_(levels_completed=None), "`levels_completed`"),
        (with_(levels_completed=True), "`levels_completed`"),
        (with_(win_levels=-1), "`win_levels`"),
        (with_(win_levels=4), "`win_levels` is 4, and was 3"),
        (with_(game_id="cd34-56"), "another game"),
        (with_(action_input=None), "names no action"),
        (with_(action_input={"id": "JUMP", "data": {}}), "names no action.*JUMP"),
        (with_(action_input={"id": True, "data": {}}), "names no action"),
        (with_(available_actions="1"), "`available_actions`"),
        (click(x=1), "click is nowhere"),
        (click(x=1, y="0"), "click is nowhere"),
        (click(x=-1, y=0), "click is nowhere"),
        (click(x=2, y=0), "lies outside"),
        (b'{"data": "\xff"}', "utf-8"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_left_behind(line: str | bytes, says: str, tmp_path: Path) -> None:
    file, out = tmp_path / "bad.jsonl", tmp_path / "runs"
    good = with_(action_input={"id": "RESET", "data": {}, "reasoning": None}).encode()
    file.write_bytes(b"\n".join([good, with_().encode(), b"", line if isinstance(line, bytes) else line.encode(), good, b""]))
    with pytest.raises(UsageError, match=rf"bad\.jsonl, line 4: .*{says}.*; mend or leave out that line\.$"):
        import_recording(file, out)
    assert not out.exists()


def test_a_file_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(with_().encode() * 50)[:-20])
    (tmp_path / "bent.jsonl.gz").write_bytes(b"\x1f\x8b" + b"nonsense" * 9)
    for name, says in [
        ("empty.jsonl", "holds no line"),
        ("torn.jsonl.gz", "breaks off after line 0"),
        ("bent.jsonl.gz", "breaks off after line 0"),
        ("none.jsonl", "cannot be read"),
        (".", "cannot be read"),
    ]:
        with pytest.raises(UsageError, match=says):
            import_recording(tmp_path / name, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_what_is_asked_for_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    for config, says in [
        (RunConfig("", protocol="none"), "no protocol"),
        (RunConfig("ark:x"), "Did you mean 'arc'"),
        (RunConfig("nothing"), "is no world"),
    ]:
        with pytest.raises(UsageError, match=says):
            import_recording(tmp_path / "not-there.jsonl", tmp_path / "runs", config)


def test_an_import_that_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([with_()] * 9))
    pack, calls = recording_io.store_observation, [0]

    def interrupted(*given: Any) -> ObserveEvent:
        calls[0] += 1
        if calls[0] == 5:
            raise KeyboardInterrupt
        return pack(*given)

    monkeypatch.setattr(recording_io, "store_observation", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_recording(file, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


# -- by command -------------------------------------------------------------------------------------------------------------------


def lawbook(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lawbook", *words]
    return subprocess.run(command, cwd=cwd, env=os.environ | {"HOME": str(cwd)}, capture_output=True, text=True, check=False)


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join([with_(), with_(frame=[[[1, 2], [3, 5]]]), with_(state="GAME_OVER"), ""]))
    brought = lawbook("import", "a.jsonl", "--budget", "7", "--world", "demo:maze", cwd=tmp_path)
    assert brought.returncode == 0, brought.stderr
    (folder,) = list_runs(tmp_path / "runs")
    assert brought.stdout.strip() == str(folder.path.relative_to(tmp_path))
    config = folder.load_config()
    assert (config.world, config.budget, config.mind) == ("demo:maze", 2 + 7, "induce")
    shown = lawbook("show", "last", "--json", cwd=tmp_path)
    told = json.loads(shown.stdout)
    assert told["actions"] == 2 and told["outcome"] is None and told["per_level"][0]["actions"] == 2
    for command in ("runs", "history", "report", "verify"):
        assert lawbook(command, *(["last"] if command != "runs" else []), cwd=tmp_path).returncode == (command == "verify")
    gone_out = lawbook("export", "last", "-o", "b.jsonl", cwd=tmp_path)
    assert gone_out.returncode == 0 and (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    assert lawbook("export", "last", cwd=tmp_path).stdout.strip().endswith("recording.jsonl")
    (tmp_path / "a.jsonl").write_text("{")
    refused = lawbook("import", "a.jsonl", cwd=tmp_path)
    assert refused.returncode == 2 and "a.jsonl, line 1: it is no JSON" in refused.stderr
    elsewhere = lawbook("play", "--resume", "last", cwd=tmp_path)  # a recording of something else than its world shows
    assert elsewhere.returncode == 3 and "shows something else" in elsewhere.stderr
