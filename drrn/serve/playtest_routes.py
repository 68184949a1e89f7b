"""Test: play-tests that are begun, followed and stopped; their reports, and the map with its places."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from drrn.errors import InputError
from drrn.serve.answers import Refusal, answer, body_of, number_in, text_in
from drrn.serve.events import News, event_stream
from drrn.serve.playtests import PlayTestJob
from drrn.serve.services import services_of

SECONDS = 30.0
MOST_SECONDS = 600.0


async def begin_test(request: Request) -> JSONResponse:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    job = services.playtests.begin(entry, number_in(body, "seconds", 0.5, MOST_SECONDS, SECONDS))
    return answer(job.told(report=False), 201)


async def tests(request: Request) -> JSONResponse:
    services = services_of(request)
    entry = services.library[text_in(dict(request.query_params), "game")]
    return answer({"tests": [job.told(report=False) for job in services.playtests.of(entry)]})


async def test(request: Request) -> JSONResponse:
    return answer(_job(request).told(report=True))


async def stop_test(request: Request) -> JSONResponse:
    job = _job(request)
    job.stop()
    return answer(job.told(report=False))


async def test_events(request: Request) -> Response:
    job = _job(request)
    said = ""

    def look() -> tuple[list[News], bool]:
        nonlocal said
        told = job.told(report=False)
        if told["status"] != "running":
            return [("done", told)], True
        if told["progress"] == said:
            return [], False
        said = told["progress"]
        return [("progress", {"progress": said, "elapsed": told["elapsed"]})], False

    return event_stream(services_of(request), look)


async def report_page(request: Request) -> Response:
    found = _job(request).page
    if found is None:
        raise Refusal(404, "There is no report yet.")
    return HTMLResponse(found)


async def map_data(request: Request) -> JSONResponse:
    found = _job(request).map
    if found is None:
        raise _no_map()
    return answer(found)


async def drawn_map(request: Request) -> Response:
    found = _job(request).svg
    if found is None:
        raise _no_map()
    return Response(found, media_type="image/svg+xml")


async def place(request: Request) -> JSONResponse:
    services = services_of(request)
    job = _job(request)
    if job.map is None:
        raise _no_map()
    number = request.path_params["place"]
    run = request.query_params.get("run")
    folder = str(services.runs[run].folder) if run else None
    if job.seen is not None:
        if number >= len(job.seen):
            raise Refusal(404, "There is no such place on the map.")
        seen = job.seen[number]
        return answer(
            {
                **seen,
                "odds": await services.playtests.ask(
                    job, "sampled", seen["way"]["actions"], folder
                ),
            }
        )
    try:
        return answer(await services.playtests.ask(job, "place", number, folder))
    except InputError as error:
        raise Refusal(404 if run is None else 409, str(error)) from error


def _no_map() -> Refusal:
    return Refusal(
        404, "There is no map of this story: its states are too many, or its play-test is not done."
    )


def _job(request: Request) -> PlayTestJob:
    return services_of(request).playtests[request.path_params["test"]]


def playtest_routes() -> list[Route]:
    """The routes of play-tests."""
    one = "/api/tests/{test}"
    return [
        Route("/api/tests", begin_test, methods=["POST"]),
        Route("/api/tests", tests, methods=["GET"]),
        Route(one, test, methods=["GET"]),
        Route(f"{one}/stop", stop_test, methods=["POST"]),
        Route(f"{one}/events", test_events, methods=["GET"]),
        Route(f"{one}/report.html", report_page, methods=["GET"]),
        Route(f"{one}/map", map_data, methods=["GET"]),
        Route(f"{one}/map.svg", drawn_map, methods=["GET"]),
        Route(f"{one}/places/{{place:int}}", place, methods=["GET"]),
    ]
