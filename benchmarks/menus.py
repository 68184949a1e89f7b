"""Measure the cost of one page with thousands of links: memory and transitions a second.

    python benchmarks/menus.py [--links 2000 3000] [--replicas 2] [--limit 12]

The game is a square with thousands of doors to rooms of three actions each. It is learned with both recipes,
compiled and stepped, each in a separate process that may use `limit` GB.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Hashable
from typing import Any

import drrn

COLOURS = ("red", "green", "blue", "white", "black", "brown", "grey", "golden", "silver", "yellow")
VISITS = 6  # rooms of an episode
CASES: dict[str, dict[str, Any]] = {
    "strong, compiled": {},
    "strong, stepped": {},
    "paper, compiled": {"paper": True},
    "paper, stepped": {"paper": True},
    "paper, stepped, keep": {"paper": True, "keep": True},
}


class Doors:
    """A square with many doors; one room in ten pays a coin, and the day ends after a few rooms."""

    max_steps = 2 * VISITS
    shuffle = False

    def __init__(self, links: int) -> None:
        self.name = f"doors-{links}"
        self.links = links
        self.chance = random.Random()
        self.doors = tuple(
            f"Open the {COLOURS[n % 10]} door number {n} of house {n // 40}." for n in range(links)
        )
        self.state: Any = None

    def another(self) -> Doors:
        return Doors(self.links)

    def opening(self) -> list[tuple[float, Hashable]]:
        return [(1.0, ("square", 0))]

    def outcomes(self, state: Any, index: int) -> list[tuple[float, Hashable]]:
        place, visits = state
        if place == "square":
            return [(1.0, (index, visits + 1))]
        if place % 10 == index:
            return [(1.0, ("coin", visits))]
        return [(1.0, ("over" if visits == VISITS else "square", visits))]

    def look(self, state: Any) -> drrn.Observation:
        place, visits = state
        if place == "over":
            return drrn.Observation("It grows dark.")
        if place == "coin":
            return drrn.Observation("You find a coin.", (), 10.0 - visits)
        if place == "square":
            return drrn.Observation(
                f"A square with many doors. You have seen {visits} rooms.", self.doors
            )
        actions = ("Look under the bed.", "Look behind the stove.", "Leave.")
        return drrn.Observation(
            f"A {COLOURS[place % 10]} room, number {place}, with a bed and a stove.", actions
        )

    def reset(self, seed: int | None = None) -> drrn.Observation:
        ((_, self.state),) = self.opening()
        return self.look(self.state)

    def step(self, index: int) -> drrn.Observation:
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        ((_, self.state),) = self.outcomes(self.state, index)
        return self.look(self.state)


class Stepped:
    """The same game without its list of outcomes."""

    max_steps = Doors.max_steps

    def __init__(self, game: Doors) -> None:
        self.game = game
        self.name = game.name
        self.reset = game.reset
        self.step = game.step

    def another(self) -> Stepped:
        return Stepped(self.game.another())


def measure(case: str, links: int, replicas: int) -> None:
    """Train two rounds of one case, and print memory and speed."""
    settings = {
        "rounds": 2,
        "episodes_per_round": 100,
        "evaluation_episodes": 20,
        "replicas": replicas,
        **CASES[case],
    }
    start = time.process_time()  # of this process alone: the machine may be busy
    game = Doors(links)
    trainer = drrn.trainer(Stepped(game) if "stepped" in case else game, **settings)
    finished = list(trainer.train())
    seconds = time.process_time() - start
    rate = sum(each.transitions for each in finished) / seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{links:>6,} links  {case:<20} {peak:6.2f} GB  {rate:>8,.0f} transitions/s  {seconds:6.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, nargs="+", default=[20, 2000, 3000])
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument(
        "--limit", type=float, default=12, help="GB that a case may take (default: %(default)s)"
    )
    parser.add_argument(
        "--case", choices=tuple(CASES), help="measure this case alone, in this process"
    )
    options = parser.parse_args()
    if options.case:
        limit = int(options.limit * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        measure(options.case, options.links[0], options.replicas)
        return
    for links in options.links:
        for case in CASES:
            arguments = ["--case", case, "--links", str(links), "--replicas", str(options.replicas)]
            command = [sys.executable, __file__, *arguments, "--limit", str(options.limit)]
            process = subprocess.run(command, stderr=subprocess.PIPE, text=True)
            if process.returncode:
                lines = process.stderr.strip().splitlines()
                why = lines[-1] if lines else f"exit code {process.returncode}"
                print(f"{links:>6,} links  {case:<20} failed: {why[:120]}", flush=True)


if __name__ == "__main__":
    main()
