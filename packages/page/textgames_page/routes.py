"""The routes of the page's API: games, play, play-tests, training, scores."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from textgames import scores
from textgames.game.contract import Observation
from textgames.version import __version__
from textgames_page import http
from textgames_page.game_worker import Page
from textgames_page.library import TYPES, GameEntry
from textgames_page.products import STORIES, check_agents, has_agents, needed
from textgames_page.services import PlayTest, Services

if TYPE_CHECKING:
    from textgames_page.runs import PageRun

RECIPES = ("strong", "paper")

ROUTES: list[Route] = []
Handler = Callable[..., Awaitable[Any]]


def route(method: str, path: str, status: int = 200) -> Callable[[Handler], Handler]:
    """Add a handler, which is called with the services, the request and the parts of the path.

    The parts {game}, {test} and {run} are ids, which are looked up. What the handler
    returns is sent as JSON, unless it is a response.
    """

    def add(handler: Handler) -> Handler:
        async def respond(request: Request) -> Response:
            services: Services = request.app.state.services
            parts = {name: services.find(name, part) for name, part in request.path_params.items()}
            result = await handler(services, request, **parts)
            return result if isinstance(result, Response) else http.answer(result, status)

        ROUTES.append(Route(path, respond, methods=[method]))
        return handler

    return add


# --- games


@route("GET", "/api/status")
async def status(services: Services, _: Request) -> Any:
    limits = {"upload_bytes": services.limits.upload_bytes, "upload_types": TYPES}
    return {"version": __version__, "shared": services.shared, "limits": limits}


@route("GET", "/api/games")
async def list_games(services: Services, _: Request) -> Any:
    counts: Counter[str | None] = Counter()
    if has_agents():
        counts = await asyncio.to_thread(services.runs.counts)
    return {"games": [entry.as_json(counts[entry.id]) for entry in services.library]}


@route("GET", "/api/games/{game}")
async def inspect_game(services: Services, _: Request, game: GameEntry) -> Any:
    """Return the findings of a game, or the reason why there are none."""
    findings, reason = await services.inspect(game)
    return {"findings": findings, "reason": reason}


@route("GET", "/api/games/{game}/opening")
async def read_opening(services: Services, _: Request, game: GameEntry) -> Any:
    """Return the text of the first page, which is known long before the findings."""
    seconds = services.limits.seconds
    _, text = await services.opener.ask("open", game.spec, timeout=seconds)
    return {"text": text}


@route("POST", "/api/games", 201)
async def upload(services: Services, request: Request) -> Any:
    async with services.uploading:  # one at a time, because each may be large
        entry = await services.library.upload(request, services.opener)
    return {"game": entry.as_json()}


@route("GET", "/api/games/{game}/rules")
async def show_rules(services: Services, _: Request, game: GameEntry) -> Any:
    toml, text = services.library.rules_of(game)
    return {"file": toml.name, "text": text, "story": game.file}


@route("POST", "/api/games/{game}/rules")
async def write_rules(services: Services, request: Request, game: GameEntry) -> Any:
    if game.file is None or (services.shared and game.kind == "given"):
        raise HTTPException(409, "The rules of this story cannot be changed here.")
    text = http.text_in(await http.body_of(request), "text", most=services.limits.json_bytes)
    async with services.uploading:
        await services.library.write_rules(game, text, services.opener)
    services.forget(game)
    return {}


@route("DELETE", "/api/games/{game}")
async def remove_game(services: Services, _: Request, game: GameEntry) -> Any:
    services.library.remove(game)
    services.forget(game)
    return {}


# --- play: an episode is its seed and its moves, which the browser keeps


@route("POST", "/api/games/{game}/pages")
async def play(services: Services, request: Request, game: GameEntry) -> Any:
    """Return the pages of an episode from a number of moves on; the last one by default."""
    body = await http.body_of(request)
    since = http.integer_in(body, "since", 0, services.limits.moves)
    seed, pages = await _pages(services, game, body, since)
    services.library.rename(game, pages[-1].title)
    return {"seed": seed, "pages": pages}


@route("POST", "/api/games/{game}/path")
async def follow_path(services: Services, request: Request, game: GameEntry) -> Any:
    """Return the seed and the moves of an episode that follows the path of a play-test."""
    with needed(STORIES):
        from storytest.playtest.clicks import path_of

    body = await http.body_of(request)
    given: Any = body.get("path")
    try:
        path = path_of(given)
    except (ValueError, TypeError, KeyError) as error:
        raise HTTPException(400, '"path" must be the path of a play-test.') from error
    seed, moves = await services.ask_game(game, "locate", http.name_in(body, "session"), path)
    return {"seed": seed, "moves": moves}


@route("POST", "/api/runs/{run}/advice/{game}")
async def advise(services: Services, request: Request, run: "PageRun", game: GameEntry) -> Any:
    """Return the opinion of a run's agent of the last page of an episode."""
    from drrn.settings import AGENT_POLICIES, DEPLOYED

    body = await http.body_of(request)
    policy = http.choice_in(body, "policy", AGENT_POLICIES, DEPLOYED)
    _, pages = await _pages(services, game, body, 0)
    page = pages.pop()
    if page.ended:
        raise HTTPException(409, "The game is over. There is nothing to choose.")
    moves = body.get("moves", [])
    steps = zip(pages, moves, strict=True)
    past = [(_seen(page), move) for page, move in steps if type(move) is int]
    question = (str(run.folder), policy, past, _seen(page), body.get("words") is True)
    advice = await services.adviser.ask("advise", *question, timeout=services.limits.seconds)
    title = run.config["game"]["title"]
    return {**advice, "other_game": None if title == page.title else title}


def _seen(page: Page) -> Observation:
    return Observation(page.text, page.actions, page.reward)


async def _pages(
    services: Services, game: GameEntry, body: dict[str, Any], since: int | None
) -> tuple[int, list[Page]]:
    """The seed of an episode, and its pages from a number of moves on."""
    seed = http.integer_in(body, "seed", 0, 2**31 - 1)
    if seed is None:
        seed = secrets.randbits(31)
    moves = body.get("moves", [])
    if not isinstance(moves, list) or not all(map(_is_move, moves)):
        raise HTTPException(400, '"moves" must be a list of indices and of values of variables.')
    if len(moves) > services.limits.moves:
        raise HTTPException(400, f"A game has at most {services.limits.moves:,} moves here.")
    if since is None or since > len(moves):
        since = len(moves)
    session = http.name_in(body, "session")
    return seed, await services.ask_game(game, "pages", session, seed, moves, since)


def _is_move(move: Any) -> bool:
    plain = (str, bool, int, float)
    is_change = isinstance(move, dict) and all(isinstance(each, plain) for each in move.values())
    return is_change or type(move) is int


# --- play-tests: one for each game


@route("POST", "/api/tests/{game}", 201)
async def start_test(services: Services, request: Request, game: GameEntry) -> Any:
    body = await http.body_of(request)
    seconds = http.integer_in(body, "seconds", 1, services.limits.test_seconds)
    test = services.playtests.by_game.get(game.id)
    if test is not None and test.stale and test.status != "running":
        services.forget(game)  # its processes have the story as it was
    return services.playtests.start(game, seconds or 30).as_json()


@route("GET", "/api/tests/{test}")
async def show_test(_: Services, __: Request, test: PlayTest) -> Any:
    return test.as_json()


@route("POST", "/api/tests/{test}/stop")
async def stop_test(_: Services, __: Request, test: PlayTest) -> Any:
    test.stop()
    return test.as_json()


@route("GET", "/api/tests/{test}/report.html")
async def report_page(_: Services, __: Request, test: PlayTest) -> Response:
    return HTMLResponse(test.part("html"))


@route("GET", "/api/tests/{test}/map")
async def map_data(_: Services, __: Request, test: PlayTest) -> Any:
    return test.part("map")


@route("GET", "/api/tests/{test}/map.svg")
async def map_svg(_: Services, __: Request, test: PlayTest) -> Response:
    if not test.part("svg"):
        raise HTTPException(404, "The story is too large to draw a map.")
    return Response(test.part("svg"), media_type="image/svg+xml")


@route("GET", "/api/tests/{test}/pages/{page:int}")
async def map_page(services: Services, request: Request, test: PlayTest, page: int) -> Any:
    """Return a page of the map, with findings from games that start there."""
    run = request.query_params.get("run")
    folder = str(services.runs[run].folder) if run else None
    if page >= len(test.part("map")["pages"]):
        raise HTTPException(404, "There is no such page on the map.")
    entry = test.part("map")["pages"][page]
    if not entry["reached"]:
        return {"texts": [entry["text"]], "path": None, "findings": None}
    if test.part("paths") is None:
        return await test.service.ask("page", page, folder, timeout=services.limits.seconds)
    path = test.part("paths")[page]
    question = ("sampled_page", path["actions"], folder)
    findings = await test.service.ask(*question, timeout=services.limits.seconds)
    return {"texts": [path["comes_to"]], "path": path, "findings": findings}


# --- training


@route("GET", "/api/settings")
async def settings_form(services: Services, request: Request) -> Any:
    check_agents()
    query = dict(request.query_params)
    entry = services.library[http.text_in(query, "game")]
    recipe = http.choice_in(query, "recipe", RECIPES, "strong")
    return {"settings": await services.ask_game(entry, "form", recipe == "paper")}


@route("GET", "/api/runs")
async def list_runs(services: Services, request: Request) -> Any:
    id_ = request.query_params.get("game")
    game = None if id_ is None else services.library[id_].id
    if not has_agents():
        return {"runs": []}
    folder = services.runs
    runs = await asyncio.to_thread(lambda: [run.as_json() for run in folder.all(game)])
    if game is not None and any(run["ready"] for run in runs):
        services.adviser.start()  # it will be asked soon, and PyTorch takes a second to load
    return {"runs": runs}


@route("POST", "/api/runs", 201)
async def start_run(services: Services, request: Request) -> Any:
    body = await http.body_of(request)
    entry = services.library[http.text_in(body, "game")]
    recipe = http.choice_in(body, "recipe", RECIPES, "strong")
    values = body.get("settings") or {}
    if not isinstance(values, dict):
        raise HTTPException(400, '"settings" must be an object of values by name.')
    check_agents()
    config = await services.ask_game(entry, "config", values, recipe == "paper")
    run = await asyncio.to_thread(services.runs.start, entry, config, recipe)
    if title := http.name_in(body, "title"):
        run.rename(title)
    return run.as_json()


@route("GET", "/api/runs/{run}/after/{number:int}")
async def show_run(_: Services, __: Request, run: "PageRun", number: int) -> Any:
    """Return a run with the scores after a round, the last one that the page has."""
    return await asyncio.to_thread(run.details, number)


@route("DELETE", "/api/runs/{run}")
async def remove_run(services: Services, _: Request, run: "PageRun") -> Any:
    await asyncio.to_thread(services.runs.remove, run)
    return {}


@route("POST", "/api/runs/{run}/stop")
async def stop_run(services: Services, _: Request, run: "PageRun") -> Any:
    return (await asyncio.to_thread(services.runs.stop, run)).as_json()


@route("POST", "/api/runs/{run}/resume")
async def resume_run(services: Services, request: Request, run: "PageRun") -> Any:
    check_agents()
    rounds = (await http.body_of(request)).get("rounds")
    return (await asyncio.to_thread(services.runs.resume, run, rounds)).as_json()


@route("GET", "/api/runs/{run}/learning")
async def show_learning(_: Services, __: Request, run: "PageRun") -> Any:
    """Return what the run has recorded about its learning."""
    record = await asyncio.to_thread(run.learning)
    if record is None:
        cause = "it is of an older version" if run.rounds() else "its first round has not finished"
        raise HTTPException(404, f"This run has recorded nothing yet: {cause}.")
    return record


@route("POST", "/api/runs/{run}/title")
async def rename_run(_: Services, request: Request, run: "PageRun") -> Any:
    run.rename(http.name_in(await http.body_of(request), "title"))
    return run.as_json()


# --- scores of people


@route("POST", "/api/games/{game}/scores", 201)
async def record_score(services: Services, request: Request, game: GameEntry) -> Any:
    """Save the finished game of a person, who gives a name."""
    body = await http.body_of(request)
    player = http.name_in(body, "player")
    undone = http.integer_in(body, "undone", 0, 10**6) or 0
    seed, (page,) = await _pages(services, game, body, None)
    moves = body.get("moves", [])
    if not player or not page.ended or any(type(move) is not int for move in moves):
        raise HTTPException(409, "A score needs a name, and a game played to its end.")
    score = scores.FinishedGame(
        when=scores.now(),
        game=game.name,
        player=player,
        seed=seed,
        undone=undone,
        steps=len(moves),
        final_reward=page.reward,
        total=round(page.total, 6),
        ending=page.ending or "",
    )
    scores.append(scores.scores_file(), score)
    return {}


@route("GET", "/api/scores")
async def list_scores(services: Services, request: Request) -> Any:
    id_ = request.query_params.get("game")
    rows = await asyncio.to_thread(scores.read, scores.scores_file())
    names = sorted({row.game for row in rows})
    if id_ is not None:
        names = [services.library[id_].name]
    entries = {entry.name: entry for entry in reversed(list(services.library))}
    games = []
    for name in names:
        entry = entries.get(name)
        game = {"game": entry.id, "title": entry.title} if entry else {"game": None, "title": name}
        games.append({**game, **scores.averages(rows, name)})
    latest = [row for row in reversed(rows) if row.game in names][:200]
    return {"games": games, "rows": latest}
