"""The time that experiments will yet take, estimated from what was measured so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from drrn.experiments.plan import cost
from drrn.experiments.running import Work
from drrn.experiments.workers import Event


@dataclass
class Estimate:
    """An estimate of the time left: jobs have relative costs, and what was measured turns them into seconds."""

    works: list[Work]
    side_by_side: int
    done: dict[tuple[str, str], float] = field(default_factory=dict)  # seconds, by job
    under_way: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # share, seconds
    before: dict[tuple[str, str], float] = field(default_factory=dict)  # share that was done before it was cut

    def hear(self, event: Event) -> None:
        key = (event.work.game, event.work.name)
        if event.kind == "round":
            rounds = event.work.settings.rounds
            self.before.setdefault(key, (event.rounds - 1) / rounds)
            self.under_way[key] = (event.rounds / rounds, event.seconds)
        elif event.kind in ("done", "failed"):
            self.under_way.pop(key, None)
            self.done[key] = event.seconds

    def seconds_left(self) -> float | None:
        """Seconds until all jobs are done; None while nothing was measured."""
        measured = spent = left = 0.0
        for work in self.works:
            if work.variant is None:  # a game's facts come first, and take a few seconds whatever the settings
                continue
            key, whole = (work.game, work.name), cost(work.game, work.variant)
            share, seconds = (1.0, self.done[key]) if key in self.done else self.under_way.get(key, (0.0, 0.0))
            measured += (share - self.before.get(key, 0.0)) * whole
            spent += seconds
            left += (1 - share) * whole
        if not measured:
            return None
        return left * spent / measured / max(1, min(self.side_by_side, len(self.works) - len(self.done)))


def told(seconds: float | None) -> str:
    """A time in words."""
    if seconds is None:
        return "time left not known yet"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left"
