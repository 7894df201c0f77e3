"""The toolkit's own REST server on loopback, with games of ours; what a network does to an answer can be asked for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arc_agi import Arcade, OperationMode
from arc_agi.server import create_app
from flask import Response, request
from werkzeug.serving import make_server

DEMO = '''
from random import Random
from lawbook.worlds.demo.{name} import build
from lawbook.worlds.demo.puzzle import PuzzleGame

class {kind}(PuzzleGame):
    """A demo game, as the toolkit loads games: the same stages and theme."""

    def __init__(self):
        made = build(Random("{name}:{seed}"))
        super().__init__(made.stages, made.theme, blinking=made.blinking, clicks=6 in made._available_actions)
'''


class Server:
    """url: where it is. calls: (method and path, body) of every request, in order.

    Faults, each for the next request to a path that contains `at`: `fail(status)`, `drop()` before it is worked on, `lose()` after
    (the answer goes nowhere), `delay(seconds)`.
    """

    def __init__(self, games: Path, *, competition: bool = False) -> None:
        self.arcade = Arcade("local", "http://127.0.0.1:1", OperationMode.OFFLINE, str(games), str(games / "rec"))
        app, self.api = create_app(self.arcade, competition_mode=competition)
        app.before_request(self._before)
        app.after_request(self._after)
        app.add_url_rule("/api/games/<game>/source", "source", lambda game: _source(games, game))
        self.calls: list[tuple[str, dict[str, object]]] = []
        self.keys: set[str] | None = None
        self._faults: list[tuple[str, str, Callable[[], Response | None]]] = []
        self._server = make_server("127.0.0.1", 0, app, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def fail(self, status: int, at: str = "/cmd/ACTION") -> None:
        self._faults.append(("before", at, lambda: Response('{"message": "as it was told to"}', status)))

    def drop(self, at: str = "/cmd/ACTION") -> None:
        self._faults.append(("before", at, _hang_up))

    def lose(self, at: str = "/cmd/ACTION") -> None:
        self._faults.append(("after", at, _hang_up))

    def delay(self, seconds: float, at: str = "/cmd/ACTION") -> None:
        self._faults.append(("after", at, lambda: time.sleep(seconds)))

    def sent(self) -> list[str]:
        """The commands that arrived, in order."""
        return [path.rpartition("/")[2] for path, _ in self.calls if "/cmd/" in path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _before(self) -> Response | None:
        self.calls.append((f"{request.method} {request.path}", request.get_json(silent=True) or {}))
        if self.keys is not None and request.headers.get("X-API-Key") not in self.keys:
            return Response('{"message": "no such key"}', 401)
        return self._strike("before")

    def _after(self, response: Response) -> Response:
        return self._strike("after") or response

    def _strike(self, when: str) -> Response | None:
        for fault in self._faults:
            if fault[0] == when and fault[1] in request.path:
                self._faults.remove(fault)
                return fault[2]()
        return None


def _hang_up() -> Response:
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return Response("nobody hears this", 503)


def _source(games: Path, game: str) -> str:
    base, _, version = game.partition("-")
    return (games / base / version / f"{base}.py").read_text(encoding="utf-8")


@contextmanager
def serving(games: Path, *, competition: bool = False) -> Iterator[Server]:
    server = Server(games, competition=competition)
    try:
        yield server
    finally:
        server.close()


def demo_source(name: str, game: str, seed: int = 0) -> str:
    """Source of the demo game `name`, for a folder of games where it is called `game`."""
    return DEMO.format(name=name, kind=game.capitalize(), seed=seed)
