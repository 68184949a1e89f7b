"""Processes that play a story next to the play-test, each with its own games."""

import contextlib
import time
from dataclasses import replace

from storytest.authored import AuthoredGame
from storytest.playtest.budget import Budget, Meter
from storytest.playtest.evidence import Evidence
from storytest.playtest.play import Games
from storytest.search import clock
from textgames.errors import InputError
from textgames.game.contract import Game, close
from textgames.openers import SPEC, GameSpec
from textgames.processes import Service, ServiceError, report, work


class Helper:
    """Plays in a separate process. See `Service`."""

    def __init__(self, spec: GameSpec, fingerprint: str, first: int, stride: int) -> None:
        self.game = spec.open()
        if getattr(self.game, "fingerprint", "") != fingerprint:
            raise InputError(f"{spec.source}: the story was changed during the test")
        forbidden = self.game.rules.forbidden if isinstance(self.game, AuthoredGame) else {}
        self.evidence = Evidence(forbidden)
        self.games = Games(self.game, self.evidence, first=first, stride=stride)

    def play(self, budget: Budget, interval: float = 2.0, growth: float = 1.3) -> Evidence:
        """Play, and report the evidence meanwhile. The start of the process counts.

        Args:
            budget: How much to play.
            interval: Seconds until the first report.
            growth: The factor of each later interval. A process that dies loses little.
        """
        meter = Meter(budget, start=clock() - work())
        self.games.meter = meter
        next_report = clock() + interval
        while meter.spent < 1 and self.evidence.random.games < budget.games:
            self.games.type_words()
            self.games.play_next(1.0)
            if clock() > next_report:
                report(self._parcel())
                interval *= growth
                next_report = clock() + interval
        return self._parcel()

    def _parcel(self) -> Evidence:
        return replace(self.evidence, forbidden={})  # conditions cannot be sent

    def close(self) -> None:
        """Close the engines."""
        close(self.game)


class Helpers:
    """The processes that a play-test started, with the last report of each."""

    def __init__(self, game: Game, jobs: int) -> None:
        spec = getattr(game, SPEC, None)
        can_be_opened = isinstance(spec, GameSpec) and isinstance(game, AuthoredGame)
        self.jobs = jobs if can_be_opened else 1
        self._spec = spec
        self._fingerprint = str(getattr(game, "fingerprint", ""))
        self._services: dict[Service, Evidence | None] = {}
        self._running: set[Service] = set()

    @property
    def games(self) -> int:
        """The random games that were reported so far."""
        return sum(evidence.random.games for evidence in self._services.values() if evidence)

    def start(self, budget: Budget, worth: float = 1.0) -> None:
        """Start the processes, once, unless fewer seconds are left than are `worth` a start."""
        if self._services or budget.seconds < worth:
            return
        for number in range(1, self.jobs):
            arguments = (self._spec, self._fingerprint, number, self.jobs)
            service = Service(Helper, *arguments, quiet=True)
            service.send("play", budget)
            self._services[service] = None
            self._running.add(service)

    def read(self, wait: float = 0.0) -> None:
        """Read the reports that have arrived. A process that died or failed plays no longer."""
        for service in list(self._running):
            with contextlib.suppress(OSError):
                if not service.connection.poll(wait):
                    continue
            try:
                reply = service.receive(0.0)
                evidence = reply.result()
            except (InputError, ServiceError):
                self._running.discard(service)
                continue
            if isinstance(evidence, Evidence):
                self._services[service] = evidence
                if reply.kind == "answer":
                    self._running.discard(service)

    def finish(self, patience: float = 10.0) -> list[Evidence]:
        """End the processes and return their last reports.

        Each has `patience` seconds in which it may end its last game.
        """
        deadline = time.monotonic() + patience
        while self._running and time.monotonic() < deadline:
            self.read(0.1)
        for service in self._services:
            service.kill()
        reports = [evidence for evidence in self._services.values() if evidence]
        self._services = {}
        return reports
