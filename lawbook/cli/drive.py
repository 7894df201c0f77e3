"""The commands for a run that an agent drives: `drive` starts one, goes on with one or stops it; `say` reaches whoever plays."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawbook.cli import options
from lawbook.errors import LawbookError, UsageError

# As in cli.py: what costs time is imported where it is needed.
if TYPE_CHECKING:
    from lawbook.agents.api.workspace import Workspace

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]

STOP_SECONDS = 90.0
"""How long a server may take to let go: an action in flight is waited for."""


def add_commands(command: Add) -> None:
    """Put the commands into the parser."""
    driven = command("drive", _drive, "let an agent drive a run from a workspace, behind the same gate")
    driven.add_argument("world", metavar="WORLD", nargs="?", help="such as demo:maze; `lawbook worlds` lists them")
    driven.add_argument("--workspace", metavar="DIR", type=Path, help="the agent's folder; with a population DIR/0, DIR/1, ...")
    driven.add_argument("--resume", metavar="RUN", help="go on with a run: its folder, its name below --out, or `last`")
    driven.add_argument("--stop", metavar="DIR", type=Path, help="stop serving this workspace; the run can be resumed")
    driven.add_argument("--judge", metavar="MIND", help="who judges fidelity (default: citations, and the agent's answer per rule)")
    driven.add_argument("--max-dollars", type=float, metavar="D", help="pause when that mind has cost this much (default: no cap)")
    driven.add_argument("--max-calls", type=int, metavar="N", help="pause when its model has been called this often")
    driven.add_argument("--foreground", action="store_true", help="serve from here until Ctrl-C or the end, instead of behind")
    driven.add_argument("--weak-sandbox", action="store_true", default=None, help="run although programs cannot be confined")
    driven.add_argument("--protocol", help="what must hold before an action: memento3, no-rulebook, vanilla (default: memento3)")
    driven.add_argument("--population", type=int, metavar="N", help="agents over one record, a workspace each (default: 1)")
    driven.add_argument("--budget", type=int, metavar="B", help="actions in all, resets included (default: 500)")
    driven.add_argument("--seed", type=int, metavar="S", help="of every draw (default: 0)")
    driven.add_argument("--nodes", type=int, metavar="N", help="most states one search expands (default: 200000)")
    options.games_option(driven)
    options.out_option(driven)
    said = command("say", _say, "say something to whoever plays a run; it counts as assisted from then on")
    said.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    said.add_argument("words", metavar="WORDS", nargs="+", help="what to say")
    options.out_option(said)


# -- drive -----------------------------------------------------------------------------------------------------------------------


def _drive(given: argparse.Namespace) -> int:
    if given.stop is not None:
        return _stop(given.stop)
    if given.workspace is None:
        raise UsageError("drive needs --workspace DIR: the folder that the agent works in.")
    options.find_games(given)
    asked = _asked(given)
    if given.foreground:
        return _in_front({**asked, "tell": None})
    return _behind(asked)


def _asked(given: argparse.Namespace) -> dict[str, Any]:
    """What the process that keeps the run is to do, checked as far as it can be before one is started."""
    from lawbook.agents.api.external_mind import NAME
    from lawbook.cli.run_lookup import folder_of
    from lawbook.core.spending import OPTIONS, Caps
    from lawbook.minds.registry import make_mind
    from lawbook.protocols.protocol import find_protocol
    from lawbook.runs.folder import RunConfig
    from lawbook.worlds.address import WorldAddress, check

    wanted = options.asked(given)
    workspace = given.workspace.absolute()
    if given.resume is not None:
        raised = {name: wanted.pop(name) for name in OPTIONS if name in wanted}
        Caps.of(raised)
        others = [*wanted, *(["judge"] if given.judge else [])]
        extra = given.world or next((f"--{name.replace('_', '-')}" for name in others), None)
        if extra:
            raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
        folder = folder_of(given.resume, given.out)
        _usable([workspace], folder.path)
        return {"resume": str(folder.path.absolute()), "caps": raised, "workspaces": [str(workspace)]}
    if given.world is None:
        raise UsageError("drive needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
    check(WorldAddress.parse(given.world))
    find_protocol(wanted.get("protocol", RunConfig.protocol))
    if given.judge:
        make_mind(given.judge)
    config = RunConfig(given.world, mind=f"{NAME}:{given.judge}" if given.judge else NAME, **wanted)
    members = config.population
    workspaces = [workspace] if members == 1 else [workspace / str(member) for member in range(members)]
    _usable([workspace, *workspaces], given.out)
    _fresh(workspaces)
    places = [str(place) for place in workspaces]
    return {"resume": None, "config": asdict(config), "out": str(given.out.absolute()), "workspaces": places}


def _usable(workspaces: list[Path], runs: Path) -> None:
    """Raises UsageError, before anything is made, for a workspace that shows a run or is served already."""
    from lawbook.agents.api.daemon import apart
    from lawbook.agents.api.framing import serving
    from lawbook.agents.api.workspace import Workspace

    apart(runs, workspaces)
    for path in filter(Path.is_dir, workspaces):
        with Workspace(path) as workspace:
            if serving(workspace) is not None:
                raise UsageError(f"{path} is being served already; end that with `lawbook drive --stop`, or name another folder.")


def _fresh(workspaces: list[Path]) -> None:
    """Raises UsageError for a new run where a rulebook or program lies already: its ledger would not show where that is from."""
    from lawbook.agents.api.guide import STUBS
    from lawbook.agents.api.workspace import Workspace

    for path in filter(Path.is_dir, workspaces):
        with Workspace(path) as workspace:
            held = [name for name, stub in STUBS.items() if workspace.has(name) and workspace.read(name) != stub]
        if held:
            raise UsageError(
                f"{path} holds a {held[0]} of another run or hand; name an empty folder, or go on with that run: "
                f"lawbook drive --resume RUN --workspace {path}."
            )


def _in_front(asked: dict[str, Any]) -> int:
    """Become the process that keeps the run: what stood on our command line is gone then, too."""
    from lawbook.agents.api import daemon

    sys.stdout.flush()
    descriptor = daemon.errand(asked)
    command = daemon.command(descriptor)
    os.execv(command[0], command)


def _behind(asked: dict[str, Any]) -> int:
    """Start a process that outlives us, wait until it serves, and tell where."""
    from lawbook.agents.api import daemon

    listening, telling = os.pipe()
    os.set_inheritable(telling, True)
    descriptor = daemon.errand({**asked, "tell": telling})
    process = subprocess.Popen(
        daemon.command(descriptor),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[descriptor, telling],
        cwd="/",
        start_new_session=True,
    )
    os.close(descriptor)
    os.close(telling)
    with os.fdopen(listening, "rb") as answer:
        said = answer.read()
    if not said:
        why = process.communicate(timeout=5)[1].decode(errors="replace").strip().splitlines()
        raise LawbookError(f"The run could not be started ({why[-1] if why else 'no reason was given'}).")
    started = json.loads(said)
    if "error" in started:
        error = LawbookError(started["error"])
        error.exit_code = started["code"]
        raise error
    print(daemon.told(started))
    process.returncode = 0  # it lives on, and is nobody's to wait for
    return 0


def _stop(path: Path) -> int:
    """End whoever serves this workspace, or the workspaces directly in it. The kernel says who that is, not the folder."""
    from lawbook.agents.api.framing import serving
    from lawbook.agents.api.workspace import Workspace

    if not path.is_dir():
        raise UsageError(f"There is no folder {path}.")
    found: set[int] = set()
    places: list[Workspace] = []
    for folder in (path, *sorted(path.glob("[0-9]*"))[:100]):
        if folder.is_dir():
            place = Workspace(folder)
            places.append(place)
            pid = serving(place)
            if pid is not None and pid != os.getpid() and _keeps(pid):
                found.add(pid)
    if not found:
        raise UsageError(f"Nobody serves {path}.")
    for pid in found:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while any(_keeps(pid) for pid in found):
        if time.monotonic() > deadline:
            raise LawbookError("It was told to stop, and has not yet: an action may be in flight. Ask again in a while.")
        time.sleep(0.05)
    print("stopped; go on with: lawbook drive --resume RUN --workspace DIR")
    return 0


def _keeps(pid: int) -> bool:
    """Whether this is a process that keeps a run."""
    try:
        return b"lawbook.agents.api.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


# -- say -------------------------------------------------------------------------------------------------------------------------


def _say(given: argparse.Namespace) -> int:
    from lawbook.agents.api.framing import ask, serving
    from lawbook.agents.api.socket_server import PERSON
    from lawbook.agents.api.workspace import Workspace
    from lawbook.cli.run_lookup import folder_of
    from lawbook.view.liveness import alive

    folder, text = folder_of(given.run, given.out), " ".join(given.words)
    with Workspace(folder.path) as place:
        if serving(place, PERSON) is not None:
            reply = ask(place, PERSON, {"say": text})
            print(reply.text)
            return reply.code
    if alive(folder):
        raise UsageError("This run is being played by a mind that cannot be spoken to; `say` reaches agents behind a door.")
    return _leave_word(folder.ledger, text)


def _leave_word(path: Path, text: str) -> int:
    """Nobody is there: it is heard when the run goes on."""
    from lawbook.agents.api.socket_server import words_of
    from lawbook.ledger.ledger import Kind, Ledger
    from lawbook.runs.state import fold

    with Ledger.open(path) as ledger:
        words = words_of(text, fold(ledger).ending)
        ledger.append(Kind.NOTE, {"text": words, "by": "person"})
        ledger.commit()
    print("said; it is told when the run goes on, which counts as assisted")
    return 0
