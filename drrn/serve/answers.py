"""Requests and answers as JSON: what a body may hold, and errors as one sentence each."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from drrn.errors import InputError
from drrn.writing import visible

CODES = {
    400: "bad_request", 403: "forbidden", 404: "not_found", 405: "not_allowed", 409: "conflict", 413: "too_large",
    415: "unsupported", 429: "busy", 500: "failed", 503: "unavailable",
}  # fmt: skip
SENTENCES = {404: "There is nothing at this address.", 405: "This address takes no such request."}
LONGEST_NAME = 200  # characters of an id, a name or another short text in a request

log = logging.getLogger("drrn")


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A request that is refused: its status, a sentence for a person, and what else the page may use."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.more = more


def answer(data: Any, status: int = 200) -> JSONResponse:
    """An answer in JSON; texts that others wrote are without what steers a terminal."""
    return JSONResponse(sendable(data), status)


def refused(refusal: Refusal) -> JSONResponse:
    """A refusal as an answer."""
    code = CODES.get(refusal.status, "failed")
    return answer({"error": refusal.sentence, "code": code, **refusal.more}, refusal.status)


def sendable(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, numbers that are not finite as null, texts that can be shown."""
    if isinstance(value, str):
        return visible(
            value if value.isascii() else value.encode("utf-8", "replace").decode()
        )  # no lone surrogate
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: sendable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {sendable(str(key)): sendable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(inner) for inner in value]
    return value


async def told_refusal(_: Request, error: Exception) -> Response:
    """What a handler raised, as an answer."""
    if isinstance(error, Refusal):
        return refused(error)
    if isinstance(error, InputError):
        return refused(Refusal(400, str(error)))
    if isinstance(error, HTTPException):
        return refused(
            Refusal(error.status_code, SENTENCES.get(error.status_code, str(error.detail)))
        )
    if isinstance(error, OSError):
        return refused(Refusal(500, f"The server could not do this: {error.strerror or error}."))
    log.error("a request failed", exc_info=error)
    return refused(Refusal(500, "The server failed at this; what it was stands in the terminal."))


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in a request; no body counts as an empty one."""
    raw = await request.body()
    if not raw:
        return {}
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise Refusal(
            415, "The body of a request must be JSON, with Content-Type: application/json."
        )
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "The body of the request is not JSON.") from error
    if not isinstance(found, dict):
        raise Refusal(400, "The body of the request must be a JSON object.")
    return found


def text_in(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """A short text of a request; without a default it must be there."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\0" in value:
        raise Refusal(400, f'"{name}" must be a text of at most {LONGEST_NAME} characters.')
    return value


def whole_in(body: dict[str, Any], name: str, least: int, most: int) -> int | None:
    """A whole number of a request; None where it is not given."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refusal(400, f'"{name}" must be a whole number from {least} to {most}.')
    return value


def number_in(body: dict[str, Any], name: str, least: float, most: float, default: float) -> float:
    """A number of a request."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise Refusal(400, f'"{name}" must be a number from {least:g} to {most:g}.')
    return float(value)
