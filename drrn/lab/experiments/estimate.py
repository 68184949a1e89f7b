"""The time that experiments will yet take: by what such jobs took before, until enough is measured anew."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from drrn.lab.experiments.plan import USUAL_SEEDS, cost
from drrn.lab.experiments.running import Work
from drrn.lab.experiments.workers import Event
from drrn.settings import PAPER

Job = tuple[str, str]
SECONDS = 5.5  # what a unit of cost took once, on one core of a machine of 2025
# seconds of a job before its first round and after its last, until they are measured
START = 1.0
END = 1.0
WEIGHT = 2.0  # units of cost that what was known before counts for beside what is measured
USUAL = PAPER.run.rounds * PAPER.run.episodes_per_round


def work_cost(work: Work) -> float:
    """How long a job will take, in no unit but comparable; a game's facts take a few seconds, whatever the settings."""
    if work.variant is None:
        return 0.0
    run = work.settings.run
    seeds = run.replicas / USUAL_SEEDS.get(type(work.variant), PAPER.run.replicas)
    return (
        cost(work.game, work.variant)
        * run.rounds
        * run.episodes_per_round
        / USUAL
        * (0.3 + 0.7 * seeds)
    )


def seconds_a_cost(done: Iterable[tuple[Work, float]]) -> float:
    """What a unit of cost takes, by jobs that were done in so many seconds; where there are none, as was usual once."""
    costs = 0.0
    seconds = 0.0
    for work, took in done:
        costs = costs + work_cost(work)
        seconds = seconds + took * (work.variant is not None)
    return seconds / costs if costs else SECONDS


@dataclass
class Estimate:
    """An estimate of the time left: jobs have relative costs, and what was measured turns them into seconds.

    A job is its start (a process, PyTorch, the game), its rounds, and what is measured at its end. The start is told
    from the rounds, else the first of them would promise hours.
    """

    works: list[Work]
    side_by_side: int
    before: float = SECONDS  # what a unit of cost took before
    done: dict[Job, float] = field(default_factory=dict)  # seconds
    first: dict[Job, tuple[float, float]] = field(
        default_factory=dict
    )  # share and seconds at the first round heard of
    last: dict[Job, tuple[float, float]] = field(default_factory=dict)  # the same at the latest
    costs: dict[Job, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.costs = {
            (work.game, work.name): work_cost(work) for work in self.works if work.variant
        }

    def hear(self, event: Event) -> None:
        key = (event.work.game, event.work.name)
        if event.kind == "round":
            self.last[key] = (event.rounds / event.work.settings.run.rounds, event.seconds)
            self.first.setdefault(key, self.last[key])
        elif event.kind in ("done", "failed"):
            self.done[key] = event.seconds
        elif event.kind == "lost":  # it is begun again
            for heard in (self.first, self.last):
                heard.pop(key, None)

    def seconds_left(self) -> float:
        """Seconds until all jobs are done: all that is left shared by the processes, and no less than the longest
        job."""
        rate = self._seconds_a_cost()
        starts = [
            seconds - share * self.costs[key] * rate for key, (share, seconds) in self.first.items()
        ]
        ends = [self.done[key] - self.last[key][1] for key in self.done if key in self.last]
        start = max(0.0, statistics.fmean(starts)) if starts else START
        end = max(0.0, statistics.fmean(ends)) if ends else END
        left = [0.0]
        for key, whole in self.costs.items():
            if key not in self.done:
                share = self.last[key][0] if key in self.last else 0.0
                left.append((1 - share) * whole * rate + end + (0.0 if key in self.last else start))
        return max(sum(left) / max(1, self.side_by_side), max(left))

    def seconds_of_a_job(self) -> float:
        """What one of the jobs takes, on average."""
        return self._seconds_a_cost() * sum(self.costs.values()) / max(1, len(self.costs))

    def _seconds_a_cost(self) -> float:
        """What a unit of cost takes, by the rounds after the first of each job and by jobs of one round; what was known
        before counts for a little beside it."""
        spent = WEIGHT * self.before
        measured = WEIGHT
        for key, (share, seconds) in self.last.items():
            from_share, from_seconds = self.first[key]
            if share > from_share:
                spent = spent + seconds - from_seconds
                measured = measured + (share - from_share) * self.costs[key]
        for key in self.done.keys() & self.costs.keys() - self.last.keys():
            spent = spent + self.done[key]
            measured = measured + self.costs[key]
        return spent / measured


def told(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left"
