"""How fast games step: random play of a game, beside a yardstick of this machine taken in the same run.

    python benchmarks/games.py [GAME ...]

The yardstick is a loop of dictionary look-ups and random draws in plain Python: what a step cannot do without.
"""

from __future__ import annotations

import argparse
import random
import time

import drrn
from drrn.games import BUILT_IN, StoryGame


def yardstick(seconds: float) -> float:
    """Look-ups and draws a second."""
    table = {key: key for key in range(64)}
    draw = random.Random(0).random
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(10_000):
            table.get(int(draw() * 64))
        count += 10_000
    return count / (time.perf_counter() - start)


def steps_a_second(game: StoryGame, seconds: float) -> tuple[float, float]:
    """Steps a second of random play, and of the first second, when pages are still told for the first time."""
    draw = random.Random(1).random
    observation, steps, first = game.reset(0), 0, 0.0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        if passed >= 1 and not first:
            first = steps / passed
        for _ in range(1_000):
            observation = game.step(int(draw() * len(observation.actions)))
            if not observation.actions:
                observation = game.reset()
        steps += 1_000
    return steps / passed, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=list(BUILT_IN), metavar="GAME")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement (default: %(default)s)")
    options = parser.parse_args()
    unit = yardstick(options.seconds)
    print(f"yardstick: {unit:,.0f} look-ups with a draw a second")
    for name in options.games:
        opened = time.perf_counter()
        game = drrn.make(name)
        opened = time.perf_counter() - opened
        speed, first = steps_a_second(game, options.seconds)
        print(
            f"{game.name}: {speed:,.0f} steps a second ({unit / speed:.0f} look-ups a step); "
            f"{first:,.0f} in the first second; opened in {opened * 1000:.0f} ms"
        )


if __name__ == "__main__":
    main()
