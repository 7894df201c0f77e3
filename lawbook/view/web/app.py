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
from lawbook.view.formatting import format_one_line
from lawbook.view.liveness import is_alive
from lawbook.view.run_index import RunIndex
from lawbook.view.web import charts, members, overview, proposals, steps
from lawbook.view.web.access_control import AccessControl
from lawbook.view.web.run_store import RunStore

STATIC = Path(__file__).parent / "static"
RUN_SECONDS, TABLE_SECONDS, BEAT_SECONDS = 0.2, 1.0, 15.0
"""How often a run and the table are looked at for something new, and how often a silent stream shows that it lives."""

RunHandler = Callable[[Request, RunIndex], Any]


def make_application(run_store: RunStore, token: str | None = None) -> Starlette:
    """Build the viewer's application. token: whoever looks must hold it (None: loopback only)."""

    def make_endpoint(handler: RunHandler) -> Callable[[Request], Response]:
        """Answer from one run, in a thread, as JSON unless it is bytes."""

        def handle(request: Request) -> Response:
            with run_store.open_run(request.path_params["run"]) as run_index:
                result = handler(request, run_index)
            if isinstance(result, bytes):
                return Response(result, media_type="application/octet-stream")
            return _make_json_response(result)

        return handle

    def get_overview(request: Request, run_index: RunIndex) -> Any:
        return overview.build_overview(run_index, is_alive(run_store.find_folder(request.path_params["run"])))

    def get_table(request: Request) -> Response:
        return _make_json_response(run_store.build_table())

    def get_thumbnail(request: Request) -> Response:
        # The address names the frame, so what it shows never changes.
        return Response(
            run_store.render_thumbnail(request.path_params["run"]),
            media_type="image/png",
            headers={"cache-control": "private, max-age=604800"},
        )

    def get_comparison(request: Request) -> Response:
        names = request.query_params.getlist("run")
        page = compare_page.render([(name, run_store.find_folder(name).ledger) for name in names])
        return Response(
            page,
            media_type="text/html",
            headers={"content-security-policy": compare_page.CONTENT_SECURITY_POLICY + "; frame-ancestors 'none'"},
        )

    async def stream_table(request: Request) -> Response:
        return _make_event_stream(request, lambda: {"stamp": hash(run_store.compute_stamp())}, TABLE_SECONDS)

    async def stream_run(request: Request) -> Response:
        folder = run_store.find_folder(request.path_params["run"])
        ledger = Ledger.open(folder.ledger, readonly=True, check=False)  # only how long it is
        return _make_event_stream(request, lambda: {"seq": len(ledger) - 1, "alive": is_alive(folder)}, RUN_SECONDS, ledger.close)

    run_path = "/api/runs/{run}"
    routes = [
        Route("/", lambda _: FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})),
        Route("/compare", get_comparison),
        Route("/api/runs", get_table),
        Route("/api/grows", stream_table),
        Route(f"{run_path}/grows", stream_run),
        Route(f"{run_path}/picture.png", get_thumbnail),
        Route(f"{run_path}/head", make_endpoint(lambda _, c: overview.describe_run(c))),
        Route(f"{run_path}/overview", make_endpoint(get_overview)),
        Route(f"{run_path}/window", make_endpoint(lambda r, c: steps.pack_window(c, *_parse_window(r)))),
        Route(f"{run_path}/strip", make_endpoint(lambda _, c: steps.pack_strip(c))),
        Route(f"{run_path}/frames", make_endpoint(lambda r, c: steps.pack_frames(c, r.query_params.get("ids", "").split(",")))),
        Route(
            f"{run_path}/plans/{{number}}",
            make_endpoint(lambda r, c: steps.describe_plan(c, _parse_number(r.path_params["number"]))),
        ),
        Route(f"{run_path}/proposals", make_endpoint(lambda _, c: proposals.list_proposals(c))),
        Route(
            f"{run_path}/proposals/{{number}}",
            make_endpoint(lambda r, c: proposals.describe_proposal(c, _parse_number(r.path_params["number"]))),
        ),
        Route(f"{run_path}/members", make_endpoint(lambda _, c: members.describe_members(c))),
        Route(f"{run_path}/draws", make_endpoint(lambda r, c: members.list_draws(c, _parse_before(r)))),
        Route(f"{run_path}/series", make_endpoint(lambda _, c: charts.build_series(c))),
        Mount("/static", _Static(directory=STATIC)),
    ]
    middleware = [Middleware(AccessControl, token=token), Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)]
    handlers: dict[Any, Any] = {
        UsageError: _make_error_handler(404),
        LawbookError: _make_error_handler(500),
        HTTPException: _handle_http_error,
    }
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


class _Static(StaticFiles):
    """Files of the page: kept by the browser, but asked about every time, so that an update shows."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


def _make_json_response(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Response(text, status, media_type="application/json", headers={"cache-control": "no-store"})


def _parse_window(request: Request) -> tuple[int, int]:
    return _parse_number(request.query_params.get("from", "")), _parse_number(request.query_params.get("to", ""))


def _parse_before(request: Request) -> int | None:
    text = request.query_params.get("before")
    return None if text is None else _parse_number(text)


def _parse_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(400, f"A whole number is needed there, not {format_one_line(text, 40)!r}.")
    return int(text)


def _make_event_stream(
    request: Request, read_state: Callable[[], Any], seconds: float, close: Callable[[], None] = lambda: None
) -> Response:
    """Server-sent events: what `look` finds, at once and whenever it has changed."""

    async def generate_events() -> AsyncIterator[str]:
        last_state, silent_seconds = None, 0.0
        try:
            yield "retry: 1000\n\n"
            while not await request.is_disconnected():
                state = await asyncio.to_thread(read_state)
                if state != last_state:
                    last_state, silent_seconds = state, 0.0
                    yield f"data: {json.dumps(state)}\n\n"
                elif silent_seconds >= BEAT_SECONDS:
                    silent_seconds = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(seconds)
                silent_seconds += seconds
        except LawbookError:
            return  # the run was moved away while it was looked at; the page asks again
        finally:
            close()

    return StreamingResponse(generate_events(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _make_error_handler(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, error: _make_json_response({"error": format_one_line(str(error), 500)}, status)


def _handle_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _make_json_response({"error": format_one_line(str(error.detail), 500)}, error.status_code)
