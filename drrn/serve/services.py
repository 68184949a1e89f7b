"""What the routes share: the table of games, the sessions, and the processes that play, advise and test."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import Any

from starlette.requests import Request

from drrn.serve.advice_process import serve_advice
from drrn.serve.asking import AskedProcess
from drrn.serve.facts import FactsTable
from drrn.serve.game_process import serve_game, serve_opening
from drrn.serve.library import GameEntry, Library
from drrn.serve.playtests import PlayTests
from drrn.serve.run_starting import Trainings
from drrn.serve.runs import RunShelf
from drrn.serve.sessions import SessionTable

AHEAD = 16  # questions that a game's process is sent at once; each is a few kB at most
MOST_GAME_PROCESSES = 6  # games that are open at once; one more, and the longest unused is closed


class Services:
    """One server's things."""

    def __init__(self, library: Library, runs: Path, *, shared: bool = False) -> None:
        self.library = library
        self.shared = shared
        self.sessions = SessionTable()
        self.runs = RunShelf(runs, library)
        self.trainings = Trainings(self.runs)
        self.playtests = PlayTests()
        self.adviser = AskedProcess(serve_advice)
        self.opener = AskedProcess(serve_opening)
        self.facts = FactsTable()
        self.closing = False  # the server is about to end: streams of events end, too
        self.streams = 0  # of events that are open
        self._closed = False
        self._spare = AskedProcess(serve_game, ahead=AHEAD)
        self.uploading = asyncio.Lock()
        self._warming: asyncio.Task[Any] | None = None
        self._games: OrderedDict[str, AskedProcess] = OrderedDict()  # the last used one last

    async def ask_game(self, entry: GameEntry, *question: Any, seconds: float = 60.0) -> Any:
        """Ask the process that plays a game; a story that is played by its own engine is opened with the first
        question."""
        return await self.playing(entry).ask(entry.recipe, *question, seconds=seconds)

    def playing(self, entry: GameEntry) -> AskedProcess:
        """The process that plays a game; of those that nobody waits for, the longest unused gives way."""
        found = self._games.pop(entry.id, None) or self._spare_process()
        self._games[entry.id] = found
        idle = [
            id_ for id_, process in self._games.items() if not process.waiting and id_ != entry.id
        ]
        for id_ in idle[: max(0, len(self._games) - MOST_GAME_PROCESSES)]:
            self._games.pop(id_).stop()
        return found

    def _spare_process(self) -> AskedProcess:
        """A process that has been begun already; another is begun for the next game."""
        found = self._spare
        self._spare = AskedProcess(serve_game, ahead=AHEAD)
        self._spare.prepare()
        return found

    def warm_adviser(self) -> None:
        """Have the process of agents begun, so that the first question need not wait for PyTorch."""
        if not self._warming:
            self._warming = asyncio.create_task(self.adviser.ask(seconds=60))

    def forget(self, entry: GameEntry) -> None:
        """A game is removed: nobody plays or tests it any more."""
        if process := self._games.pop(entry.id, None):
            process.stop()
        for session in [one for one in self.sessions.sessions.values() if one.entry.id == entry.id]:
            self.sessions.drop(session)
        self.playtests.forget(entry)
        self.facts.forget(entry)

    def prepare(self) -> None:
        """Begin the processes that whoever opens the page will need."""
        self._spare.prepare()

    def close(self) -> None:
        """End every process but those that train."""
        self.closing = True
        if self._closed:
            return
        self._closed = True
        for process in (*self._games.values(), self._spare, self.adviser, self.opener):
            process.stop()
        self.playtests.close()
        self.facts.close()


def services_of(request: Request) -> Services:
    """The services of the server that a request came to."""
    found: Services = request.app.state.services
    return found
