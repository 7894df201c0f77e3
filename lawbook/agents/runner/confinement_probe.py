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
from lawbook.sandbox.agent_process import NAMESPACES, PORT, RUNGS, UNCONFINED, AccessPolicy, AgentProcess
from lawbook.sandbox.confinement import DENIED, POSSIBLE

PROBE_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class ConfinementReport:
    """What an agent's commands cannot do. rung: of host.agent.RUNGS; facts: layer or deed -> what came of it. level: full (nothing
    worked that must not) or weak."""

    rung: str
    facts: Mapping[str, str]

    @property
    def level(self) -> str:
        return "full" if not self.holes else "weak"

    @property
    def holes(self) -> list[str]:
        return [f"{name} ({result})" for name, result in self.facts.items() if result.startswith(POSSIBLE)]

    @property
    def summary(self) -> str:
        denied = ", ".join(name for name, result in self.facts.items() if result == DENIED) or "nothing"
        holes = ", ".join(self.holes) or "nothing"
        return f"An agent is confined by {self.rung}; tried from inside, denied: {denied}; possible: {holes}."


def confine(
    access_policy: AccessPolicy,
    folder: Path,
    environment: Mapping[str, str],
    secret_paths: Sequence[Path],
    *,
    weak: bool,
    rungs: Iterable[str] = RUNGS,
) -> ConfinementReport:
    """The strongest confinement this machine has, as found from inside.

    secret_paths: files and folders that must be out of reach. Raises HostError when it does not hold, unless `weak` says to go on.
    """
    report: ConfinementReport | None = None
    failure = ""
    for rung in rungs:
        if rung == UNCONFINED and not weak:
            break
        try:
            report = probe(rung, access_policy, folder, environment, secret_paths)
        except HostError as error:
            failure = str(error)
            continue
        if report.level == "full":
            return report
    if report is None or not weak:
        explanation = report.summary if report else failure
        raise HostError(
            f"This machine cannot confine an agent: {explanation} Use a Linux kernel with Landlock and seccomp, "
            "or pass --weak-sandbox if you trust the agent with this machine."
        )
    return report


def probe(
    rung: str, access_policy: AccessPolicy, folder: Path, environment: Mapping[str, str], secret_paths: Sequence[Path]
) -> ConfinementReport:
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
        write_targets = [folder / f"{name}-was-here" for folder in dict.fromkeys(_find_writable_folders(secret_paths))]
        targets = {
            "secrets": [*_pick_files(secret_paths), "/etc/shadow", f"/proc/{os.getpid()}/environ"],
            "places": [*map(str, write_targets)],
            "host": "127.0.0.1",
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "socket": path,
            "abstract": name,
            "processes": [os.getpid(), os.getppid()],
            "relay": PORT if rung == NAMESPACES else relay.getsockname()[1],
        }
        command = ["python3", "-I", "-S", "-c", Path(escape_attempts.__file__).read_text(encoding="utf-8"), json.dumps(targets)]
        agent = AgentProcess(
            command,
            environment,
            str(folder),
            access_policy,
            rung=rung,
            ports=[relay.getsockname()[1]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        stack.callback(agent.end)
        if agent.wait(PROBE_TIMEOUT_SECONDS) is None:
            raise HostError("The probe of an agent's confinement gave no answer.")
        assert agent.stdout is not None
        output = agent.stdout.read().decode(errors="replace")
        escaped_folders = [str(place.parent) for place in write_targets if place.exists()]
        for place in write_targets:
            place.unlink(missing_ok=True)
    try:
        answer = json.loads(output)
        results = {"write": f"{POSSIBLE}: {escaped_folders[0]}" if escaped_folders else DENIED}
        results |= {str(deed): f"{POSSIBLE}: {attempt}" if attempt else DENIED for deed, attempt in answer["deeds"].items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise HostError(f"The probe of an agent's confinement failed: {output[-300:]}") from error
    facts = {name: result for name, result in agent.facts.items() if name != "rung"}
    return ConfinementReport(rung, {**facts, **results, "relay": "reached" if answer["relay"] else "out of reach"})


def _pick_files(places: Iterable[Path]) -> list[str]:
    """Some file of each place, that has something in it."""
    paths = []
    for place in places:
        files = [place] if place.is_file() else (path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
        paths += [str(path) for path in islice(files, 3)]
    return paths


def _find_writable_folders(places: Iterable[Path]) -> Iterator[Path]:
    """Folders in which nothing may be written."""
    for place in (*places, Path("/etc"), Path("/usr"), Path.home(), Path(tempfile.gettempdir())):
        folder = place if place.is_dir() else place.parent
        if os.access(folder, os.W_OK):  # else it would prove nothing
            yield folder
