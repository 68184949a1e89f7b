"""Play: sessions, steps, undo, and an agent that advises or plays."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from drrn.serve import scores
from drrn.serve.answers import LONGEST_NAME, Refusal, answer, body_of, log, text_in, whole_in
from drrn.serve.services import Services, services_of
from drrn.serve.sessions import PlaySession
from drrn.writing import visible

ADVICE_SECONDS = 60
LARGEST_SEED = 2**31 - 1
POLICIES = ("best", "softmax", "greedy")


async def begin(request: Request) -> JSONResponse:
    services = services_of(request)
    body = await body_of(request)
    entry = services.library[text_in(body, "game")]
    seed = whole_in(body, "seed", 0, LARGEST_SEED)
    player = visible(text_in(body, "player", "")).strip()[:LONGEST_NAME] or None
    session = services.sessions.new(entry, _drawn_seed() if seed is None else seed, player)
    try:
        async with session.lock:
            await _arrive(services, session)
    except BaseException:
        services.sessions.drop(session)
        raise
    services.library.rename(entry, session.page["title"])
    return answer(session.told(history=True), 201)


async def look(request: Request) -> JSONResponse:
    return answer(_session(request).told(history=True))


async def leave(request: Request) -> JSONResponse:
    services_of(request).sessions.drop(_session(request))
    return answer({})


async def step(request: Request) -> JSONResponse:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        _check_place(session, body)
        most = len(session.page["actions"]) - 1
        index = whole_in(body, "action", 0, most)
        if index is None:
            raise Refusal(400, f'"action" must be a whole number from 0 to {most}.')
        await _step(services, session, index, "person")
        return answer(session.told(history=False))


async def undo(request: Request) -> JSONResponse:
    services = services_of(request)
    session = _session(request)
    async with session.lock:
        if not session.taken:
            raise Refusal(
                409,
                "This is the first page; there is nothing to take back.",
                page=session.told(history=True),
            )
        await _arrive(services, session, session.taken[:-1])
        del session.taken[-1], session.by[-1], session.past[-1:]
        session.undone += 1
        return answer(session.told(history=True))


async def restart(request: Request) -> JSONResponse:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        seed = whole_in(body, "seed", 0, LARGEST_SEED)
        session.begin((session.seed + 1) % LARGEST_SEED if seed is None else seed)
        await _arrive(services, session)
        return answer(session.told(history=True))


async def advise(request: Request) -> JSONResponse:
    services = services_of(request)
    session = _session(request)
    query = dict(request.query_params)
    async with session.lock:
        if session.page["ended"]:
            raise Refusal(409, "The game has ended: there is nothing left to choose.")
        return answer(await _advice(services, session, query, words=query.get("words") == "1"))


async def agent_step(request: Request) -> JSONResponse:
    services = services_of(request)
    session = _session(request)
    body = await body_of(request)
    async with session.lock:
        _check_place(session, body)
        thought = await _advice(services, session, body, words=False)
        index = _drawn([action["chance"] for action in thought["actions"]])
        await _step(services, session, index, "agent")
        return answer({**session.told(history=False), "took": index})


async def _advice(
    services: Services, session: PlaySession, asked: dict[str, Any], *, words: bool
) -> dict[str, Any]:
    """What a run's agent thinks of the page."""
    run = services.runs[text_in(asked, "run")]
    policy = text_in(asked, "policy", "best")
    if policy not in POLICIES:
        raise Refusal(400, f'"policy" must be one of {", ".join(POLICIES)}.')
    history = run.history
    page = session.page
    past = (
        [(one.text, one.actions[one.chosen]) for one in session.past[-history:]] if history else []
    )
    question = (
        str(run.folder),
        policy,
        past,
        page["text"],
        page["actions"],
        session.seen(history),
        words,
    )
    thought: dict[str, Any] = await services.adviser.ask(*question, seconds=ADVICE_SECONDS)
    other = None if run.title == page["title"] else run.title
    return {
        **thought,
        "run": run.id,
        "policy": policy,
        "steps": len(session.taken),
        "other_game": other,
    }


async def _step(services: Services, session: PlaySession, index: int, by: str) -> None:
    """Take an action, and keep the score where it ended a game of a person who gave a name."""
    before = dict(session.page)
    await _arrive(services, session, [*session.taken, index])
    after = session.page
    session.page = before
    session.leave(index, by)
    session.page = after
    session.taken.append(index)
    session.by.append(by)
    if after["ended"] and session.player and set(session.by) == {"person"}:
        _record(session)


async def _arrive(services: Services, session: PlaySession, taken: list[int] | None = None) -> None:
    """Ask the game's process for the page that the choices lead to."""
    way = session.taken if taken is None else taken
    session.page = await services.ask_game(session.entry, "page", session.id, session.seed, way)


def _record(session: PlaySession) -> None:
    assert session.player is not None
    page = session.page
    score = scores.FinishedGame(
        when=scores.now(), game=session.entry.name, player=session.player, seed=session.seed, undone=session.undone,
        steps=len(session.taken), final_reward=page["reward"], total=round(page["total"], 6),
        ending=page["ending"] or "",
    )  # fmt: skip
    try:
        scores.append(scores.scores_file(), score)
        session.recorded = True
    except Exception as error:  # the game is over all the same
        log.error("%s: the score could not be kept: %s", scores.scores_file(), error)


def _check_place(session: PlaySession, body: dict[str, Any]) -> None:
    """Refuse a choice that was made on another page than the session is on, or where none can be made."""
    steps = whole_in(body, "steps", 0, 10**6)
    told = session.told(history=True)
    if steps is not None and steps != len(session.taken):
        raise Refusal(409, "The game has moved on meanwhile: this is where it stands.", page=told)
    if told["ended"] or told["stopped"]:
        raise Refusal(409, "The game has come to its end: begin again.", page=told)


def _session(request: Request) -> PlaySession:
    return services_of(request).sessions[request.path_params["session"]]


def _drawn_seed() -> int:
    return secrets.randbelow(LARGEST_SEED)


def _drawn(chances: list[float]) -> int:
    """An index, with the chances given."""
    left = secrets.randbelow(2**53) / 2**53 * sum(chances)
    for index, chance in enumerate(chances):
        left -= chance
        if left < 0:
            return index
    return max(range(len(chances)), key=chances.__getitem__)


def play_routes() -> list[Route]:
    """The routes of play."""
    one = "/api/sessions/{session}"
    return [
        Route("/api/sessions", begin, methods=["POST"]),
        Route(one, look, methods=["GET"]),
        Route(one, leave, methods=["DELETE"]),
        Route(f"{one}/step", step, methods=["POST"]),
        Route(f"{one}/undo", undo, methods=["POST"]),
        Route(f"{one}/restart", restart, methods=["POST"]),
        Route(f"{one}/agent", advise, methods=["GET"]),
        Route(f"{one}/agent/step", agent_step, methods=["POST"]),
    ]
