"""Learn: the form of settings, runs that are begun, watched, stopped, resumed and compared, embeddings that move."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from drrn.errors import InputError
from drrn.serve.answers import Refusal, answer, body_of, text_in
from drrn.serve.embeddings import told_embeddings
from drrn.serve.events import News, event_stream
from drrn.serve.runs import OVER, RunEntry
from drrn.serve.services import services_of
from drrn.settings import recipe_name

RECIPES = ("strong", "paper")


async def form(request: Request) -> JSONResponse:
    services = services_of(request)
    query = dict(request.query_params)
    entry = services.library[text_in(query, "game")]
    paper = _paper(query)
    settings = await services.ask_game(entry, "form", paper)
    return answer({"recipe": recipe_name(paper=paper), "settings": settings})


async def runs(request: Request) -> JSONResponse:
    services = services_of(request)
    wanted = request.query_params.get("game")
    if wanted is not None:
        wanted = services.library[wanted].id

    def told() -> list[dict[str, Any]]:
        return [
            services.trainings.told(run)
            for run in services.runs.all()
            if wanted in (None, run.game)
        ]

    found = await asyncio.to_thread(told)
    if wanted is not None and any(run["ready"] for run in found):
        services.warm_adviser()  # whoever looks for agents will ask one
    return answer({"runs": found})


async def begin_run(request: Request) -> JSONResponse:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    paper = _paper(body)
    given = body.get("settings") or {}
    if not isinstance(given, dict):
        raise Refusal(400, '"settings" must be an object: values by name.')
    checked = await services.ask_game(entry, "settings", given, paper)
    run = await asyncio.to_thread(services.trainings.begin, entry, checked, given, paper=paper)
    return answer(services.trainings.told(run), 201)


async def run_in_full(request: Request) -> JSONResponse:
    services = services_of(request)
    run = _run(request)
    return answer(await asyncio.to_thread(services.trainings.told, run, whole=True))


async def stop_run(request: Request) -> JSONResponse:
    services = services_of(request)
    run = _run(request)
    return answer(services.trainings.told(await asyncio.to_thread(services.trainings.stop, run)))


async def resume_run(request: Request) -> JSONResponse:
    services = services_of(request)
    run = _run(request)
    body = await body_of(request)
    return answer(
        services.trainings.told(
            await asyncio.to_thread(services.trainings.resume, run, body.get("rounds"))
        )
    )


async def remove_run(request: Request) -> JSONResponse:
    services = services_of(request)
    run = _run(request)
    await asyncio.to_thread(services.trainings.remove, run)
    return answer({})


async def run_events(request: Request) -> Response:
    services = services_of(request)
    id_ = _run(request).id
    rounds = -1
    status = ""
    stamp: tuple[Any, ...] | None = None

    def look() -> tuple[list[News], bool]:
        nonlocal rounds, status, stamp
        run = services.runs[id_]
        before = stamp
        stamp = run.stamp
        if stamp == before and not services.trainings.is_starting(run):
            return [], False
        told = services.trainings.told(run, whole=True)
        news: list[News] = []
        if rounds < 0:
            news.append(("run", told))
        else:
            news += [("point", point) for point in told["curve"] if point["round"] > rounds]
            if told["status"] != status:
                news.append(("status", services.trainings.told(run)))
        rounds = told["round"]
        status = told["status"]
        if status in OVER:
            news.append(("done", services.trainings.told(run)))
        return news, status in OVER

    return event_stream(services, look)


async def embeddings(request: Request) -> JSONResponse:
    run = _run(request)
    page = request.query_params.get("page", "0")
    if not (page.isascii() and page.isdecimal() and len(page) < 6):
        raise Refusal(400, '"page" must be a whole number.')
    try:
        return answer(await asyncio.to_thread(told_embeddings, run.files, int(page)))
    except InputError as error:
        raise Refusal(404, str(error)) from error


def _paper(asked: dict[str, Any]) -> bool:
    chosen = text_in(asked, "recipe", "strong")
    if chosen not in RECIPES:
        raise Refusal(400, f'"recipe" must be one of {", ".join(RECIPES)}.')
    return chosen == "paper"


def _run(request: Request) -> RunEntry:
    return services_of(request).runs[request.path_params["run"]]


def learn_routes() -> list[Route]:
    """The routes of training."""
    one = "/api/runs/{run}"
    return [
        Route("/api/settings", form, methods=["GET"]),
        Route("/api/runs", runs, methods=["GET"]),
        Route("/api/runs", begin_run, methods=["POST"]),
        Route(one, run_in_full, methods=["GET"]),
        Route(one, remove_run, methods=["DELETE"]),
        Route(f"{one}/events", run_events, methods=["GET"]),
        Route(f"{one}/stop", stop_run, methods=["POST"]),
        Route(f"{one}/resume", resume_run, methods=["POST"]),
        Route(f"{one}/embeddings", embeddings, methods=["GET"]),
    ]
