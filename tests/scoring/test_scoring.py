"""RHAE and counts: the same numbers as the toolkit's own calculator and scorecard, and the tables made of them."""

from __future__ import annotations

import csv
import io
import json
from logging import getLogger
from pathlib import Path
from random import Random

import pytest
from arc_agi import EnvironmentInfo, LocalEnvironmentWrapper
from arc_agi.scorecard import Card, EnvironmentScoreCalculator, EnvironmentScorecard, Scorecard, ScorecardManager
from arc_games import BASELINES, LOSE, MARK, SCRIPTS, WALK, lay_out
from arcengine import GameAction, GameState
from hypothesis import given
from hypothesis import strategies as st

from lawbook.cli.main import main
from lawbook.core.record import RESET, Action, Status
from lawbook.scoring.billing import Play, RunScore, ScoreCounter
from lawbook.scoring.published import SYSTEMS, load_published
from lawbook.scoring.rhae import LevelResult, game_score, level_score, mean_score
from lawbook.scoring.tables import ScoreRow, compute_means, format_table
from lawbook.worlds.arcengine_world import decode_observation, make_click_data

FIRST, *_, LAST = load_published()
LEVELS = st.lists(st.builds(LevelResult, st.integers(0, 400), st.integers(0, 400), st.booleans()), max_size=12)


@given(LEVELS)
def test_a_game_scores_what_the_toolkits_calculator_gives_it(levels: list[LevelResult]) -> None:
    official = EnvironmentScoreCalculator()
    for number, level in enumerate(levels, 1):
        official.add_level(number, level.completed, level.actions, level.baseline)
    theirs = official.to_score()
    assert [level_score(level) for level in levels] == theirs.level_scores
    assert game_score(levels) == theirs.score  # to the last bit


def test_what_the_definition_says() -> None:
    assert level_score(LevelResult(20, 10, True)) == 25.0
    assert level_score(LevelResult(5, 10, True)) == 115.0  # no more for fewer
    assert level_score(LevelResult(5, 10, False)) == 0.0
    assert game_score([LevelResult(5, 10, True), LevelResult(9, 10, False)]) == pytest.approx(
        100 / 3
    )  # the share of completed weights caps
    assert game_score([]) == 0.0 and mean_score([]) == 0.0
    assert mean_score([100.0, 50.0]) == 75.0


PLAYS = st.lists(
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=5).map(
        # actions of each level; all but the last are completed, and that one perhaps
        lambda levels: Play(
            actions=sum(actions for actions, _ in levels),
            completed=len(levels) - (not levels[-1][1]),
            completions=[(k + 1, sum(a for a, _ in levels[: k + 1])) for k in range(len(levels) - (not levels[-1][1]))],
        )
    ),
    min_size=1,
    max_size=3,
)


@given(st.lists(st.tuples(PLAYS, st.lists(st.integers(1, 60), min_size=5, max_size=6)), min_size=1, max_size=4))
def test_games_and_their_mean_score_what_the_toolkits_card_gives_them(games: list[tuple[list[Play], list[int]]]) -> None:
    card, infos, ours = Scorecard(card_id="c"), [], []
    for number, (plays, baselines) in enumerate(games):
        name = f"g{number:03}"
        infos.append(EnvironmentInfo(game_id=name, baseline_actions=baselines))
        card.cards[name] = Card(
            game_id=name,
            total_plays=len(plays),
            guids=["g"] * len(plays),
            levels_completed=[play.completed for play in plays],
            states=[GameState.NOT_FINISHED] * len(plays),
            actions=[play.actions for play in plays],
            actions_by_level=[play.completions for play in plays],
            resets=[0] * len(plays),
        )
        told = RunScore("arc:g", "", "", 0, len(baselines), tuple(baselines), "human", tuple(plays), None)
        ours.append(told.rhae or 0.0)
    theirs = EnvironmentScorecard.from_scorecard(card, infos)
    assert ours == [game.score for game in theirs.environments]
    assert mean_score(ours) == theirs.score


# -- counts ----------------------------------------------------------------------------------------------------------------------


def on_both(folder: Path, actions: list[Action]) -> tuple[ScoreCounter, EnvironmentScorecard]:
    """The same actions on the toolkit's wrapper with its scorecard, and counted by ours."""
    info = EnvironmentInfo(game_id="zq77-0a1b2c3d", baseline_actions=BASELINES, local_dir=str(folder))
    info.local_dir = str(folder)
    manager = ScorecardManager(recordings_dir=str(folder / "rec"))
    card = manager.new_scorecard(None, None, "", None)
    env = LocalEnvironmentWrapper(info, getLogger("quiet"), scorecard_id=card, scorecard_manager=manager)
    first = env.observation_space
    assert first is not None
    ours, level = ScoreCounter(first.win_levels), 0
    ours.start_play()
    for action in actions:
        answer = env.reset() if action == RESET else env.step(GameAction.from_id(action.id), data=make_click_data(action))
        seen = decode_observation(answer, action, level)
        level = seen.level
        ours.add(action, seen.status, seen.level)
    theirs = manager.get_scorecard(card, "")
    assert theirs is not None
    return ours, EnvironmentScorecard.from_scorecard(theirs, [info])


def same(ours: ScoreCounter, theirs: EnvironmentScorecard) -> None:
    """To the action, level by level, play by play."""
    (game,) = theirs.environments
    assert len(ours.plays) == len(game.runs)
    for play, run in zip(ours.plays, game.runs, strict=True):
        assert (play.actions, play.resets, play.completed) == (run.actions, run.resets, run.levels_completed)
        assert [actions for actions, _, _ in play.list_levels(BASELINES)] == run.level_actions
        assert play.score(BASELINES) == run.score
        assert play.won is (run.completed is True)
        assert (run.state is not None and run.state.name) == ("WIN" if play.won else "GAME_OVER" if play.over else "NOT_FINISHED")
    assert ours.billed == (len(game.runs), game.actions)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripted_games_are_counted_as_the_scorecard_counts_them(tmp_path: Path, name: str) -> None:
    same(*on_both(lay_out(tmp_path), SCRIPTS[name]))


@pytest.mark.parametrize("seed", range(12))
def test_random_games_are_counted_as_the_scorecard_counts_them(tmp_path: Path, seed: int) -> None:
    draw, actions = Random(seed), list[Action]()
    over, since = False, 0
    for _ in range(draw.randrange(20, 80)):
        action = RESET if over else draw.choices([WALK, LOSE, MARK, RESET], [12, 1, 1, 2])[0]
        over = action == LOSE
        actions.append(action)
        since += action == WALK
    ours, theirs = on_both(lay_out(tmp_path), until_won(actions))
    same(ours, theirs)


def until_won(actions: list[Action]) -> list[Action]:
    """Without those that would follow a win, which only a reset may: three levels of three steps in the same play."""
    kept, walked, level, fresh = list[Action](), 0, 0, True
    for action in actions:
        if level == 3 and action != RESET:
            continue
        kept.append(action)
        if action == RESET:
            level = 0 if fresh or level == 3 else level
            walked, fresh = 0, True
            continue
        walked, fresh = walked + (action == WALK), False
        if walked == 3:
            level, walked, fresh = level + 1, 0, level < 2
    return kept


def test_an_action_in_doubt_is_counted_as_billed() -> None:
    counts = ScoreCounter(3)
    counts.start_play()
    counts.add(WALK, Status.RUNNING, 0)
    counts.add_unanswered_action()
    assert counts.billed == (1, 2)


# -- tables ----------------------------------------------------------------------------------------------------------------------


def counted(world: str, bounds: list[tuple[int, int]], actions: int, baselines: tuple[int, ...] | None) -> RunScore:
    play = Play(actions=actions, completed=len(bounds), completions=bounds)
    return RunScore(world, "induce", "memento3", 0, len(baselines or ()) or None, baselines, "human", (play,), "budget")


def test_the_published_columns_stand_beside_ours() -> None:
    first, last = (load_published()[name] for name in (FIRST, LAST))
    rows = [
        ScoreRow("a", counted(f"arc:{FIRST}/0a1b", [(1, 10)], 30, (20, 40))),
        ScoreRow("b", counted(f"arc:{LAST}", [(1, 5), (2, 15)], 15, (10, 10))),
    ]
    told = json.loads(format_table(rows, "json"))
    assert [row["game"] for row in told["rows"]] == [FIRST, LAST]
    assert told["rows"][0]["ratio"] == 0.5 and told["rows"][0]["per_level"][1] == {
        "level": 2, "actions": 20, "baseline": 40, "completed": False,
    }  # fmt: skip
    assert told["rows"][0]["rhae"] == pytest.approx(100 / 3)
    for system in SYSTEMS:
        one, other = first.systems[system], last.systems[system]
        assert told["rows"][0]["published"][system] == {"actions": one.actions, "cleared": one.cleared, "rhae": one.rhae}
        assert told["mean"]["published"][system] == pytest.approx((one.rhae + other.rhae) / 2)
    assert told["mean"]["rhae"] == pytest.approx((100 / 3 + 100) / 2)
    text = format_table(rows)
    assert f"{first.systems['continual'].actions:,}" in text and "mean of 2" in text
    assert format_table(rows, "markdown").splitlines()[1].startswith("| --- | ---:")
    (line, other_line) = csv.DictReader(io.StringIO(format_table(rows, "csv")))
    assert (line["game"], line["rhae"]) == (FIRST, str(told["rows"][0]["rhae"]))
    assert other_line["levels_completed"] == "2"


def test_repeats_of_a_game_weigh_no_more_than_one_run_of_another() -> None:
    good, bad = counted(f"arc:{FIRST}", [(1, 1)], 1, (1,)), counted(f"arc:{FIRST}", [], 9, (1,))
    other = counted(f"arc:{LAST}", [(1, 1)], 1, (1,))
    assert compute_means([ScoreRow("", good), ScoreRow("", bad), ScoreRow("", other)])["rhae"] == 75.0
    assert compute_means([ScoreRow("", counted("demo:maze", [], 9, None))])["rhae"] is None


def test_the_table_of_the_paper_is_whole() -> None:
    games = load_published()
    assert len(games) == 25 and sum(game.levels for game in games.values()) == 183
    assert sum(game.human_actions for game in games.values()) == 17_135
    assert sum(game.systems["memento3"].actions for game in games.values()) == 7_518
    assert all(set(game.systems) == set(SYSTEMS) for game in games.values())


def test_score_prints_what_runs_are_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    assert main(["play", "demo:maze", "--mind", "random", "--budget", "12", "--out", str(out), "--json"]) == 1
    played = json.loads(capsys.readouterr().out)
    assert main(["score", "last", "--out", str(out), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["game"], row["actions"], row["baseline"]) == ("demo:maze", 12, "optimal")
    assert sum(level["actions"] for level in row["per_level"]) == played["actions"]
    assert main(["score", "last", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("game ")
    assert main(["score", "nothing", "--out", str(out)]) == 2
