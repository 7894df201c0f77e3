"""The process that keeps a run for its agents: opens it, serves its doors, goes on until it ends or is told to stop.

It is started with nothing on its command line but the number of a descriptor, from which it reads what is asked: whoever lists
processes learns nothing about the world. `python -m lawbook.agents.api.daemon FD`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from lawbook.agents.api.dispatcher import Door
from lawbook.agents.api.external_mind import NAME, AtTheWheel
from lawbook.agents.api.socket_server import Server, opened
from lawbook.agents.api.workspace_setup import ENDED
from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.minds.registry import make_mind
from lawbook.runs import lifecycle
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.process_exit import CODES, graceful
from lawbook.runs.session import Session

LINGER = 20.0
"""Seconds the doors stay open after the run has ended, so that the agent hears of it."""
_PR_SET_DUMPABLE = 4


def command(descriptor: int) -> list[str]:
    """The command line of this process."""
    return [sys.executable, "-P", "-m", "lawbook.agents.api.daemon", str(descriptor)]


def errand(asked: Mapping[str, Any]) -> int:
    """A descriptor from which `main` reads what is asked: never on a command line, never in a file with a name."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the process that reads it outlives us
    file.write(json.dumps(dict(asked)).encode())
    file.flush()
    file.seek(0)
    descriptor = os.dup(file.fileno())
    os.set_inheritable(descriptor, True)
    return descriptor


def main(descriptor: int) -> int:
    """Reads `config` (fields of RunConfig) and `out`, or `resume` (a run's folder) and `caps` (those that change); `workspaces`;
    `tell` (a descriptor that is told how the start went, as JSON), None in the foreground. Returns the exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # others of this user do not see which files are open here
    with os.fdopen(descriptor, "rb") as file:
        asked: dict[str, Any] = json.loads(file.read())
    tell = None if asked["tell"] is None else os.fdopen(asked["tell"], "wb")
    try:
        with graceful():
            return _keep(asked, tell)
    except KeyboardInterrupt:
        return 1
    except LawbookError as error:
        if tell is not None and not tell.closed:
            _tell(tell, {"error": str(error), "code": error.exit_code})
        else:
            print(f"lawbook: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _keep(asked: dict[str, Any], tell: BinaryIO | None) -> int:
    folder, session = None, None
    with contextlib.ExitStack() as stack:
        if asked["resume"]:
            folder = RunFolder.open(Path(asked["resume"]))
            caps = Caps.of(asked.get("caps", {}))
            session = stack.enter_context(lifecycle.resumed_run(folder, mind=_mind(folder.config().mind), caps=caps))
        else:
            config = RunConfig(**asked["config"])
            folder, session = stack.enter_context(lifecycle.new_run(config, Path(asked["out"]), mind=_mind(config.mind)))
        if len(asked["workspaces"]) == 1 < len(session.state.members):
            asked["workspaces"] = [f"{asked['workspaces'][0]}/{k}" for k in range(len(session.state.members))]
        paths = [Path(path) for path in asked["workspaces"]]
        apart(folder.path, paths)
        server = stack.enter_context(opened(session, paths, folder))
        started = {"run": str(folder.path), "workspaces": [str(workspace.path) for workspace in server.door.workspaces]}
        if tell is None:
            print(told(started), flush=True)
        else:
            _log(folder)
            _tell(tell, started)
        _serve(server, session)
        ending, broken = session.ended, server.door.broken
        if ending is not None:
            _say_ended(server.door, f"The run has ended: {ending}. Nothing can be sent any more.")
    if broken is not None:
        print(f"lawbook: {broken}", file=sys.stderr, flush=True)
    if ending is None:
        return broken.exit_code if broken is not None else 1
    _report(folder)
    if tell is None:
        print(f"{ending}", flush=True)
    return CODES.get(ending, 1)


def _serve(server: Server, session: Session) -> None:
    """Answer until the run has ended, everybody has heard of it or had the time to, or the run cannot go on."""
    until = None
    while until is None or time.monotonic() < until:
        server.turn(1.0)
        if (session.ended or server.door.broken) and until is None:
            until = time.monotonic() + LINGER


def _mind(name: str) -> AtTheWheel:
    """`drive`, or `drive:MIND` where a mind judges fidelity. Raises UsageError for a run that nobody drives."""
    kind, _, judge = name.partition(":")
    if kind != NAME:
        raise UsageError(f"This run is played by the mind {name!r}; go on with it by `lawbook play --resume`.")
    return AtTheWheel(make_mind(judge) if judge else None, name)


def apart(runs: Path, workspaces: list[Path]) -> None:
    """A workspace that holds a run (or the folder of runs), or lies in it, would show the agent what it is to find out.

    Raises UsageError.
    """
    home = runs.resolve()
    for path in workspaces:
        place = path.resolve()
        if place == home or place in home.parents or home in place.parents:
            raise UsageError(f"The workspace {path} and the runs in {runs} must lie apart; name another --workspace or --out.")


def told(started: Mapping[str, Any]) -> str:
    """What a person is told when a run is being driven."""
    lines = [f"run        {started['run']}"]
    lines += [f"workspace  {path}" for path in started["workspaces"]]
    lines.append("An agent begins there with ./law brief.")
    return "\n".join(lines)


def _say_ended(door: Door, sentence: str) -> None:
    for workspace in door.workspaces:
        with contextlib.suppress(LawbookError):
            workspace.write(ENDED, sentence + "\n")


def _report(folder: RunFolder) -> None:
    from lawbook.view import html_report

    try:
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            folder.report.write_text(html_report.render(ledger), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print(f"lawbook: the report could not be written ({error.strerror}).", file=sys.stderr, flush=True)


def _log(folder: RunFolder) -> None:
    """From here on what is printed goes into the run's folder: there is no terminal any more."""
    log = os.open(folder.path / "drive.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)


def _tell(tell: BinaryIO, what: Mapping[str, Any]) -> None:
    tell.write(json.dumps(dict(what)).encode())
    tell.close()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
