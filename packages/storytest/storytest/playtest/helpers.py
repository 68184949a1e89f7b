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

    def play(self, budget: Budget) -> Evidence:
        """Play until the budget is spent, or an interrupt. The start of the process counts."""
        meter = Meter(budget, start=clock() - work())
        self.games.meter = meter
        last_report = clock()
        with contextlib.suppress(KeyboardInterrupt):
            while meter.spent < 1 and self.evidence.random.games < budget.games:
                self.games.type_words()
                self.games.play_next(1.0)
                if clock() > last_report + 1.0:
                    report(None)  # raises an interrupt that has arrived
                    last_report = clock()
        return replace(self.evidence, forbidden={})  # conditions cannot be sent

    def close(self) -> None:
        """Close the engines."""
        close(self.game)


class Helpers:
    """The processes that a play-test started."""

    def __init__(self, game: Game, jobs: int) -> None:
        spec = getattr(game, SPEC, None)
        can_be_opened = isinstance(spec, GameSpec) and isinstance(game, AuthoredGame)
        self.jobs = jobs if can_be_opened else 1
        self._spec = spec
        self._fingerprint = str(getattr(game, "fingerprint", ""))
        self._services: list[Service] = []

    def start(self, budget: Budget, worth: float = 1.0) -> None:
        """Start the processes, once, unless fewer seconds are left than are `worth` a start."""
        if self._services or budget.seconds < worth:
            return
        for number in range(1, self.jobs):
            arguments = (self._spec, self._fingerprint, number, self.jobs)
            service = Service(Helper, *arguments, quiet=True)
            service.send("play", budget)
            self._services.append(service)

    def finish(self, patience: float = 10.0, *, interrupt: bool = False) -> list[Evidence]:
        """End the processes and return what they observed, except those that failed.

        Args:
            patience: The seconds in which they may end their last games.
            interrupt: Whether to stop their games at once.
        """
        deadline = time.monotonic() + patience
        results = []
        for service in self._services:
            with contextlib.suppress(InputError, ServiceError):
                service.open(max(0.0, deadline - time.monotonic()))
                if interrupt:
                    service.interrupt()
                results.append(service.answer(1, max(0.0, deadline - time.monotonic())))
            service.kill()
        self._services = []
        return results
