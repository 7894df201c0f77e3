"""`view`: bind, say where, serve until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from lawbook.errors import UsageError
from lawbook.view.web.app import make_application
from lawbook.view.web.run_store import RunStore

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a listening socket; port 0: whichever is free. Raises UsageError when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be had ({error.strerror}); choose another (--host, --port).") from error


def format_address(sock: socket.socket, token: str | None, run_name: str | None = None) -> str:
    """Write the address to open in a browser."""
    host, port = sock.getsockname()[:2]
    shown_host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown_host}:{port}/" + (f"?token={token}" if token else "") + (f"#run={run_name}" if run_name else "")


def serve(
    runs_folder: Path, host: str, port: int, token: str | None, run_name: str | None, announce: Callable[[str], None]
) -> None:
    """Serve the runs below `runs_folder` until interrupted. Bound wider than loopback it asks for a token; None: a new one."""
    if not runs_folder.is_dir():
        raise UsageError(f"There is no folder {runs_folder}; `lawbook play` makes one, and --out names another.")
    if token is None and host not in LOOPBACK:
        token = secrets.token_urlsafe(18)
    run_store = RunStore(runs_folder)
    with bind_socket(host, port) as sock:
        announce(format_address(sock, token, run_name))
        config = uvicorn.Config(
            make_application(run_store, token),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        try:
            uvicorn.Server(config).run([sock])
        except KeyboardInterrupt:
            pass
        finally:
            run_store.close()
