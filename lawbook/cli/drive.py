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

# As in main.py: what costs time is imported where it is needed.
if TYPE_CHECKING:
    from lawbook.agents.api.workspace import Workspace

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]

STOP_TIMEOUT_S = 90.0
"""How long a server may take to let go: an action in flight is waited for."""


def add_commands(add_command: AddCommand) -> None:
    """Put the commands into the parser."""
    drive_parser = add_command("drive", _drive, "let an agent drive a run from a workspace, behind the same gate")
    drive_parser.add_argument("world", metavar="WORLD", nargs="?", help="such as demo:maze; `lawbook worlds` lists them")
    drive_parser.add_argument(
        "--workspace", metavar="DIR", type=Path, help="the agent's folder; with a population DIR/0, DIR/1, ..."
    )
    drive_parser.add_argument("--resume", metavar="RUN", help="go on with a run: its folder, its name below --out, or `last`")
    drive_parser.add_argument("--stop", metavar="DIR", type=Path, help="stop serving this workspace; the run can be resumed")
    drive_parser.add_argument(
        "--judge", metavar="MIND", help="who judges fidelity (default: citations, and the agent's answer per rule)"
    )
    drive_parser.add_argument(
        "--max-dollars", type=float, metavar="D", help="pause when that mind has cost this much (default: no cap)"
    )
    drive_parser.add_argument("--max-calls", type=int, metavar="N", help="pause when its model has been called this often")
    drive_parser.add_argument(
        "--foreground", action="store_true", help="serve from here until Ctrl-C or the end, instead of behind"
    )
    drive_parser.add_argument("--weak-sandbox", action="store_true", default=None, help="run although programs cannot be confined")
    drive_parser.add_argument(
        "--protocol", help="what must hold before an action: memento3, no-rulebook, vanilla (default: memento3)"
    )
    drive_parser.add_argument("--population", type=int, metavar="N", help="agents over one record, a workspace each (default: 1)")
    drive_parser.add_argument("--budget", type=int, metavar="B", help="actions in all, resets included (default: 500)")
    drive_parser.add_argument("--seed", type=int, metavar="S", help="of every draw (default: 0)")
    drive_parser.add_argument("--nodes", type=int, metavar="N", help="most states one search expands (default: 200000)")
    options.add_games_option(drive_parser)
    options.add_out_option(drive_parser)
    say_parser = add_command("say", _say, "say something to whoever plays a run; it counts as assisted from then on")
    say_parser.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    say_parser.add_argument("words", metavar="WORDS", nargs="+", help="what to say")
    options.add_out_option(say_parser)


# -- drive -----------------------------------------------------------------------------------------------------------------------


def _drive(args: argparse.Namespace) -> int:
    if args.stop is not None:
        return _stop(args.stop)
    if args.workspace is None:
        raise UsageError("drive needs --workspace DIR: the folder that the agent works in.")
    options.set_games_folder(args)
    request = _build_request(args)
    if args.foreground:
        return _run_in_foreground({**request, "tell": None})
    return _run_in_background(request)


def _build_request(args: argparse.Namespace) -> dict[str, Any]:
    """What the process that keeps the run is to do, checked as far as it can be before one is started."""
    from lawbook.agents.api.external_mind import MIND_NAME
    from lawbook.cli.run_lookup import find_run_folder
    from lawbook.core.spending import OPTIONS, Caps
    from lawbook.minds.registry import make_mind
    from lawbook.protocols.protocol import get_protocol
    from lawbook.runs.folder import RunConfig
    from lawbook.worlds.address import WorldAddress, check_scheme

    run_settings = options.read_run_settings(args)
    workspace = args.workspace.absolute()
    if args.resume is not None:
        raised_caps = {name: run_settings.pop(name) for name in OPTIONS if name in run_settings}
        Caps.from_settings(raised_caps)
        other_options = [*run_settings, *(["judge"] if args.judge else [])]
        extra = args.world or next((f"--{name.replace('_', '-')}" for name in other_options), None)
        if extra:
            raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
        folder = find_run_folder(args.resume, args.out)
        _require_usable([workspace], folder.path)
        return {"resume": str(folder.path.absolute()), "caps": raised_caps, "workspaces": [str(workspace)]}
    if args.world is None:
        raise UsageError("drive needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
    check_scheme(WorldAddress.parse(args.world))
    get_protocol(run_settings.get("protocol", RunConfig.protocol))
    if args.judge:
        make_mind(args.judge)
    config = RunConfig(args.world, mind=f"{MIND_NAME}:{args.judge}" if args.judge else MIND_NAME, **run_settings)
    members = config.population
    workspaces = [workspace] if members == 1 else [workspace / str(member) for member in range(members)]
    _require_usable([workspace, *workspaces], args.out)
    _require_fresh(workspaces)
    workspace_paths = [str(path) for path in workspaces]
    return {"resume": None, "config": asdict(config), "out": str(args.out.absolute()), "workspaces": workspace_paths}


def _require_usable(workspaces: list[Path], runs: Path) -> None:
    """Raises UsageError, before anything is made, for a workspace that shows a run or is served already."""
    from lawbook.agents.api.daemon import require_disjoint
    from lawbook.agents.api.framing import find_server_pid
    from lawbook.agents.api.workspace import Workspace

    require_disjoint(runs, workspaces)
    for path in filter(Path.is_dir, workspaces):
        with Workspace(path) as workspace:
            if find_server_pid(workspace) is not None:
                raise UsageError(f"{path} is being served already; end that with `lawbook drive --stop`, or name another folder.")


def _require_fresh(workspaces: list[Path]) -> None:
    """Raises UsageError for a new run where a rulebook or program lies already: its ledger would not show where that is from."""
    from lawbook.agents.api.guide import STUBS
    from lawbook.agents.api.workspace import Workspace

    for path in filter(Path.is_dir, workspaces):
        with Workspace(path) as workspace:
            existing = [name for name, stub in STUBS.items() if workspace.has(name) and workspace.read(name) != stub]
        if existing:
            raise UsageError(
                f"{path} holds a {existing[0]} of another run or hand; name an empty folder, or go on with that run: "
                f"lawbook drive --resume RUN --workspace {path}."
            )


def _run_in_foreground(request: dict[str, Any]) -> int:
    """Become the process that keeps the run: what stood on our command line is gone then, too."""
    from lawbook.agents.api import daemon

    sys.stdout.flush()
    descriptor = daemon.make_request_fd(request)
    command = daemon.build_command(descriptor)
    os.execv(command[0], command)


def _run_in_background(request: dict[str, Any]) -> int:
    """Start a process that outlives us, wait until it serves, and tell where."""
    from lawbook.agents.api import daemon

    read_fd, write_fd = os.pipe()
    os.set_inheritable(write_fd, True)
    descriptor = daemon.make_request_fd({**request, "tell": write_fd})
    process = subprocess.Popen(
        daemon.build_command(descriptor),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[descriptor, write_fd],
        cwd="/",
        start_new_session=True,
    )
    os.close(descriptor)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as stream:
        response = stream.read()
    if not response:
        error_lines = process.communicate(timeout=5)[1].decode(errors="replace").strip().splitlines()
        raise LawbookError(f"The run could not be started ({error_lines[-1] if error_lines else 'no reason was given'}).")
    start_result = json.loads(response)
    if "error" in start_result:
        error = LawbookError(start_result["error"])
        error.exit_code = start_result["code"]
        raise error
    print(daemon.format_started(start_result))
    process.returncode = 0  # it lives on, and is nobody's to wait for
    return 0


def _stop(path: Path) -> int:
    """End whoever serves this workspace, or the workspaces directly in it. The kernel says who that is, not the folder."""
    from lawbook.agents.api.framing import find_server_pid
    from lawbook.agents.api.workspace import Workspace

    if not path.is_dir():
        raise UsageError(f"There is no folder {path}.")
    pids: set[int] = set()
    workspaces: list[Workspace] = []
    for folder in (path, *sorted(path.glob("[0-9]*"))[:100]):
        if folder.is_dir():
            workspace = Workspace(folder)
            workspaces.append(workspace)
            pid = find_server_pid(workspace)
            if pid is not None and pid != os.getpid() and _is_keeper(pid):
                pids.add(pid)
    if not pids:
        raise UsageError(f"Nobody serves {path}.")
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while any(_is_keeper(pid) for pid in pids):
        if time.monotonic() > deadline:
            raise LawbookError("It was told to stop, and has not yet: an action may be in flight. Ask again in a while.")
        time.sleep(0.05)
    print("stopped; go on with: lawbook drive --resume RUN --workspace DIR")
    return 0


def _is_keeper(pid: int) -> bool:
    """Whether this is a process that keeps a run."""
    try:
        return b"lawbook.agents.api.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


# -- say -------------------------------------------------------------------------------------------------------------------------


def _say(args: argparse.Namespace) -> int:
    from lawbook.agents.api.framing import find_server_pid, send_request
    from lawbook.agents.api.socket_server import PERSON_SOCKET
    from lawbook.agents.api.workspace import Workspace
    from lawbook.cli.run_lookup import find_run_folder
    from lawbook.view.liveness import is_alive

    folder, text = find_run_folder(args.run, args.out), " ".join(args.words)
    with Workspace(folder.path) as workspace:
        if find_server_pid(workspace, PERSON_SOCKET) is not None:
            result = send_request(workspace, PERSON_SOCKET, {"say": text})
            print(result.text)
            return result.code
    if is_alive(folder):
        raise UsageError("This run is being played by a mind that cannot be spoken to; `say` reaches agents behind a door.")
    return _queue_message(folder.ledger, text)


def _queue_message(path: Path, text: str) -> int:
    """Nobody is there: it is heard when the run goes on."""
    from lawbook.agents.api.socket_server import validate_message
    from lawbook.ledger.events import PERSON, NoteEvent
    from lawbook.ledger.ledger import Ledger
    from lawbook.runs.state import fold_events

    with Ledger.open(path) as ledger:
        message = validate_message(text, fold_events(ledger).outcome)
        ledger.write(NoteEvent(message, PERSON))
        ledger.commit()
    print("said; it is told when the run goes on, which counts as assisted")
    return 0
