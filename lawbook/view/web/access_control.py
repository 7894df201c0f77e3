"""Who may look: only this machine's own pages without a token, only holders of the token with one; and what a page may do."""

from __future__ import annotations

import os
import secrets
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lawbook.view.formatting import format_one_line

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
COOKIE = "lawbook"


class AccessControl:
    """Around the whole application. token None: requests must name a loopback host, so that no page from elsewhere can have its own
    name point here (DNS rebinding). With a token: it comes once in the address (`?token=`), and from then on in a cookie."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        has_started = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._build_refusal(scope)
        try:
            await (self.app if refusal is None else refusal)(scope, receive, send_guarded)
        except Exception as error:
            if has_started or os.environ.get("LAWBOOK_DEBUG"):
                raise
            sentence = f"This is a bug in Lawbook ({type(error).__name__}: {format_one_line(str(error), 200)}); please report it."
            await JSONResponse({"error": sentence}, 500)(scope, receive, send_guarded)

    def _build_refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if self.token is None:
            host = headers.get("host", "").lower()
            if (host if host.endswith("]") else host.rsplit(":", 1)[0]) in LOOPBACK:
                return None
            return PlainTextResponse("This viewer answers to 127.0.0.1 and localhost only.", 403)
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        query_token = dict(query).get("token")
        if query_token is not None and self._is_token(query_token):
            remaining_query = urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + scope["path"].lstrip("/")  # never `//elsewhere`
            redirect = RedirectResponse(f"{path}?{remaining_query}" if remaining_query else path, 303)
            redirect.set_cookie(COOKIE, self.token, httponly=True, samesite="lax")
            return redirect
        cookies = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except Exception:  # whatever a broken cookie is, it is not the token
            cookies.clear()
        if COOKIE in cookies and self._is_token(cookies[COOKIE].value):
            return None
        return PlainTextResponse("Open the address that `lawbook view` printed, with its token.", 401)

    def _is_token(self, candidate: str) -> bool:
        return self.token is not None and secrets.compare_digest(candidate.encode(), self.token.encode())
