"""Campaigns: every cell played once, some at a time, under caps, and gone on with after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lawbook.cli.main import main
from lawbook.errors import UsageError
from lawbook.experiments.campaign import Campaign, CampaignConfig
from lawbook.scoring.seed_statistics import SeedResult, SeedStatistics, format_summary, group_runs

SMALL = """
worlds = ["demo:maze", "demo:keys"]
minds = ["random"]
protocols = ["vanilla"]
seeds = [0, 1]
budget = 6
"""


def written(tmp_path: Path, text: str = SMALL) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_cell_is_played_once_and_only_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["campaign", str(written(tmp_path)), "-j", "2", "--out", str(tmp_path / "out"), "--format", "json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(group["world"], group["runs"], group["ended"]) for group in found] == [("demo:maze", 2, 2), ("demo:keys", 2, 2)]
    assert all(group["actions"] == {"mean": 6.0, "deviation": 0.0, "least": 6, "most": 6} for group in found)
    folder = tmp_path / "out" / "small"
    runs = sorted(folder.glob("*/*/ledger.sqlite"))
    assert [run.parts[-3] for run in runs] == ["000", "001", "002", "003"]
    assert {file.name for file in folder.glob("summary.*")} == {f"summary.{ending}" for ending in ("txt", "csv", "json", "md")}
    assert main(command) == 0  # nothing is left to do
    assert sorted(folder.glob("*/*/ledger.sqlite")) == runs


def test_no_more_actions_are_given_away_than_the_cap_allows(tmp_path: Path) -> None:
    plan = CampaignConfig.read(written(tmp_path, SMALL + "[caps]\nactions = 15\n"))
    campaign = Campaign(plan, tmp_path / "out")
    assert "15 actions" in campaign.run(2)
    assert [run.actions for run in campaign.collect_results()] == [6, 6, 3]
    more = Campaign(
        CampaignConfig.read(written(tmp_path, SMALL + "[caps]\nactions = 17\n")), tmp_path / "out"
    )  # raised, and gone on with
    assert more.run() == "" and [run.actions for run in more.collect_results()] == [6, 6, 3, 2]


@pytest.mark.slow
def test_time_and_money_stop_what_is_running_and_it_is_resumed_later(tmp_path: Path) -> None:
    long = SMALL.replace("seeds = [0, 1]", "seeds = [0]").replace(', "demo:keys"', "").replace("budget = 6", "budget = 2000")
    capped = Campaign(CampaignConfig.read(written(tmp_path, long + "[caps]\nminutes = 0.015\n")), tmp_path / "out")
    assert "minutes are over" in capped.run()
    (before,) = [cell.folder for cell in capped.read_runs()]
    freed = Campaign(CampaignConfig.read(written(tmp_path, long)), tmp_path / "out")
    assert freed.run() == ""
    (cell,) = freed.read_runs()
    assert cell.has_ended and cell.brief is not None and cell.brief.actions == 2000
    assert before is None or cell.folder == before  # the same run, unless it was stopped before it began
    broke = Campaign(CampaignConfig.read(written(tmp_path, long + "[caps]\nmoney = 0\n")), tmp_path / "other")
    assert "money is spent" in broke.run() and broke.collect_results() == []


@pytest.mark.slow
def test_a_campaign_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    text = SMALL.replace("budget = 6", "budget = 250").replace("seeds = [0, 1]", "seeds = [0]")
    command = [sys.executable, "-m", "lawbook", "campaign", str(written(tmp_path, text)), "--out", str(tmp_path / "out"), "-j", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while not [*(tmp_path / "out").glob("small/*/*/ledger.sqlite")] and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "the same command goes on" in said
    campaign = Campaign(CampaignConfig.read(tmp_path / "small.toml"), tmp_path / "out" / "small")
    assert campaign.run(2) == "" and [run.actions for run in campaign.collect_results()] == [250] * 2


def test_a_run_that_fails_is_told_and_leaves_the_others_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace('"demo:maze"', '"demo:mazy"').replace("seeds = [0, 1]", "seeds = [0]")
    assert main(["campaign", str(written(tmp_path, text)), "--out", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "Did you mean 'maze'" in told.err and "demo:keys" in told.out and "demo:mazy" not in told.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no worlds"),
        ("worlds = []", "names no worlds"),
        ("worlds = 'demo:maze'", "worlds is a list of texts"),
        ("worlds = ['demo:maze']\nseeds = ['1']", "seeds is a list of numbers"),
        ("worlds = ['demo:maze']\nbudget = 'all'", "budget cannot be 'all'"),
        ("worlds = ['demo:maze']\nspeed = 3", "there is no 'speed'"),
        ("world = ['demo:maze']", "small.toml: there is no 'world'; .*Did you mean 'worlds'"),
        ("worlds = ['demo:maze']\nbudget = true", "small.toml: budget cannot be True"),
        ("worlds = ['demo:maze']\nbudget = 1.0", "budget cannot be 1.0"),
        ("worlds = ['demo:maze']\nbudget = 0", "small.toml: budget must be at least 1"),
        ("worlds = ['demo:maze']\nseeds = [true]", "seeds is a list of numbers"),
        ("worlds = ['demo:maze']\n[caps]\nmoney = -1", "small.toml: caps.money is a number from 0, not -1"),
        ("worlds = ['demo:maze']\n[caps]\nminutes = nan", "caps.minutes is a number from 0, not nan"),
        ("worlds = ['demo:maze']\n[caps]\nactions = 1.5", "caps.actions cannot be 1.5"),
        ("worlds = ['demo:maze']\n[caps]\nactoins = 1", "there is no 'actoins'; .*Did you mean 'actions'"),
        ("worlds = ['demo:maze']\n[caps]\ntime = 3", "there is no 'time'"),
        ("worlds = ['demo:maze']\ncaps = 3", "caps is a table"),
        ("worlds = ['dmo:maze']", "Did you mean 'demo'"),
        ("worlds = ['demo:maze'", "is no TOML"),
        ("worlds = ['arc:zq77']\nmode = 'onlin'", "mode is one of"),
        ("worlds = ['arc:zq77']\nseeds = [0, 1]\nmode = 'competition'", "takes each game once"),
    ],
)
def test_what_is_wrong_in_a_file_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CampaignConfig.read(written(tmp_path, text))


def test_another_campaign_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    Campaign(CampaignConfig.read(written(tmp_path)), tmp_path / "out")
    with pytest.raises(UsageError, match="asked for other runs"):
        Campaign(CampaignConfig.read(written(tmp_path, SMALL.replace("budget = 6", "budget = 7"))), tmp_path / "out")


def test_repeats_are_told_with_their_spread() -> None:
    runs = [
        SeedResult("demo:maze", "m", "p", seed, "won", 5, 5, actions, rhae, 0.5, 1.0)
        for seed, actions, rhae in ((0, 10, 50.0), (1, 14, 70.0))
    ]
    runs.append(SeedResult("demo:keys", "m", "p", 0, None, 1, 4, 9, None, None, 2.0))
    one, two = group_runs(runs)
    assert (one.runs, one.won, one.dollars, one.rhae) == (
        2,
        2,
        1.0,
        SeedStatistics(60.0, pytest.approx(14.142, abs=1e-3), 50.0, 70.0),
    )
    assert (two.ended, two.rhae, two.actions) == (0, None, SeedStatistics(9.0, None, 9, 9))
    assert "12.0 ± 2.8" in format_summary([one, two]) and format_summary([one, two], "markdown").startswith("| world |")
    assert format_summary([one, two], "csv").splitlines()[0].startswith("world,mind,protocol,runs,ended,won,levels_mean")
    assert os.linesep == "\n" and json.loads(format_summary([one, two], "json"))[1]["rhae"] is None
