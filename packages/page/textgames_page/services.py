"""State that the routes share: play sessions, play-tests and worker processes."""

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from textgames.errors import InputError
from textgames.files import home, json_or_none, write
from textgames_page.advice_worker import AdviceWorker
from textgames_page.async_service import AsyncService
from textgames_page.game_worker import GameWorker, Move, OpeningWorker, Page
from textgames_page.http import explanation, log
from textgames_page.library import GameEntry, Library
from textgames_page.limits import Limits
from textgames_page.products import AGENTS, STORIES, needed

if TYPE_CHECKING:
    from textgames_page.runs import RunFolder

Inspection = tuple[dict[str, Any] | None, str | None]  # findings, or why there are none


@dataclass(frozen=True)
class PastPage:
    """A previous page of a session, and the action chosen there."""

    text: str
    actions: tuple[str, ...]
    choice: int
    by: str  # person or agent
    reward: float = 0.0

    @property
    def length(self) -> int:
        return len(self.text) + sum(map(len, self.actions))


@dataclass
class Session:
    """A game that a person plays in one tab of a browser."""

    entry: GameEntry
    seed: int
    player: str | None = None
    limits: Limits = field(default_factory=Limits)
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    choices: list[int] = field(default_factory=list)
    # new values of variables, by the number of choices before them
    changes: dict[int, dict[str, Any]] = field(default_factory=dict)
    past: list[PastPage] = field(default_factory=list)  # the last ones
    page: Page = field(default_factory=Page)
    undone: int = 0
    assisted: bool = False  # the agent took a step, or it started in the middle
    recorded: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def stopped(self) -> bool:
        """Whether the game cannot continue although it has not ended."""
        return not self.page.ended and (self.page.stopped or len(self.choices) >= self.limits.steps)

    def moves(self, *more: int) -> list[Move]:
        """Return the moves of the episode, and more choices."""
        moves: list[Move] = []
        for number, choice in enumerate((*self.choices, *more, None)):
            moves += [self.changes[number]] if number in self.changes else []
            moves += [] if choice is None else [choice]
        return moves

    def undo(self) -> None:
        """Drop the last move: new values of variables, or a choice."""
        if self.changes.pop(len(self.choices), None) is None:
            del self.choices[-1], self.past[-1:]
        self.undone += 1

    def step(self, choice: int, by: str, page: Page) -> None:
        """Go to the page that an action led to."""
        last = self.page
        self.past.append(PastPage(last.text, last.actions, choice, by, last.reward))
        while sum(past.length for past in self.past) > self.limits.history:
            self.past.pop(0)
        self.page = page
        self.choices.append(choice)
        self.assisted |= by == "agent"

    def restart(self, seed: int) -> None:
        """Start a new episode."""
        self.seed = seed
        self.choices = []
        self.changes = {}
        self.past = []
        self.undone = 0
        self.assisted = False
        self.recorded = False

    def as_json(self) -> dict[str, Any]:
        names = ("stopped", "seed", "player", "undone", "recorded")
        own = {name: getattr(self, name) for name in names}
        own |= {"session": self.id, "steps": len(self.choices), "first": not self.moves()}
        return {**vars(self.page), **own}

    def with_history(self) -> dict[str, Any]:
        return {**self.as_json(), "history": self.past}


class Sessions:
    """All sessions by id. Their number is limited, and idle ones end."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.by_id: dict[str, Session] = {}

    def __getitem__(self, id: str) -> Session:  # noqa: A002
        session = self.by_id.get(id)
        if session is None:
            cause = "it was idle too long, or the server was restarted"
            raise HTTPException(404, f"This game has expired: {cause}.")
        session.used = time.monotonic()
        return session

    def add(self, session: Session) -> None:
        """Add a session, unless there are too many and none is idle."""
        limits = self.limits
        is_full = len(self.by_id) >= limits.sessions
        idle_seconds = limits.full_idle_seconds if is_full else limits.idle_seconds
        oldest = time.monotonic() - idle_seconds
        self.by_id = {id_: each for id_, each in self.by_id.items() if each.used >= oldest}
        if len(self.by_id) >= limits.sessions:
            raise HTTPException(429, "Too many games are being played. Try again in a few minutes.")
        self.by_id[session.id] = session

    def forget(self, entry: GameEntry) -> None:
        """End the sessions of a removed game."""
        self.by_id = {id_: each for id_, each in self.by_id.items() if each.entry.id != entry.id}


def result_file(entry: GameEntry) -> Path:
    """The file with the last result of a game."""
    return home() / "serve" / "tests" / f"{entry.id}.json"


@dataclass
class PlayTest:
    """A play-test: running, done, or read from its file."""

    entry: GameEntry
    seconds: float = 0.0
    more_seconds: float = Limits.seconds  # for opening and solving the story
    status: str = "running"  # running, done or failed
    progress: str = "opening the story"
    error: str | None = None
    result: dict[str, Any] | None = None  # see `PlayTestWorker.test`
    start: float = field(default_factory=time.monotonic)
    when: float = field(default_factory=time.time)
    stopping: bool = False
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        with needed(STORIES):
            from textgames_page.playtest_worker import PlayTestWorker

        self.service = AsyncService(PlayTestWorker, self.entry.spec, on_report=self._report)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "seconds": self.seconds,
            "elapsed": round(time.monotonic() - self.start, 2),
            "progress": self.progress,
            "error": self.error,
            "stale": self.stale,
            "report": self.result["report"] if self.result else None,
        }

    @property
    def stale(self) -> bool:
        """Whether the story's file has changed since."""
        return self.entry.modified > self.when

    def part(self, name: str) -> Any:
        """Return a part of the result."""
        if self.result is None:
            raise HTTPException(404, "The play-test has not finished.")
        return self.result[name]

    async def run(self) -> None:
        """Run the test and save its result."""
        try:
            timeout = self.seconds + self.more_seconds
            self.result = await self.service.ask("test", self.seconds, timeout=timeout)
            await asyncio.to_thread(self._save)
            self.status = "done"
        except Exception as error:
            self.error = explanation(error)[1]
            self.status = "failed"
            self.service.end()

    def _report(self, progress: str) -> None:
        self.progress = progress
        if self.stopping:
            self.service.interrupt()

    def _save(self) -> None:
        data = {"source": self.entry.spec.source, "when": self.when, "result": self.result}
        try:
            write(result_file(self.entry), json.dumps(data, ensure_ascii=False))
        except (OSError, InputError) as error:
            log.error("the result of a play-test was not saved: %s", error)

    def stop(self) -> None:
        """Interrupt the test, which then returns its results so far."""
        self.stopping = True
        if self.status == "running":
            self.service.interrupt()


class PlayTests:
    """The last play-test of each game, by the id of the game."""

    def __init__(self, library: Library, limits: Limits) -> None:
        self.library = library
        self.limits = limits
        self.by_game: dict[str, PlayTest] = {}  # last used last

    def __getitem__(self, id: str) -> PlayTest:  # noqa: A002
        test = self.by_game.pop(id, None) or _saved_test(self.library[id])
        if test is None:
            raise HTTPException(404, "This story has not been tested yet.")
        self._add(test)
        return test

    def start(self, entry: GameEntry, seconds: float) -> PlayTest:
        """Start a test. It replaces an earlier test of the game."""
        running = [test for test in self.by_game.values() if test.status == "running"]
        if any(test.entry.id == entry.id for test in running):
            raise HTTPException(409, "This story is already being tested.")
        if len(running) >= self.limits.tests:
            raise HTTPException(429, f"{len(running)} play-tests are running. Try again later.")
        self.forget(entry)
        test = PlayTest(entry, seconds, self.limits.seconds)
        self._add(test)
        test.task = asyncio.create_task(test.run())
        return test

    def _add(self, test: PlayTest) -> None:
        """Add a test. Those not used for long are dropped, and read again from their files."""
        ended = [each for each in self.by_game.values() if each.status != "running"]
        for each in ended[: max(0, len(ended) - self.limits.ended_tests)]:
            self.forget(each.entry)
        self.by_game[test.entry.id] = test

    def forget(self, entry: GameEntry) -> None:
        """Drop the test of a game."""
        if test := self.by_game.pop(entry.id, None):
            test.service.close()

    def close(self) -> None:
        for test in self.by_game.values():
            test.service.close()


def _saved_test(entry: GameEntry) -> PlayTest | None:
    """The saved test of a game, unless it belongs to another story."""
    data = json_or_none(result_file(entry))
    try:
        if data is None or data["source"] != entry.spec.source:
            return None
        when = float(data["when"])  # older versions have none, and no maps like ours
        return PlayTest(entry, status="done", result=dict(data["result"]), when=when)
    except (KeyError, TypeError):
        return None


class Services:
    """The state of one server: games, sessions, runs, play-tests and worker processes."""

    def __init__(
        self, library: Library, runs: Path, *, shared: bool = False, limits: Limits | None = None
    ) -> None:
        self.library = library
        self.shared = shared
        self.limits = limits or Limits()
        self.sessions = Sessions(self.limits)
        self.playtests = PlayTests(library, self.limits)
        self._runs_folder = runs
        self._tables = {"game": library, "session": self.sessions, "test": self.playtests}
        self.adviser = AsyncService(AdviceWorker)
        self.opener = AsyncService(OpeningWorker)
        self.uploading = asyncio.Lock()
        self._inspecting = asyncio.Semaphore(self.limits.inspections)
        self._inspections: dict[str, asyncio.Task[Inspection]] = {}
        self._spare = AsyncService(GameWorker)
        self._games: OrderedDict[str, AsyncService] = OrderedDict()  # last used last

    @cached_property
    def runs(self) -> "RunFolder":
        """The training runs. An InputError if the agent is not installed."""
        with needed(AGENTS):
            from textgames_page.runs import RunFolder

        return RunFolder(self._runs_folder, self.library, self.limits.runs)

    def find(self, kind: str, part: Any) -> Any:
        """What a part of a path names: a game, session, run or test by its id."""
        table: Any = self.runs if kind == "run" else self._tables.get(kind)
        return part if table is None else table[part]

    async def ask_game(self, entry: GameEntry, method: str, *arguments: Any) -> Any:
        """Ask the process that plays a game."""
        process = self.game_process(entry)
        return await process.ask(method, entry.spec, *arguments, timeout=self.limits.seconds)

    def game_process(self, entry: GameEntry) -> AsyncService:
        """The process that plays a game. The least recently used idle ones are closed."""
        process = self._games.pop(entry.id, None)
        if process is None:
            process = self._spare
            self._spare = AsyncService(GameWorker)
            self._spare.start()
        self._games[entry.id] = process
        idle = [id_ for id_, each in self._games.items() if not each.waiting and id_ != entry.id]
        for id_ in idle[: max(0, len(self._games) - self.limits.game_processes)]:
            self._games.pop(id_).close()
        return process

    async def inspect(self, entry: GameEntry) -> Inspection:
        """Return the findings of a game. Simultaneous requests share one process."""
        if entry.id not in self._inspections:
            self._inspections[entry.id] = asyncio.create_task(self._inspect(entry))
        return await asyncio.shield(self._inspections[entry.id])  # a client may disconnect

    async def _inspect(self, entry: GameEntry) -> Inspection:
        seconds = self.limits.seconds
        try:
            from textgames_page.playtest_worker import PlayTestWorker
        except ImportError:
            return None, STORIES
        async with self._inspecting:
            service = AsyncService(PlayTestWorker, entry.spec)
            try:
                return await service.ask("inspect", timeout=seconds), None
            except InputError as error:
                return None, f"Its states cannot all be counted. {error}"
            except HTTPException:
                self._inspections.pop(entry.id, None)  # it is tried again with the next request
                cause = f"Counting its pages takes over {seconds:g} seconds"
                return None, f"{cause}; a play-test allows more."
            finally:
                service.close()

    def forget(self, entry: GameEntry) -> None:
        """End everything that uses a game, because it was removed."""
        if process := self._games.pop(entry.id, None):
            process.close()
        self.sessions.forget(entry)
        self.playtests.forget(entry)
        if task := self._inspections.pop(entry.id, None):
            task.cancel()

    def start(self) -> None:
        """Start a process for the first game."""
        self._spare.start()

    def close(self) -> None:
        """End every process except training runs."""
        for process in (*self._games.values(), self._spare, self.adviser, self.opener):
            process.close()
        self.playtests.close()
        for task in self._inspections.values():
            task.cancel()
