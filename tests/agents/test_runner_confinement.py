"""An agent's confinement holds, on every rung this machine has, against a script that tries everything; nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lawbook
from lawbook.agents.runner.agent_home import AgentHome
from lawbook.agents.runner.confinement_probe import confine, probe
from lawbook.errors import HostError
from lawbook.sandbox import agent_process as agents
from lawbook.sandbox.agent_process import LANDLOCK, NAMESPACES, UNCONFINED, AgentProcess, exclude_paths
from lawbook.sandbox.confinement import DENIED

TESTS = Path(__file__).parents[1] / "support"
KEY = "the key that no agent sees"


@dataclass
class Room:
    """A place for an agent, and beside it what it must not get at."""

    place: AgentHome
    ledger: Path
    rung: str = ""
    attacks: ClassVar[str] = "ATTACKS"

    def run(self, *command: str, ports: tuple[int, ...] = (), seconds: float = 60.0) -> tuple[int | None, str]:
        """What a command inside printed, and how it ended."""
        walls = self.place.build_access_policy([], [self.ledger.parent])
        agent = AgentProcess(
            command,
            self.place.build_environment(),
            str(self.place.workspace),
            walls,
            rung=self.rung,
            ports=ports,
            stdout=-1,
            stderr=-2,
        )
        try:
            code = agent.wait(seconds)
            agent.end()
            assert agent.stdout is not None
            return code, agent.stdout.read().decode()
        finally:
            agent.end()
            if agent.relay is not None:
                agent.relay.close()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "run").mkdir()
    ledger = tmp_path / "run" / "ledger.sqlite"
    ledger.write_text("the truth")
    return Room(AgentHome.make(tmp_path / "place"), ledger)


@pytest.fixture(params=[NAMESPACES, LANDLOCK])
def confined_room(request: pytest.FixtureRequest, room: Room) -> Room:
    """On each rung that this machine has."""
    one = replace(room, rung=request.param)
    try:
        assert one.run("true") == (0, "")
    except HostError as error:
        pytest.skip(str(error))
    return one


@pytest.fixture
def outside() -> Iterator[dict[str, object]]:
    """Somebody who listens in every way, and a bystander."""
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        path, name = f"/tmp/room-{os.getpid()}.sock", f"lawbook-{os.getpid()}"
        for sock, address in ((unix, path), (abstract, f"\0{name}")):
            sock.bind(address)
            sock.listen()
        bystander = subprocess.Popen(["sleep", "600"])
        for sock in (tcp, udp, unix, abstract):
            sock.settimeout(0.01)
        try:
            yield {
                "tcp": tcp.getsockname()[1],
                "udp": udp.getsockname()[1],
                "unix": path,
                "abstract": name,
                "bystander": bystander.pid,
                "sockets": (tcp, udp, unix, abstract),
            }
            assert bystander.poll() is None
        finally:
            bystander.kill()
            bystander.wait()
            Path(path).unlink()


def attacked(room: Room, outside: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the attacks got, from inside."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    buffer = memoryview(bytearray(b"secret!!"))
    asked = {
        **{name: value for name, value in outside.items() if name != "sockets"},
        "ledger": str(room.ledger),
        "world": str(Path(lawbook.__path__[0]) / "worlds" / "demo" / "maze.py"),
        "root": str(Path(lawbook.__path__[0]).parent),
        "packages": sysconfig.get_path("purelib"),
        "process": os.getpid(),
        "address": id(buffer),
        "folders": [
            str(room.ledger.parent),
            str(room.place.folder),
            *(str(room.place.folder / name) for name in ("bin", "python", "sessions")),
            "/etc",
            "/usr/bin",
            str(Path.home()),
            str(TESTS),
        ],
        "alone": room.rung == NAMESPACES,
        "key": KEY,
    }
    for folder in asked["folders"]:  # type: ignore[attr-defined]
        Path(str(folder), "lawbook-was-here").unlink(missing_ok=True)
    source = (TESTS / "confined.py").read_text(encoding="utf-8").replace("in ATTACKS.items()", f"in {room.attacks}.items()")
    code, said = room.run("python3", "-c", source, json.dumps(asked), seconds=90)
    assert code == 0, said
    answer = json.loads(said)
    assert answer["tried"] > 40
    got = dict(answer["got"])
    got.pop("write elsewhere", None)  # where a folder is its own in there, only out here it can be seen
    left = [path for folder in asked["folders"] if (path := Path(str(folder), "lawbook-was-here")).exists()]  # type: ignore[attr-defined]
    for path in left:
        path.unlink()
        got["write elsewhere"] = str(path)
    return got


def test_no_attack_gets_anything(confined_room: Room, outside: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    assert attacked(confined_room, outside, monkeypatch) == {}
    assert confined_room.ledger.read_text() == "the truth"
    for sock in outside["sockets"]:  # type: ignore[attr-defined]
        with pytest.raises(TimeoutError):  # nobody called
            sock.recv(1) if sock.type == socket.SOCK_DGRAM else sock.accept()


def test_without_walls_the_same_attacks_get_a_lot(room: Room, outside: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail. The bystander and the ledger are spared: these attacks are not in the list."""
    spared = ("bystander", "change the", "cut", "move the ledger", "remove", "own what", "mark")
    harmless = f"{{name: deed for name, deed in ATTACKS.items() if not any(word in name for word in {spared})}}"
    monkeypatch.setattr(Room, "attacks", harmless)
    bare = replace(room, rung=UNCONFINED)
    got = attacked(bare, outside, monkeypatch)
    for name in (
        "read the ledger",
        "read the source of worlds",
        "read the command of the run",
        "import the project",
        "connect elsewhere",
        "connect to a socket of others",
        "send a datagram",
        "signal the run",
        "write elsewhere",
    ):
        assert name in got, got


def test_an_agents_own_work_is_not_hindered(confined_room: Room) -> None:
    """Files, pipes, programs, Python with numpy, its own processes, links among its own files."""
    script = """set -e
echo one > a; mv a b; ln b c; ln -s b d; mkdir -p e/f; mv b e/f/; chmod 600 e/f/b; cat d 2>/dev/null || cat e/f/b; rm -r e
printf 'x = 1\\n' > mod.py; python3 -c 'import numpy, mod; print(numpy.arange(3).sum(), mod.x)'
echo $(echo piped | tr a-z A-Z); (sleep 0 & wait); kill -0 $$
test -w "$TMPDIR"; date > "$TMPDIR/t"; cat < /dev/null; echo > /dev/null
git --version > /dev/null; python3 -c 'import subprocess, threading; threading.Thread(target=print, args=("thread",)).start()'
"""
    code, said = confined_room.run("bash", "-c", script)
    assert (code, said.split()) == (0, ["one", "3", "1", "PIPED", "thread"]), said


def test_one_port_can_be_reached_and_it_is_ours(confined_room: Room) -> None:
    walls = confined_room.place.build_access_policy([], [])
    with socket.create_server(("127.0.0.1", 0)) as mine:
        own = confined_room.rung == NAMESPACES
        port = agents.PORT if own else mine.getsockname()[1]
        command = ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; echo hello >&3; cat <&3"]
        agent = AgentProcess(
            command,
            confined_room.place.build_environment(),
            str(confined_room.place.workspace),
            walls,
            rung=confined_room.rung,
            ports=[port],
            stdout=-1,
        )
        listening = agent.relay or mine
        listening.settimeout(20)
        with listening.accept()[0] as client:
            assert client.recv(99) == b"hello\n"
            client.sendall(b"answer")
        assert agent.stdout is not None and agent.stdout.read() == b"answer"
        agent.end()
        listening.close()


def alive(word: str) -> list[int]:
    """Processes with this word in their command."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (
                    word.encode() in (folder / "cmdline").read_bytes()
                    and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
                ):
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def gone(word: str) -> bool:
    until = time.monotonic() + 15
    while alive(word) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(word)


RUNAWAYS = (
    "for i in 1 2 3; do (setsid nohup sh -c 'trap \"\" HUP TERM; sleep {0} & sleep {0}' > /dev/null 2>&1 &); done; sleep 0.3; {1}"
)


@pytest.mark.parametrize("then", ["exit 3", "sleep {0}"])
def test_whatever_it_started_ends_with_it(confined_room: Room, then: str) -> None:
    """Daemons that left the session and ignore signals end when the program ends, and when it is ended."""
    word = f"600.{time.time_ns() % 10**9}"
    code, _ = confined_room.run("bash", "-c", RUNAWAYS.format(word, then.format(word)), seconds=1.5)
    assert code == (3 if then.startswith("exit") else None)
    assert gone(word)


def test_it_does_not_outlive_the_run_process(confined_room: Room) -> None:
    word = f"600.{time.time_ns() % 10**9}"
    script = f"""
import sys
from lawbook.agents.runner.agent_home import AgentHome
from lawbook.sandbox.agent_process import AgentProcess
from pathlib import Path
place = AgentHome.make(Path({str(confined_room.place.folder)!r}))
command = ["bash", "-c", {RUNAWAYS.format(word, "sleep " + word)!r}]
policy = place.build_access_policy([], [])
agent = AgentProcess(command, place.build_environment(), str(place.workspace), policy, rung={confined_room.rung!r})
print("up", flush=True)
agent.wait()
"""
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert run.stdout is not None and run.stdout.readline() == b"up\n"
    until = time.monotonic() + 15
    while len(alive(word)) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    assert alive(word)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert gone(word)


# -- the start-up probe ----------------------------------------------------------------------------------------------------------


def test_the_probe_proves_the_walls_and_would_see_a_hole(confined_room: Room) -> None:
    place, secret = confined_room.place, [confined_room.ledger, Path(lawbook.__path__[0]) / "worlds"]
    walls = place.build_access_policy([], [confined_room.ledger.parent])
    found = probe(confined_room.rung, walls, place.workspace, place.build_environment(), secret)
    assert found.level == "full" and found.facts["relay"] == "reached"
    assert {name for name, what in found.facts.items() if what == DENIED} >= {
        "read",
        "write",
        "connect",
        "datagram",
        "unix",
        "processes",
        "raw",
    }
    holes = {
        "read": replace(walls, readable=(*walls.readable, str(confined_room.ledger))),
        "write": replace(walls, writable=(*walls.writable, str(confined_room.ledger.parent))),
    }
    for deed, leaky in holes.items():
        leaked = probe(confined_room.rung, leaky, place.workspace, place.build_environment(), secret)
        assert leaked.level == "weak" and any(hole.startswith(deed) for hole in leaked.holes), (deed, leaked)
    assert sorted(path.name for path in confined_room.ledger.parent.iterdir()) == ["ledger.sqlite"]  # what it wrote is taken away


def test_a_machine_that_cannot_confine_is_refused_unless_that_is_meant(room: Room) -> None:
    place = room.place
    asked = (place.build_access_policy([], []), place.workspace, place.build_environment(), [room.ledger])
    with pytest.raises(HostError, match="--weak-sandbox"):
        confine(*asked, weak=False, rungs=[UNCONFINED])
    found = confine(*asked, weak=True, rungs=[UNCONFINED])
    assert found.level == "weak" and "read" in found.summary and str(room.ledger) in found.summary
    leaky = replace(asked[0], readable=(*asked[0].readable, str(room.ledger)))
    with pytest.raises(HostError, match="possible: read"):
        confine(leaky, *asked[1:], weak=False)


def test_where_namespaces_are_not_allowed_the_lower_rung_holds(room: Room) -> None:
    """As in a default container: unshare is denied, by a filter that this process puts itself under."""
    script = f"""
import platform
from pathlib import Path
from lawbook.agents.runner.agent_home import AgentHome
from lawbook.agents.runner.confinement_probe import confine
from lawbook.sandbox import seccomp
from lawbook.sandbox.seccomp import ALLOW, DENIED, DENY, make_instruction
denied = DENIED[platform.machine()]["unshare"]
rows = [(0x20, 0), (0x15, denied, 0, 1), (6, DENY), (6, ALLOW)]
seccomp.install(b"".join(make_instruction(*row) for row in rows))
place = AgentHome.make(Path({str(room.place.folder)!r}))
policy = place.build_access_policy([], [])
found = confine(policy, place.workspace, place.build_environment(), [Path({str(room.ledger)!r})], weak=False)
print(found.rung, found.level)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout.split() == [LANDLOCK, "full"], done.stderr


# -- what is hidden --------------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(PATHS, min_size=1, max_size=12), hidden=st.lists(PATHS, max_size=3))
def test_without_leaves_out_what_is_hidden_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], hidden: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree").resolve()
    made = []
    for name in files:
        path = root / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        made.append(path)
    shut = [root / name for name in hidden]
    parts = [Path(part) for part in exclude_paths(str(root), [str(path) for path in shut])]
    for path in made:
        secret = any(path.is_relative_to(one) for one in shut)
        assert any(path.is_relative_to(part) for part in parts) != secret, (path, parts)
    for part in parts:
        assert not any(one.is_relative_to(part) for one in shut)
