"""The viewer's server: which address answers with what. Reads only; every failure is one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.view import compare_page
from lawbook.view.formatting import one_line
from lawbook.view.liveness import alive
from lawbook.view.run_index import Chronicle
from lawbook.view.web import charts, members, overview, proposals, steps
from lawbook.view.web.access_control import Guard
from lawbook.view.web.run_store import Shelf

STATIC = Path(__file__).parent / "static"
RUN_SECONDS, TABLE_SECONDS, BEAT_SECONDS = 0.2, 1.0, 15.0
"""How often a run and the table are looked at for something new, and how often a silent stream shows that it lives."""

Question = Callable[[Request, Chronicle], Any]


def application(shelf: Shelf, token: str | None = None) -> Starlette:
    """token: whoever looks must hold it (None: loopback only)."""

    def of_run(question: Question) -> Callable[[Request], Response]:
        """Answer from one run, in a thread, as JSON unless it is bytes."""

        def answer(request: Request) -> Response:
            with shelf.run(request.path_params["run"]) as chronicle:
                found = question(request, chronicle)
            if isinstance(found, bytes):
                return Response(found, media_type="application/octet-stream")
            return _json(found)

        return answer

    def overviewed(request: Request, chronicle: Chronicle) -> Any:
        return overview.overview(chronicle, alive(shelf.folder(request.path_params["run"])))

    def table(request: Request) -> Response:
        return _json(shelf.table())

    def thumb(request: Request) -> Response:
        # The address names the frame, so what it shows never changes.
        return Response(
            shelf.picture(request.path_params["run"]), media_type="image/png", headers={"cache-control": "private, max-age=604800"}
        )

    def compared(request: Request) -> Response:
        names = request.query_params.getlist("run")
        page = compare_page.render([(name, shelf.folder(name).ledger) for name in names])
        return Response(
            page, media_type="text/html", headers={"content-security-policy": compare_page.POLICY + "; frame-ancestors 'none'"}
        )

    async def table_grows(request: Request) -> Response:
        return _stream(request, lambda: {"stamp": hash(shelf.stamp())}, TABLE_SECONDS)

    async def run_grows(request: Request) -> Response:
        folder = shelf.folder(request.path_params["run"])
        ledger = Ledger.open(folder.ledger, readonly=True)
        return _stream(request, lambda: {"seq": len(ledger) - 1, "alive": alive(folder)}, RUN_SECONDS, ledger.close)

    run = "/api/runs/{run}"
    routes = [
        Route("/", lambda _: FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})),
        Route("/compare", compared),
        Route("/api/runs", table),
        Route("/api/grows", table_grows),
        Route(f"{run}/grows", run_grows),
        Route(f"{run}/picture.png", thumb),
        Route(f"{run}/head", of_run(lambda _, c: overview.head(c))),
        Route(f"{run}/overview", of_run(overviewed)),
        Route(f"{run}/window", of_run(lambda r, c: steps.window(c, *_window(r)))),
        Route(f"{run}/strip", of_run(lambda _, c: steps.strip(c))),
        Route(f"{run}/frames", of_run(lambda r, c: steps.frames(c, r.query_params.get("ids", "").split(",")))),
        Route(f"{run}/plans/{{number}}", of_run(lambda r, c: steps.plan(c, _number(r.path_params["number"])))),
        Route(f"{run}/proposals", of_run(lambda _, c: proposals.proposals(c))),
        Route(f"{run}/proposals/{{number}}", of_run(lambda r, c: proposals.proposal(c, _number(r.path_params["number"])))),
        Route(f"{run}/members", of_run(lambda _, c: members.members(c))),
        Route(f"{run}/draws", of_run(lambda r, c: members.draws(c, _before(r)))),
        Route(f"{run}/series", of_run(lambda _, c: charts.series(c))),
        Mount("/static", _Static(directory=STATIC)),
    ]
    middleware = [Middleware(Guard, token=token), Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)]
    handlers: dict[Any, Any] = {UsageError: _said(404), LawbookError: _said(500), HTTPException: _http}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


class _Static(StaticFiles):
    """Files of the page: kept by the browser, but asked about every time, so that an update shows."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        answer = super().file_response(*given, **named)
        answer.headers["cache-control"] = "no-cache"
        return answer


def _json(found: Any, status: int = 200) -> Response:
    text = json.dumps(found, separators=(",", ":"), allow_nan=False)
    return Response(text, status, media_type="application/json", headers={"cache-control": "no-store"})


def _window(request: Request) -> tuple[int, int]:
    return _number(request.query_params.get("from", "")), _number(request.query_params.get("to", ""))


def _before(request: Request) -> int | None:
    given = request.query_params.get("before")
    return None if given is None else _number(given)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(400, f"A whole number is needed there, not {one_line(text, 40)!r}.")
    return int(text)


def _stream(request: Request, look: Callable[[], Any], seconds: float, close: Callable[[], None] = lambda: None) -> Response:
    """Server-sent events: what `look` finds, at once and whenever it has changed."""

    async def events() -> AsyncIterator[str]:
        told, silent = None, 0.0
        try:
            yield "retry: 1000\n\n"
            while not await request.is_disconnected():
                found = await asyncio.to_thread(look)
                if found != told:
                    told, silent = found, 0.0
                    yield f"data: {json.dumps(found)}\n\n"
                elif silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(seconds)
                silent += seconds
        except LawbookError:
            return  # the run was moved away while it was looked at; the page asks again
        finally:
            close()

    return StreamingResponse(events(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _said(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, error: _json({"error": one_line(str(error), 500)}, status)


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": one_line(str(error.detail), 500)}, error.status_code)
