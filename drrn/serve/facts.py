"""What a game is in a few numbers, where it can be compiled soon: asked once of a process, for all who look."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from drrn.errors import InputError
from drrn.serve.answers import Refusal
from drrn.serve.library import GameEntry
from drrn.serve.playtests import PlayTestJob, close_job

FACTS_SECONDS = 15  # that a game may take
ASKED_AGAIN = 60.0  # seconds after which one is asked again that took too long: the machine may have been busy
MOST_AT_ONCE = 2
TOO_LONG = f"Its pages were not counted, which takes more than {FACTS_SECONDS} seconds; the play-test looks longer."

Facts = tuple[dict[str, Any] | None, str | None]  # of a game, or why there are none


class FactsTable:
    """The facts of games that were looked into; a time-out is forgotten after a while, a reason in the story is not."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Facts, float]] = {}  # until when they are believed
        self._asking: dict[str, asyncio.Task[Facts]] = {}
        self._jobs: dict[str, PlayTestJob] = {}
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)

    async def of(self, entry: GameEntry) -> Facts:
        """The facts of a game; whoever asks while they are being found waits for the same answer."""
        facts, until = self._known.get(entry.id, ((None, None), 0.0))
        if time.monotonic() < until:
            return facts
        if entry.id not in self._asking:
            task = self._asking[entry.id] = asyncio.create_task(self._found(entry))
            task.add_done_callback(lambda _: self._asking.pop(entry.id, None))
        return await asyncio.shield(self._asking[entry.id])  # who asked first may go away

    async def _found(self, entry: GameEntry) -> Facts:
        async with self._turn:
            job = self._jobs[entry.id] = PlayTestJob("", entry, None, "done", "")
            believed = float("inf")
            try:
                asked = asyncio.get_running_loop().run_in_executor(
                    job.thread, job.ask, ("facts",), FACTS_SECONDS
                )
                found: Facts = (await asked, None)
            except InputError as error:
                found = (None, f"Not all of its states are known. {error}")
            except Refusal:
                found = (None, TOO_LONG)
                believed = time.monotonic() + ASKED_AGAIN
            finally:
                close_job(self._jobs.pop(entry.id))
        self._known[entry.id] = (found, believed)
        return found

    def forget(self, entry: GameEntry) -> None:
        """A game is removed."""
        if task := self._asking.pop(entry.id, None):
            task.cancel()
        self._known.pop(entry.id, None)

    def close(self) -> None:
        """End the processes that are being asked."""
        for job in list(self._jobs.values()):
            close_job(job)
