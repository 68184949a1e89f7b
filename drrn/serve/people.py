"""People: what those who gave a name have scored, first games apart from later ones, as in the paper."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from drrn.serve.answers import answer
from drrn.serve.library import GameEntry
from drrn.serve.scores import FinishedGame, read, scores_file, standing
from drrn.serve.services import services_of

MOST_ROWS = 200


async def people(request: Request) -> JSONResponse:
    services = services_of(request)
    wanted = request.query_params.get("game")
    entry = services.library[wanted] if wanted is not None else None
    rows = await asyncio.to_thread(read, scores_file())
    by_name = {one.name: one for one in reversed(list(services.library))}
    names = sorted({row.game for row in rows}) if entry is None else [entry.name]
    games = [_told(name, rows, by_name.get(name)) for name in names]
    shown = [row for row in reversed(rows) if row.game in names][:MOST_ROWS]
    return answer({"games": games, "rows": [asdict(row) for row in shown]})


def _told(name: str, rows: list[FinishedGame], entry: GameEntry | None) -> dict[str, Any]:
    known = {"game": entry.id, "title": entry.title} if entry else {"game": None, "title": name}
    return {**known, "name": name, **asdict(standing(rows, name))}


def people_routes() -> list[Route]:
    """The one route of scores."""
    return [Route("/api/scores", people, methods=["GET"])]
