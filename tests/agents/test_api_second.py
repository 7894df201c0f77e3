"""The second doors: points that players made, each with the command that answers it. Real sessions over small worlds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agents import BLIND, SOURCE, TRUE, Agent, Corridor, changed, corridor, session_of

from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.memory import LEGEND_FILE
from lawbook.agents.api.operation import OK, REFUSED, WRONG
from lawbook.agents.api.scratch import MAX_FILE_BYTES
from lawbook.agents.api.socket_server import SocketServer, serve
from lawbook.core.hypothesis import ENGINE, Decision
from lawbook.core.record import Action, Observation, Status, freeze
from lawbook.core.results import RunOutcome
from lawbook.ledger.events import EventKind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.worlds.world import WorldSpec

Played = tuple[Session, SocketServer, Agent]


@pytest.fixture
def played(tmp_path: Path, host: Host, request: pytest.FixtureRequest) -> Iterator[Played]:
    """A corridor, served; the protocol by indirect parameter."""
    with corridor(tmp_path, host, getattr(request, "param", "memento3")) as found:
        yield found


vanilla = pytest.mark.parametrize("played", ["vanilla"], indirect=True)


def propose(agent: Agent, *words: str) -> str:
    answer = agent.law("propose", *words, "-m", "as seen")
    assert answer.code == OK, answer
    return answer.text


# -- acting ----------------------------------------------------------------------------------------------------------------------


def test_decisions_are_inferred_and_a_wrong_word_gives_way(played: Played) -> None:
    session, _, agent = played
    agent.write(TRUE)
    assert "(revise_rulebook, as the rulebook changed)" in propose(agent, "repair_code")
    agent.write(changed(TRUE, {ENGINE: SOURCE + "\nWIDTH = 6\n"}))
    assert "(repair_code, as the rulebook did not)" in propose(agent, "revise_rulebook")
    agent.write(changed(TRUE, {ENGINE: SOURCE + "\nWIDTH = 7\n"}))
    propose(agent)
    propose(agent)
    agent.write(changed(TRUE, {ENGINE: SOURCE + "\nWIDTH = 8\n"}))
    assert agent.law("propose", "retain").code == REFUSED and agent.law("propose", "guess").code == WRONG
    decisions = [Decision(version.decision) for version in session.get_history()]
    assert decisions[:4] == [Decision.REVISE_RULEBOOK, Decision.REPAIR_CODE, Decision.REPAIR_CODE, Decision.RETAIN]


def test_verify_says_what_propose_would_refuse(played: Played) -> None:
    _, _, agent = played
    agent.write(TRUE, "R1: the walker is found in initial_state\n")
    told = agent.law("verify")
    assert told.code == OK and "before you propose it: fidelity.md does not say" in told.text and "R2, R3, R4" in told.text


def test_the_first_part_of_a_plan_may_go_alone(played: Played) -> None:
    session, _, agent = played
    agent.write(TRUE)
    propose(agent)
    assert agent.law("execute", "2").code == REFUSED  # nobody has found a way that begins so
    assert agent.law("plan").code == OK
    assert agent.law("execute", "2").code == OK and session.state.n_actions == 1
    assert agent.law("execute", "2").code == REFUSED  # the way was found from elsewhere
    assert agent.law("execute", "--first", "1").code == OK and session.state.n_actions == 2
    assert agent.law("execute", "--first", "9").code == WRONG
    assert agent.law("execute").code == OK and session.record.level == 1
    assert agent.law("execute", "1", "--first", "1").code == REFUSED and session.state.n_actions == 3


def test_a_stopped_plan_is_resumed_under_the_mended_model(played: Played) -> None:
    session, _, agent = played
    shines = SOURCE.replace("= 4  # R1", "= 5 if state.at == 4 else 4  # R1")
    agent.write(changed(TRUE, {ENGINE: shines}))
    propose(agent)
    assert agent.law("execute", "--resume").code == REFUSED
    fell = agent.law("execute")
    assert fell.code == REFUSED and "execute --resume" in fell.text and session.state.n_actions == 2
    assert "your model is falsified" in fell.text and "everything before it was reproduced" not in fell.text
    assert agent.law("execute", "--resume").code == REFUSED  # not under a model that was wrong
    agent.write(TRUE)
    propose(agent)
    assert agent.law("execute", "2", "--resume").code == WRONG
    assert agent.law("execute", "--resume").code == OK and session.record.level == 1 and session.state.n_actions == 3


def test_the_rest_of_a_stopped_plan_is_sent(played: Played) -> None:
    session, _, agent = played
    agent.write(TRUE)
    propose(agent)
    stopped = agent.law("execute", "2x3", "--until", "cell 0,3 is 4")
    assert stopped.code == OK and "stopped as asked after 1 of 3: cell 0,3 is 4" in stopped.text and session.state.n_actions == 1
    shown = agent.law("execute", "--resume", "--show")
    assert shown.code == OK and session.state.n_actions == 1
    assert shown.text.splitlines()[0] == "2 actions, nothing sent: 2x2"
    assert shown.text.splitlines()[2].startswith("2 (action 2) completed: ")
    assert agent.law("execute", "--resume").code == OK and session.record.level == 1


def test_a_refusal_says_which_action_and_how_far(played: Played) -> None:
    session, _, agent = played
    agent.write(TRUE)
    propose(agent)
    told = agent.law("execute", "3", "2", "3")
    assert told.code == REFUSED and session.state.n_actions == 0
    assert "of its 3 actions 1,3 change nothing; after its last action 2 more lead there: 2x2" in told.text
    told = agent.law("execute", "2", "--show")
    assert told.code == REFUSED and "2 more lead there" in told.text


@vanilla
def test_several_probes_stop_at_the_first_surprise(played: Played) -> None:
    session, _, agent = played
    told = agent.law("probe", "2x2", "1", "3", "-m", "what does each do?")
    assert told.code == OK and session.state.n_actions == 4
    assert "3 (action 1): 1x1 4 0,4 -> 0,3" in told.text and "(the last; 2 alike)" in told.text
    told = agent.law("probe", "1", "2", "2", "2", "-m", "and at the end?")  # 0,3 -> 0,2 -> 0,3 -> 0,4 -> the door
    assert told.code == OK and session.record.level == 1 and "level 1 begins" in told.text
    told = agent.law("probe", "2", "3", "1x3", "-m", "?")
    assert told.code == OK or "over" in told.text
    assert session.record.needs_reset and "./law reset" in told.text


class Walled(Corridor):
    """Nobody gets past the fourth cell."""

    def step(self, action: Action) -> Observation:
        self.at -= action.id == 2 and self.at == 4
        return super().step(action)


def test_an_action_that_does_otherwise_is_a_surprise(tmp_path: Path, host: Host) -> None:
    with session_of(tmp_path / "run", host, world=Walled(), protocol="vanilla") as session, serve(session, [tmp_path / "ws"]):
        agent = Agent(tmp_path / "ws")
        told = agent.law("probe", "2x6", "-m", "how far?")
        assert told.code == REFUSED and session.state.n_actions == 3
        assert told.text.startswith("sent 3 of 6 probes\n")
        assert "stopped after 3 of 6: action 3 did otherwise than the last time (--on sends all)" in told.text
        assert agent.law("probe", "1", "2", "2", "--on", "-m", "really?").code == OK and session.state.n_actions == 6
        told = agent.law("execute", "1", "2", "2", "1", "--on", "--stop-if", "unusual")
        assert told.code == REFUSED and session.state.n_actions == 8  # the second, which moves: the last one did not


@vanilla
def test_conditions_stop_an_execution(played: Played) -> None:
    session, _, agent = played
    told = agent.law("execute", "2", "2", "1", "1", "--stop-if", "cell 0,4 changed")
    assert told.code == REFUSED and "stopped after 2 of 4: cell 0,4 changed" in told.text and session.state.n_actions == 2
    told = agent.law("execute", "1", "1", "2", "--until", "colour 4 there")
    assert told.code == OK and session.state.n_actions == 3 and "stopped as asked after 1 of 3" in told.text
    assert agent.law("execute", "1", "--until", "whatever").code == WRONG and session.state.n_actions == 3


@vanilla
def test_quiet_and_json(played: Played) -> None:
    session, _, agent = played
    told = agent.law("execute", "2", "1", "--quiet")
    assert told == (OK, "0.2 running\n58 actions left")
    found = json.loads(agent.law("execute", "2", "3", "--json", "--on").text)
    assert found["sent"] == found["asked"] == 2 and found["place"] == "0.4" and found["left"] == 56
    assert [step["what"] for step in found["steps"]] == ["1x1 4 0,2 -> 0,3", "nothing changed"]
    board = json.loads(agent.law("observe", "--json").text)["frame"]
    assert board == session.get_observation().frame.tolist()
    assert agent.law("probe", "3", "-q", "-m", "?").text == "0.5 running\n55 actions left"


def test_a_reset_says_that_it_begins_as_before(played: Played) -> None:
    session, _, agent = played
    agent.law("probe", "2", "-m", "?")
    told = agent.law("reset")
    assert told == (OK, "level 0 anew, trajectory 1: as it began at 0.0\n58 actions left")
    assert "0: level 0, 1 steps, given up by a reset; 2" in agent.law("record").text
    assert session.state.n_actions == 2


def test_status_after_a_completed_level_and_after_a_game_over(played: Played) -> None:
    session, _, agent = played
    agent.write(BLIND)
    propose(agent)
    assert agent.law("execute").code == OK and session.record.level == 1
    assert "running; actions available: 1, 2, 3" in agent.law("status").text
    agent.law("execute", "1", "--subgoal", "state.at == 0", "-m", "what is there?")
    told = agent.law("status").text
    assert "over: ./law reset is all" in told and "actions available" not in told
    assert "levels 0-1   3 1 actions" in agent.law("budget").text


# -- looking ---------------------------------------------------------------------------------------------------------------------


def test_letters_stay_through_levels_and_resumptions(tmp_path: Path, host: Host) -> None:
    config = RunConfig("demo:keys", mind="drive", protocol="vanilla")
    with start_run(config, tmp_path / "runs", host=host, mind=ExternalAgentMind()) as (_, session):
        with serve(session, [tmp_path / "ws"]):
            agent = Agent(tmp_path / "ws")
            brief = agent.law("brief").text
            legend = [line for line in brief.splitlines() if line[1:2] == " " and line.count("/") == 3]
            assert len(legend) >= 5 and "tiles 4x4: tile r,c starts at cell 4r,4c+2" in brief
            again = agent.law("observe").text
            assert not any(line in again for line in legend)  # told once
            assert all(line in agent.law("observe", "--legend").text for line in legend)
            agent.law("execute", "4", "4")
            assert "\n".join(legend) in (tmp_path / "ws" / LEGEND_FILE).read_text()
        with serve(session, [tmp_path / "ws"]):
            assert all(line in agent.law("observe", "--legend").text for line in legend)
            assert not any(line in agent.law("observe", "--tiles").text for line in legend)
            assert legend[0] in agent.law("brief").text + agent.law("observe").text  # whoever begins anew is told
            (tmp_path / "ws" / LEGEND_FILE).unlink()
            (tmp_path / "ws" / LEGEND_FILE).symlink_to(tmp_path / "elsewhere")
        with serve(session, [tmp_path / "ws"]):
            assert agent.law("observe").code == OK and not (tmp_path / "elsewhere").exists()


class Wide(Corridor):
    """A huge board of more kinds of tiles than there are letters."""

    spec = WorldSpec((2, 600), (1, 2, 3), levels=2)

    def _seen(self, status: Status) -> Observation:
        seen = super()._seen(status)
        frame = np.zeros((2, 600), dtype=np.uint8)
        frame[0, ::2], frame[0, 1::2] = np.arange(300) % 10, np.arange(300) // 10
        return Observation((freeze(frame),), seen.status, seen.level, seen.available)


def test_tiles_say_what_they_leave_out(tmp_path: Path, host: Host) -> None:
    with session_of(tmp_path / "run", host, world=Wide()) as session, serve(session, [tmp_path / "ws"]):
        agent = Agent(tmp_path / "ws")
        told = agent.law("observe", "--tiles", "2").text
        assert "(columns of tiles 128-299 not shown; ask for them: --columns, of cells)" in told
        assert "? other tiles; there are more kinds than letters" in told
        told = agent.law("observe").text
        assert "tiles" not in told and ("not shown" in told or "runs from column" in told)


def test_a_map_over_every_attempt_and_a_look_after_acting(tmp_path: Path, host: Host) -> None:
    config = RunConfig("demo:fog", mind="drive", protocol="vanilla")
    with (
        start_run(config, tmp_path / "runs", host=host, mind=ExternalAgentMind()) as (_, session),
        serve(session, [tmp_path / "ws"]),
    ):
        agent = Agent(tmp_path / "ws")
        agent.law("brief")
        looked = agent.law("execute", "2", "2", "2", "--look").text
        assert "tiles 4x4" not in looked and "55555" in looked
        agent.law("reset")
        told = agent.law("observe", "--map").text
        assert told.startswith("all that was seen of this level; 5 hides")
        shown = session.get_observation().frame
        assert (shown[44:56, 22:42] == 5).all()  # it is covered again, and yet on the map
        rows = {line.split()[0]: line.split()[1] for line in told.splitlines() if len(line.split()) == 2}
        assert set(rows["11"][6:11]) - {"5"} and set(rows["13"][6:11]) - {"5"}
        assert agent.law("probe", "3", "3", "--look", "-m", "?").code == OK


def test_forms_that_exclude_each_other_are_refused(played: Played) -> None:
    _, _, agent = played
    for words in (["--png", "a.png", "--rows", "0"], ["--tiles", "--runs"], ["--objects", "--columns", "1"], ["--json", "--map"]):
        assert agent.law("observe", *words).code == WRONG, words
    assert agent.law("observe", "--objects", "--mixed").code == agent.law("observe", "--runs", "--starts").code == OK
    told = agent.law("observe", "--json", "--file", "now.json")
    assert told.code == OK and json.loads((agent.workspace / "now.json").read_text())["level"] == 0


class Flashing(Corridor):
    """Everything lights up on the way, and goes back."""

    def _seen(self, status: Status) -> Observation:
        seen = super()._seen(status)
        return Observation((freeze(np.full((2, 6), 9)), seen.frame), seen.status, seen.level, seen.available)


def test_nothing_changed_but_on_the_way(tmp_path: Path, host: Host) -> None:
    with session_of(tmp_path / "run", host, world=Flashing()) as session, serve(session, [tmp_path / "ws"]):
        agent = Agent(tmp_path / "ws")
        told = agent.law("probe", "3", "-m", "?").text
        assert told.startswith("action 3: nothing changed; on the way 2 frames, 12 cells in rows 0-1, columns 0-5 changed and went")
        assert "frames 0-1, the last one settled" in agent.law("observe", "--animation").text


# -- tools -----------------------------------------------------------------------------------------------------------------------


def test_python_imports_the_program_and_steps_it_on_the_present_state(played: Played) -> None:
    _, _, agent = played
    agent.write(TRUE)
    agent.law("probe", "2", "-m", "?")
    (agent.workspace / "notes").mkdir()
    (agent.workspace / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    code = (
        "import world_model_engine as engine\nfrom helper import double\nstate = state_after()\n"
        "print(state.at, state_after(record[0], 0).at, double(engine.step(state, type('A', (), {'id': 1})).at))\n"
    )
    (agent.workspace / "notes" / "look.py").write_text(code)
    assert agent.law("python", "notes/look.py").text == "3 2 4"
    (agent.workspace / "notes" / "wrong.py").write_text("1 / 0\n")
    assert "at notes/wrong.py line 1" in agent.law("python", "notes/wrong.py").text
    (agent.workspace / ENGINE).write_text("def broken(:\n")
    assert agent.law("python", "-c", "print(len(record))").text == "1"
    assert "does not compile" in agent.law("python", "-c", "import world_model_engine").text


def test_python_writes_what_it_prints_into_a_file(played: Played) -> None:
    _, _, agent = played
    told = agent.law("python", "-c", "print('x' * 90_000)\nprint('end')", "--file", "out.txt")
    assert told == (OK, "out.txt: 90,004 characters in 2 lines; the last: end")
    assert (agent.workspace / "out.txt").read_text() == "x" * 90_000 + "\nend\n"
    agent.law("python", "-c", "print('x' * 300_000)", "--file", "out.txt")
    assert MAX_FILE_BYTES <= len((agent.workspace / "out.txt").read_text()) < MAX_FILE_BYTES + 100
    for wrong in (["--seconds", "0"], ["--seconds", "301"]):
        assert agent.law("python", "-c", "1", *wrong).code == WRONG
    assert agent.law("python", "-c", "1", "--file", "../out.txt").code == REFUSED
    assert agent.law("python", "-c", "while True: pass", "--seconds", "1").text.startswith("The analysis took longer than 1 s")


def test_folders_lead_nowhere_else(played: Played, tmp_path: Path) -> None:
    _, _, agent = played
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.py").write_text("print('secret')")
    (agent.workspace / "link").symlink_to(tmp_path / "secret")
    (agent.workspace / "deep").mkdir()
    (agent.workspace / "deep" / "b.py").symlink_to(tmp_path / "secret" / "a.py")
    for name in ("link/a.py", "deep/b.py", "deep/../../secret/a.py", "./../secret/a.py", "deep/", "/etc/passwd", "a/" * 9 + "b"):
        told = agent.law("python", name)
        assert told.code == REFUSED and "secret')" not in told.text, name
    for name in ("link/x.png", "deep/../x.png", "nowhere/x.png"):
        assert agent.law("observe", "--png", name).code == REFUSED
    assert agent.law("observe", "--png", "deep/x.png").code == OK
    assert (agent.workspace / "deep" / "x.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "secret").iterdir()) == [tmp_path / "secret" / "a.py"]


def test_after_the_end_everything_that_reads_goes_on(played: Played) -> None:
    session, _, agent = played
    agent.write(TRUE)
    propose(agent)
    agent.law("execute")
    agent.law("execute")
    assert session.outcome is RunOutcome.WON
    for line in (
        ["help"], ["observe", "--help"], ["status"], ["brief"], ["observe"], ["observe", "--since", "0.0"], ["record"], ["history"],
        ["budget"], ["verify"], ["python", "-c", "print(len(record))"], ["simulate", "2", "--at", "0.0"], ["observe", "--map"],
    ):  # fmt: skip
        assert agent.law(*line).code == OK, line
    for line in (["execute", "2"], ["probe", "2", "-m", "?"], ["reset"], ["propose"]):
        assert agent.law(*line).code == REFUSED, line
    assert len(list(session.event_log.ledger.read_events([EventKind.CLOSE]))) == 1
