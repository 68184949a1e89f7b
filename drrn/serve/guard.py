"""The guard in front of every request: who may ask, how much may be sent, and what a browser may do with an answer."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drrn.pages import rendered
from drrn.serve.answers import Refusal, refused

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
RAW_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
MOST_JSON = 64 * 2**10  # bytes of a request
MOST_UPLOAD = 32 * 2**20  # bytes of all files of an upload
FORM = 2**16  # bytes that a form takes beside its files
UPLOADS = "/api/games"  # the one address that takes files
SAFE = ("GET", "HEAD")
NEEDED = "A token is needed: open the whole link that drrn serve printed."


@dataclass(frozen=True)
class Access:
    """Who may ask: by which names the server is called, and with which token, where one is needed."""

    hosts: frozenset[str] | None  # of the Host header; None: any, since a token is asked for
    token: str | None = None
    cookie: str = "drrn"  # a browser sends cookies to every port of a machine, so each server has one of its own


def local_access(port: int, host: str = "127.0.0.1") -> Access:
    """Access from this machine alone; a page of another site whose name leads here (DNS rebinding) is refused."""
    names = {host, "127.0.0.1", "localhost", "[::1]"}
    return Access(frozenset(f"{name}:{port}" for name in names) | (names if port == 80 else set()))


def shared_access(port: int) -> Access:
    """Access from the network, with a token made for this server."""
    return Access(None, secrets.token_urlsafe(18), f"drrn-{port}")


class Guard:
    """ASGI middleware that refuses what must not be asked, and adds the headers that bind a browser."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no WebSockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        said = self._objection(scope)
        if said is not None:
            await said(scope, receive, _with_headers(send, scope["path"]))
            return
        bounded = _Bounded(receive, MOST_UPLOAD + FORM if scope["path"] == UPLOADS else MOST_JSON)
        await self.app(scope, bounded, _with_headers(send, scope["path"]))

    def _objection(self, scope: Scope) -> Response | None:
        """What is answered instead, if something is."""
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            if self.access.token is not None and (
                entrance := self._entrance(scope, headers, self.access.token)
            ):
                return entrance
            _check_origin(scope, headers)
            _check_length(scope, headers)
        except Refusal as refusal:
            return refused(refusal)
        return None

    def _check_host(self, headers: Headers) -> None:
        if (
            self.access.hosts is not None
            and headers.get("host", "").lower() not in self.access.hosts
        ):
            raise Refusal(
                403,
                "This server answers to its own address only: open the link that drrn serve printed.",
            )

    def _knows_token(self, headers: Headers) -> bool:
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self.access.cookie)
        except CookieError:
            return False
        return kept is not None and _equal(kept.value, self.access.token)

    def _entrance(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        """Whoever brings the token in the link gets a cookie, and the link without it; None: they have it already."""
        known = self._knows_token(headers)
        at_door = scope["path"] == "/" and scope["method"] in SAFE
        given = (
            parse_qs(scope["query_string"].decode("latin-1")).get("token", []) if at_door else []
        )
        if known and not given:
            return None
        if not known and not (given and _equal(given[0], token)):
            if at_door:
                return _locked()
            raise Refusal(403, NEEDED)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.access.cookie, token, httponly=True, samesite="lax", path="/")
        return response


def _locked() -> Response:
    """The refusal as a page, for a person at the door; it carries its style in itself, and the policy names that."""
    page = rendered("locked.html")
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
    }
    return HTMLResponse(page, 403, policy)


def _equal(given: str, wanted: str | None) -> bool:
    return wanted is not None and secrets.compare_digest(given.encode(), wanted.encode())


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse what the page of another site sends; a program that is no browser names no origin."""
    if scope["path"].startswith("/api/") and headers.get("sec-fetch-site", "none") not in (
        "same-origin",
        "none",
    ):
        raise Refusal(403, "Another site's page may not ask this server.")
    origin = headers.get("origin")
    host = headers.get("host", "").lower()
    if scope["method"] in SAFE or origin is None:
        return
    if origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise Refusal(403, "Another site's page may not ask this server.")


def _check_length(scope: Scope, headers: Headers) -> None:
    length = headers.get("content-length", "0")
    most = MOST_UPLOAD + FORM if scope["path"] == UPLOADS else MOST_JSON
    if not (length.isascii() and length.isdecimal()) or len(length) > 15 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> Refusal:
    size = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} kB"
    return Refusal(413, f"That is too large: at most {size} can be sent at once.")


class _Bounded:
    """The body of a request, cut off where it is longer than it may be."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive = receive
        self.most = most
        self.left = most

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        if self.left < 0:
            raise _too_large(self.most)
        return message


def _with_headers(send: Send, path: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message["headers"]
            given = {name.lower() for name, _ in own}
            added = (
                *RAW_HEADERS,
                (b"cache-control", b"no-cache" if path.startswith("/static/") else b"no-store"),
            )
            message["headers"] = [*own, *(pair for pair in added if pair[0] not in given)]
        await send(message)

    return sending
