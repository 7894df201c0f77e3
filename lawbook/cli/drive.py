"""`drive` starts a run that an agent drives, goes on with one or stops it; `say` reaches whoever plays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lawbook.agents.api import daemon
from lawbook.agents.api.external_mind import MIND_NAME
from lawbook.agents.api.framing import find_server_pid, send_request
from lawbook.agents.api.guide import STUBS
from lawbook.agents.api.socket_server import PERSON_SOCKET
from lawbook.agents.api.workspace import Workspace
from lawbook.cli.commands import command
from lawbook.cli.options import (
    REAL,
    WHOLE,
    budget_option,
    drop_missing,
    games_option,
    max_calls_option,
    memory_option,
    nodes_option,
    out_option,
    protocol_option,
    resume_option,
    run_argument,
    seed_option,
)
from lawbook.cli.run_lookup import find_run_folder
from lawbook.core.spending import OPTIONS, Caps
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.minds.registry import make_mind
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.annotations import append_person_message
from lawbook.runs.event_log import EventLog
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.state import fold_events
from lawbook.view.liveness import is_alive
from lawbook.worlds.address import WorldAddress, check_scheme

STOP_TIMEOUT_S = 90.0
"""How long a server may take to let go: an action in flight is waited for."""


# -- drive -----------------------------------------------------------------------------------------------------------------------


@command("drive")
@click.argument("world", metavar="[WORLD]", required=False, help="such as demo:maze; `lawbook worlds` lists them")
@click.option("--workspace", metavar="DIR", type=Path, help="the agent's folder; with a population DIR/0, DIR/1, ...")
@resume_option
@click.option("--stop", metavar="DIR", type=Path, help="stop serving this workspace; the run can be resumed")
@click.option("--judge", metavar="MIND", help="who judges fidelity (default: citations, and the agent's answer per rule)")
@click.option("--max-dollars", type=REAL, metavar="D", help="pause when that mind has cost this much (default: no cap)")
@max_calls_option
@click.option("--foreground", is_flag=True, help="serve from here until Ctrl-C or the end, instead of behind")
@click.option("--weak-sandbox", is_flag=True, default=None, help="run although programs cannot be confined")
@protocol_option
@click.option("--population", type=WHOLE, metavar="N", help="agents over one record, a workspace each (default: 1)")
@budget_option
@seed_option
@nodes_option
@memory_option
@games_option
@out_option
def drive(
    world: str | None,
    workspace: Path | None,
    resume: str | None,
    stop: Path | None,
    judge: str | None,
    foreground: bool,
    out: Path,
    **settings: Any,
) -> int:
    if stop is not None:
        stop_serving(stop)
        print("stopped; go on with: lawbook drive --resume RUN --workspace DIR")
        return 0
    if workspace is None:
        raise UsageError("drive needs --workspace DIR: the folder that the agent works in.")
    run_settings = drop_missing(settings)
    if resume is None:
        request = build_start(world, workspace.absolute(), judge, out, run_settings)
    else:
        request = build_resumption(resume, world, workspace.absolute(), judge, out, run_settings)
    if foreground:
        return _run_in_foreground({**request, "tell": None})
    print(daemon.format_started(start_in_background(request)))
    return 0


def build_start(
    world: str | None, workspace: Path, judge: str | None, out: Path, run_settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What the process that keeps a new run is to do, checked as far as it can be before one is started. Raises UsageError."""
    if world is None:
        raise UsageError("drive needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
    check_scheme(WorldAddress.parse(world))
    get_protocol(run_settings.get("protocol", RunConfig.protocol))
    if judge:
        make_mind(judge)
    config = RunConfig(world, mind=f"{MIND_NAME}:{judge}" if judge else MIND_NAME, **run_settings)
    members = config.population
    workspaces = [workspace] if members == 1 else [workspace / str(member) for member in range(members)]
    _require_usable([workspace, *workspaces], out)
    _require_fresh(workspaces)
    workspace_paths = [str(path) for path in workspaces]
    return {"resume": None, "config": asdict(config), "out": str(out.absolute()), "workspaces": workspace_paths}


def build_resumption(
    run: str, world: str | None, workspace: Path, judge: str | None, out: Path, run_settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What the process that goes on with a run is to do. Raises UsageError, also for what the run was asked for already."""
    caps = {name: run_settings[name] for name in OPTIONS if name in run_settings}
    Caps.from_settings(caps)
    consent = {"weak": run_settings.get("weak_sandbox", False), "memory_mb": run_settings.get("memory_mb")}
    said = {*caps, "weak_sandbox", "memory_mb"}
    other_options = [name for name in run_settings if name not in said] + ["judge"] * bool(judge)
    extra = world or next((f"--{name.replace('_', '-')}" for name in other_options), None)
    if extra:
        raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
    folder = find_run_folder(run, out)
    _require_usable([workspace], folder.path)
    return {"resume": str(folder.path.absolute()), "caps": caps, "consent": consent, "workspaces": [str(workspace)]}


def _require_usable(workspaces: list[Path], runs: Path) -> None:
    """Raises UsageError, before anything is made, for a workspace that shows a run or is served already."""
    daemon.require_disjoint(runs, workspaces)
    for path in filter(Path.is_dir, workspaces):
        with Workspace(path) as workspace:
            if find_server_pid(workspace) is not None:
                raise UsageError(f"{path} is being served already; end that with `lawbook drive --stop`, or name another folder.")


def _require_fresh(workspaces: list[Path]) -> None:
    """Raises UsageError for a new run where a rulebook or program lies already: its ledger would not show where that is from."""
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
    sys.stdout.flush()
    descriptor = daemon.make_request_fd(request)
    command = daemon.build_command(descriptor)
    os.execv(command[0], command)


def start_in_background(request: dict[str, Any]) -> dict[str, Any]:
    """Start a process that outlives us, wait until it serves, and return where: `run` and `workspaces`. Raises LawbookError."""
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
    start_result: dict[str, Any] = json.loads(response)
    if "error" in start_result:
        error = LawbookError(start_result["error"])
        error.exit_code = start_result["code"]
        raise error
    process.returncode = 0  # it lives on, and is nobody's to wait for
    return start_result


def stop_serving(path: Path) -> None:
    """End whoever serves this workspace, or the workspaces directly in it. The kernel says who that is, not the folder."""
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


def _is_keeper(pid: int) -> bool:
    """Whether this is a process that keeps a run."""
    try:
        return b"lawbook.agents.api.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


# -- say -------------------------------------------------------------------------------------------------------------------------


@command("say")
@run_argument
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, help="what to say")
def say(folder: RunFolder, words: Sequence[str]) -> int:
    text = " ".join(words)
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
    with Ledger.open(path) as ledger:
        append_person_message(EventLog(ledger, fold_events(ledger)), text)
    print("said; it is told when the run goes on, which counts as assisted")
    return 0
