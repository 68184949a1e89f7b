"""Server-sent events: what changes while a page looks on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import StreamingResponse

from drrn.serve.answers import Refusal, sendable
from drrn.serve.services import Services

MOST_STREAMS = 200
LOOKED_EVERY = 0.5  # seconds
SILENCE = (
    15.0  # seconds after which something is sent, so that a connection that is gone is noticed
)

News = tuple[str, Any]  # the event's name, and what it says
Look = Callable[[], tuple[list[News], bool]]  # what is new, and whether that was all


def event_stream(services: Services, look: Look) -> StreamingResponse:
    """Look again and again, in a thread, and send what is new until there is no more."""
    if services.streams >= MOST_STREAMS:
        raise Refusal(429, "Too many look on at once: try again in a moment.")
    return StreamingResponse(_events(services, look), media_type="text/event-stream")


async def _events(services: Services, look: Look) -> AsyncIterator[str]:
    services.streams += 1
    quiet = 0.0
    try:
        yield "retry: 2000\n\n"
        while not services.closing:
            try:
                news, over = await asyncio.to_thread(look)
            except Refusal as refusal:  # what was looked at is gone
                news = [("gone", {"error": refusal.sentence})]
                over = True
            for name, told in news:
                yield f"event: {name}\ndata: {json.dumps(sendable(told), ensure_ascii=False)}\n\n"
            if over:
                return
            quiet = 0.0 if news else quiet + LOOKED_EVERY
            if quiet > SILENCE:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(LOOKED_EVERY)
    finally:
        services.streams -= 1
