"""HTTP: JSON requests and answers, errors as one sentence, and the guard of all requests."""

import dataclasses
import json
import logging
import math
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from textgames.errors import InputError
from textgames.files import read_toml
from textgames.wording import visible
from textgames_page.limits import Limits

LOCKED = "A token is needed: open the whole link that the server printed when it was started."
FAILURE = "Something went wrong. The server's terminal has the details."

TABLE = read_toml(Path(__file__).with_name("server.toml"))
HEADERS: dict[str, str] = TABLE["headers"]
UPLOAD_PATH = "/api/games"  # the only path that accepts files
SAFE_METHODS = ("GET", "HEAD")

log = logging.getLogger("textgames")


def answer(data: Any, status: int = 200) -> JSONResponse:
    """A JSON response. See `as_json`."""
    return JSONResponse(as_json(data), status)


def as_json(value: Any) -> Any:
    """Convert dataclasses to dictionaries, NaN and infinity to null.

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


def explanation(error: Exception) -> tuple[int, str]:
    """The status and the sentence for an exception. Unexpected ones are logged."""
    if isinstance(error, HTTPException):
        return error.status_code, f"{error.detail.rstrip('.')}."
    if isinstance(error, InputError):
        return 400, without_folders(str(error))
    if isinstance(error, ClientDisconnect):  # nobody reads the answer
        return 400, "The request was not complete."
    if isinstance(error, OSError):
        return 500, f"The server failed: {error.strerror or error}."
    log.error("a request failed", exc_info=error)
    return 500, FAILURE


def without_folders(text: str) -> str:
    """Remove the folders of absolute paths, which are not the page's business."""
    return re.sub(r"(?<![\w.:/])/(?:[^/\s\"][^/\n\"]*/)+", "", text)


async def error_response(_: Request, error: Exception) -> Response:
    """The response to a request whose handler raised an exception."""
    status, sentence = explanation(error)
    return answer({"error": sentence}, status)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in a request. An empty body is an empty object."""
    raw = await request.body()
    if not raw:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().lower() != "application/json":
        raise HTTPException(415, "The body must be JSON, with Content-Type: application/json.")
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return body


def text_in(body: dict[str, Any], name: str, default: str | None = None, most: int = 200) -> str:
    """A text of a request, of `most` characters. It is required if there is no default."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise HTTPException(400, f'"{name}" must be a string of at most {most} characters.')
    return value


def name_in(body: dict[str, Any], name: str) -> str:
    """A name that a person gave, without control characters. "" if there is none."""
    return visible(text_in(body, name, "")).strip()


def choice_in(body: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    """One of several words of a request."""
    value = text_in(body, name, default)
    if value not in choices:
        raise HTTPException(400, f'"{name}" must be one of {", ".join(choices)}.')
    return value


def integer_in(body: dict[str, Any], name: str, least: int, most: int) -> int | None:
    """An integer of a request, or None."""
    value = body.get(name)
    if value is not None and (type(value) is not int or not least <= value <= most):
        raise HTTPException(400, f'"{name}" must be an integer from {least} to {most}.')
    return value


@dataclass(frozen=True)
class Access:
    """Who may send requests: allowed host names, and the token if one is required."""

    hosts: frozenset[str] | None  # values of the Host header; None: any, if a token is required
    token: str | None = None
    cookie: str = "page"  # browsers send cookies to every port, so each server has its own name


def local_access(port: int, host: str = "127.0.0.1") -> Access:
    """Allow this machine only. Other host names are refused, which prevents DNS rebinding."""
    names = {host, "127.0.0.1", "localhost", "[::1]"}
    return Access(frozenset(f"{name}:{port}" for name in names) | (names if port == 80 else set()))


def shared_access(port: int) -> Access:
    """Allow everybody on the network who has the new token."""
    return Access(None, secrets.token_urlsafe(18), f"page-{port}")


class Guard:
    """ASGI middleware: refuses requests that are not allowed, and adds security headers.

    It reads the path from the scope, because `request.url` contains the client's Host header.
    """

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self.app = app
        self.access = access
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _with_headers(send, scope["path"])
        request = Request(scope)
        try:
            self._check_site(request)
            response = self._entrance(request)
        except HTTPException as error:
            response = await error_response(request, error)
        if response is not None:
            await response(scope, receive, send)
        else:
            await self.app(scope, _limited(receive, self._most_bytes(scope["path"])), send)

    def _most_bytes(self, path: str) -> int:
        if path == UPLOAD_PATH:
            return self.limits.upload_bytes + self.limits.form_bytes
        return self.limits.json_bytes

    def _check_site(self, request: Request) -> None:
        """Refuse other host names, and requests from pages of other sites.

        Programs that are not browsers have no origin.
        """
        hosts = request.headers.getlist("host")
        host = hosts[0].lower() if hosts else ""
        if len(request.headers) > 100:
            raise HTTPException(431, "The request has more than 100 headers.")
        if self.access.hosts is not None and host not in self.access.hosts:
            raise HTTPException(403, "Wrong host name. Open the link that the server printed.")
        is_own = request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        is_foreign = request.scope["path"].startswith("/api/") and not is_own
        origin = request.headers.get("origin")
        if origin is not None and request.method not in SAFE_METHODS:
            is_foreign |= origin.lower() not in (f"http://{host}", f"https://{host}")
        if is_foreign:
            raise HTTPException(403, "Requests from other sites are not allowed.")

    def _entrance(self, request: Request) -> Response | None:
        """Exchange the token in the link for a cookie. None if the browser has it already."""
        token = self.access.token
        if token is None:
            return None
        has_cookie = _equal(request.cookies.get(self.access.cookie, ""), token)
        is_front_page = request.scope["path"] == "/" and request.method in SAFE_METHODS
        link_token = request.query_params.get("token") if is_front_page else None
        if has_cookie and link_token is None:
            return None
        if not has_cookie and not _equal(link_token or "", token):
            return PlainTextResponse(LOCKED, 403)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.access.cookie, token, httponly=True, samesite="lax", path="/")
        return response


def _equal(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def _limited(receive: Receive, limit: int) -> Receive:
    """Raise an error once the body is longer than the limit."""
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise HTTPException(413, f"The request is too large; the limit is {limit:,} bytes.")
        return message

    return receiving


def _with_headers(send: Send, path: str) -> Send:
    caching = "no-cache" if path.startswith("/static/") else "no-store"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, "Cache-Control": caching}.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
