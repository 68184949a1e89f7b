"""State that the routes share: worker processes, play sessions, event streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from drrn.processes import Reply, Service, ServiceError
from drrn.serve.advice_worker import AdviceWorker
from drrn.serve.game_worker import MAX_MEMORY, GameWorker, OpeningWorker, Page
from drrn.serve.http import FAILURE, RequestError, as_json, log
from drrn.serve.library import GameEntry, Library
from drrn.serve.playtests import FactsTable, PlayTests
from drrn.serve.runs import RunFolder

MAX_WAITING = 300  # questions to one process
AHEAD = 16  # questions that are sent to a game's process at once; each has a few kB at most
MAX_GAME_PROCESSES = 6  # the least recently used one is closed

MAX_SESSIONS = 400
IDLE_SECONDS = 3600  # after which a session ends
FULL_IDLE_SECONDS = 300  # after which it ends if there are too many
MAX_STEPS = 2_000
MAX_HISTORY = 200_000  # characters of the previous pages of a session; the oldest are dropped

MAX_STREAMS = 200
POLL_SECONDS = 0.5
SILENT_SECONDS = 15.0  # after which a comment is sent, to notice closed connections

Event = tuple[str, Any]  # name and data
Poll = Callable[[], tuple[list[Event], bool]]  # new events, and whether they are the last


NO_PAGE: Page = {
    "text": "",
    "actions": [],
    "reward": 0.0,
    "total": 0.0,
    "ended": False,
    "stopped": False,
    "ending": None,
    "title": "",
}


class AsyncService:
    """A `Service` for the event loop, started with the first question and restarted if it died.

    Args:
        create: The class of the worker.
        ahead: How many questions are sent before the first is answered.
    """

    def __init__(self, create: Callable[[], Any], ahead: int = 1) -> None:
        self._create = create
        self._service: Service | None = None
        self._turn = asyncio.Semaphore(ahead)
        self._answers: dict[int, asyncio.Future[Reply]] = {}
        self._closed = False
        self.waiting = 0

    def start(self) -> Service:
        """Start the process, so that the first answer comes sooner."""
        if self._service is None:
            service = self._service = Service(self._create, memory=MAX_MEMORY)
            asyncio.get_running_loop().add_reader(service.fileno(), self._read, service)
        return self._service

    async def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Return what a method of the worker returns; see `Service.ask`."""
        if self.waiting >= MAX_WAITING:
            raise RequestError(429, "The server is busy: try again in a moment.")
        self.waiting += 1
        try:
            async with self._turn:
                reply = await self._reply(method, arguments, timeout)
        finally:
            self.waiting -= 1
        return result_of(reply)

    async def _reply(self, method: str, arguments: tuple[Any, ...], timeout: float) -> Reply:
        for _ in range(2):
            if self._closed:
                break
            is_new = self._service is None
            service = self.start()
            answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self._answers[service.send(method, *arguments)] = answer
            try:
                return await asyncio.wait_for(answer, timeout)
            except asyncio.TimeoutError:
                self._end()
                sentence = f"This took longer than {timeout:g} seconds and was stopped."
                raise RequestError(503, sentence) from None
            except EOFError:
                if is_new:  # an old process may have exited because it was too large
                    break
        raise RequestError(503, "The worker process died; it may have run out of memory.")

    def _read(self, service: Service) -> None:
        """Pass on the replies that have arrived."""
        try:
            while service.connection.poll():
                reply: Reply = service.connection.recv()
                if reply.question == 0 and reply.kind != "answer":  # the worker was not created
                    self._end(reply)
                    return
                answer = self._answers.pop(reply.question, None)
                if answer is not None and not answer.done():
                    answer.set_result(reply)
        except (EOFError, OSError):
            if service is self._service:
                self._end()

    def _end(self, reply: Reply | None = None) -> None:
        """End the process; all open questions get the reply, or EOFError."""
        service = self._service
        self._service = None
        if service is not None:
            with contextlib.suppress(RuntimeError):  # no event loop at the very end
                asyncio.get_running_loop().remove_reader(service.fileno())
            service.kill()
        for answer in self._answers.values():
            if answer.done():
                continue
            if reply is None:
                answer.set_exception(EOFError())
            else:
                answer.set_result(reply)
        self._answers = {}

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self._end()


def result_of(reply: Reply) -> Any:
    """Return the answer in a reply; log exceptions of the worker, which users do not see."""
    try:
        return reply.result()
    except ServiceError as error:
        log.error("a worker process failed:\n%s", error.details)
        raise RequestError(500, FAILURE) from error


@dataclass(frozen=True)
class PastPage:
    """A previous page of a session, and the action chosen there."""

    text: str
    actions: tuple[str, ...]
    choice: int
    reward: float
    by: str  # person or agent

    @property
    def length(self) -> int:
        return len(self.text) + sum(map(len, self.actions))


class SessionPage(Page):
    """The current page of a session, as sent to the browser."""

    session: str
    game: str
    seed: int
    player: str | None
    steps: int
    undone: int
    recorded: bool


class SessionHistory(SessionPage):
    """The current page with the previous ones."""

    history: list[PastPage]


@dataclass
class Session:
    """A game that a person plays in one tab of a browser."""

    id: str
    entry: GameEntry
    seed: int
    player: str | None = None
    choices: list[int] = field(default_factory=list)
    by: list[str] = field(default_factory=list)  # who took each step: person or agent
    past: list[PastPage] = field(default_factory=list)  # the last pages, up to MAX_HISTORY
    page: Page = field(default_factory=lambda: NO_PAGE)
    undone: int = 0
    recorded: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def step(self, choice: int, by: str, page: Page) -> None:
        """Go to the page that an action led to."""
        old = self.page
        self.past.append(PastPage(old["text"], tuple(old["actions"]), choice, old["reward"], by))
        while sum(past.length for past in self.past) > MAX_HISTORY:
            self.past.pop(0)
        self.page = page
        self.choices.append(choice)
        self.by.append(by)

    def restart(self, seed: int) -> None:
        """Start a new episode."""
        self.seed = seed
        self.choices = []
        self.by = []
        self.past = []
        self.undone = 0
        self.recorded = False

    def is_repeated(self, history: int) -> bool:
        """Whether this episode had the page before, for an agent that sees `history` past pages."""
        texts = [*(page.text for page in self.past), self.page["text"]]
        moves = [page.actions[page.choice] for page in self.past]

        def view(index: int) -> tuple[list[str], list[str]]:
            first = max(0, index - history)
            return texts[first : index + 1], moves[first:index]

        now = view(len(texts) - 1)
        return any(view(index) == now for index in range(len(texts) - 1))

    def as_json(self) -> SessionPage:
        page = self.page
        stopped = not page["ended"] and (page["stopped"] or len(self.choices) >= MAX_STEPS)
        return {
            **page,
            "stopped": stopped,
            "session": self.id,
            "game": self.entry.id,
            "seed": self.seed,
            "player": self.player,
            "steps": len(self.choices),
            "undone": self.undone,
            "recorded": self.recorded,
        }

    def with_history(self) -> SessionHistory:
        return {**self.as_json(), "history": self.past}


class Sessions:
    """All sessions by id; their number is limited, and idle ones end."""

    def __init__(self) -> None:
        self.by_id: dict[str, Session] = {}

    def __getitem__(self, id: str) -> Session:  # noqa: A002
        session = self.by_id.get(id)
        if session is None:
            raise RequestError(
                404, "This game is over: it was idle for too long, or the server was restarted."
            )
        session.used = time.monotonic()
        return session

    def new(self, entry: GameEntry, seed: int, player: str | None) -> Session:
        """Create a session, unless there are too many and none is idle."""
        is_full = len(self.by_id) >= MAX_SESSIONS
        oldest = time.monotonic() - (FULL_IDLE_SECONDS if is_full else IDLE_SECONDS)
        self.by_id = {id_: each for id_, each in self.by_id.items() if each.used >= oldest}
        if len(self.by_id) >= MAX_SESSIONS:
            raise RequestError(429, "Too many games are being played: try again in a few minutes.")
        session = Session(secrets.token_urlsafe(12), entry, seed, player)
        self.by_id[session.id] = session
        return session

    def drop(self, session: Session) -> None:
        self.by_id.pop(session.id, None)

    def drop_game(self, entry: GameEntry) -> None:
        self.by_id = {id_: each for id_, each in self.by_id.items() if each.entry.id != entry.id}


class Services:
    """The state of one server: games, sessions, runs, play-tests and worker processes."""

    def __init__(self, library: Library, runs: Path, *, shared: bool = False) -> None:
        self.library = library
        self.shared = shared
        self.sessions = Sessions()
        self.runs = RunFolder(runs, library)
        self.playtests = PlayTests()
        self.facts = FactsTable()
        self.adviser = AsyncService(AdviceWorker)
        self.opener = AsyncService(OpeningWorker)
        self.uploading = asyncio.Lock()
        self.closing = False  # ends event streams
        self._closed = False
        self._streams = 0
        self._spare = AsyncService(GameWorker, AHEAD)
        self._games: OrderedDict[str, AsyncService] = OrderedDict()  # last used last

    async def ask_game(self, entry: GameEntry, method: str, *arguments: Any) -> Any:
        """Ask the process that plays a game."""
        return await self.game_process(entry).ask(method, entry.spec, *arguments, timeout=60)

    def game_process(self, entry: GameEntry) -> AsyncService:
        """Return the process that plays a game; close the least recently used idle ones."""
        process = self._games.pop(entry.id, None)
        if process is None:
            process = self._spare
            self._spare = AsyncService(GameWorker, AHEAD)
            self._spare.start()
        self._games[entry.id] = process
        idle = [id_ for id_, each in self._games.items() if not each.waiting and id_ != entry.id]
        for id_ in idle[: max(0, len(self._games) - MAX_GAME_PROCESSES)]:
            self._games.pop(id_).close()
        return process

    def forget(self, entry: GameEntry) -> None:
        """End everything that uses a game, because it was removed."""
        if process := self._games.pop(entry.id, None):
            process.close()
        self.sessions.drop_game(entry)
        self.playtests.forget(entry)
        self.facts.forget(entry)

    def start(self) -> None:
        """Start a process for the first game."""
        self._spare.start()

    def close(self) -> None:
        """End every process except training runs."""
        self.closing = True
        if self._closed:
            return
        self._closed = True
        for process in (*self._games.values(), self._spare, self.adviser, self.opener):
            process.close()
        self.playtests.close()
        self.facts.close()

    def event_stream(self, poll: Poll) -> StreamingResponse:
        """Return a response of server-sent events; `poll` is called repeatedly in a thread."""
        if self._streams >= MAX_STREAMS:
            raise RequestError(429, "Too many open event streams: try again in a moment.")
        return StreamingResponse(self._events(poll), media_type="text/event-stream")

    async def _events(self, poll: Poll) -> AsyncIterator[str]:
        self._streams += 1
        silent = 0.0
        try:
            yield "retry: 2000\n\n"
            while not self.closing:
                try:
                    events, is_last = await asyncio.to_thread(poll)
                except RequestError as error:  # the subject of the events was removed
                    events = [("gone", {"error": error.sentence})]
                    is_last = True
                for name, data in events:
                    text = json.dumps(as_json(data), ensure_ascii=False)
                    yield f"event: {name}\ndata: {text}\n\n"
                if is_last:
                    return
                silent = 0.0 if events else silent + POLL_SECONDS
                if silent > SILENT_SECONDS:
                    silent = 0.0
                    yield ": alive\n\n"
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._streams -= 1


def services_of(request: Request) -> Services:
    """Return the services of the server that received a request."""
    services: Services = request.app.state.services
    return services
