"""The start-up probe: an agent's confinement, tried from inside on the very things that it is to keep the agent from."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lawbook.agents.runner import escape_attempts
from lawbook.errors import HostError
from lawbook.sandbox.agent_process import BARE, NAMESPACES, PORT, RUNGS, Agent, Walls
from lawbook.sandbox.confinement import DENIED, POSSIBLE

SECONDS = 60.0


@dataclass(frozen=True)
class Confinement:
    """What an agent's commands cannot do. rung: of host.agent.RUNGS; facts: layer or deed -> what came of it. level: full (nothing
    worked that must not) or weak."""

    rung: str
    facts: Mapping[str, str]

    @property
    def level(self) -> str:
        return "full" if not self.holes else "weak"

    @property
    def holes(self) -> list[str]:
        return [f"{name} ({what})" for name, what in self.facts.items() if what.startswith(POSSIBLE)]

    @property
    def sentence(self) -> str:
        held = ", ".join(name for name, what in self.facts.items() if what == DENIED) or "nothing"
        holes = ", ".join(self.holes) or "nothing"
        return f"An agent is confined by {self.rung}; tried from inside, denied: {held}; possible: {holes}."


def confine(
    walls: Walls, folder: Path, environment: Mapping[str, str], secret: Sequence[Path], *, weak: bool, rungs: Iterable[str] = RUNGS
) -> Confinement:
    """The strongest confinement this machine has, as found from inside.

    secret: files and folders that must be out of reach. Raises HostError when it does not hold, unless `weak` says to go on.
    """
    found: Confinement | None = None
    why = ""
    for rung in rungs:
        if rung == BARE and not weak:
            break
        try:
            found = probe(rung, walls, folder, environment, secret)
        except HostError as error:
            why = str(error)
            continue
        if found.level == "full":
            return found
    if found is None or not weak:
        told = found.sentence if found else why
        raise HostError(
            f"This machine cannot confine an agent: {told} Use a Linux kernel with Landlock and seccomp, "
            "or pass --weak-sandbox if you trust the agent with this machine."
        )
    return found


def probe(rung: str, walls: Walls, folder: Path, environment: Mapping[str, str], secret: Sequence[Path]) -> Confinement:
    """Run the script of deeds where an agent's programs would run. Raises HostError when it cannot be."""
    with ExitStack() as stack:
        # Decoys of ours, so that a deed that works is seen to work, and nobody else is bothered.
        decoys = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lawbook-")))
        tcp, udp = (
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(socket.socket(type=socket.SOCK_DGRAM)),
        )
        udp.bind(("127.0.0.1", 0))
        path, name = str(decoys / "socket"), f"lawbook-{secrets.token_hex(8)}"
        for address in (path, f"\0{name}"):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        relay = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        left = [folder / f"{name}-was-here" for folder in dict.fromkeys(_folders(secret))]
        asked = {
            "secrets": [*_files(secret), "/etc/shadow", f"/proc/{os.getpid()}/environ"],
            "places": [*map(str, left)],
            "host": "127.0.0.1",
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "socket": path,
            "abstract": name,
            "processes": [os.getpid(), os.getppid()],
            "relay": PORT if rung == NAMESPACES else relay.getsockname()[1],
        }
        command = ["python3", "-I", "-S", "-c", Path(escape_attempts.__file__).read_text(encoding="utf-8"), json.dumps(asked)]
        agent = Agent(
            command,
            environment,
            str(folder),
            walls,
            rung=rung,
            ports=[relay.getsockname()[1]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        stack.callback(agent.end)
        if agent.wait(SECONDS) is None:
            raise HostError("The probe of an agent's confinement gave no answer.")
        assert agent.stdout is not None
        told = agent.stdout.read().decode(errors="replace")
        written = [str(place.parent) for place in left if place.exists()]
        for place in left:
            place.unlink(missing_ok=True)
    try:
        answer = json.loads(told)
        found = {"write": f"{POSSIBLE}: {written[0]}" if written else DENIED}
        found |= {str(deed): f"{POSSIBLE}: {way}" if way else DENIED for deed, way in answer["deeds"].items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise HostError(f"The probe of an agent's confinement failed: {told[-300:]}") from error
    facts = {name: what for name, what in agent.facts.items() if name != "rung"}
    return Confinement(rung, {**facts, **found, "relay": "reached" if answer["relay"] else "out of reach"})


def _files(places: Iterable[Path]) -> list[str]:
    """Some file of each place, that has something in it."""
    found = []
    for place in places:
        files = [place] if place.is_file() else (path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
        found += [str(path) for path in islice(files, 3)]
    return found


def _folders(places: Iterable[Path]) -> Iterator[Path]:
    """Folders in which nothing may be written."""
    for place in (*places, Path("/etc"), Path("/usr"), Path.home(), Path(tempfile.gettempdir())):
        folder = place if place.is_dir() else place.parent
        if os.access(folder, os.W_OK):  # else it would prove nothing
            yield folder
