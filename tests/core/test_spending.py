"""Caps on what a mind may cost: looked at before every call, they pause the run, which goes on when resumed with higher ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lakes import LAKE, NO_GOAL, TRUE, bodies
from minds import Scripted
from model_server import Does, provider, says
from thinking import RECEIPT, Thinking

from lawbook.cli import main
from lawbook.core.hypothesis import Proposal
from lawbook.core.record import Action
from lawbook.core.results import Probe, RunOutcome, Verdict, VerdictKind
from lawbook.core.spending import MAX_UNREPORTED_SECONDS, Caps, Spending, check_caps, check_request, enforce_caps
from lawbook.errors import MindError, UsageError
from lawbook.ledger.codec import decode, encode
from lawbook.ledger.events import AGENT_OP, COMMAND_OP, CallEvent, EventKind, NoteEvent, PlanEvent, VerdictEvent, get_duration
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import Case, Mind
from lawbook.runs.folder import RunConfig, RunFolder, list_runs
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import State, fold_events
from lawbook.sandbox.host import Host


def paused(tmp_path: Path, host: Host, mind: Mind, **settings: Any) -> tuple[RunFolder, str]:
    """A run that its caps pause: its folder, and what it says."""
    with start_run(RunConfig(LAKE, **settings), tmp_path, host=host, mind=mind) as (folder, session):
        with pytest.raises(MindError) as caught:
            play(session)
        assert session.outcome is None
    return folder, str(caught.value)


def resumed(folder: RunFolder, host: Host, mind: Mind, caps: Caps | None = None) -> RunOutcome | str:
    with resume_run(folder, host=host, mind=mind, caps=caps) as session:
        try:
            return play(session)
        except MindError as error:
            return str(error)


def told(folder: RunFolder) -> tuple[State, list[Event]]:
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        return fold_events(ledger), list(ledger)


@pytest.mark.parametrize(
    ("settings", "more", "said", "calls"),
    [
        ({"max_calls": 2}, Caps(calls=9), "The cap of 2 calls is reached (2 calls used)", 2),
        ({"max_dollars": 0.5}, Caps(dollars=20.0), "The cap of $0.50 is reached ($0.50 used)", 2),
        ({"max_minutes": 1e-6}, Caps(minutes=5.0), "The cap of 1e-06 minutes is reached", 0),
    ],
)
def test_a_cap_pauses_the_run_and_a_resume_may_raise_it(
    tmp_path: Path, host: Host, settings: dict[str, Any], more: Caps, said: str, calls: int
) -> None:
    mind = Thinking([TRUE])
    folder, sentence = paused(tmp_path, host, mind, **settings)
    name = next(iter(settings)).replace("_", "-")
    assert sentence.startswith(said) and sentence.endswith(f"; resume the run with a higher --{name}.")
    assert len(mind.asked) == calls
    again = Thinking([TRUE])
    assert str(resumed(folder, host, again)).startswith(said.partition(" is")[0]) and not again.asked
    well = Thinking([TRUE])
    assert resumed(folder, host, well, more) is RunOutcome.WON
    assert len(well.asked) == 4 - calls  # what was answered before is in the ledger
    state, events = told(folder)
    openings = bodies(events, EventKind.OPEN)
    assert len(openings) == 3 and Caps(**openings[1]["caps"]) == Caps.from_settings(settings)
    assert Caps(**openings[2]["caps"]) == more == state.caps
    assert openings[2]["run"] == openings[0]["run"]  # what it was asked for first stays on record


def test_caps_that_a_resume_does_not_name_stay(tmp_path: Path, host: Host) -> None:
    folder, _ = paused(tmp_path, host, Thinking([TRUE]), max_calls=1, max_tokens=1000)
    assert "2 calls" in str(resumed(folder, host, Thinking([TRUE]), Caps(calls=2)))
    assert told(folder)[0].caps == Caps(calls=2, tokens=1000)
    assert "2 calls" in str(resumed(folder, host, Thinking([TRUE])))  # and what one resume said holds for the next


def test_a_mind_without_a_desk_is_capped_too(tmp_path: Path, host: Host) -> None:
    """Scripted tells seven tokens a call, in its receipt."""
    folder, said = paused(tmp_path, host, Scripted([NO_GOAL], [Probe(Action(3), "?")]), max_tokens=20)
    assert said.startswith("The cap of 20 tokens is reached (21 tokens used)")
    assert sum(body["op"] in ("propose", "judge", "explore") for body in bodies(told(folder)[1], EventKind.CALL)) == 3


def test_a_mind_that_costs_nothing_is_no_call(tmp_path: Path, host: Host) -> None:
    class Free(Scripted):
        def receipt(self) -> dict[str, float | int | str]:
            return {}

    config = RunConfig(LAKE, max_calls=0, max_tokens=1, max_dollars=0.01)
    with start_run(config, tmp_path, host=host, mind=Free([TRUE])) as (folder, session), pytest.raises(MindError, match="0 calls"):
        play(session)
    assert resumed(folder, host, Free([TRUE]), Caps(calls=1)) is RunOutcome.WON


def test_dollars_cannot_be_capped_where_nobody_knows_the_price(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RECEIPT, "dollars")
    folder, said = paused(tmp_path, host, Thinking([TRUE]), max_dollars=5.0)
    assert "cannot be kept: the price of 1 call is not known" in said and "--max-tokens" in said
    assert told(folder)[0].spending.n_unpriced == 1


def test_a_call_of_many_requests_is_stopped_before_the_one_that_is_too_many() -> None:
    spent = Spending(tokens=900, calls=3)
    with enforce_caps(Caps(tokens=1000, calls=5), spent):
        check_request({"requests": 1, "input_tokens": 50})
        with pytest.raises(MindError, match="1,000 tokens is reached"):
            check_request({"requests": 1, "input_tokens": 90, "output_tokens": 10})
        with pytest.raises(MindError, match="5 calls"):
            check_request({"requests": 2})
    check_request({"requests": 99})  # nobody watches any more
    assert (spent.tokens, spent.calls) == (900, 3)


def test_time_counts_while_the_run_is_at_work() -> None:
    spent = Spending()
    for now, pause in ((100.0, True), (130.0, False), (5000.0, True), (5010.0, False), (4000.0, False), (4020.0, False)):
        spent.add_time(now, pause)  # a clock that was set back takes nothing away
    assert spent.active_seconds == 60.0
    with pytest.raises(MindError, match="The cap of 1 minutes is"):
        check_caps(Caps(minutes=1.0), spent)


def test_a_clock_that_jumps_a_day_ahead_costs_minutes_and_no_day() -> None:
    day = 86_400.0
    spent = Spending()
    for now, told in ((0.0, 0.0), (10.0, 5.0), (10.0 + day, 20.0), (20.0 + day, 0.0)):
        spent.add_time(now, paused=False, reported=told)
    assert spent.active_seconds == 10 + (20 + MAX_UNREPORTED_SECONDS) + 10


def test_a_long_call_counts_whole_and_so_does_a_long_search() -> None:
    spent = Spending()
    for now, told in ((0.0, 0.0), (3000.0, 2990.0)):
        spent.add_time(now, paused=False, reported=told)
    assert spent.active_seconds == 3000.0
    call, verdict = CallEvent(0, 0, "propose", None, 7, {}), Verdict(VerdictKind.ADMISSIBLE, seconds=2.5)
    assert get_duration(call) == 7.0 and get_duration(VerdictEvent(0, "proposal", verdict)) == 2.5
    assert get_duration(PlanEvent(0, None, "", 1, 0.5, None, ())) == 0.5 and get_duration(NoteEvent("a word")) == 0.0
    assert [get_duration(replace(call, seconds=odd)) for odd in (-1.0, float("inf"), float("nan"))] == [0.0] * 3
    for odd in (None, "3", True):
        with pytest.raises(UsageError, match=r"cannot be read.*altered\.$"):
            decode(EventKind.CALL, encode(call) | {"seconds": odd})


def test_a_clock_set_ahead_while_the_run_plays_does_not_pause_it_for_good(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a run of an hour at most the clock goes a day ahead: it plays on, and so does whoever folds its ledger."""
    true, ahead = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: true() + ahead[0])

    class Late(Thinking):
        def propose(self, case: Case) -> Proposal:
            ahead[0] = 86_400.0
            return super().propose(case)

    with start_run(RunConfig(LAKE, max_minutes=60), tmp_path, host=host, mind=Late([TRUE])) as (folder, session):
        assert play(session) is RunOutcome.WON
        live = session.state.spending
    state, events = told(folder)
    assert events[-1].time - events[0].time > 86_000
    assert state.spending == live and state.spending.active_seconds < 600


def test_the_minutes_of_a_call_that_is_going_on_are_those_of_no_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    spent = Spending()
    spent.add_time(100.0, paused=False)
    now += 59
    check_caps(Caps(minutes=1.0), spent)
    now += 1
    with pytest.raises(MindError, match="The cap of 1 minutes"):
        check_caps(Caps(minutes=1.0), spent)


def test_what_a_door_was_asked_costs_nothing() -> None:
    """A fold over events of other sorts of calls, as they lie in ledgers."""
    from lawbook.core.record import Record
    from lawbook.runs.state import Member

    state = State(Record(1), [Member(0)])
    for seq, call in enumerate(
        (
            CallEvent(0, 0, COMMAND_OP, None, 0.1, {"command": "status", "characters": 100, "refused": False}),
            CallEvent(0, 1, COMMAND_OP, None, 0.1, {"command": "plan", "requests": 7, "dollars": 9.0}),
            CallEvent(0, 0, AGENT_OP, None, 0.0, {"input_tokens": 5, "dollars": 0.5, "requests": 3}),
        )
    ):
        state.apply(Event(seq, 1.0, EventKind.CALL, encode(call), "", ""), None)  # type: ignore[arg-type]
    assert (state.spending.calls, state.spending.tokens, state.spending.dollars) == (3, 5, 0.5)
    assert state.members[0].n_calls == 0


# -- settings ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e300])
def test_a_cap_is_a_number_from_0(value: float) -> None:
    with pytest.raises(UsageError, match="max_dollars must be a number from 0"):
        RunConfig(LAKE, max_dollars=value)


def test_caps_stand_in_run_toml_and_only_where_they_were_asked_for(tmp_path: Path) -> None:
    capped = RunFolder.create(tmp_path, RunConfig(LAKE, max_dollars=5, max_calls=7))
    assert tomllib.loads(capped.toml.read_text())["run"]["max_calls"] == 7
    assert capped.load_config() == RunConfig(LAKE, max_dollars=5, max_calls=7)
    plain = RunFolder.create(tmp_path, RunConfig(LAKE))
    assert "max_" not in plain.toml.read_text() and plain.load_config() == RunConfig(LAKE)
    plain.toml.write_text(plain.toml.read_text().replace("budget", "max_calls = 1.5\nbudget"))
    with pytest.raises(UsageError, match="max_calls"):
        plain.load_config()


# -- from the command line, over HTTP ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_play_pauses_at_a_cap_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that talks nonsense and then dies: the run pauses, and answers on record are not asked for again."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import models

    from lawbook.minds.llm import retries

    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(retries, "MAX_ATTEMPTS", 1)
    with provider(says("I would like to talk about something else."), *[says("Hm.")] * 8, Does(cut=0)) as served:
        mind = f"llm:openai-compatible:{served.url}/v1#small"
        play_it = ["play", "demo:maze", "--mind", mind, "--out", str(tmp_path), "--plain", "--budget", "20"]
        assert main.main([*play_it, "--max-calls", "2"]) == 1
        err = capsys.readouterr().err
        assert "The cap of 2 calls is reached (2 calls used)" in err
        folder = next(list_runs(tmp_path))
        assert f"lawbook play --resume {folder.path}" in err and len(served.asked) == 2
        assert main.main(["play", "--resume", str(folder.path), "--max-calls", "1000", "--plain"]) == 1
        err = capsys.readouterr().err
        assert "gave no answer" in err and f"lawbook play --resume {folder.path}" in err
        asked = len(served.asked)
        assert asked == 10
    state, events = told(folder)
    calls = [body for body in bodies(events, EventKind.CALL) if "request" in body]
    assert [body["answer"] is None for body in calls] == [*[False] * 9, True]
    assert calls[-1]["receipt"]["failures"] == 1 and state.spending.calls == 10 and state.outcome is None
    assert main.main(["play", "--resume", str(folder.path), "--seed", "1", "--max-calls", "3"]) == 2
    assert "leave out --seed" in capsys.readouterr().err
    assert main.main(["show", str(folder.path)]) == 0
    assert "failed" in capsys.readouterr().out
    assert main.main(["audit", str(folder.path)]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_waits_for_its_provider_can_be_stopped_and_gone_on_with(tmp_path: Path) -> None:
    """SIGTERM while a request is under way: the run pauses at once, what the request cost until then is on record."""
    pytest.importorskip("pydantic_ai")
    with provider(says("late", slow=60.0)) as served:
        mind = f"llm:openai-compatible:{served.url}/v1#small"
        command = [sys.executable, "-m", "lawbook", "play", LAKE, "--mind", mind, "--out", str(tmp_path), "--plain"]
        playing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not served.asked and time.monotonic() < deadline and playing.poll() is None:
            time.sleep(0.05)
        playing.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert playing.stderr is not None
        err = playing.stderr.readline()
        assert time.monotonic() - began < 20
        playing.communicate(timeout=60)
        assert playing.returncode == 1
    folder = next(list_runs(tmp_path))
    assert err.strip() == f"paused; go on with: lawbook play --resume {folder.path}"
    call = next(body for body in bodies(told(folder)[1], EventKind.CALL) if "request" in body)
    assert call["answer"] is None and call["failed"].startswith("KeyboardInterrupt")
