"""The time that experiments will yet take, estimated from what was measured so far."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from drrn.experiments.plan import cost
from drrn.experiments.running import Work
from drrn.experiments.workers import Event

Job = tuple[str, str]


@dataclass
class Estimate:
    """An estimate of the time left: jobs have relative costs, and what was measured turns them into seconds.

    A job is its start (a process, PyTorch, the game), its rounds, and what is measured at its end. The start is told
    from the rounds, else the first of them would promise hours.
    """

    works: list[Work]
    side_by_side: int
    done: dict[Job, float] = field(default_factory=dict)  # seconds
    first: dict[Job, tuple[float, float]] = field(default_factory=dict)  # share and seconds at the first round heard of
    last: dict[Job, tuple[float, float]] = field(default_factory=dict)  # the same at the latest

    def hear(self, event: Event) -> None:
        key = (event.work.game, event.work.name)
        if event.kind == "round":
            self.last[key] = (event.rounds / event.work.settings.rounds, event.seconds)
            self.first.setdefault(key, self.last[key])
        elif event.kind in ("done", "failed"):
            self.done[key] = event.seconds

    def seconds_left(self) -> float | None:
        """Seconds until all jobs are done: all that is left shared by the processes, and no less than the longest job;
        None while nothing was measured."""
        rate = self._seconds_a_cost()
        if rate is None:
            return None
        starts = [seconds - self._a_round(key) * rate for key, (_, seconds) in self.first.items()]
        ends = [self.done[key] - self.last[key][1] for key in self.done if key in self.last]
        start, end = (max(0.0, statistics.fmean(times)) if times else 0.0 for times in (starts, ends))
        left = [0.0]
        for key, whole in self._costs().items():
            if key not in self.done:
                share = self.last[key][0] if key in self.last else 0.0
                left.append((1 - share) * whole * rate + end + (0.0 if key in self.last else start))
        return max(sum(left) / max(1, self.side_by_side), max(left))

    def _seconds_a_cost(self) -> float | None:
        """What a unit of cost takes, by the rounds after the first of each job; else by jobs that are done whole."""
        costs = self._costs()
        spent = sum(seconds - self.first[key][1] for key, (_, seconds) in self.last.items())
        measured = sum((share - self.first[key][0]) * costs[key] for key, (share, _) in self.last.items())
        if not measured:
            whole = [key for key in self.done if key in costs]
            spent, measured = sum(self.done[key] for key in whole), sum(costs[key] for key in whole)
        return spent / measured if measured else None

    def _costs(self) -> dict[Job, float]:
        """The cost of each job; a game's facts come first, and take a few seconds whatever the settings."""
        return {(work.game, work.name): cost(work.game, work.variant) for work in self.works if work.variant}

    def _a_round(self, key: Job) -> float:
        """The cost of one round of a job."""
        rounds = next(work.settings.rounds for work in self.works if (work.game, work.name) == key)
        return self._costs()[key] / rounds


def told(seconds: float | None) -> str:
    """A time in words."""
    if seconds is None:
        return "time left not known yet"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left"
