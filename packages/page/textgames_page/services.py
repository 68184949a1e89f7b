"""State that the routes share: play-tests and worker processes."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from textgames.errors import InputError
from textgames.files import home, json_or_none, write
from textgames_page.advice_worker import AdviceWorker
from textgames_page.async_service import AsyncService
from textgames_page.game_worker import GameWorker, OpeningWorker
from textgames_page.http import explanation, log
from textgames_page.library import GameEntry, Library
from textgames_page.limits import Limits
from textgames_page.products import AGENTS, STORIES, needed

if TYPE_CHECKING:
    from textgames_page.runs import RunFolder

Inspection = tuple[dict[str, Any] | None, str | None]  # findings, or why there are none


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
            self.stopping = False
            self.service.interrupt()

    def _save(self) -> None:
        data = {"source": self.entry.spec.source, "when": self.when, "result": self.result}
        try:
            write(result_file(self.entry), json.dumps(data, ensure_ascii=False))
        except (OSError, InputError) as error:
            log.error("the result of a play-test was not saved: %s", error)

    def stop(self) -> None:
        """Interrupt the test, which then returns its results so far."""
        self.stopping = self.status == "running"


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
    """The state of one server: games, runs, play-tests and worker processes."""

    def __init__(
        self, library: Library, runs: Path, *, shared: bool = False, limits: Limits | None = None
    ) -> None:
        self.library = library
        self.shared = shared
        self.limits = limits or Limits()
        self.playtests = PlayTests(library, self.limits)
        self._runs_folder = runs
        self._tables = {"game": library, "test": self.playtests}
        self.adviser = AsyncService(AdviceWorker)
        self.opener = AsyncService(OpeningWorker)
        self.uploading = asyncio.Lock()
        self._inspecting = asyncio.Semaphore(self.limits.inspections)
        self._inspections: dict[str, asyncio.Task[Inspection]] = {}
        self._games: dict[str, AsyncService] = {}  # last used last

    @cached_property
    def runs(self) -> "RunFolder":
        """The training runs. An InputError if the agent is not installed."""
        with needed(AGENTS):
            from textgames_page.runs import RunFolder

        return RunFolder(self._runs_folder, self.library, self.limits.runs)

    def find(self, kind: str, part: Any) -> Any:
        """What a part of a path names: a game, run or test by its id."""
        table: Any = self.runs if kind == "run" else self._tables.get(kind)
        return part if table is None else table[part]

    async def ask_game(self, entry: GameEntry, method: str, *arguments: Any) -> Any:
        """Ask the process that plays a game."""
        process = self.game_process(entry)
        return await process.ask(method, *arguments, timeout=self.limits.seconds)

    def game_process(self, entry: GameEntry) -> AsyncService:
        """The process that plays a game. The least recently used idle ones are closed."""
        process = self._games.pop(entry.id, None) or AsyncService(GameWorker, entry.spec)
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
        self.playtests.forget(entry)
        if task := self._inspections.pop(entry.id, None):
            task.cancel()

    def close(self) -> None:
        """End every process except training runs."""
        for process in (*self._games.values(), self.adviser, self.opener):
            process.close()
        self.playtests.close()
        for task in self._inspections.values():
            task.cancel()
