"""An agent at the wheel: started, watched, started again, ended at the budget and at caps, its cost in the ledger."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maze_model import FILES, WORLD, writing
from mock_models import MockModel, Say, Shell, Tool, Turn

from lawbook.agents.runner import agent_session, confinement_probe, runner
from lawbook.agents.runner.agent_cli import SessionConfig, SessionOutput, list_agent_files
from lawbook.agents.runner.claude import Claude
from lawbook.agents.runner.codex import Codex
from lawbook.agents.runner.model_endpoint import ModelEndpoint
from lawbook.agents.runner.model_prices import price_tokens
from lawbook.agents.runner.runner import run_agents
from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE
from lawbook.core.results import RunOutcome
from lawbook.errors import HostError, MindError, UsageError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.minds.agent import SOURCE, CodingAgentMind
from lawbook.runs import lifecycle
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.state import fold_events
from lawbook.sandbox.agent_process import LANDLOCK, NAMESPACES, UNCONFINED

AGENTS = Path(__file__).parents[2] / ".tools" / "agents" / "node_modules" / ".bin"
REAL_KEY = "the key that no agent sees"
MODEL = "claude-sonnet-4-5"

ASK = f"""python3 - "$URL/v1/messages" "$TOKEN" <<'END'
import json, sys, urllib.request
body = {{"model": "{MODEL}", "max_tokens": 1, "tools": [{{"name": "Bash"}}], "messages": [{{"role": "user", "content": "hello"}}]}}
headers = {{"x-api-key": sys.argv[2], "content-type": "application/json"}}
urllib.request.urlopen(urllib.request.Request(sys.argv[1], json.dumps(body).encode(), headers)).read()
END
"""

KINDS = ("result", "assistant", "item.completed", "turn.failed", "error")
SAID = ("num_turns", "total_cost_usd", "result", "errors", "subtype", "is_error", "item", "type", "text", "error", "message")
"""Of the lines that agents print about themselves."""

Driven = Callable[..., tuple[RunOutcome | Exception, Ledger, Path]]


class Puppet:
    """A stand-in for an agent's program: bash, with a script for every session, the last again and again."""

    name, program, install = "claude", "bash", "nothing"

    def __init__(self, *scripts: str, base: str = "http://127.0.0.1:9") -> None:
        self.scripts, self.base = scripts, base
        self.prompts: list[str] = []

    def find_endpoint(self, environment: Mapping[str, str]) -> ModelEndpoint:
        return ModelEndpoint(self.base, {"x-api-key": REAL_KEY}, ("/v1/messages",))

    def prepare(self, config: SessionConfig) -> None:
        pass

    def build_command(self, path: str, config: SessionConfig) -> list[str]:
        self.prompts.append(config.prompt)
        return [path, "-c", self.scripts[min(len(self.prompts), len(self.scripts)) - 1]]

    def build_environment(self, config: SessionConfig) -> dict[str, str]:
        return {"URL": config.url, "TOKEN": config.token}

    def parse_output(self, output: str) -> SessionOutput:
        return SessionOutput(message=(output.splitlines() or [""])[-1])


@pytest.fixture
def driven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driven:
    """Play a small world with a puppet at the wheel: how it ended, its ledger and its folder."""

    def play(puppet: Puppet, **asked: object) -> tuple[RunOutcome | Exception, Ledger, Path]:
        monkeypatch.setitem(runner.AGENT_CLIS, "claude", puppet)  # type: ignore[arg-type]
        settings = {"mind": "coder:claude", "protocol": "vanilla", **asked}
        with lifecycle.start_run(RunConfig(WORLD, **settings), tmp_path / "runs") as (folder, session):  # type: ignore[arg-type]
            try:
                ended: RunOutcome | Exception = run_agents(session, folder)
            except Exception as error:
                ended = error
        return ended, Ledger.open(folder.ledger, readonly=True), folder.path

    return play


def costs(ledger: Ledger) -> list[dict[str, object]]:
    return [event.body["receipt"] for event in ledger.read_events([EventKind.CALL]) if event.body["op"] == "coder"]


def test_one_that_stops_early_is_started_again_with_the_brief(driven: Driven) -> None:
    puppet = Puppet('./law probe 1 -m "what does 1 do?" && ./law note "tried 1"', "./law finish -m 'seen enough'")
    ended, ledger, folder = driven(puppet)
    assert ended is RunOutcome.FINISHED
    assert len(puppet.prompts) == 2
    assert "1 actions sent" not in puppet.prompts[0] and "499" in puppet.prompts[1] and "tried 1" in puppet.prompts[1]
    sessions = [receipt for receipt in costs(ledger) if "session" in receipt]
    assert [(one["session"], one["requests"]) for one in sessions] == [(1, 0), (2, 0)] and sessions[0]["exit"] == 0
    commands = [event.body["receipt"]["command"] for event in ledger.read_events([EventKind.CALL]) if event.body["op"] == "door"]
    assert commands == ["brief", "probe", "note", "brief", "finish"]  # the one that ends the run is counted after its end
    noted = [event.body for event in ledger.read_events([EventKind.NOTE]) if event.body.get("by") == "probe"]
    assert len(noted) == 1 and noted[0]["confinement"]["level"] == "full" and noted[0]["confinement"]["facts"]["read"] == "denied"
    assert fold_events(ledger).notes == ["tried 1"]  # what the probe found is for people
    where = (folder / "agents").resolve()
    assert (where / "m0" / "workspace" / "law").is_file() and "maze" not in str(where.relative_to(folder.parent))


def test_one_that_gets_nowhere_pauses_the_run_which_goes_on_later(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    puppet = Puppet("echo mine > mine.txt; ./law status; echo 'I would rather not.'")
    ended, ledger, folder = driven(puppet)
    assert isinstance(ended, MindError) and "3 times" in str(ended) and "I would rather not" in str(ended)
    assert fold_events(ledger).outcome is None
    ledger.close()
    again = Puppet("cat mine.txt && ./law finish -m 'there'")
    monkeypatch.setitem(runner.AGENT_CLIS, "claude", again)  # type: ignore[arg-type]
    with lifecycle.resume_run(RunFolder(folder)) as session:
        assert run_agents(session, RunFolder(folder)) is RunOutcome.FINISHED
    assert len(again.prompts) == 1 and "You go on with a run" in again.prompts[0]
    assert sorted(path.name for path in (folder / "logs").glob("*.jsonl")) == [f"m0-{number}.jsonl" for number in (1, 2, 3, 4)]


def test_the_budget_ends_the_run_and_the_agent(driven: Driven) -> None:
    word = f"600.{time.time_ns() % 10**9}"
    puppet = Puppet(f"(setsid sleep {word} &) ; for i in 1 2 3 4 5; do ./law probe 3 -m again; done; sleep {word}")
    ended, ledger, _ = driven(puppet, budget=4)
    assert ended is RunOutcome.BUDGET
    assert sum(event.body["action"] is not None for event in ledger.read_events([EventKind.OBSERVE])) == 4
    left = [path for path in Path("/proc").iterdir() if path.name.isdigit() and word.encode() in command_of(path)]
    assert left == []


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_cap_on_money_ends_it_and_every_cent_is_in_the_ledger(driven: Driven) -> None:
    with MockModel(lambda turn: Say("hello")) as mock:
        each = price_tokens(MODEL, {"input_tokens": 1200, "cached_tokens": 200, "output_tokens": 50})
        assert each
        puppet = Puppet(f"env > env.txt; cat /proc/self/environ >> env.txt; while true; do {ASK}\ndone", base=mock.base)
        began = time.monotonic()
        ended, ledger, folder = driven(puppet, max_dollars=2.5 * each)
        assert time.monotonic() - began < 60
        asked = mock.asked()
    assert isinstance(ended, MindError) and "--max-dollars" in str(ended)
    assert asked == 3  # the third passes the cap, a fourth is not let through
    spent = [receipt for receipt in costs(ledger) if "input_tokens" in receipt or receipt["requests"]]
    assert sum(int(str(receipt["requests"])) for receipt in spent) == 3
    assert sum(float(str(receipt.get("dollars", 0))) for receipt in spent) == pytest.approx(3 * each)
    assert fold_events(ledger).spending.dollars == pytest.approx(3 * each)
    assert {name.lower(): value for name, value in mock.seen[0][1].items()}["x-api-key"] == REAL_KEY
    seen = (folder / "agents" / "m0" / "workspace" / "env.txt").read_text()
    assert "TOKEN=lawbook-" in seen and REAL_KEY not in seen


def spoken(**told: object) -> str:
    """A command that prints what Claude Code would at its end."""
    return f"echo {shlex.quote(json.dumps({'type': 'result', 'is_error': False, 'result': 'done', **told}))}"


@pytest.mark.parametrize("ending", [RunOutcome.WON, RunOutcome.BUDGET, RunOutcome.FINISHED])
def test_what_the_session_cost_in_which_the_run_ended_is_on_record(driven: Driven, ending: RunOutcome) -> None:
    plays = {
        RunOutcome.WON: f"{writing()}\n./law propose repair_code -m 'first rules'; while ./law execute; do :; done",
        RunOutcome.BUDGET: "while ./law probe 3 -m again; do :; done",
        RunOutcome.FINISHED: "./law finish -m 'seen enough'",
    }
    with MockModel(lambda turn: Say("hello")) as mock:
        puppet = Puppet(f"{spoken(num_turns=7, total_cost_usd=0.25)}\n{ASK}\n{plays[ending]}\nsleep 30", base=mock.base)
        puppet.parse_output = Claude().parse_output  # type: ignore[method-assign]
        ended, ledger, folder = driven(puppet, budget=3 if ending is RunOutcome.BUDGET else 200)
    assert ended is ending
    told = [receipt for receipt in costs(ledger) if "session" in receipt]
    assert [(one["turns"], one["told_dollars"], one["exit"], one["said"]) for one in told] == [(7, 0.25, "ended", "done")]
    assert str(told[0]["agent"]).startswith("GNU bash")
    state = fold_events(ledger)
    assert (state.outcome, state.spending.calls, state.spending.tokens) == (ending, 1, 1250)
    ledger.close()
    assert audit_run(RunFolder(folder)).findings == ()


def test_what_an_agent_prints_is_nothing_but_words(driven: Driven) -> None:
    nonsense = [
        '{"type": "result", "num_turns": "x", "total_cost_usd": NaN, "result": "\\u001b[2J\\ud800 gone"}',
        "[" * 100_000,
        "{}",
    ]
    lines = "; ".join(f"echo {shlex.quote(line)}" for line in nonsense[::-1] if len(line) < 999)
    puppet = Puppet(f"python3 -c 'print(\"[\" * 100_000)'; {lines}; ./law note here", "./law finish -m 'there'")
    puppet.parse_output = Claude().parse_output  # type: ignore[method-assign]
    ended, ledger, _ = driven(puppet)
    assert ended is RunOutcome.FINISHED
    first = next(receipt for receipt in costs(ledger) if "session" in receipt)
    assert (first["turns"], first["said"]) == (0, "[2J gone") and "told_dollars" not in first


def test_a_cap_on_minutes_ends_one_that_only_waits(driven: Driven) -> None:
    ended, _, _ = driven(Puppet("sleep 600"), max_minutes=0.03)
    assert isinstance(ended, MindError) and "--max-minutes" in str(ended)


def test_one_that_is_silent_for_long_is_taken_for_lost(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_session, "SILENCE_SECONDS", 1.0)
    puppet = Puppet("./law status; sleep 600", "./law finish -m 'I woke up'")
    ended, ledger, _ = driven(puppet)
    assert ended is RunOutcome.FINISHED and len(puppet.prompts) == 2
    assert next(receipt["exit"] for receipt in costs(ledger) if "session" in receipt) == "ended"


def test_each_member_is_told_what_the_others_sent(driven: Driven) -> None:
    """The paper's Table 4: one record, a workspace and an agent each."""
    puppet = Puppet()
    puppet.build_command = lambda path, call: [path, "-c", script_of(call)]  # type: ignore[method-assign]

    def script_of(call: SessionConfig) -> str:
        puppet.prompts.append(call.prompt)
        if call.workspace.parent.name == "m0":
            return './law probe 3 -m "what does 3 do?" > told.txt; sleep 600'
        return (
            "until ./law status > status.txt; grep -q 'action 3' status.txt; do sleep 0.1; done; cp status.txt told.txt;"
            "./law finish -m 'I was told'"
        )

    ended, ledger, folder = driven(puppet, population=2)
    assert ended is RunOutcome.FINISHED
    assert len(puppet.prompts) == 2 and all("2 members" in prompt or "member" in prompt for prompt in puppet.prompts)
    told = [(folder / "agents" / f"m{member}" / "workspace" / "told.txt").read_text() for member in (0, 1)]
    assert "since your last command" in told[1] and "member 0" in told[1] and "since your last command" not in told[0]
    assert sum(event.body.get("by") == "probe" for event in ledger.read_events([EventKind.NOTE])) == 2


@pytest.mark.parametrize("rung", [NAMESPACES, LANDLOCK])
def test_an_agents_own_settings_are_new_every_time_and_written_through_nothing_of_its_own(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rung: str
) -> None:
    """It leaves links, a pipe and folders where its program had settings, a home's parts and programs; the run goes on."""
    monkeypatch.setitem(confinement_probe.confine.__kwdefaults__, "rungs", [rung])
    victim = tmp_path / "victim"
    victim.write_text("the user's own")
    plants = (f"ln -s {victim} $x", "mkfifo $x", "mkdir -p $x/y")
    places = '"$CODEX_HOME/config.toml" "$HOME/.codex/config.toml" "$HOME/bin/python3" "$HOME/tmp" "$HOME/python/numpy"'
    place = "mkdir -p $HOME/.codex; for x in {places}; do mkdir -p $(dirname $x); rm -rf $x; {plant}; done; "
    folders = "$(dirname $(command -v python3)) $PYTHONPATH $(dirname $CODEX_HOME)"
    given = f"for x in {folders}; do rm -rf $x $x/*; ln -s {victim} $x/new; done; "
    work = "./law probe 1 -m again; cat $CODEX_HOME/config.toml >> seen; python3 -c 'import numpy; print(1)' >> seen; "
    scripts = [work + given + place.format(places=places, plant=plant) for plant in plants]
    puppet = Puppet(*scripts, f"{work} ./law finish -m 'still here'")
    puppet.prepare = Codex().prepare  # type: ignore[method-assign]
    puppet.build_environment = Codex().build_environment  # type: ignore[method-assign]
    ended, _, folder = driven(puppet)
    assert victim.read_text() == "the user's own"
    assert ended is RunOutcome.FINISHED and len(puppet.prompts) == 4
    seen = (folder / "agents" / "m0" / "workspace" / "seen").read_text()
    assert seen.count('model_provider = "lawbook"') == 4 and seen.splitlines().count("1") == 4


def test_an_agent_whose_settings_cannot_be_written_pauses_the_run(driven: Driven) -> None:
    puppet = Puppet("./law finish -m 'there'")

    def full(call: SessionConfig) -> None:
        raise OSError(28, "No space left on device")

    puppet.prepare = full  # type: ignore[method-assign]
    ended, ledger, _ = driven(puppet)
    assert isinstance(ended, MindError) and "No space left on device" in str(ended) and fold_events(ledger).outcome is None


def test_the_way_to_the_door_leads_to_no_other(driven: Driven, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On the rung without Unix sockets the run process speaks to the door for the agent, which may put anything in its place."""
    monkeypatch.setitem(confinement_probe.confine.__kwdefaults__, "rungs", [LANDLOCK])
    path = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(path)
        stranger.listen()
        stranger.settimeout(0.01)
        puppet = Puppet()
        puppet.build_command = lambda path, call: [path, "-c", script_of(call)]  # type: ignore[method-assign]

        def script_of(call: SessionConfig) -> str:
            puppet.prompts.append(call.prompt)
            if call.workspace.parent.name == "m1":
                return "until ./law status | grep -q 'action 3'; do sleep 0.1; done; sleep 1; ./law finish -m 'seen'"
            other = call.workspace.parent.parent / "m1" / "workspace" / ".law.sock"
            run = tmp_path / "runs" / "*" / "door.sock"
            return (
                f'./law probe 3 -m "what does 3 do?"; for there in {path} {other} $(echo {run}); do rm -f .law.sock;'
                " ln -s $there .law.sock; ./law note mine; rm .law.sock; ln $there .law.sock; mv $there .law.sock; ./law note mine;"
                " done; sleep 60"
            )

        ended, ledger, _ = driven(puppet, population=2)
        with pytest.raises(TimeoutError):
            stranger.accept()
    assert ended is RunOutcome.FINISHED and fold_events(ledger).notes == []


def test_a_machine_without_walls_is_refused_unless_weak_is_meant(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(confinement_probe.confine.__kwdefaults__, "rungs", [UNCONFINED])
    ended, _, _ = driven(Puppet("./law finish -m 'there'"))
    assert isinstance(ended, HostError) and "--weak-sandbox" in str(ended)
    ended, ledger, _ = driven(Puppet("./law finish -m 'there'"), weak_sandbox=True)
    assert ended is RunOutcome.FINISHED
    noted = next(event.body for event in ledger.read_events([EventKind.NOTE]) if event.body.get("by") == "probe")
    assert (
        noted["confinement"]["level"] == "weak" and noted["confinement"]["rung"] == "none" and "read (possible: " in noted["text"]
    )


def test_ctrl_c_pauses_the_run_and_leaves_no_agent(tmp_path: Path) -> None:
    """By the command line: somebody's own `claude`, that waits for good."""
    word = f"600.{time.time_ns() % 10**9}"
    own = tmp_path / "bin" / "claude"
    own.parent.mkdir()
    own.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 9.9 && exit\n./law note here\nsleep {word}\n')
    own.chmod(0o755)
    environment = os.environ | {"PATH": f"{own.parent}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": REAL_KEY}
    command = [sys.executable, "-m", "lawbook", "play", WORLD, "--mind", "coder:claude", "--plain", "--out", str(tmp_path / "runs")]
    run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert run.stdout is not None
    for line in run.stdout:
        if line.rstrip().endswith("here"):
            break
    os.kill(run.pid, signal.SIGINT)
    said, failed = run.communicate(timeout=60)
    assert run.returncode == 1 and "lawbook play --resume" in failed, (said, failed)
    assert [path for path in Path("/proc").iterdir() if path.name.isdigit() and word.encode() in command_of(path)] == []


# -- what is said before a run begins --------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    for agent, package in (("claude", "@anthropic-ai/claude-code"), ("codex", "@openai/codex")):
        with pytest.raises(UsageError, match=f"npm install -g {package}"):
            runner.check_agent(CodingAgentMind(agent))
    for agent, key in (("claude", "ANTHROPIC_API_KEY"), ("codex", "OPENAI_API_KEY")):
        program = tmp_path / agent
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UsageError, match=key):
            runner.check_agent(CodingAgentMind(agent))


def test_minds_by_name() -> None:
    assert [name for name, _ in SOURCE.names()] == ["coder:claude", "coder:codex"]
    mind = SOURCE.make("claude:some-model:latest")
    assert (mind.agent, mind.model, mind.name) == ("claude", "some-model:latest", "coder:claude:some-model:latest")
    assert mind.drives and mind.proposes
    with pytest.raises(UsageError, match="coder:claude or --mind coder:codex"):
        SOURCE.make("emacs")


def test_what_belongs_to_a_program_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """npm's layout: a link to a script in a package, its binary in a package beside that, its interpreter elsewhere."""
    script = tmp_path / "lib" / "node_modules" / "@maker" / "agent" / "bin" / "agent.js"
    script.parent.mkdir(parents=True)
    script.write_text("#!/usr/bin/env node\n")
    node = tmp_path / "versions" / "node"
    node.parent.mkdir()
    node.write_text("")
    node.chmod(0o755)
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "agent"
    link.symlink_to(script)
    monkeypatch.setenv("PATH", str(node.parent))
    assert set(list_agent_files(str(link))) == {
        str(link),
        str(script),
        str(tmp_path / "lib" / "node_modules" / "@maker"),
        str(node),
    }
    binary = tmp_path / "agent"
    binary.write_bytes(b"\x7fELF")
    assert list_agent_files(str(binary)) == (str(binary),)


def test_what_agents_say_of_themselves_is_read_even_when_it_is_cut_short() -> None:
    turn = {"type": "assistant", "message": {}}
    end = {"type": "result", "is_error": False, "num_turns": 7, "result": "done", "total_cost_usd": 0.25}
    lines = [json.dumps(turn), json.dumps(turn), "no json", "[]", json.dumps(end)]
    assert Claude().parse_output("\n".join(lines)) == SessionOutput(7, 0.25, False, "done")
    assert Claude().parse_output("\n".join(lines[:-1])) == SessionOutput(2)
    item = {"type": "item.completed", "item": {"type": "agent_message", "text": "hm"}}
    assert Codex().parse_output("\n".join([json.dumps(item), "{"])) == SessionOutput(1, None, False, "hm")
    assert Codex().parse_output(json.dumps({"type": "turn.failed", "error": {"message": "no"}})) == SessionOutput(
        0, None, True, "no"
    )


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
LINE = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.sampled_from(SAID), PLAIN, max_size=3)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.builds(lambda kind, rest: {"type": kind, **rest}, st.sampled_from(KINDS), st.dictionaries(st.sampled_from(SAID), LINE))
    )
)
def test_whatever_an_agent_says_of_itself_its_result_can_be_written_down(events: list[dict[str, object]]) -> None:
    output = "\n".join(map(json.dumps, events))
    for cli in (Claude(), Codex()):
        found = cli.parse_output(output)
        assert (
            type(found.n_turns) is int and 0 <= found.n_turns < 1e15 and type(found.message) is str and type(found.failed) is bool
        )
        assert found.dollars is None or (type(found.dollars) is float and 0 <= found.dollars < 1e15)


# -- the real programs -----------------------------------------------------------------------------------------------------------


def agent_or_skip(name: str) -> None:
    if not (AGENTS / name).exists():
        pytest.skip(f"{name} is not in .tools/agents; scripts/agents (part of make test) installs it where there is npm")


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[MockModel], None]]:
    """Somebody who has the agents installed and a key set, whose endpoint is a mock."""

    def set_up(mock: MockModel) -> None:
        monkeypatch.setenv("PATH", f"{AGENTS}:{os.environ['PATH']}")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", mock.base)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{mock.base}/v1")
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, REAL_KEY)
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)

    yield set_up
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)


def player(turn: Turn) -> Say | Shell | Tool:
    """Plays the whole maze: looks, writes its files, proposes; stops after two levels, and a second session plays on."""
    done = len(turn.results)
    if turn.session:  # the next session: its prompt says where things stand
        assert "You go on with a run" in turn.prompt
        return (Tool("execute", {}), Shell("./law execute"))[done % 2]
    first = (
        Tool("observe", {"rows": "0-7"}),
        Shell(f"ls {shlex.quote(str(Path.cwd()))} 2>&1; {writing()}\n./law verify"),
        Tool("propose", {"decision": "revise_rulebook", "message": "first rules"}),
        Shell("./law plan; ./law execute"),
        Tool("execute", {}),
        Say("That is enough for today."),
    )
    return first[min(done, len(first) - 1)]


def whole_game(agent: str, out: Path, mock: MockModel, model: str = "") -> tuple[Ledger, Path]:
    config = RunConfig(WORLD, mind=f"coder:{agent}" + (f":{model}" if model else ""), budget=200)
    with lifecycle.start_run(config, out) as (folder, session):
        assert run_agents(session, folder) is RunOutcome.WON
    ledger = Ledger.open(folder.ledger, readonly=True)
    state = fold_events(ledger)
    assert (state.outcome, state.n_completed, state.n_mismatches) == (RunOutcome.WON, 5, 0)
    assert state.members[0].hypothesis is not None and state.members[0].hypothesis.files[ENGINE] == FILES[ENGINE]
    sessions = [receipt for receipt in costs(ledger) if "session" in receipt]
    assert len(sessions) == 2 and sessions[0]["said"] == "That is enough for today." and int(str(sessions[0]["turns"])) >= 5
    assert sum(int(str(receipt.get("requests", 0))) for receipt in costs(ledger)) == mock.asked()
    keys = {
        value for _, headers, _ in mock.seen for name, value in headers.items() if name.lower() in ("x-api-key", "authorization")
    }
    assert keys <= {REAL_KEY, f"Bearer {REAL_KEY}"}
    return ledger, folder.path


@pytest.mark.slow
def test_claude_code_plays_a_whole_game_through_the_gate(user: Callable[[MockModel], None], tmp_path: Path) -> None:
    agent_or_skip("claude")
    with MockModel(player) as mock:
        user(mock)
        ledger, folder = whole_game("claude", tmp_path / "runs", mock, MODEL)
    spent = fold_events(ledger).spending
    told = next(receipt for receipt in costs(ledger) if "session" in receipt)["told_dollars"]
    assert 0 < float(str(told)) <= spent.dollars  # what it says of its first session is part of what was counted
    assert spent.tokens == mock.asked() * 1250
    assert "that is enough" in (folder / "logs" / "m0-1.jsonl").read_text().lower()


@pytest.mark.slow
def test_codex_plays_a_whole_game_on_the_lower_rung(
    user: Callable[[MockModel], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_or_skip("codex")
    monkeypatch.setitem(confinement_probe.confine.__kwdefaults__, "rungs", [LANDLOCK])
    with MockModel(player) as mock:
        user(mock)
        ledger, _ = whole_game("codex", tmp_path / "runs", mock)
    noted = next(event.body for event in ledger.read_events([EventKind.NOTE]) if event.body.get("by") == "probe")
    assert noted["confinement"]["rung"] == "landlock" and noted["confinement"]["level"] == "full"
