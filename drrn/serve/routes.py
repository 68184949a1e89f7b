"""The routes of the page's API: games, play, play-tests, training, scores."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypedDict

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from drrn.errors import InputError
from drrn.game.make import GameSpec
from drrn.serve import scores
from drrn.serve.advice_worker import Advice
from drrn.serve.embeddings import read_embeddings
from drrn.serve.game_worker import OpenedGame, Page
from drrn.serve.http import (
    MAX_NAME,
    MAX_UPLOAD,
    RequestError,
    answer,
    body_of,
    choice_in,
    integer_in,
    log,
    number_in,
    text_in,
)
from drrn.serve.library import TYPES, GameEntry
from drrn.serve.playtest_worker import PageOdds
from drrn.serve.playtests import PlayTest
from drrn.serve.runs import ENDED, RunEntry, RunPayload, check_torch
from drrn.serve.services import Event, Services, Session, services_of
from drrn.settings import recipe_name
from drrn.version import __version__
from drrn.writing import visible

MAX_SEED = 2**31 - 1
OPENING_SECONDS = 60
ADVICE_SECONDS = 60
TEST_SECONDS = 30.0
MAX_TEST_SECONDS = 600.0
MAX_SCORES = 200  # rows
POLICIES = ("best", "softmax", "greedy")
RECIPES = ("strong", "paper")
NO_MAP = "There is no map: the story has too many states, or its play-test is not done."


class SessionAdvice(Advice):
    """An agent's opinion of the page of a session."""

    run: str
    policy: str
    steps: int
    other_game: str | None  # the title, if the agent learned another game


# --- games


async def status(request: Request) -> Response:
    limits = {"upload_bytes": MAX_UPLOAD, "upload_types": TYPES, "test_seconds": MAX_TEST_SECONDS}
    return answer({"version": __version__, "shared": services_of(request).shared, "limits": limits})


async def list_games(request: Request) -> Response:
    services = services_of(request)
    counts = await asyncio.to_thread(services.runs.counts)
    return answer({"games": [entry.as_json(counts[entry.id]) for entry in services.library]})


async def show_game(request: Request) -> Response:
    """Return a game with its facts, or the reason why there are none."""
    services = services_of(request)
    entry = services.library[request.path_params["game"]]
    counts = await asyncio.to_thread(services.runs.counts)
    facts, reason = await services.facts.of(entry)
    return answer({**entry.as_json(counts[entry.id]), "facts": facts, "reason": reason})


async def upload(request: Request) -> Response:
    services = services_of(request)

    async def open_game(spec: GameSpec) -> OpenedGame:
        game: OpenedGame = await services.opener.ask("open", spec, timeout=OPENING_SECONDS)
        return game

    async with services.uploading:  # one at a time, because each may be large
        entry, is_new = await services.library.upload(request, open_game)
    return answer({"game": entry.as_json(), "notes": entry.notes}, 201 if is_new else 200)


async def remove_game(request: Request) -> Response:
    services = services_of(request)
    entry = services.library[request.path_params["game"]]
    services.library.remove(entry)
    services.forget(entry)
    return answer({})


# --- play


async def start_session(request: Request) -> Response:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    seed = integer_in(body, "seed", 0, MAX_SEED)
    player = visible(text_in(body, "player", "")).strip()[:MAX_NAME] or None
    session = services.sessions.new(
        entry, secrets.randbelow(MAX_SEED) if seed is None else seed, player
    )
    try:
        async with session.lock:
            session.page = await _page(services, session, [])
    except BaseException:
        services.sessions.drop(session)
        raise
    services.library.rename(entry, session.page["title"])
    return answer(session.with_history(), 201)


async def show_session(request: Request) -> Response:
    return answer(_session(request).with_history())


async def end_session(request: Request) -> Response:
    services_of(request).sessions.drop(_session(request))
    return answer({})


async def step(request: Request) -> Response:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        _check_current(session, body)
        last = len(session.page["actions"]) - 1
        index = integer_in(body, "action", 0, last)
        if index is None:
            raise RequestError(400, f'"action" must be an integer from 0 to {last}.')
        await _step(services, session, index, "person")
        return answer(session.as_json())


async def undo(request: Request) -> Response:
    services = services_of(request)
    session = _session(request)
    async with session.lock:
        if not session.choices:
            page = session.with_history()
            raise RequestError(409, "This is the first page: nothing to undo.", page=page)
        session.page = await _page(services, session, session.choices[:-1])
        del session.choices[-1], session.by[-1], session.past[-1:]
        session.undone += 1
        return answer(session.with_history())


async def restart(request: Request) -> Response:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        seed = integer_in(body, "seed", 0, MAX_SEED)
        session.restart((session.seed + 1) % MAX_SEED if seed is None else seed)
        session.page = await _page(services, session, [])
        return answer(session.with_history())


async def advise(request: Request) -> Response:
    services = services_of(request)
    session = _session(request)
    query = dict(request.query_params)
    async with session.lock:
        if session.page["ended"]:
            raise RequestError(409, "The game has ended: nothing to choose.")
        return answer(await _advice(services, session, query, words=query.get("words") == "1"))


async def agent_step(request: Request) -> Response:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        _check_current(session, body)
        advice = await _advice(services, session, body, words=False)
        index = _draw([action["chance"] for action in advice["actions"]])
        await _step(services, session, index, "agent")
        return answer({**session.as_json(), "choice": index})


async def _advice(
    services: Services, session: Session, query: dict[str, Any], *, words: bool
) -> SessionAdvice:
    """Ask the agent of a run about the page of a session."""
    run = services.runs[text_in(query, "run")]
    policy = choice_in(query, "policy", POLICIES)
    history = run.history
    page = session.page
    past = session.past[-history:] if history else []
    advice: Advice = await services.adviser.ask(
        "advise",
        str(run.folder),
        policy,
        [(each.text, each.actions[each.choice]) for each in past],
        page["text"],
        page["actions"],
        session.is_repeated(history),
        words,
        timeout=ADVICE_SECONDS,
    )
    return {
        **advice,
        "run": run.id,
        "policy": policy,
        "steps": len(session.choices),
        "other_game": None if run.title == page["title"] else run.title,
    }


async def _step(services: Services, session: Session, index: int, by: str) -> None:
    """Take an action; record the score if it ended the game of a person with a name."""
    page = await _page(services, session, [*session.choices, index])
    session.step(index, by, page)
    if page["ended"] and session.player and set(session.by) == {"person"}:
        _record_score(session, session.player)


async def _page(services: Services, session: Session, choices: list[int]) -> Page:
    page: Page = await services.ask_game(session.entry, "page", session.id, session.seed, choices)
    return page


def _record_score(session: Session, player: str) -> None:
    page = session.page
    score = scores.FinishedGame(
        when=scores.now(),
        game=session.entry.name,
        player=player,
        seed=session.seed,
        undone=session.undone,
        steps=len(session.choices),
        final_reward=page["reward"],
        total=round(page["total"], 6),
        ending=page["ending"] or "",
    )
    try:
        scores.append(scores.scores_file(), score)
        session.recorded = True
    except Exception as error:  # the game is over all the same
        log.error("%s: the score was not saved: %s", scores.scores_file(), error)


def _check_current(session: Session, body: dict[str, Any]) -> None:
    """Refuse a choice that was made on an earlier page, or after the end."""
    steps = integer_in(body, "steps", 0, 10**6)
    page = session.with_history()
    if steps is not None and steps != len(session.choices):
        raise RequestError(409, "The game is on another page by now.", page=page)
    if page["ended"] or page["stopped"]:
        raise RequestError(409, "The game is over: start again.", page=page)


def _session(request: Request) -> Session:
    return services_of(request).sessions[request.path_params["session"]]


def _draw(chances: list[float]) -> int:
    """Draw an index with these probabilities."""
    remainder = secrets.randbelow(2**53) / 2**53 * sum(chances)
    for index, chance in enumerate(chances):
        remainder -= chance
        if remainder < 0:
            return index
    return max(range(len(chances)), key=chances.__getitem__)


# --- play-tests


async def start_test(request: Request) -> Response:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    seconds = number_in(body, "seconds", 0.5, MAX_TEST_SECONDS, TEST_SECONDS)
    return answer(services.playtests.start(entry, seconds).as_json(), 201)


async def list_tests(request: Request) -> Response:
    services = services_of(request)
    entry = services.library[text_in(dict(request.query_params), "game")]
    return answer({"tests": [test.as_json() for test in services.playtests.of(entry)]})


async def show_test(request: Request) -> Response:
    return answer(_test(request).as_json(report=True))


async def stop_test(request: Request) -> Response:
    test = _test(request)
    test.stop()
    return answer(test.as_json())


async def test_events(request: Request) -> Response:
    test = _test(request)
    last = ""

    def poll() -> tuple[list[Event], bool]:
        nonlocal last
        data = test.as_json()
        if data["status"] != "running":
            return [("done", data)], True
        if data["progress"] == last:
            return [], False
        last = data["progress"]
        return [("progress", {"progress": last, "elapsed": data["elapsed"]})], False

    return services_of(request).event_stream(poll)


async def report_page(request: Request) -> Response:
    result = _test(request).result
    if result is None:
        raise RequestError(404, "There is no report yet.")
    return HTMLResponse(result["html"])


async def map_data(request: Request) -> Response:
    result = _test(request).result
    if result is None:
        raise RequestError(404, NO_MAP)
    return answer(result["map"])


async def map_svg(request: Request) -> Response:
    result = _test(request).result
    if result is None:
        raise RequestError(404, NO_MAP)
    return Response(result["svg"], media_type="image/svg+xml")


async def map_page(request: Request) -> Response:
    """Return a page of the map, with the odds of how games end from there."""
    services = services_of(request)
    test = _test(request)
    if test.result is None:
        raise RequestError(404, NO_MAP)
    number = request.path_params["page"]
    run = request.query_params.get("run")
    folder = str(services.runs[run].folder) if run else None
    pages = test.result["pages"]
    if pages is None:
        try:
            return answer(await services.playtests.ask(test, "page", number, folder))
        except InputError as error:
            raise RequestError(404 if run is None else 409, str(error)) from error
    if number >= len(pages):
        raise RequestError(404, "There is no such page on the map.")
    page = pages[number]
    actions = page["path"]["actions"] if page["path"] else []
    odds: PageOdds = await services.playtests.ask(test, "sampled_odds", actions, folder)
    return answer({**page, "odds": odds})


def _test(request: Request) -> PlayTest:
    return services_of(request).playtests[request.path_params["test"]]


# --- training


async def settings_form(request: Request) -> Response:
    check_torch()
    services = services_of(request)
    query = dict(request.query_params)
    entry = services.library[text_in(query, "game")]
    paper = choice_in(query, "recipe", RECIPES) == "paper"
    settings = await services.ask_game(entry, "form", paper)
    return answer({"recipe": recipe_name(paper=paper), "settings": settings})


async def list_runs(request: Request) -> Response:
    services = services_of(request)
    id_ = request.query_params.get("game")
    game = None if id_ is None else services.library[id_].id

    def payloads() -> list[RunPayload]:
        return [services.runs.as_json(run) for run in services.runs.all(game)]

    runs = await asyncio.to_thread(payloads)
    if game is not None and any(run["ready"] for run in runs):
        services.adviser.start()  # it will be asked soon, and PyTorch takes a second to load
    return answer({"runs": runs})


async def start_run(request: Request) -> Response:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    paper = choice_in(body, "recipe", RECIPES) == "paper"
    values = body.get("settings") or {}
    if not isinstance(values, dict):
        raise RequestError(400, '"settings" must be an object: values by name.')
    check_torch()
    checked = await services.ask_game(entry, "check", values, paper)
    run = await asyncio.to_thread(services.runs.start, entry, checked, values, paper=paper)
    return answer(services.runs.as_json(run), 201)


async def show_run(request: Request) -> Response:
    return answer(await asyncio.to_thread(services_of(request).runs.details, _run(request)))


async def stop_run(request: Request) -> Response:
    runs = services_of(request).runs
    return answer(runs.as_json(await asyncio.to_thread(runs.stop, _run(request))))


async def resume_run(request: Request) -> Response:
    runs = services_of(request).runs
    run = _run(request)
    rounds = (await body_of(request)).get("rounds")
    return answer(runs.as_json(await asyncio.to_thread(runs.resume, run, rounds)))


async def remove_run(request: Request) -> Response:
    await asyncio.to_thread(services_of(request).runs.remove, _run(request))
    return answer({})


async def run_events(request: Request) -> Response:
    """Send the run once, then each new point of its curve and each change of its status."""
    services = services_of(request)
    runs = services.runs
    id_ = _run(request).id
    rounds = -1
    status = ""
    stamp: tuple[Any, ...] | None = None

    def poll() -> tuple[list[Event], bool]:
        nonlocal rounds, status, stamp
        run = runs[id_]
        if run.stamp == stamp and not runs.is_starting(run):
            return [], False
        stamp = run.stamp
        data = runs.details(run)
        events: list[Event] = []
        if rounds < 0:
            events.append(("run", data))
        else:
            events += [("point", point) for point in data["curve"] if point["round"] > rounds]
            if data["status"] != status:
                events.append(("status", runs.as_json(run)))
        rounds = data["round"]
        status = data["status"]
        if status in ENDED:
            events.append(("done", data))  # now with the reference scores
        return events, status in ENDED

    return services.event_stream(poll)


async def embeddings(request: Request) -> Response:
    run = _run(request)
    page = request.query_params.get("page", "0")
    if not (page.isascii() and page.isdecimal() and len(page) < 6):
        raise RequestError(400, '"page" must be an integer.')
    try:
        return answer(await asyncio.to_thread(read_embeddings, run.files.side, int(page)))
    except InputError as error:
        raise RequestError(404, str(error)) from error


def _run(request: Request) -> RunEntry:
    return services_of(request).runs[request.path_params["run"]]


# --- scores of people


async def list_scores(request: Request) -> Response:
    services = services_of(request)
    id_ = request.query_params.get("game")
    rows = await asyncio.to_thread(scores.read, scores.scores_file())
    names = sorted({row.game for row in rows})
    if id_ is not None:
        names = [services.library[id_].name]
    entries = {entry.name: entry for entry in reversed(list(services.library))}
    games = [_averages(rows, name, entries.get(name)) for name in names]
    latest = [row for row in reversed(rows) if row.game in names][:MAX_SCORES]
    return answer({"games": games, "rows": latest})


class GameScores(TypedDict):
    """The average scores of people in a game."""

    game: str | None  # its id, if it is in the library
    title: str
    name: str
    players: int
    novice_games: int
    novice: float | None
    experienced_games: int
    experienced: float | None


def _averages(rows: list[scores.FinishedGame], name: str, entry: GameEntry | None) -> GameScores:
    averages = asdict(scores.averages(rows, name))
    return {
        "game": entry.id if entry else None,
        "title": entry.title if entry else name,
        "name": name,
        **averages,  # type: ignore[typeddict-item]
    }


Handler = Callable[[Request], Awaitable[Response]]
TABLE: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/api/status", status),
    ("GET", "/api/games", list_games),
    ("POST", "/api/games", upload),
    ("GET", "/api/games/{game}", show_game),
    ("DELETE", "/api/games/{game}", remove_game),
    ("POST", "/api/sessions", start_session),
    ("GET", "/api/sessions/{session}", show_session),
    ("DELETE", "/api/sessions/{session}", end_session),
    ("POST", "/api/sessions/{session}/step", step),
    ("POST", "/api/sessions/{session}/undo", undo),
    ("POST", "/api/sessions/{session}/restart", restart),
    ("GET", "/api/sessions/{session}/agent", advise),
    ("POST", "/api/sessions/{session}/agent/step", agent_step),
    ("POST", "/api/tests", start_test),
    ("GET", "/api/tests", list_tests),
    ("GET", "/api/tests/{test}", show_test),
    ("POST", "/api/tests/{test}/stop", stop_test),
    ("GET", "/api/tests/{test}/events", test_events),
    ("GET", "/api/tests/{test}/report.html", report_page),
    ("GET", "/api/tests/{test}/map", map_data),
    ("GET", "/api/tests/{test}/map.svg", map_svg),
    ("GET", "/api/tests/{test}/pages/{page:int}", map_page),
    ("GET", "/api/settings", settings_form),
    ("GET", "/api/runs", list_runs),
    ("POST", "/api/runs", start_run),
    ("GET", "/api/runs/{run}", show_run),
    ("DELETE", "/api/runs/{run}", remove_run),
    ("GET", "/api/runs/{run}/events", run_events),
    ("POST", "/api/runs/{run}/stop", stop_run),
    ("POST", "/api/runs/{run}/resume", resume_run),
    ("GET", "/api/runs/{run}/embeddings", embeddings),
    ("GET", "/api/scores", list_scores),
)
ROUTES = [Route(path, handler, methods=[method]) for method, path, handler in TABLE]
