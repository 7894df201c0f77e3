"""ARC-AGI-3 over REST: our worlds against the toolkit's own server on loopback, in every mode and whatever the network does."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from arc_games import BASELINES, LOSE, MARK, SCRIPTS, SOURCE, WALK, lay_out
from arc_server import Server, demo_source, serving
from minds import Scripted

from lawbook.arc import remote, settings
from lawbook.arc.remote import RemoteArcWorld
from lawbook.arc.submit import submit
from lawbook.cli.main import main
from lawbook.core.record import RESET, Action, Observation, Status
from lawbook.core.results import RunOutcome
from lawbook.errors import UsageError, WorldError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.scoring.billing import ScoreCounter, count_run
from lawbook.worlds.address import WorldAddress, make_world

logging.getLogger("werkzeug").setLevel(logging.ERROR)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("games")
    lay_out(root)
    lay_out(root, "dm00", source=demo_source("maze", "dm00"), baseline_actions=[9] * 5)
    return root


@pytest.fixture(scope="module")
def running(games: Path) -> Iterator[Server]:
    with serving(games) as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    connect(running, monkeypatch)
    return running


def connect(server: Server, monkeypatch: pytest.MonkeyPatch, key: str = "our-key") -> None:
    for name in (
        settings.KEY_VARIABLE,
        settings.URL_VARIABLE,
        settings.COOKIES_VARIABLE,
        settings.GAMES_VARIABLE,
        settings.MODE_VARIABLE,
        settings.TICKET_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(settings.URL_VARIABLE, server.url)
    monkeypatch.setenv(settings.KEY_VARIABLE, key)
    server.calls.clear()
    server.keys = None


def world(name: str = "zq77", mode: str = "online", card: str = "", **options: str) -> RemoteArcWorld:
    made = make_world(WorldAddress.parse(settings.add_options(f"arc:{name}", mode=mode, card=card, **options)))
    assert isinstance(made, RemoteArcWorld)
    return made


def send(world: RemoteArcWorld, action: Action) -> Observation:
    return world.reset() if action == RESET else world.step(action)


def same(one: Observation, two: Observation) -> bool:
    told = [(seen.status, seen.level, seen.available, len(seen.frames)) for seen in (one, two)]
    return told[0] == told[1] and all(np.array_equal(a, b) for a, b in zip(one.frames, two.frames, strict=True))


# -- playing ---------------------------------------------------------------------------------------------------------------------


def test_the_spec_says_what_a_server_tells_and_that_nothing_can_be_replayed(server: Server, games: Path) -> None:
    spec = world().spec
    assert (spec.shape, spec.levels, spec.clicks, spec.replayable) == ((64, 64), 3, (6,), False)
    assert spec.baselines is None  # this server does not tell what people took
    os.environ[settings.GAMES_VARIABLE] = str(games)  # monkeypatch takes it away again
    assert world().spec.baselines == tuple(BASELINES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_online_shows_and_bills_what_offline_shows(server: Server, games: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts reset in every situation: first of all, in a level, after one, twice, after game over, after a win."""
    there = world()
    monkeypatch.setenv(settings.GAMES_VARIABLE, str(games))
    here, counts = make_world(WorldAddress.parse("arc:zq77")), ScoreCounter(3)
    assert same(there.reset(), here.reset())
    counts.start_play()
    for action in SCRIPTS[name]:
        seen = send(there, action)
        assert same(seen, send(here, action))  # type: ignore[arg-type]
        counts.add(action, seen.status, seen.level)
    assert there.rejoin(0) == counts.billed
    (game,) = remote.read_card(json.loads(there.spec.ticket)["card"], "online")["environments"]
    assert [run["level_actions"] for run in game["runs"]] == [[a for a, _, _ in p.list_levels(BASELINES)] for p in counts.plays]
    assert server.sent()[1:] == ["RESET" if action == RESET else f"ACTION{action.id}" for action in SCRIPTS[name]]


def test_click_data_arrives(server: Server) -> None:
    played = world()
    played.reset()
    assert played.step(Action(6, 10, 20)).frame[20, 10] == 14
    assert {key: server.calls[-1][1][key] for key in "xy"} == {"x": 10, "y": 20}


def test_a_demo_game_is_played_over_rest_as_at_home(server: Server) -> None:
    there, here = world("dm00"), make_world(WorldAddress.parse("demo:maze?seed=0"))
    assert same(there.reset(), here.reset())
    for action in (Action(1 + k % 4) for k in range(20)):
        seen = there.step(action)
        assert same(seen, here.step(action))
        if seen.status is not Status.RUNNING:
            break


@pytest.mark.parametrize("name", SCRIPTS)
def test_competition_bills_a_reset_that_does_nothing(games: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(games, competition=True) as server:
        connect(server, monkeypatch)
        card = remote.open_card("competition", ["t"], "https://example.org/source")
        played, counts = world(mode="competition", card=card.id), ScoreCounter(3, competition=True)
        before = played.reset()
        counts.start_play()
        for action in SCRIPTS[name]:
            seen = send(played, action)
            if action == RESET and before.status is Status.COMPLETED and before.level < 3:
                assert (seen.level, bool((seen.frame == before.frame).all())) == (before.level, True)
            counts.add(action, seen.status, seen.level)
            before = seen
        assert played.rejoin(0) is None  # nobody sees such a card before it is closed
        told = remote.close_card(card.id, "competition")
        (game,) = [one for one in told["environments"] if one["id"].startswith("zq77")]
        assert (len(game["runs"]), game["actions"]) == counts.billed
        assert [run["resets"] for run in game["runs"]] == [play.resets for play in counts.plays]
        assert [run["level_actions"] for run in game["runs"]] == [[a for a, _, _ in p.list_levels(BASELINES)] for p in counts.plays]
        assert [run["score"] for run in game["runs"]] == [play.score(BASELINES) for play in counts.plays]
        assert told["tags"] == ["t", "agent"] and told["source_url"] == "https://example.org/source"
        assert {one["id"] for one in told["environments"]} == {"zq77-0a1b2c3d", "dm00-0a1b2c3d"}  # unplayed ones count too


# -- what is refused -------------------------------------------------------------------------------------------------------------


def test_a_card_that_was_closed_takes_no_more(server: Server) -> None:
    card = remote.open_card("online").id
    played = world(card=card)
    played.reset()
    assert remote.read_card(card, "online")["total_actions"] == 0
    remote.close_card(card, "online")
    with pytest.raises(WorldError, match=r"HTTP 400.*card that was closed"):
        played.step(WALK)
    with pytest.raises(WorldError, match="HTTP 400"):
        played.reset()
    with pytest.raises(UsageError, match=r"could not be opened.*HTTP 400"):
        world(card=card)
    with pytest.raises(UsageError, match=r"could not be closed.*HTTP 404"):
        remote.close_card(card, "online")


def test_after_game_over_a_server_answers_400_and_bills_nothing(server: Server) -> None:
    played = world()
    played.reset()
    assert played.step(LOSE).status is Status.OVER
    with pytest.raises(WorldError, match="HTTP 400"):
        played.step(WALK)  # the world process refuses to send it in the first place
    assert played.rejoin(0) == (1, 1)
    assert played.reset().status is Status.RUNNING
    assert played.rejoin(0) == (1, 2)


@pytest.mark.parametrize(("status", "says"), [(400, "HTTP 400"), (500, "HTTP 500"), (401, "refuses the key"), (429, "HTTP 429")])
def test_an_error_of_the_server_is_a_sentence(server: Server, status: int, says: str) -> None:
    played = world()
    played.reset()
    server.fail(status)
    with pytest.raises(WorldError, match=says):
        played.step(WALK)
    assert played.rejoin(0) == (1, 0) and played.step(WALK).status is Status.RUNNING


def test_a_slow_answer_is_waited_for_as_long_as_was_asked_for(server: Server) -> None:
    patient, hasty = world(), world(timeout="0.3")
    patient.reset()
    hasty.reset()
    server.delay(0.6)
    assert patient.step(WALK).status is Status.RUNNING
    server.delay(0.6)
    with pytest.raises(WorldError, match=r"no whole answer.*Timeout"):
        hasty.step(WALK)
    assert hasty.rejoin(0) == (1, 1)  # it did arrive


def test_keys_missing_or_refused_are_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keys = {"our-key"}
    monkeypatch.setenv(settings.KEY_VARIABLE, "wrong-key")
    for attempt in (lambda: world(), lambda: remote.open_card("online")):
        with pytest.raises(UsageError, match=r"refuses the key.*ARC_API_KEY") as refused:
            attempt()
        assert "wrong-key" not in str(refused.value)
    monkeypatch.delenv(settings.KEY_VARIABLE)
    server.keys = None
    with pytest.raises(UsageError, match="ARC_API_KEY is not set"):
        world()
    monkeypatch.setenv(settings.KEY_VARIABLE, "our-key")
    monkeypatch.setenv(settings.URL_VARIABLE, "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"could not be listed.*ARC_BASE_URL"):
        world()


@pytest.mark.parametrize(("name", "says"), [("zq78", "Did you mean 'zq77"), ("zq77/ffff", "There is: ")])
def test_a_game_that_is_not_there_is_named(server: Server, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        world(name)


def test_options_say_how_and_are_said_once() -> None:
    assert settings.add_options("arc:zq77?seed=1", mode="online", card="") == "arc:zq77?seed=1&mode=online"
    with pytest.raises(UsageError, match="keep one"):
        settings.add_options("arc:zq77?mode=online", mode="competition")
    with pytest.raises(UsageError, match="no game of ARC-AGI-3"):
        settings.add_options("demo:maze", mode="online")
    with pytest.raises(UsageError, match="mode is one of"):
        make_world(WorldAddress.parse("arc:zq77?mode=onlin"))


def test_only_a_world_on_a_server_is_given_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.KEY_VARIABLE, "our-key")
    given = [settings.select_environment(WorldAddress.parse(text)) for text in ("arc:zq77", "demo:maze", "arc:zq77?mode=online")]
    assert [settings.KEY_VARIABLE in one for one in given] == [False, False, True]


def test_normal_mode_downloads_a_game_once_and_plays_it_here(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.GAMES_VARIABLE, str(tmp_path))
    played = make_world(WorldAddress.parse("arc:zq77?mode=normal"))
    assert played.spec.replayable and played.reset().level == 0
    assert (tmp_path / "zq77" / "0a1b2c3d" / "zq77.py").is_file() and server.sent() == []
    assert settings.KEY_VARIABLE not in os.environ  # before the game's own code runs
    assert [played.step(WALK).level for _ in range(3)] == [0, 0, 1]


# -- in doubt --------------------------------------------------------------------------------------------------------------------


def paused(server: Server, tmp_path: Path, host: Host, fault: str, mode: str = "online") -> tuple[Path, Sequence[str]]:
    """A run that broke off at its third action because of a fault; its folder, and what had been sent by then."""
    card = remote.open_card(mode)
    card.share()
    config = RunConfig(settings.add_options("arc:zq77", mode=mode, card=card.id), mind="scripted", protocol="vanilla", budget=9)
    with pytest.raises(WorldError), start_run(config, tmp_path, host=host, mind=Scripted()) as (folder, session):
        session.probe(WALK, "?")
        session.probe(MARK, "?")
        getattr(server, fault)()
        session.probe(WALK, "?")
    return folder.path, server.sent()


def resumed(folder: Path, host: Host) -> Iterator[Session]:
    with resume_run(RunFolder.open(folder), host=host, mind=Scripted()) as session:
        yield session


def test_an_action_that_never_arrived_is_sent_when_the_run_goes_on(server: Server, tmp_path: Path, host: Host) -> None:
    folder, sent = paused(server, tmp_path, host, "drop")
    assert sent == ["RESET", "ACTION1", "ACTION6", "ACTION1"]  # the last one was cut off before anybody worked on it
    for session in resumed(folder, host):
        assert session.outcome is None and session.state.n_actions == 3 and session.state.intent is None
        assert server.sent() == [*sent, "ACTION1"]
        session.probe(WALK, "?")
        assert session.record.level == 1  # the play went on where it was: three steps right, a level
    with Ledger.open(folder / "ledger.sqlite", readonly=True) as ledger:
        assert count_run(ledger)[0].billed == (1, 4)


def test_an_action_that_arrived_is_counted_and_ends_the_run(server: Server, tmp_path: Path, host: Host) -> None:
    folder, sent = paused(server, tmp_path, host, "lose")
    for session in resumed(folder, host):
        assert session.outcome is RunOutcome.IN_DOUBT and server.sent() == sent  # nothing is sent twice
    with Ledger.open(folder / "ledger.sqlite", readonly=True) as ledger:
        counts, told = count_run(ledger)
        assert counts.billed == (1, 3) and told.outcome == "in_doubt"
        (closing,) = [event for event in ledger if event.kind == "close"]
        assert "has billed it" in closing.body["sentence"]


def test_in_competition_nobody_says_and_the_run_ends(
    games: Path, tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(games, competition=True) as server:
        connect(server, monkeypatch)
        folder, sent = paused(server, tmp_path, host, "drop", "competition")
        for session in resumed(folder, host):
            assert session.outcome is RunOutcome.IN_DOUBT and server.sent() == sent


def test_a_run_that_was_killed_between_two_actions_goes_on_where_it_was(server: Server, tmp_path: Path, host: Host) -> None:
    config = RunConfig(settings.add_options("arc:zq77", mode="online"), mind="scripted", protocol="vanilla", budget=9)
    with start_run(config, tmp_path, host=host, mind=Scripted()) as (folder, session):
        session.probe(WALK, "?")
    for session in resumed(folder.path, host):
        session.probe(WALK, "?")
        session.probe(WALK, "?")
        assert session.record.level == 1
    assert "our-key" not in (folder.path / "run.toml").read_text() and b"our-key" not in folder.ledger.read_bytes()
    assert json.loads(session.world.spec.ticket)["game"] == "zq77-0a1b2c3d"


# -- replay onto a card ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def offline(games: Path, tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that was played at home: a level, a game over, a reset, another level."""
    monkeypatch.setenv(settings.GAMES_VARIABLE, str(games))
    config = RunConfig("arc:zq77", mind="scripted", protocol="vanilla", budget=99)
    with start_run(config, tmp_path / "runs", host=host, mind=Scripted()) as (folder, session):
        for action in (WALK, WALK, WALK, MARK, LOSE):
            session.probe(action, "?")
        session.reset("it is over")
        for action in (WALK, WALK, WALK, MARK):
            session.probe(action, "?")
    return folder


def test_a_run_is_replayed_onto_a_competition_card(
    games: Path, offline: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(games, competition=True) as server:
        connect(server, monkeypatch)
        command = ["submit", str(offline.path), "--mode", "competition", "--tag", "ours", "--source-url", "https://example.org"]
        assert main([*command, "--json"]) == 0
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert told["whole"] and told["agreed"] and told["runs"][0]["sent"] == 10
        assert told["runs"][0]["billed"] == {"here": [1, 10], "server": [1, 10]}
        assert told["card"]["tags"] == ["ours", "agent"]
        with Ledger.open(offline.ledger, readonly=True) as ledger:
            _, ours = count_run(ledger)
        (theirs,) = [game for game in told["card"]["environments"] if game["id"].startswith("zq77")]
        assert theirs["score"] == ours.rhae and theirs["runs"][0]["level_actions"] == [3, 6, 1]
        assert main(command) == 2  # such a server opens one card
        assert "HTTP 409" in capsys.readouterr().err


def test_the_first_frame_that_is_another_stops_the_replay_and_the_card_is_closed_even_so(
    offline: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    lay_out(other, source=SOURCE.replace("np.full((1, 1), 14", "np.full((1, 1), 13"))  # the mark has another colour there
    with serving(other) as server:
        connect(server, monkeypatch)
        done = submit([offline], "online")
        assert not done.is_complete and done.is_billing_consistent and done.card is not None
        assert done.runs[0].n_sent == 4 and "Action 4 (6@3,30) shows 1 cells" in done.runs[0].difference
        assert server.sent() == ["RESET", *["ACTION1"] * 3, "ACTION6"]
        assert "/api/scorecard/close" in server.calls[-1][0]


def test_a_replay_that_breaks_off_says_so(server: Server, offline: RunFolder) -> None:
    server.lose("/cmd/ACTION2")
    done = submit([offline], "online")
    assert not done.is_complete and not done.is_billing_consistent  # the server billed one more than anybody saw
    assert "After 4 of 10 actions" in done.runs[0].difference and "no whole answer" in done.runs[0].difference


def test_what_cannot_be_submitted_is_refused_before_a_card_is_opened(
    server: Server, offline: RunFolder, tmp_path: Path, host: Host
) -> None:
    with start_run(RunConfig("demo:maze", mind="scripted", protocol="vanilla"), tmp_path, host=host, mind=Scripted()) as (demo, _):
        pass
    for folders, says in [([demo], "no game of ARC-AGI-3"), ([offline, offline], "more than once")]:
        with pytest.raises(UsageError, match=says):
            submit(folders, "competition")
    assert server.calls == []


# -- the command line ------------------------------------------------------------------------------------------------------------


def test_play_opens_a_card_plays_on_it_and_closes_it(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.MODE_VARIABLE, "ONLINE")  # the toolkit's own word for it
    play = ["play", "arc:dm00", "--mind", "random", "--budget", "8", "--out", str(tmp_path), "--tag", "one", "--json"]
    assert main(play) == 1
    told = capsys.readouterr()
    card = told.err.splitlines()[0].split()[-1]
    assert json.loads(told.out)["actions"] == 8 and f"card {card}: 0.00 over 1 games" in told.err
    assert server.calls[0][0] == "GET /api/games" and server.sent()[0] == "RESET" and len(server.sent()) == 9
    assert main(["card", card]) == 2  # it is closed
    assert main(["score", "last", "--out", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["play", "demo:maze", "--mode", "online"], "no game of ARC-AGI-3"),
        (["play", "arc:dm00", "--tag", "t"], "describe a card"),
        (["play", "--resume", "last", "--source-url", "u"], "leave out --source-url"),
        (["submit", "last", "--mode", "online"], "There are no runs"),
        (["card", "nothing"], "HTTP 404"),
    ],
)
def test_wrong_use_is_a_sentence(
    server: Server, tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = [] if arguments[0] == "card" else ["--out", str(tmp_path)]
    assert main([*arguments, *out]) == 2
    assert says in capsys.readouterr().err


def test_a_campaign_plays_on_one_card(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "evening.toml"
    asked = 'worlds = ["arc:dm00", "demo:maze"]\nminds = ["random"]\nprotocols = ["vanilla"]\nbudget = 5\n'
    file.write_text(asked + 'mode = "online"\ntags = ["evening"]\nsource_url = "https://example.org/e"\n')
    assert main(["campaign", str(file), "--out", str(tmp_path)]) == 0
    kept = json.loads((tmp_path / "evening" / "campaign.json").read_text())
    (game,) = kept["closed"]["environments"]
    assert (game["id"], game["actions"], kept["closed"]["source_url"]) == ("dm00-0a1b2c3d", 5, "https://example.org/e")
    paths = [path for path, _ in server.calls]
    assert paths.count("POST /api/scorecard/open") == paths.count("POST /api/scorecard/close") == 1
    assert "our-key" not in (tmp_path / "evening" / "campaign.json").read_text()
    assert not [path for path in (tmp_path / "evening").rglob("*") if "dm00" in path.name]  # no path tells a name
    assert "dm00" in capsys.readouterr().out
    assert main(["campaign", str(file), "--out", str(tmp_path)]) == 0  # it is over, card and all
    assert [path for path, _ in server.calls].count("POST /api/scorecard/open") == 1


def test_a_closed_card_leaves_an_action_in_doubt(server: Server, tmp_path: Path, host: Host) -> None:
    folder, sent = paused(server, tmp_path, host, "drop")
    card = RunFolder.open(folder).load_config().world.rpartition("card=")[2]
    remote.close_card(card, "online")
    for session in resumed(folder, host):
        assert session.outcome is RunOutcome.IN_DOUBT and server.sent() == sent
