"""The games of the page: listed, looked into, uploaded, removed."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from drrn.serve.answers import answer
from drrn.serve.guard import MOST_UPLOAD
from drrn.serve.playtest_routes import MOST_SECONDS
from drrn.serve.services import services_of
from drrn.serve.uploads import TYPES, uploaded
from drrn.version import __version__


async def status(request: Request) -> JSONResponse:
    limits = {"upload_bytes": MOST_UPLOAD, "upload_types": TYPES, "test_seconds": MOST_SECONDS}
    return answer({"version": __version__, "shared": services_of(request).shared, "limits": limits})


async def games(request: Request) -> JSONResponse:
    services = services_of(request)
    counts = await asyncio.to_thread(services.runs.counts)
    return answer({"games": [entry.told(counts.get(entry.id, 0)) for entry in services.library]})


async def game(request: Request) -> JSONResponse:
    """A game with what it is in a few numbers, where it can be compiled soon."""
    services = services_of(request)
    entry = services.library[request.path_params["game"]]
    counts = await asyncio.to_thread(services.runs.counts)
    facts, why_not = await services.facts.of(entry)
    return answer({**entry.told(counts.get(entry.id, 0)), "facts": facts, "why_not": why_not})


async def upload(request: Request) -> JSONResponse:
    services = services_of(request)
    async with services.uploading:  # one at a time: each may be large
        entry, new = await uploaded(request, services.library, services.opener)
    return answer({"game": entry.told(), "notes": entry.notes}, 201 if new else 200)


async def remove(request: Request) -> JSONResponse:
    services = services_of(request)
    entry = services.library[request.path_params["game"]]
    services.library.remove(entry)
    services.forget(entry)
    return answer({})


def game_routes() -> list[Route]:
    """The routes of games."""
    return [
        Route("/api/status", status, methods=["GET"]),
        Route("/api/games", games, methods=["GET"]),
        Route("/api/games", upload, methods=["POST"]),
        Route("/api/games/{game}", game, methods=["GET"]),
        Route("/api/games/{game}", remove, methods=["DELETE"]),
    ]
