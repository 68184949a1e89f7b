"""HTTP: JSON requests and answers, errors as one sentence, and the guard of all requests."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import logging
import math
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drrn.errors import InputError
from drrn.pages import rendered
from drrn.writing import visible

CODES = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported",
    429: "busy",
    500: "failed",
    503: "unavailable",
}
SENTENCES = {404: "Not found.", 405: "This address does not support the request's method."}
FAILURE = "Something went wrong. The server's terminal has the details."
MAX_NAME = 200  # characters of an id, a name or another short text in a request

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
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
MAX_JSON = 64 * 2**10  # bytes of a request
MAX_UPLOAD = 32 * 2**20  # bytes of all files of an upload
FORM_BYTES = 2**16  # of a form, in addition to its files
UPLOAD_PATH = "/api/games"  # the only path that accepts files
SAFE_METHODS = ("GET", "HEAD")
NO_TOKEN = "This page needs a token: open the whole link that drrn serve printed."
OTHER_HOST = "Wrong host name: open the link that drrn serve printed."
OTHER_SITE = "Requests from other sites are not allowed."

log = logging.getLogger("drrn")


class RequestError(Exception):
    """A request that is refused: an HTTP status, a sentence, and more data for the page."""

    def __init__(self, status: int, sentence: str, **data: Any) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.data = data

    def response(self) -> JSONResponse:
        code = CODES.get(self.status, "failed")
        return answer({"error": self.sentence, "code": code, **self.data}, self.status)


def answer(data: Any, status: int = 200) -> JSONResponse:
    """Return a JSON response; see `as_json`."""
    return JSONResponse(as_json(data), status)


def as_json(value: Any) -> Any:
    """Convert dataclasses to dictionaries, NaN and infinity to null; clean all strings.

    Strings come from stories: control characters and lone surrogates are removed.
    """
    if isinstance(value, str):
        return visible(value if value.isascii() else value.encode("utf-8", "replace").decode())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: as_json(getattr(value, field.name)) for field in fields}
    if isinstance(value, dict):
        return {as_json(str(key)): as_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner) for inner in value]
    return value


async def error_response(_: Request, error: Exception) -> Response:
    """Return the response to a request whose handler raised an exception."""
    if isinstance(error, RequestError):
        return error.response()
    if isinstance(error, InputError):
        return RequestError(400, str(error)).response()
    if isinstance(error, HTTPException):
        sentence = SENTENCES.get(error.status_code, str(error.detail))
        return RequestError(error.status_code, sentence).response()
    if isinstance(error, OSError):
        return RequestError(500, f"The server failed: {error.strerror or error}.").response()
    log.error("a request failed", exc_info=error)
    return RequestError(500, FAILURE).response()


def content_type(request: Request) -> str:
    """Return the media type of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request; an empty body is an empty object."""
    raw = await request.body()
    if not raw:
        return {}
    if content_type(request) != "application/json":
        raise RequestError(415, "The body must be JSON, with Content-Type: application/json.")
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, "The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise RequestError(400, "The body must be a JSON object.")
    return body


def text_in(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a short text of a request; it is required if there is no default."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or len(value) > MAX_NAME or "\0" in value:
        raise RequestError(400, f'"{name}" must be a string of at most {MAX_NAME} characters.')
    return value


def choice_in(body: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    """Return one of several words of a request; the first is the default."""
    value = text_in(body, name, choices[0])
    if value not in choices:
        raise RequestError(400, f'"{name}" must be one of {", ".join(choices)}.')
    return value


def integer_in(body: dict[str, Any], name: str, least: int, most: int) -> int | None:
    """Return an integer of a request, or None."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(400, f'"{name}" must be an integer from {least} to {most}.')
    return value


def number_in(body: dict[str, Any], name: str, least: float, most: float, default: float) -> float:
    """Return a number of a request."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise RequestError(400, f'"{name}" must be a number from {least:g} to {most:g}.')
    return float(value)


@dataclass(frozen=True)
class Access:
    """Who may send requests: allowed host names, and the token if one is required."""

    hosts: frozenset[str] | None  # values of the Host header; None: any, if a token is required
    token: str | None = None
    cookie: str = "drrn"  # browsers send cookies to every port, so each server has its own name


def local_access(port: int, host: str = "127.0.0.1") -> Access:
    """Allow this machine only. Other host names are refused, which prevents DNS rebinding."""
    names = {host, "127.0.0.1", "localhost", "[::1]"}
    return Access(frozenset(f"{name}:{port}" for name in names) | (names if port == 80 else set()))


def shared_access(port: int) -> Access:
    """Allow everybody on the network who has the new token."""
    return Access(None, secrets.token_urlsafe(18), f"drrn-{port}")


class Guard:
    """ASGI middleware: refuses requests that are not allowed, and adds security headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSockets
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send, scope["path"])
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
        else:
            await self.app(scope, _limited(receive, _max_bytes(scope)), send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response to a request that is not passed on."""
        headers = Headers(scope=scope)
        hosts = self.access.hosts
        try:
            if hosts is not None and headers.get("host", "").lower() not in hosts:
                raise RequestError(403, OTHER_HOST)
            if self.access.token is not None:
                entrance = self._entrance(scope, headers, self.access.token)
                if entrance is not None:
                    return entrance
            _check_origin(scope, headers)
            _check_length(scope, headers)
        except RequestError as error:
            return error.response()
        return None

    def _has_cookie(self, headers: Headers, token: str) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.access.cookie)
        except CookieError:
            return False
        return cookie is not None and _equal(cookie.value, token)

    def _entrance(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        """Exchange the token in the link for a cookie; return None if the browser has it."""
        has_cookie = self._has_cookie(headers, token)
        is_front_page = scope["path"] == "/" and scope["method"] in SAFE_METHODS
        tokens: list[str] = []
        if is_front_page:
            tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if has_cookie and not tokens:
            return None
        if not has_cookie and not (tokens and _equal(tokens[0], token)):
            if is_front_page:
                return _locked_page()
            raise RequestError(403, NO_TOKEN)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.access.cookie, token, httponly=True, samesite="lax", path="/")
        return response


def _locked_page() -> Response:
    """Return the page that asks for the token; its policy allows its inline style by hash."""
    page = rendered("locked.html")
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
    return HTMLResponse(page, 403, {"Content-Security-Policy": policy})


def _equal(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse requests from pages of other sites; programs that are not browsers have no origin."""
    site = headers.get("sec-fetch-site", "none")
    if scope["path"].startswith("/api/") and site not in ("same-origin", "none"):
        raise RequestError(403, OTHER_SITE)
    origin = headers.get("origin")
    host = headers.get("host", "").lower()
    if scope["method"] in SAFE_METHODS or origin is None:
        return
    if origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise RequestError(403, OTHER_SITE)


def _max_bytes(scope: Scope) -> int:
    return MAX_UPLOAD + FORM_BYTES if scope["path"] == UPLOAD_PATH else MAX_JSON


def _check_length(scope: Scope, headers: Headers) -> None:
    length = headers.get("content-length", "0")
    limit = _max_bytes(scope)
    if not (length.isascii() and length.isdecimal()) or len(length) > 15 or int(length) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> RequestError:
    size = f"{limit // 2**20} MB" if limit >= 2**20 else f"{limit // 2**10} kB"
    return RequestError(413, f"The request is too large; the limit is {size}.")


def _limited(receive: Receive, limit: int) -> Receive:
    """Raise an error once the body is longer than the limit, whatever its header says."""
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise _too_large(limit)
        return message

    return receiving


def _with_headers(send: Send, path: str) -> Send:
    caching = b"no-cache" if path.startswith("/static/") else b"no-store"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message["headers"]
            names = {name.lower() for name, _ in own}
            added = (*RAW_HEADERS, (b"cache-control", caching))
            message["headers"] = [*own, *(pair for pair in added if pair[0] not in names)]
        await send(message)

    return sending
