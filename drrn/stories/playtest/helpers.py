"""Other processes of a play-test: each plays games of its own, and reports what it observes."""

import contextlib
import time
from time import process_time

from drrn.errors import InputError
from drrn.game.contract import Game, close
from drrn.game.make import SPEC, GameSpec
from drrn.processes import Service, ServiceError, report
from drrn.stories.authored import AuthoredGame
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.play import Games
from drrn.stories.search import clock

MIN_SECONDS = 1.0  # of play for which a process is worth its start
REPORT_SECONDS = 2.0  # of play until the first report
MAX_GAMES = 20_000  # random ones, of one process
GROWTH = 1.3  # of the time until the next report: a process that dies loses little
MAX_JOBS = 64
LAST_SECONDS = 10.0  # at most, in which a process ends its last game


class Helper:
    """Plays in a process of its own; see `Service`."""

    def __init__(self, spec: GameSpec, fingerprint: str, first: int, stride: int) -> None:
        self.game = spec.open()
        if getattr(self.game, "fingerprint", "") != fingerprint:
            raise InputError(f"{spec.source}: the story was changed during the test")
        forbidden = self.game.rules.forbidden if isinstance(self.game, AuthoredGame) else {}
        self.evidence = Evidence(forbidden)
        self.games = Games(self.game, self.evidence, first=first, stride=stride)

    def play(self, seconds: float) -> Evidence:
        """Play for some CPU seconds since the process started; report the evidence meanwhile."""
        start = clock()
        end = start - process_time() + seconds
        interval = REPORT_SECONDS
        next_report = start + interval
        while clock() < end and self.evidence.random.games < MAX_GAMES:
            self.games.type_words()
            self.games.play_next(start, end)
            if clock() > next_report:
                report(self._parcel())
                interval *= GROWTH
                next_report = clock() + interval
        return self._parcel()

    def _parcel(self) -> Evidence:
        """Return the evidence as it can be sent: conditions stay here."""
        parcel = Evidence()
        parcel.__dict__.update(self.evidence.__dict__, forbidden={})
        return parcel

    def close(self) -> None:
        """Close the engines."""
        close(self.game)


class Helpers:
    """The processes that a play-test started, with the last report of each."""

    def __init__(self, game: Game, jobs: int) -> None:
        spec = getattr(game, SPEC, None)
        can_be_opened = isinstance(spec, GameSpec) and isinstance(game, AuthoredGame)
        self.jobs = min(jobs, MAX_JOBS) if can_be_opened else 1
        self._spec = spec
        self._fingerprint = str(getattr(game, "fingerprint", ""))
        self._services: dict[Service, Evidence | None] = {}
        self._running: set[Service] = set()

    @property
    def games(self) -> int:
        """The random games that were reported so far."""
        return sum(evidence.random.games for evidence in self._services.values() if evidence)

    def start(self, seconds: float) -> None:
        """Start the processes, once, for some CPU seconds each."""
        if self._services or seconds < MIN_SECONDS:
            return
        for number in range(1, self.jobs):
            arguments = (self._spec, self._fingerprint, number, self.jobs)
            service = Service(Helper, *arguments, quiet=True)
            service.send("play", seconds)
            self._services[service] = None
            self._running.add(service)

    def read(self, wait: float = 0.0) -> None:
        """Read the reports that have arrived; one that died or failed plays no longer."""
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

    def finish(self, *, wait: bool) -> list[Evidence]:
        """Return the last report of each process, and end it; `wait` for its last game."""
        deadline = time.monotonic() + LAST_SECONDS
        while wait and self._running and time.monotonic() < deadline:
            self.read(0.1)
        for service in self._services:
            service.kill()
        reports = [evidence for evidence in self._services.values() if evidence]
        self._services = {}
        return reports
