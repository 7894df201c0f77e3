"""The command line through real processes: every exit code, every bad input in one sentence, interruption, resuming, pipes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lawbook.cli.commands import COMMANDS
from lawbook.cli.main import main
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunFolder, list_runs

LAKE = "gym:FrozenLake-v1?size=4"
WALK, FICKLE, SLOW, DIES, MUTE = (f"py:fickle_worlds:SOURCE/{name}" for name in ("walk", "fickle", "slow", "dies", "mute"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support"), "COLUMNS": "80"}
LAWBOOK = [sys.executable, "-m", "lawbook"]


def lawbook(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAWBOOK, *arguments], cwd=cwd, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=120, check=False
    )


def started(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """A command left running, in a group of its own, as a shell starts it."""
    return subprocess.Popen(
        [*LAWBOOK, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def the_run(cwd: Path) -> RunFolder:
    """The only run there is, or the newest."""
    return next(list_runs(cwd / "runs"))


def observed(folder: RunFolder) -> list[dict[str, Any]]:
    """Everything the world has shown in a run, in order."""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        return [dict(event.body) for event in ledger.read_events([EventKind.OBSERVE])]


def until(folder: Callable[[], RunFolder], actions: int, process: subprocess.Popen[str]) -> None:
    """Wait until a run has so many outcomes on disk."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if len(observed(folder())) > actions:
                return
        except Exception:  # not there yet
            pass
        time.sleep(0.005)
    assert process.poll() is not None, "the run hangs"


def sentence(result: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("lawbook: "), result.stderr
    return lines[0]


@pytest.fixture(scope="module")
def won(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run in `runs`, played by induce and won."""
    cwd = tmp_path_factory.mktemp("won")
    result = lawbook("play", LAKE, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return cwd


@pytest.fixture
def copied(won: Path, tmp_path: Path) -> RunFolder:
    """A copy of that run, to be broken."""
    shutil.copytree(won / "runs", tmp_path / "runs")
    return the_run(tmp_path)


# -- how it answers --------------------------------------------------------------------------------------------------------------


def test_the_version_is_told_without_loading_anything_big(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "lawbook", "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert re.fullmatch(r"lawbook \d+\.\d+\.\d+\n", result.stdout)
    assert not re.search(r"\| +(numpy|rich|sqlite3|arcengine|gymnasium|PIL|jinja2)\b", result.stderr)


def test_a_run_that_is_won_ends_in_0_and_tells_where_it_lies(won: Path) -> None:
    result = lawbook("play", LAKE, "--seed", "1", cwd=won)
    newest = the_run(won)
    assert result.returncode == 0 and not result.stderr
    assert result.stdout.splitlines()[0] == f"run     runs/{newest.path.name}"
    with Ledger.open(newest.ledger, readonly=True) as ledger:
        assert result.stdout.splitlines()[-1] == f"head    {ledger.head}"
    assert newest.report.read_text().startswith("<!doctype html>")
    assert "\x1b" not in result.stdout
    shutil.rmtree(newest.path)


def test_a_run_that_is_not_won_ends_in_1(tmp_path: Path) -> None:
    result = lawbook("play", WALK, "--mind", "random", "--budget", "5", cwd=tmp_path)
    assert result.returncode == 1 and "budget: " in result.stdout and not result.stderr
    assert "played under the protocol vanilla" in result.stdout


def test_a_world_that_gives_one_history_two_outcomes_ends_in_3(tmp_path: Path) -> None:
    result = lawbook("play", FICKLE, "--mind", "random", "--budget", "200", cwd=tmp_path)
    assert result.returncode == 3 and "nondeterministic" in result.stdout


def test_a_world_that_dies_ends_in_3_with_how_to_go_on(tmp_path: Path) -> None:
    result = lawbook("play", DIES, "--mind", "random", cwd=tmp_path)
    assert result.returncode == 3
    assert (
        ".;" not in sentence(result)
        and "exit code 7" in sentence(result)
        and f"lawbook play --resume runs/{the_run(tmp_path).path.name}" in sentence(result)
    )


def test_a_world_that_shows_nothing_leaves_no_run_behind(tmp_path: Path) -> None:
    result = lawbook("play", MUTE, "--mind", "random", cwd=tmp_path)
    assert result.returncode == 3 and sentence(result).endswith("at reset; mend it or its options.")
    assert not list((tmp_path / "runs").iterdir())


def test_a_python_that_is_too_old_is_told_so(tmp_path: Path) -> None:
    """The start of the program, in this Python as if it were an old one."""
    old = "import sys, runpy; sys.version_info = (3, 9); runpy.run_module('lawbook', run_name='__main__')"
    result = subprocess.run([sys.executable, "-c", old], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "needs Python 3.12 or newer" in sentence(result)


def test_a_package_that_is_missing_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('gone', name='numpy')\n")
    result = lawbook("play", LAKE, cwd=tmp_path)
    assert result.returncode == 2 and "numpy is missing: install it with pip" in sentence(result)


def test_a_host_that_does_not_start_ends_in_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lawbook.sandbox.zygote_client._BOOT", "raise SystemExit(5)")
    assert main(["play", LAKE]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    result = lawbook("play", LAKE, "--json", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.count("\n") == 1 and not result.stderr
    told = json.loads(result.stdout)
    events = observed(the_run(tmp_path))
    assert told["outcome"] == "won" and told["actions"] == len(events) - 1
    assert told["per_level"] == [{"level": 0, "actions": told["actions"], "completed": True, "baseline": 6}]
    assert told["run"] == f"runs/{the_run(tmp_path).path.name}"
    assert {"sentence", "mismatches", "refusals", "mind_calls", "seconds", "head"} <= set(told)
    shown = json.loads(lawbook("show", "last", "--json", cwd=tmp_path).stdout)
    assert shown == told


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    result = lawbook("play", WALK, "--mind", "random", "--budget", "3", "--quiet", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")


def test_a_bug_is_one_sentence_that_asks_to_report_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError("by nothing")

    monkeypatch.delenv("LAWBOOK_DEBUG", raising=False)
    monkeypatch.setattr("lawbook.runs.folder.list_runs", broken)
    assert main(["runs"]) == 70
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "ZeroDivisionError" in told and "report" in told and "LAWBOOK_DEBUG=1" in told
    monkeypatch.setenv("LAWBOOK_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["runs"])


# -- wrong use -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["play"], "needs a WORLD"),
        (["play", "nosuch"], "is no world"),
        (["play", "damo:maze"], "Did you mean 'demo'?"),
        (["play", "demo:nosuch"], "There is no world demo:nosuch"),
        (["play", "demo:maze?sed=3"], "Did you mean 'seed'?"),
        (["play", "demo:maze?seed"], "write option=value"),
        (["play", LAKE, "--mind", "nosuch"], "There is: coder, direct, files, graph, induce"),
        (["play", LAKE, "--protocol", "nosuch"], "choose one of memento3"),
        (["play", LAKE, "--mind", "random", "--protocol", "memento3"], "--protocol vanilla"),
        (["play", LAKE, "--budget", "many"], "budget is a whole number, not 'many'"),
        (["play", LAKE, "--max-dollars", "much"], "max-dollars is a number, not 'much'"),
        (["play", LAKE, "--budget"], "--budget needs a value; `lawbook play --help`"),
        (["show", "last", "--out", "--json"], "--out needs a value"),
        (["show", "last", "--json=3"], "'--json' does not take a value; `lawbook show --help`"),
        (["show", "last", "other"], "unexpected extra argument (other)"),
        (["score", "last", "--format", "txt"], "format 'txt' is not one of 'text', 'csv', 'json', 'markdown'"),
        (["score"], "required: RUN;"),
        (["picture", "last"], "required: -o;"),
        (["--versoin"], "Did you mean '--version'?"),
        (["play", LAKE, "--budget", "0"], "budget must be at least 1"),
        (["play", LAKE, "--population", "0"], "population must be at least 1"),
        (["play", LAKE, "--budgt", "3"], "Did you mean '--budget'?"),
        (["play", LAKE, "--out", "/proc/nowhere"], "choose another with --out"),
        (["play", "--resume", "nosuch"], "There is no run 'nosuch'"),
        (["play", "--resume", "last"], "There are no runs in runs"),
        (["play", LAKE, "--resume", "last"], "leave out gym:"),
        (["play", "--resume", "last", "--budget", "9"], "leave out --budget"),
        (["play", "--resume", "last", "--population", "2"], "leave out --population"),
        (["show", "nosuch"], "There is no run 'nosuch'"),
        (["show"], "required: RUN"),
        (["show", "/"], "/ is no run folder"),
        (["runs"], "There are no runs in runs"),
        (["plai"], "Did you mean 'play'?"),
        (["report", "last"], "There are no runs"),
    ],
)
def test_wrong_use_ends_in_2_with_one_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = lawbook(*arguments, cwd=tmp_path)
    assert result.returncode == 2 and words in sentence(result) and not result.stdout
    assert "Traceback" not in result.stderr


def test_words_that_begin_with_a_dash_are_taken_for_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["say", "- turn left"], ["say", "-5"], ["say", "--", "--out"], ["say", "-here is a wall", "--out=runs"]):
        assert main([words[0], "nosuch", *words[1:]]) == 2
        assert "There is no run 'nosuch'" in capsys.readouterr().err


def test_every_command_is_listed_and_tells_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    for word, sentence in COMMANDS.items():
        assert re.search(rf"^  {word} ", listed, re.MULTILINE)
        assert main([word, "-h"]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"Usage: lawbook {word} ") and " ".join(sentence.split()[:4]) in told and "--help" in told


@pytest.mark.parametrize(
    "arguments",
    [["history", "last", "--member", "1"], ["rulebook", "last", "--member", "-1"], ["program", "last", "--member", "7"]],
)
def test_a_member_that_is_not_there(arguments: list[str], won: Path) -> None:
    result = lawbook(*arguments, cwd=won)
    assert result.returncode == 2 and "There is no member" in sentence(result)


def test_a_file_that_cannot_be_written(won: Path) -> None:
    for words in (["report", "last", "-o", "nowhere/x"], ["picture", "last", "-o=nowhere/x"]):
        result = lawbook(*words, cwd=won)
        assert result.returncode == 2 and "nowhere/x cannot be written" in sentence(result)


def test_no_command_shows_what_there_is(tmp_path: Path) -> None:
    result = lawbook(cwd=tmp_path)
    assert result.returncode == 2 and all(word in result.stdout for word in ("play", "verify", "history"))


def test_a_finished_run_is_not_resumed(copied: RunFolder, tmp_path: Path) -> None:
    result = lawbook("play", "--resume", "last", cwd=tmp_path)
    assert result.returncode == 2 and "This run has ended (won)" in sentence(result)


BREAKS: dict[str, tuple[Callable[[RunFolder], object], str]] = {
    "no run.toml": (lambda run: run.toml.unlink(), "has no run.toml"),
    "no ledger": (lambda run: run.ledger.unlink(), "has no ledger.sqlite"),
    "a run.toml that is none": (lambda run: run.toml.write_text("[run"), "cannot be read"),
    "a run.toml with something unknown": (lambda run: run.toml.write_text("[run]\nworld='a:b'\nspeed=9\n"), "speed"),
    "a run.toml of another type": (lambda run: run.toml.write_text("[run]\nworld=7\n"), "cannot be read"),
    "a ledger that is none": (lambda run: run.ledger.write_bytes(b"no database" * 100), "is not a ledger"),
    "a ledger of another program": (lambda run: altered(run, "PRAGMA application_id = 7"), "is not a ledger"),
    "a ledger from a newer version": (lambda run: altered(run, "PRAGMA user_version = 99"), "from a newer Lawbook"),
    "an event that was altered": (
        lambda run: altered(run, "UPDATE events SET body = replace(body, '4', '3') WHERE seq = 3"),
        "altered",
    ),
    "a ledger without an opening": (lambda run: altered(run, "DELETE FROM events; DELETE FROM contents"), "no opening"),
}


def altered(run: RunFolder, statements: str) -> None:
    with sqlite3.connect(run.ledger) as database:
        database.executescript(statements)
    database.close()


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_run_is_not_resumed(name: str, copied: RunFolder, tmp_path: Path) -> None:
    damage, words = BREAKS[name]
    damage(copied)
    result = lawbook("play", "--resume", str(copied.path), cwd=tmp_path)
    assert result.returncode == 2 and words in sentence(result)


@pytest.mark.parametrize("name", ["a ledger that is none", "a ledger from a newer version", "a ledger without an opening"])
def test_a_broken_run_does_not_hide_the_others(name: str, copied: RunFolder, won: Path, tmp_path: Path) -> None:
    shutil.copytree(the_run(won).path, tmp_path / "runs" / "a-sound-one")
    BREAKS[name][0](copied)
    result = lawbook("runs", cwd=tmp_path)
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 2
    assert re.search(r"a-sound-one +won +1/1 levels", result.stdout)
    assert lawbook("show", copied.path.name, cwd=tmp_path).returncode == 2


def test_a_world_whose_package_is_missing_is_listed_with_the_sentence(tmp_path: Path) -> None:
    ghost = tmp_path / "ghost-1.0.dist-info"
    ghost.mkdir()
    needs = "Provides-Extra: town\nRequires-Dist: a_package_that_nobody_has; extra == 'town'\n"
    (ghost / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ghost\nVersion: 1.0\n{needs}")
    (ghost / "entry_points.txt").write_text("[lawbook.worlds]\nghost = ghostly:SOURCE\n[lawbook.minds]\nghost = ghostly:SOURCE\n")
    (tmp_path / "ghostly.py").write_text("import a_package_that_nobody_has\n")
    for command in ("worlds", "minds"):
        result = lawbook(command, cwd=tmp_path, PYTHONPATH=str(tmp_path))
        assert result.returncode == 0 and not result.stderr
        assert "a_package_that_nobody_has, which is not installed" in result.stdout
        assert "pip install 'ghost[town]' (in a clone: pip install '.[town]') brings it." in result.stdout
    assert "induce" in result.stdout
    result = lawbook("play", "ghost:town", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 2 and "a_package_that_nobody_has" in sentence(result)


def test_a_kind_that_is_listed_without_its_package_is_marked(tmp_path: Path) -> None:
    ghost = tmp_path / "ghost-1.0.dist-info"
    ghost.mkdir()
    (ghost / "METADATA").write_text("Metadata-Version: 2.1\nName: ghost\nVersion: 1.0\n")
    (ghost / "entry_points.txt").write_text("[lawbook.worlds]\nghost = ghostly:SOURCE\n")
    source = "from lawbook.worlds.gym_adapter import GymSource\nSOURCE = GymSource('ghost', 'Ghosts.', {}, 'nobody_has_this')\n"
    (tmp_path / "ghostly.py").write_text(source)
    listed = lawbook("worlds", cwd=tmp_path, PYTHONPATH=str(tmp_path)).stdout.splitlines()
    marked = [line for line in listed if "which is not installed" in line]
    ghosts = [line for line in listed if line.startswith("ghost: Ghosts. ghost: worlds need the Python module nobody_has_this")]
    assert len(ghosts) == 1
    extras = [line for line in marked if line.startswith("ale: ")]  # of our own, where its extra is not installed
    assert marked == extras + ghosts


# -- looking at runs -------------------------------------------------------------------------------------------------------------


def test_worlds_and_minds_list_what_can_be_played(tmp_path: Path) -> None:
    worlds = lawbook("worlds", cwd=tmp_path).stdout
    assert "demo:maze?seed=0" in worlds and "gym:FrozenLake-v1?is_slippery=false&map_seed=7&size=8" in worlds
    minds = lawbook("minds", cwd=tmp_path).stdout
    assert re.search("^induce", minds, re.MULTILINE) and re.search("^random", minds, re.MULTILINE)


def test_a_run_is_found_by_path_by_name_and_as_the_last(won: Path) -> None:
    path = the_run(won).path
    names = (str(path), path.name, "last")
    told = {lawbook("show", name, cwd=won).stdout.replace(str(path), f"runs/{path.name}") for name in names}
    assert len(told) == 1 and "won: The last level is completed." in told.pop()


def test_verify_replays_what_stands_from_the_ledger_alone(won: Path, copied: RunFolder, tmp_path: Path) -> None:
    result = lawbook("verify", "last", cwd=won)
    assert result.returncode == 0 and "the chain holds" in result.stdout and "verified, replays all" in result.stdout
    BREAKS["an event that was altered"][0](copied)
    result = lawbook("verify", "last", cwd=tmp_path)
    assert result.returncode == 1 and "altered" in result.stdout


def test_verify_needs_something_that_stands_where_hypotheses_are_needed(tmp_path: Path) -> None:
    lawbook("play", WALK, "--mind", "random", "--budget", "3", cwd=tmp_path)
    result = lawbook("verify", "last", cwd=tmp_path)
    assert result.returncode == 0 and "nothing admissible stood" in result.stdout


def test_history_shows_every_proposal(won: Path) -> None:
    text = lawbook("history", "last", cwd=won).stdout
    shown = json.loads(lawbook("show", "last", "--json", cwd=won).stdout)
    assert len(re.findall("^proposal ", text, re.MULTILINE)) == sum(shown["proposals"].values())
    assert "asked because of start" in text and "asked because of mismatch" in text and "+++ world_model.md" in text
    assert (
        "world_model_engine.py" not in text and "+++ world_model_engine.py" in lawbook("history", "last", "--full", cwd=won).stdout
    )


def test_rulebook_and_program_come_out_as_they_were_written(won: Path) -> None:
    from lawbook.runs.state import fold_events

    with Ledger.open(the_run(won).ledger, readonly=True) as ledger:
        hypothesis = fold_events(ledger).members[0].hypothesis
    assert hypothesis is not None
    assert lawbook("rulebook", "last", cwd=won).stdout == hypothesis.rulebook
    program = lawbook("program", "last", cwd=won).stdout
    assert all(text in program for text in hypothesis.files.values())


def test_report_and_picture_are_written_where_they_were_asked_for(won: Path, tmp_path: Path) -> None:
    for command, begins in (("report", "<!doctype html>"), ("picture", "<svg ")):
        result = lawbook(command, "last", "-o", str(tmp_path / command), cwd=won)
        assert result.returncode == 0 and (tmp_path / command).read_text().startswith(begins)


# -- pipes, interruption, resuming -----------------------------------------------------------------------------------------------


def test_a_pipe_that_closes_early_is_no_failure(won: Path) -> None:
    command = f"{sys.executable} -m lawbook history last --full | head -n 1"
    result = subprocess.run(
        ["sh", "-c", command], cwd=won, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.stdout.startswith("proposal 1") and not result.stderr


def test_a_run_goes_on_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    command = f"{sys.executable} -m lawbook play {WALK} --mind random --budget 200 | head -n 1"
    result = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60
    )
    assert not result.stderr and len(observed(the_run(tmp_path))) == 201


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run under way, each action of which takes 0.3 s."""
    process = started("play", SLOW, "--mind", "random", "--budget", "6", cwd=tmp_path)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interruption_pauses_after_the_action_in_flight(name: str, slow_run: subprocess.Popen[str], tmp_path: Path) -> None:
    until(lambda: the_run(tmp_path), 1, slow_run)
    time.sleep(0.1)
    os.killpg(slow_run.pid, signal.Signals[name])  # as a terminal does: to the whole group
    out, err = slow_run.communicate(timeout=30)
    run = the_run(tmp_path)
    assert slow_run.returncode == 1, err
    assert err == f"paused; go on with: lawbook play --resume runs/{run.path.name}\n"
    assert "not ended" in out
    with Ledger.open(run.ledger, readonly=True) as ledger:
        kinds = [event.kind for event in ledger]
    assert kinds.count(EventKind.INTEND) == kinds.count(EventKind.OBSERVE) - 1  # nothing is in doubt
    result = lawbook("play", "--resume", "last", cwd=tmp_path)
    assert result.returncode == 1 and "All 6 actions are spent" in result.stdout and len(observed(run)) == 7


def test_a_run_that_is_being_played_is_not_resumed_by_another(slow_run: subprocess.Popen[str], tmp_path: Path) -> None:
    until(lambda: the_run(tmp_path), 0, slow_run)
    result = lawbook("play", "--resume", "last", cwd=tmp_path)
    assert result.returncode == 2 and f"another live process ({slow_run.pid})" in sentence(result)
    assert lawbook("show", "last", cwd=tmp_path).returncode == 0  # looking is fine
    slow_run.communicate(timeout=30)
    assert slow_run.returncode == 1


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    cwd = tmp_path_factory.mktemp("unbroken")
    return cwd, json.loads(lawbook("play", "demo:maze?seed=2", "--seed", "5", "--json", cwd=cwd).stdout)


@pytest.mark.slow
@pytest.mark.parametrize("time_around", range(4))
def test_a_run_that_is_killed_goes_on_as_if_nothing_had_happened(
    time_around: int, unbroken: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    whole, told = unbroken
    dice = random.Random()
    while True:
        at = dice.randrange(told["actions"])
        process = started("play", "demo:maze?seed=2", "--seed", "5", "--quiet", cwd=tmp_path)
        until(lambda: the_run(tmp_path), at, process)
        time.sleep(dice.random() * 0.05)
        with suppress(ProcessLookupError):  # it may have ended a moment ago
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if json.loads(lawbook("show", "last", "--json", cwd=tmp_path).stdout)["outcome"] is None:
            break  # else it had ended before it could be killed
        shutil.rmtree(tmp_path / "runs")
    result = lawbook("play", "--resume", "last", "--json", cwd=tmp_path)
    assert result.stdout, f"killed after {at} actions: {result.stderr}"
    again = json.loads(result.stdout)
    keys = ("outcome", "actions", "per_level", "versions", "mismatches", "proposals", "exact_predictions")
    assert {key: again[key] for key in keys} == {key: told[key] for key in keys}, f"killed after {at} actions"
    assert observed(the_run(tmp_path)) == observed(the_run(whole))
    assert lawbook("verify", "last", cwd=tmp_path).returncode == 0
