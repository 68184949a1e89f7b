"""What is running, how much is done, and how long it will yet take."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from drrn.lab.experiments.estimate import Estimate, told
from drrn.lab.experiments.workers import ENDED
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.running import Work
    from drrn.lab.experiments.workers import Crew, Event


class jobs_display:  # noqa: N801 — used as a verb
    """A live table where a person looks on and rich is installed; a line for each finished job elsewhere, and one at
    the beginning that tells how long all will take."""

    def __init__(
        self, works: list[Work], crew: Crew, seconds_a_cost: float, until: float | None = None
    ) -> None:
        self.total = len(works)
        self.finished = 0
        self.crew = crew
        self.until = until  # a moment of the monotonic clock, after which no job is begun
        self.estimate = Estimate(works, crew.places(), seconds_a_cost)
        self.running: dict[str, Event] = {}
        self.since: dict[str, float] = {}
        self.live: Any = None

    def __enter__(self) -> jobs_display:
        if sys.stdout.isatty():
            try:
                from rich.live import Live

                self.live = Live(get_renderable=self._shown, refresh_per_second=2, transient=True)
                self.live.start()
            except ImportError:
                pass
        if self.total and not self.live:
            print(f"{self._left()}, {self.crew.places()} at a time", flush=True)
        return self

    def __call__(self, event: Event) -> None:
        self.estimate.hear(event)
        name = f"{event.work.game} {event.work.name}"
        self.since.setdefault(name, time.perf_counter())
        if event.kind in ENDED:
            self.running.pop(name, None)
            self.finished += event.kind != "lost"
            self._say(event, name)
        else:
            self.running[name] = event

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def _say(self, event: Event, name: str) -> None:
        score = "" if event.score is None else f"  {event.score:6.2f}"
        why = visible(event.why.strip().splitlines()[-1]) if event.why else ""
        ended = {"done": "", "failed": f"  FAILED: {why}", "lost": f"  {why}: it is done again"}[
            event.kind
        ]
        left = self._left() if self.finished < self.total else "all done"
        total = f"/{self.total}" if self.until is None else ""
        line = f"[{self.finished:>3}{total}] {name:<45}{event.seconds:6.0f} s{score}{ended}  {left}"
        if self.live:
            self.live.console.print(line, highlight=False, markup=False)
        else:
            print(line, flush=True)

    def _shown(self) -> Any:
        """What is on the screen, drawn anew twice a second."""
        from rich.console import Group
        from rich.table import Table

        table = Table(box=None)
        for column in ("running", "round", "score", "seconds"):
            table.add_column(column, justify="left" if column == "running" else "right")
        for name, event in list(self.running.items()):
            rounds = (
                f"{event.rounds}/{event.work.settings.run.rounds}" if event.work.variant else ""
            )
            score = "" if event.score is None else f"{event.score:.2f}"
            table.add_row(name, rounds, score, f"{time.perf_counter() - self.since[name]:.0f}")
        return Group(f"\n{self.finished} of {self.total} jobs done, {self._left()}", table)

    def _left(self) -> str:
        self.estimate.side_by_side = self.crew.places()  # a cluster grows and shrinks
        seconds = self.estimate.seconds_left()
        if self.until is not None:  # what is begun by then is done yet
            seconds = min(
                seconds, max(0.0, self.until - time.monotonic()) + self.estimate.seconds_of_a_job()
            )
        return told(seconds)
