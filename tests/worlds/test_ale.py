"""`ale:`: what the emulator itself shows and pays, one history one outcome in games of all kinds, runs that survive a replay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from atari import needs_ale

from lawbook.cli import main
from lawbook.core.record import Action, Observation, Status
from lawbook.errors import UsageError
from lawbook.ledger.contents import load_steps
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import list_runs
from lawbook.view.palette import get_palette
from lawbook.worlds import ale
from lawbook.worlds.address import WorldAddress, load_world_source, make_world
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import describe_replay_difference
from lawbook.worlds.world import World

PLAY = ("--mind", "random", "--protocol", "vanilla")
TRACES = ("tennis", "solaris", "assault", "berzerk", "yars_revenge")
"""Games in which the emulator's own reset leaves something of the episode before."""


def world(text: str) -> World:
    return make_world(WorldAddress.parse(f"ale:{text}"))


def play(played: World, actions: list[int]) -> list[Observation]:
    """From a reset, these actions in turn, to the end of the episode at most."""
    seen = [played.reset()]
    for number in actions:
        if seen[-1].status is not Status.RUNNING:
            break
        seen.append(played.step(Action(number)))
    return seen


def plain(seen: list[Observation]) -> list[tuple[bytes, str, int, tuple[int, ...], float]]:
    return [(o.frame.tobytes(), o.status, o.level, o.available, o.reward) for o in seen]


def dice(played: World, count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).choice(played.spec.actions, size=count).tolist()


def emulator(game: str) -> Any:
    """The bare emulator, a game's episode begun in it."""
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    bare = ALEInterface()
    bare.setFloat("repeat_action_probability", 0.0)
    bare.loadROM(roms.get_rom_path(game))
    bare.reset_game()
    return bare


# -- without an emulator --------------------------------------------------------------------------------------------------------


def test_without_ale_py_one_sentence_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ale_py.py").write_text("raise ModuleNotFoundError('No module', name='ale_py')")
    monkeypatch.syspath_prepend(tmp_path)  # the child imports what we would import
    with pytest.raises(UsageError, match=r"^ale: worlds need ale_py.*pip install 'lawbook\[ale\]'[^.]*'\.\[ale\]'\) brings it\.$"):
        WorldProcess("ale:pong")


def test_listing_its_games_loads_no_emulator() -> None:
    code = (
        "import sys; from lawbook.worlds.address import load_world_source\n"
        "assert len(list(load_world_source('ale').names())) > 3\n"
        "sys.exit(any(name in sys.modules for name in ('ale_py', 'gymnasium')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- what is seen ---------------------------------------------------------------------------------------------------------------


@needs_ale
@pytest.mark.parametrize(
    ("options", "opening", "frameskip"), [("", 0, 4), ("?opening=7&frameskip=3", 7, 3), ("?frameskip=1", 0, 1)]
)
def test_frames_and_rewards_are_the_emulators_own(options: str, opening: int, frameskip: int) -> None:
    with WorldProcess(f"ale:pong{options}") as played:
        assert played.spec.shape == (210, 160) and played.spec.actions == (1, 2, 3, 4, 5, 6) and played.spec.levels == 1
        actions = dice(played, 200)
        seen = play(played, actions)
        bare = emulator("pong")
        minimal = bare.getMinimalActionSet()
        for _ in range(opening):
            bare.act(0)
        expected = [(bare.getScreen().tobytes(), 0.0)]
        for number in actions:
            reward = sum(bare.act(minimal[number - 1]) for _ in range(frameskip))
            expected.append((bare.getScreen().tobytes(), float(reward)))
        assert [(o.frame.tobytes(), o.reward) for o in seen] == expected
        assert all(len(o.frames) == 1 and o.available == played.spec.actions for o in seen)
        assert played.spec.count_frames(steps=len(actions), starts=1) == bare.getEpisodeFrameNumber()
    assert frameskip < 3 or any(o.reward for o in seen)


@needs_ale
def test_openings_are_as_many_starts_that_repeat() -> None:
    actions = [1] * 60
    histories = []
    for opening in (0, 1, 2, 29):
        played = world(f"pong?opening={opening}")
        one, two = play(played, actions), play(played, actions)
        assert plain(one) == plain(two)
        histories.append(tuple(o.frame.tobytes() for o in one))
    assert len(set(histories)) == 4


@needs_ale
@pytest.mark.parametrize("name", [*TRACES, "pong", "breakout?sticky=0.25&seed=5"])
def test_one_history_has_one_outcome(name: str) -> None:
    played, twin = world(name), world(name)
    actions = dice(played, 100)
    once = plain(play(played, actions))
    play(played, dice(played, 70, seed=1))
    assert plain(play(played, actions)) == once and plain(play(twin, actions)) == once
    assert len({frame for frame, *_ in once}) > 5


@needs_ale
def test_the_seed_is_what_sticky_actions_are_drawn_from_and_nothing_else() -> None:
    def history(options: str) -> tuple[bytes, ...]:
        played = world(f"breakout?{options}")
        return tuple(o.frame.tobytes() for o in play(played, [2, *dice(played, 60)]))

    assert history("seed=1") == history("seed=2")
    assert len({history(f"sticky=0.25&seed={seed}") for seed in range(4)}) == 4
    assert history("sticky=0.25&seed=1") == history("seed=1&sticky=0.25")


# -- how it ends ----------------------------------------------------------------------------------------------------------------


@needs_ale
@pytest.mark.parametrize(("options", "status"), [("", Status.OVER), ("&target=21", Status.OVER), ("&target=-21", Status.COMPLETED)])
def test_an_episode_is_completed_by_its_return_and_over_otherwise(options: str, status: Status) -> None:
    with WorldProcess(f"ale:pong?frameskip=30{options}") as played:
        seen = play(played, [1] * 1000)
        assert seen[-1].status is status and {o.status for o in seen[:-1]} == {Status.RUNNING}
        assert sum(o.reward for o in seen) == -21.0
        assert seen[-1].level == int(status is Status.COMPLETED)
        again = played.reset()
        assert again.frame.tobytes() == seen[0].frame.tobytes() or status is Status.COMPLETED


@needs_ale
def test_the_emulators_cap_truncates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ale, "MAX_EPISODE_FRAMES", 100)
    seen = play(world("pong?opening=10"), [1] * 200)
    assert len(seen) == 1 + 23 and seen[-1].status is Status.TRUNCATED and seen[-1].level == 0  # 10 + 22 x 4 frames, and a last two


# -- bad input ------------------------------------------------------------------------------------------------------------------


@needs_ale
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pogn", r"^There is no world ale:pogn\. Did you mean 'pong'\? ale-py has \d+ games, by names like space_invaders\.$"),
        ("Pong-v5", "Did you mean 'pong'"),
        ("combat", "no world ale:combat"),  # for two players: ALE would end the process
        ("../pong", "no world ale:"),
        ("pong?opening=-1", "opening is a whole number from 0 to 1000, not '-1'"),
        ("pong?frameskip=0", "frameskip is a whole number from 1"),
        ("pong?sticky=2", "sticky is a number from 0.0 to 1.0"),
        ("pong?seed=x", "seed is a whole number"),
        ("pong?target=all", "target is a whole number"),
        ("pong?skip=4", "no option 'skip'.*It takes: opening, frameskip, sticky, seed"),
    ],
)
def test_bad_input_is_one_sentence(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        WorldProcess(f"ale:{name}")


@needs_ale
def test_an_opening_that_ends_the_episode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ale, "MAX_EPISODE_FRAMES", 100)
    with pytest.raises(UsageError, match="An opening of 100 frames ends the episode of pong; take a shorter one"):
        world("pong?opening=100")


# -- all of it ------------------------------------------------------------------------------------------------------------------


@needs_ale
def test_every_example_can_be_played_and_people_see_the_emulators_colours() -> None:
    colours = np.array(get_palette("atari").colours)
    for name, about in load_world_source("ale").names():
        played, game = world(name), name.partition("?")[0]
        actions = dice(played, 30)
        shown = play(played, actions)[-1].frame
        assert about and played.spec.palette == "atari"
        bare = emulator(game)
        minimal = bare.getMinimalActionSet()
        for number in actions:
            for _ in range(4):
                bare.act(minimal[number - 1])
        assert np.array_equal(bare.getScreen(), shown)
        assert np.abs(colours[shown] - bare.getScreenRGB().astype(int)).max() <= 3


@needs_ale
@pytest.mark.slow
def test_every_eighth_game_there_is_begins_and_begins_alike() -> None:
    from ale_py import ALEInterface, roms

    games = [game for game in sorted(roms.get_all_rom_ids()) if ALEInterface.isSupportedROM(roms.get_rom_path(game))]
    assert len(games) > 100
    for game in games[3::8]:
        played = world(f"{game}?opening=5")
        actions = dice(played, 25)
        once = plain(play(played, actions))
        assert plain(play(played, actions)) == once, game


@needs_ale
def test_a_run_is_brought_back_by_replay_and_stands_up_to_an_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, again = tmp_path / "runs", tmp_path / "again"
    assert main.main(["play", "ale:pong?opening=11&target=21", *PLAY, "--plain", "--budget", "150", "--out", str(out)]) in (0, 1)
    (ours,) = list_runs(out)
    with Ledger.open(ours.ledger, readonly=True) as ledger:
        paid = [event.body.get("reward", 0.0) for event in ledger.read_events([EventKind.OBSERVE])]
        assert (
            len(paid) == 151
            and -1.0 in paid
            and {"reward" in e.body for e in ledger.read_events([EventKind.OBSERVE])} == {True, False}
        )
        spec = next(ledger.read_events()).body["spec"]
        assert (spec["frameskip"], spec["opening"]) == (4, 11)
        with WorldProcess("ale:pong?opening=11") as played:
            assert describe_replay_difference(played, load_steps(ledger)) is None
        with WorldProcess("ale:pong?opening=12") as played:
            assert describe_replay_difference(played, load_steps(ledger)) is not None
    assert main.main(["audit", str(ours.path), "--strict"]) == 0, capsys.readouterr().out
    assert main.main(["export", str(ours.path), "-o", str(tmp_path / "a.jsonl.gz")]) == 0
    assert main.main(["import", str(tmp_path / "a.jsonl.gz"), *PLAY, "--budget", "5", "--out", str(again)]) == 0
    (theirs,) = list_runs(again)
    assert main.main(["play", "--resume", str(theirs.path), "--plain"]) in (0, 1), capsys.readouterr().err
    with Ledger.open(theirs.ledger, readonly=True) as ledger:
        now = [event.body.get("reward", 0.0) for event in ledger.read_events([EventKind.OBSERVE])]
    assert now[: len(paid)] == paid and len(now) > len(paid)
