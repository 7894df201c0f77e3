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
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from lawbook.agents.api.dispatcher import CommandDispatcher
from lawbook.agents.api.external_mind import MIND_NAME, ExternalAgentMind
from lawbook.agents.api.socket_server import SocketServer, open_server
from lawbook.agents.api.workspace_setup import ENDED_FILE
from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.minds.registry import make_mind
from lawbook.runs import lifecycle
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.process_exit import EXIT_CODES, interrupt_on_sigterm
from lawbook.runs.session import Session

SHUTDOWN_GRACE_S, BACKGROUND_GRACE_S, LINGER_S = 20.0, 120.0, 300.0
"""Seconds the doors stay open after the run has ended, so that the agent hears of it; the same behind a terminal, where nobody
waits for us; and after the last command that came since: reading goes on as long as somebody reads."""
_PR_SET_DUMPABLE = 4


def build_command(descriptor: int) -> list[str]:
    """The command line of this process."""
    return [sys.executable, "-P", "-m", "lawbook.agents.api.daemon", str(descriptor)]


def make_request_fd(request: Mapping[str, Any]) -> int:
    """A descriptor from which `main` reads what is asked: never on a command line, never in a file with a name."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the process that reads it outlives us
    file.write(json.dumps(dict(request)).encode())
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
        request: dict[str, Any] = json.loads(file.read())
    status_stream = None if request["tell"] is None else os.fdopen(request["tell"], "wb")
    try:
        with interrupt_on_sigterm():
            return _serve_run(request, status_stream)
    except KeyboardInterrupt:
        return 1
    except LawbookError as error:
        if status_stream is not None and not status_stream.closed:
            _send_message(status_stream, {"error": str(error), "code": error.exit_code})
        else:
            print(f"lawbook: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _serve_run(request: dict[str, Any], status_stream: BinaryIO | None) -> int:
    folder, session = None, None
    with contextlib.ExitStack() as stack:
        if request["resume"]:
            folder = RunFolder.open(Path(request["resume"]))
            caps = Caps.from_settings(request.get("caps", {}))
            mind, consent = _make_mind(folder.load_config().mind), Consent(**request["consent"])
            session = stack.enter_context(lifecycle.resume_run(folder, mind=mind, caps=caps, consent=consent))
        else:
            config = RunConfig(**request["config"])
            folder, session = stack.enter_context(lifecycle.start_run(config, Path(request["out"]), mind=_make_mind(config.mind)))
        if len(request["workspaces"]) == 1 < len(session.state.members):
            request["workspaces"] = [f"{request['workspaces'][0]}/{k}" for k in range(len(session.state.members))]
        paths = [Path(path) for path in request["workspaces"]]
        require_disjoint(folder.path, paths)
        server = stack.enter_context(open_server(session, paths, folder))
        started = {"run": str(folder.path), "workspaces": [str(workspace.path) for workspace in server.dispatcher.workspaces]}
        if status_stream is None:
            print(format_started(started), flush=True)
        else:
            _redirect_output(folder)
            _send_message(status_stream, started)
        grace = SHUTDOWN_GRACE_S if status_stream is None else BACKGROUND_GRACE_S
        _serve_until_ended(server, session, grace, partial(_write_report, folder))
        ending, failure = session.outcome, server.dispatcher.failure
        if ending is not None:
            _write_ended(server.dispatcher, f"The run has ended: {ending}. Nothing can be sent any more.")
    if failure is not None:
        print(f"lawbook: {failure}", file=sys.stderr, flush=True)
    if ending is None:
        return failure.exit_code if failure is not None else 1
    if status_stream is None:
        print(f"{ending}", flush=True)
    return EXIT_CODES.get(ending, 1)


def _serve_until_ended(server: SocketServer, session: Session, grace: float, on_end: Callable[[], None]) -> None:
    """Answer until the run has ended and nobody reads any more, or until it cannot go on and everybody could hear of it. on_end:
    called once, when it has ended."""
    ended_at = None
    while ended_at is None or time.monotonic() < _find_deadline(server, ended_at, grace):
        server.run_once(1.0)
        if (session.outcome or server.dispatcher.failure) and ended_at is None:
            ended_at = time.monotonic()
            if session.outcome:
                on_end()


def _find_deadline(server: SocketServer, ended_at: float, grace: float) -> float:
    """When to close: soon after the end; some time after the last command that came later, where the run can still be read."""
    is_read = server.last_command_at > ended_at and server.dispatcher.failure is None
    return (
        server.last_command_at + LINGER_S
        if is_read
        else ended_at + (SHUTDOWN_GRACE_S if server.dispatcher.failure is not None else grace)
    )


def _make_mind(name: str) -> ExternalAgentMind:
    """`drive`, or `drive:MIND` where a mind judges fidelity. Raises UsageError for a run that nobody drives."""
    kind, _, judge_name = name.partition(":")
    if kind != MIND_NAME:
        raise UsageError(f"This run is played by the mind {name!r}; go on with it by `lawbook play --resume`.")
    return ExternalAgentMind(make_mind(judge_name) if judge_name else None, name)


def require_disjoint(runs: Path, workspaces: list[Path]) -> None:
    """A workspace that holds a run (or the folder of runs), or lies in it, would show the agent what it is to find out.

    Raises UsageError.
    """
    home = runs.resolve()
    for path in workspaces:
        resolved = path.resolve()
        if resolved == home or resolved in home.parents or home in resolved.parents:
            raise UsageError(f"The workspace {path} and the runs in {runs} must lie apart; name another --workspace or --out.")


def format_started(started: Mapping[str, Any]) -> str:
    """What a person is told when a run is being driven."""
    lines = [f"run        {started['run']}"]
    lines += [f"workspace  {path}" for path in started["workspaces"]]
    lines.append("An agent begins there with ./law brief.")
    return "\n".join(lines)


def _write_ended(dispatcher: CommandDispatcher, sentence: str) -> None:
    for workspace in dispatcher.workspaces:
        with contextlib.suppress(LawbookError):
            workspace.write(ENDED_FILE, sentence + "\n")


def _write_report(folder: RunFolder) -> None:
    from lawbook.view import html_report

    try:
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            folder.write_report(html_report.render(ledger))
    except OSError as error:
        print(f"lawbook: the report could not be written ({error.strerror}).", file=sys.stderr, flush=True)


def _redirect_output(folder: RunFolder) -> None:
    """From here on what is printed goes into the run's folder: there is no terminal any more."""
    log_fd = os.open(folder.path / "drive.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for standard_fd in (1, 2):
        os.dup2(log_fd, standard_fd)
    os.close(log_fd)


def _send_message(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    stream.write(json.dumps(dict(message)).encode())
    stream.close()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
