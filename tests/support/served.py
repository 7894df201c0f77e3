"""The viewer's own server, running, for tests that ask it as a browser would."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from lawbook.view.web.app import make_application
from lawbook.view.web.run_store import RunStore
from lawbook.view.web.serve import bind_socket


@contextmanager
def served(out: Path, token: str | None = None) -> Iterator[int]:
    """The port of a server over the runs below `out`."""
    shelf = RunStore(out)
    with bind_socket("127.0.0.1", 0) as sock:
        config = uvicorn.Config(
            make_application(shelf, token),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
        thread.start()
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)
            shelf.close()


class Client:
    """Asks one server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (lower case) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)
