"""Play-tests of the page: started, watched, stopped; the last result of each game is saved."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from drrn.errors import InputError
from drrn.files import home
from drrn.serve.async_service import AsyncService
from drrn.serve.http import explanation, log
from drrn.serve.library import GameEntry, Library
from drrn.serve.playtest_worker import PlayTestWorker
from drrn.serve.runs import read_json, write_json

MAX_RUNNING = 2
MAX_ENDED = 4  # in memory, with processes that can be asked about their maps
EXTRA_SECONDS = 60  # for opening and solving the story, beyond the time of the test
QUESTION_SECONDS = 60


def results_folder() -> Path:
    """Return the folder with the last result of each game."""
    return home() / "serve" / "tests"


@dataclass
class PlayTest:
    """A play-test: running, done, or read from its file."""

    entry: GameEntry
    seconds: float = 0.0
    status: str = "running"  # running, done or failed
    progress: str = "opening the story"
    error: str | None = None
    result: dict[str, Any] | None = None  # see `PlayTestWorker.test`
    start: float = field(default_factory=time.monotonic)
    stopping: bool = False
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.service = AsyncService(PlayTestWorker, self.entry.spec, on_report=self._report)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "seconds": self.seconds,
            "elapsed": round(time.monotonic() - self.start, 2),
            "progress": self.progress,
            "error": self.error,
            "report": self.result["report"] if self.result else None,
        }

    def part(self, name: str) -> Any:
        """Return a part of the result."""
        if self.result is None:
            raise HTTPException(404, "The play-test is not done.")
        return self.result[name]

    async def run(self) -> None:
        """Run the test and save its result."""
        try:
            timeout = self.seconds + EXTRA_SECONDS
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
        path = results_folder() / f"{self.entry.id}.json"
        data = {"source": self.entry.spec.source, "result": self.result}
        try:
            write_json(path, data)
        except (OSError, InputError) as error:
            log.error("%s: the result was not saved: %s", path, error)

    def stop(self) -> None:
        """Interrupt the test, which then returns what it has found."""
        self.stopping = True
        if self.status == "running":
            self.service.interrupt()


class PlayTests:
    """The last play-test of each game, by the id of the game."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.by_game: dict[str, PlayTest] = {}  # last used last

    def __getitem__(self, id: str) -> PlayTest:  # noqa: A002
        test = self.by_game.pop(id, None) or _saved_test(self.library[id])
        if test is None:
            raise HTTPException(404, "This story has not been tested yet.")
        self._add(test)
        return test

    def start(self, entry: GameEntry, seconds: float) -> PlayTest:
        """Start a test; it replaces an earlier test of the game."""
        running = [test for test in self.by_game.values() if test.status == "running"]
        if any(test.entry.id == entry.id for test in running):
            raise HTTPException(409, "This story is being tested.")
        if len(running) >= MAX_RUNNING:
            raise HTTPException(429, f"{MAX_RUNNING} play-tests are running: try again later.")
        self.forget(entry)
        test = PlayTest(entry, seconds)
        self._add(test)
        test.task = asyncio.create_task(test.run())
        return test

    async def ask(self, test: PlayTest, method: str, *arguments: Any) -> Any:
        """Ask the process of a test that has ended."""
        if test.status == "running":
            raise HTTPException(409, "The play-test is running.")
        return await test.service.ask(method, *arguments, timeout=QUESTION_SECONDS)

    def _add(self, test: PlayTest) -> None:
        """Add a test; drop those not used for long, which are read again from their files."""
        ended = [each for each in self.by_game.values() if each.status != "running"]
        for each in ended[: max(0, len(ended) - MAX_ENDED)]:
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
    """Return the saved test of a game; None if there is none, or it belongs to another story."""
    data = read_json(results_folder() / f"{entry.id}.json")
    try:
        if data is None or data["source"] != entry.spec.source:
            return None
        return PlayTest(entry, status="done", result=dict(data["result"]))
    except (KeyError, TypeError):
        return None
