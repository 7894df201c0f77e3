"""`arc:`: ARC-AGI-3 games from a folder, through the official toolkit and engine, on a small game of our own laid out there."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from arc_games import BASELINES, SOURCE, lay_out
from minds import Scripted

from lawbook.core.record import RESET, Action, Observation, Status
from lawbook.core.results import Probe, RunOutcome
from lawbook.errors import RefusedError, UsageError, WorldError
from lawbook.minds.base import Case
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.worlds.address import WorldAddress, load_world_source, make_world
from lawbook.worlds.arcengine_outcome import interpret_state
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.world import World

WALK, LOSE, BREAK, WIN, AGAIN = Action(1), Action(2), Action(3), Action(4), Action(7)
MARK = Action(6, 10, 20)
BILL = 63


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "games"
    lay_out(root)
    monkeypatch.setenv("LAWBOOK_GAMES", str(root))
    return root


def world(name: str = "zq77") -> World:
    return make_world(WorldAddress.parse(f"arc:{name}"))


def billed(seen: Observation) -> int:
    return int((seen.frame[BILL] == 5).sum())


def walker(frame: np.ndarray) -> tuple[int, int, int]:
    """(row, column, colour) of the one thing in row 1."""
    ((row, column),) = np.argwhere(frame[:BILL] >= 8)
    return int(row), int(column), int(frame[row, column])


# -- what it shows ----------------------------------------------------------------------------------------------------------


def test_the_opening_is_the_first_level_and_the_spec_says_what_is_known(games: Path) -> None:
    played = world()
    assert played.spec.shape == (64, 64) and played.spec.levels == 3
    assert played.spec.baselines == tuple(BASELINES) and played.spec.baseline == "human"
    assert played.spec.clicks == (6,) and set(played.spec.actions) == set(range(1, 8))
    first = played.reset()
    assert (first.status, first.level, first.available) == (Status.RUNNING, 0, (1, 2, 3, 4, 6))
    assert walker(first.frame) == (1, 1, 8) and billed(first) == 0


def test_every_frame_of_an_action_is_kept_and_none_is_the_games_any_more(games: Path) -> None:
    played = world()
    held = [played.reset()]
    held += [played.step(action) for action in (WALK, MARK, WALK)]
    assert [len(seen.frames) for seen in held] == [1, 3, 1, 3]
    assert [walker(frame)[1:] for frame in held[1].frames] == [(1, 14), (1, 13), (2, 8)]  # the last is the settled one
    assert held[2].frame[20, 10] == 14
    # The game has painted over everything it ever gave away, and nothing of that is seen.
    assert not any((frame == 15).any() for seen in held for frame in seen.frames)
    assert all(not frame.flags.writeable for seen in held for frame in seen.frames)


def test_actions_that_become_available_are_told(games: Path) -> None:
    played = world()
    played.reset()
    assert 7 in played.step(MARK).available
    assert played.step(AGAIN).status is Status.RUNNING


def test_levels_are_completed_until_the_game_is_won(games: Path) -> None:
    played = world()
    played.reset()
    for level in range(3):
        for _ in range(2):
            seen = played.step(WALK)
            assert (seen.status, seen.level) == (Status.RUNNING, level)
        seen = played.step(WALK)
        assert (seen.status, seen.level) == (Status.COMPLETED, level + 1)
        if level < 2:  # the last frame is the next level's first
            assert walker(seen.frame) == (1, 1, 9 + level) and billed(seen) == 0
    assert len(seen.frames) == 3


def test_a_game_that_says_it_is_won_is_won_whatever_it_counts(games: Path) -> None:
    with WorldProcess("arc:zq77") as played:
        played.reset()
        seen = played.step(WIN)
        assert (seen.status, seen.level) == (Status.COMPLETED, 3)
        with pytest.raises(RefusedError, match="last level is completed"):
            played.step(WALK)


def test_game_over_keeps_the_level_and_a_reset_begins_it_anew(games: Path) -> None:
    played = world()
    played.reset()
    for action in (WALK, WALK, WALK, WALK, LOSE):
        seen = played.step(action)
    assert (seen.status, seen.level) == (Status.OVER, 1)
    again = played.reset()
    assert (again.status, again.level, billed(again)) == (Status.RUNNING, 1, 0)
    assert played.reset().level == 0  # the engine's own rule, which the gate stands before


@pytest.mark.parametrize(
    ("state", "completed", "levels", "before", "reset", "means"),
    [
        ("NOT_FINISHED", 0, 3, 0, False, (Status.RUNNING, 0)),
        ("NOT_FINISHED", 1, 3, 0, False, (Status.COMPLETED, 1)),
        ("NOT_FINISHED", 1, 3, 1, True, (Status.RUNNING, 1)),
        ("NOT_FINISHED", 0, 3, 2, True, (Status.RUNNING, 0)),  # the whole game anew
        ("GAME_OVER", 1, 3, 1, False, (Status.OVER, 1)),
        ("WIN", 3, 3, 2, False, (Status.COMPLETED, 3)),
        ("WIN", 2, 3, 2, False, (Status.COMPLETED, 3)),  # won outright, counting nothing
        ("WIN", 0, None, 0, False, (Status.COMPLETED, 1)),
    ],
)
def test_what_the_engines_words_mean(
    state: str, completed: int, levels: int | None, before: int, reset: bool, means: tuple[Status, int]
) -> None:
    assert interpret_state(state, completed, levels, before, reset=reset) == means


def test_a_seed_reaches_a_game_that_takes_one(games: Path) -> None:
    assert walker(world("zq77?seed=2").reset().frame) == (3, 1, 8)


# -- what is refused before it is billed -------------------------------------------------------------------------------------


def test_nothing_that_the_engine_would_bill_for_nothing_is_sent(games: Path) -> None:
    with WorldProcess("arc:zq77") as played:
        played.reset()
        played.step(WALK)
        for action, says in [
            (Action(5), "not available now"),
            (AGAIN, "not available now"),
            (Action(8), "There is no action 8"),
            (Action(6), "is a click"),
            (Action(6, 64, 3), "lies outside"),
            (Action(6, 3, -1), "lies outside"),
            (Action(1, 3, 3), "takes no coordinates"),
            (RESET, "ask for a reset"),
        ]:
            with pytest.raises(RefusedError, match=says):
                played.step(action)
        assert billed(played.step(MARK)) == 2  # the two that were sent
        assert played.step(LOSE).status is Status.OVER
        with pytest.raises(RefusedError, match="only a reset"):
            played.step(WALK)
        assert billed(played.reset()) == 0
        assert billed(played.step(WALK)) == 1


def test_a_reset_that_would_restart_the_game_is_refused_by_the_gate(games: Path, tmp_path: Path, host: Host) -> None:
    config = RunConfig("arc:zq77", mind="scripted", protocol="vanilla", budget=20)
    with start_run(config, tmp_path, host=host, mind=Scripted()) as (_, session):
        for _ in range(3):
            session.probe(WALK, "?")
        assert session.record.level == 1
        with pytest.raises(RefusedError, match="restart the whole game"):
            session.reset("to begin again")
        session.probe(WALK, "?")
        session.reset("to begin the level again")
        assert session.record.level == 1
        with pytest.raises(RefusedError, match="restart the whole game"):
            session.reset("twice")
        session.probe(LOSE, "?")
        assert session.record.needs_reset
        session.reset("it is over")
        assert session.record.level == 1 and session.state.n_actions == 7


# -- the folder ---------------------------------------------------------------------------------------------------------------


def test_a_game_is_known_by_its_folder_and_not_by_what_its_metadata_says(games: Path) -> None:
    lay_out(games, version="ffff0000", source=SOURCE.replace("x=1, y=1", "x=2, y=1"), game_id="zq77-0a1b2c3d", baseline_actions=[9])
    with pytest.raises(UsageError, match=r"2 versions.*arc:zq77/0a1b2c3d, arc:zq77/ffff0000"):
        world()
    other = world("zq77/ffff0000")
    assert walker(other.reset().frame) == (1, 2, 8)
    assert other.spec.baselines is None  # one number for three levels says nothing
    assert walker(world("zq77/0a1b2c3d").reset().frame) == (1, 1, 8)
    assert [name for name, _ in load_world_source("arc").names()] == ["zq77/0a1b2c3d", "zq77/ffff0000"]  # type: ignore[attr-defined]


def test_what_is_wrong_with_a_folder_is_a_sentence(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(games, "ab12", "01", source="raise OSError('no tape')")
    lay_out(games, "ab12", "02", source="class Ab13: pass")
    lay_out(games, "ab12", "03", title=7)
    lay_out(games, "ab12", "04")
    (games / "ab12" / "04" / "metadata.json").write_text("{", encoding="utf-8")
    for name, says in [
        ("ab12/01", "cannot be played.*no tape"),
        ("ab12/02", "cannot be played.*Ab12"),
        ("ab12/03", "not what the toolkit expects.*title"),
        ("ab12/04", "cannot be read"),
        ("zq78", "Did you mean 'zq77'"),
        ("../games/zq77", "There is no world"),
        ("zq77?speed=2", "no option 'speed'"),
    ]:
        with pytest.raises(UsageError, match=says):
            world(name)
    monkeypatch.setenv("LAWBOOK_GAMES", str(games / "nowhere"))
    with pytest.raises(UsageError, match="is no folder; name the one"):
        world()
    monkeypatch.delenv("LAWBOOK_GAMES")
    with pytest.raises(UsageError, match=r"No folder of games is known.*--games"):
        world()
    assert list(load_world_source("arc").names()) == []  # type: ignore[attr-defined]


def test_a_game_that_fails_ends_the_world_with_its_own_words(games: Path) -> None:
    with WorldProcess("arc:zq77") as played:
        played.reset()
        with pytest.raises(WorldError, match=r"failed at action 3.*zq77 was not made for this"):
            played.step(BREAK)


def test_a_missing_toolkit_names_the_extra_that_brings_it(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arc_agi.py").write_text("raise ModuleNotFoundError('No module', name='arc_agi')")
    monkeypatch.syspath_prepend(tmp_path)  # the child imports what we would import
    with pytest.raises(UsageError, match=r"arc_agi.*pip install 'lawbook\[arc\]'"):
        WorldProcess("arc:zq77")


def test_the_run_process_loads_no_game_and_no_toolkit(games: Path) -> None:
    code = (
        "import sys; from lawbook.worlds.process import WorldProcess; from lawbook.worlds.address import load_world_source\n"
        "assert all(list(load_world_source(scheme).names()) for scheme in ('arc', 'minigrid', 'gym'))\n"
        "WorldProcess('arc:zq77').close()\n"
        "sys.exit(any(name in sys.modules for name in ('arc_agi', 'arcengine', 'gymnasium', 'minigrid', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_in_the_working_directory_changes_no_rule(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toolkit reads `.env` into the environment: a mode that goes to the network, a rule that changes what a reset does."""
    (tmp_path / ".env").write_text("OPERATION_MODE=competition\nONLY_RESET_LEVELS=true\nENVIRONMENTS_DIR=elsewhere\n")
    monkeypatch.chdir(tmp_path)
    with WorldProcess("arc:zq77") as played:
        played.reset()
        for _ in range(3):
            played.step(WALK)
        assert played.reset().level == 0  # straight after a level-up: the whole game, as without the file
        assert "ONLY_RESET_LEVELS" not in Path(f"/proc/{played.pid}/environ").read_text()


# -- what a mind sees, and a run -----------------------------------------------------------------------------------------------


def strings(thing: object, seen: set[int]) -> Iterator[str]:
    """Every text reachable from `thing` through data, its keys and names of types included."""
    if id(thing) in seen or thing is None:
        return
    seen.add(id(thing))
    yield type(thing).__qualname__
    match thing:
        case str():
            yield thing
        case np.ndarray() | bytes() | int() | float() | Enum():
            return
        case Mapping():
            for key, value in thing.items():
                yield from strings(key, seen)
                yield from strings(value, seen)
        case _ if dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                yield from strings(getattr(thing, field.name), seen)
        case Sequence() | set() | frozenset():
            for item in thing:
                yield from strings(item, seen)
        case _:
            yield from strings(vars(thing) if hasattr(thing, "__dict__") else [], seen)


def test_a_run_is_won_and_no_mind_ever_saw_what_the_game_is_called(games: Path, tmp_path: Path, host: Host) -> None:
    explores = [Probe(action, "what comes of it?") for action in [WALK] * 3 + [LOSE] + [RESET] + [WALK] * 6]
    mind = Scripted(explores=explores)
    with start_run(RunConfig("arc:zq77", mind="scripted", protocol="vanilla"), tmp_path, host=host, mind=mind) as (_, session):
        assert play(session) is RunOutcome.WON
        assert session.state.n_actions == 11
        texts = {text.lower() for case in mind.cases for text in strings(case, set())}
    assert len(mind.cases) == 10 and all(isinstance(case, Case) for case in mind.cases)
    assert "what comes of it?" not in texts and "observation" in texts  # it does walk through everything there is
    assert not any(word in text for text in texts for word in ("zq77", "0a1b2c3d", "zquare", "arc:", str(games).lower()))


def test_a_run_that_broke_off_is_brought_back_by_replay(games: Path, tmp_path: Path, host: Host) -> None:
    class GoneError(Exception):
        pass

    config = RunConfig("arc:zq77", mind="scripted", protocol="vanilla", budget=9)
    with pytest.raises(GoneError), start_run(config, tmp_path, host=host, mind=Scripted()) as (folder, session):
        for action in (WALK, WALK, WALK, MARK, LOSE):
            session.probe(action, "?")
        raise GoneError
    with resume_run(folder, host=host, mind=Scripted()) as session:
        assert session.state.n_actions == 5 and session.record.needs_reset and session.record.level == 1
        session.reset("it is over")
        session.probe(WALK, "?")
        assert session.record.current.last.status is Status.RUNNING
