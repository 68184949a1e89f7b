"""Measure how fast games step in random play, and the speed of plain Python in the same run.

    python benchmarks/games.py [GAME ...]

The reference is a loop of dictionary look-ups and random draws in plain Python, the least that a step needs. The compiled
games are then played, 10,000 episodes at once: at random, and by softmax over a table of Q-values.
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np

import drrn
from textgames.compiled.chain import softmax_of_slots
from textgames.compiled.game import Compiled, Floats
from textgames.game.contract import Game
from textgames.openers import BUILT_IN


def look_ups_a_second(seconds: float) -> float:
    """Return look-ups with a random draw per second, in plain Python."""
    table = {key: key for key in range(64)}
    draw = random.Random(0).random
    count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(10_000):
            table.get(int(draw() * 64))
        count += 10_000
    return count / (time.perf_counter() - start)


def steps_a_second(game: Game, seconds: float) -> tuple[float, float]:
    """Return steps a second of random play, overall and in the first second, when pages are rendered first."""
    draw = random.Random(1).random
    observation = game.reset(0)
    steps = 0
    first = 0.0
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


def compiled_steps_a_second(game: Compiled, policy: Floats | None, seconds: float) -> float:
    """Return steps a second of 10,000 episodes at once."""
    game.play(policy, 10_000, seed=0)  # builds arrays on first use
    episodes = 200_000
    steps = 0
    seed = 1
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        steps += int(game.play(policy, episodes, seed=seed).steps.sum())
        seed += 1
    return steps / passed


def report_compiled(game: Game, engine: float, seconds: float) -> None:
    start = time.perf_counter()
    compiled = drrn.compile_game(game, cache=False)
    elapsed = time.perf_counter() - start
    q = np.random.default_rng(0).normal(size=len(compiled.row))
    policies: dict[str, Floats | None] = {
        "random": None,
        "softmax of a Q-table, as probabilities": softmax_of_slots(compiled, q),
    }
    print(
        f"{game.name}, compiled in {elapsed:.1f} s to {len(compiled):,} states, 10,000 episodes at once:"
    )
    for name, policy in policies.items():
        speed = compiled_steps_a_second(compiled, policy, seconds)
        print(f"  {name}: {speed:,.0f} steps a second ({speed / engine:.0f} times the engine)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", default=list(BUILT_IN), metavar="GAME")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for each measurement (default: %(default)s)"
    )
    options = parser.parse_args()
    unit = look_ups_a_second(options.seconds)
    print(f"reference: {unit:,.0f} look-ups with a draw a second")
    for name in options.games:
        start = time.perf_counter()
        game = drrn.make(name)
        seconds = time.perf_counter() - start
        speed, first = steps_a_second(game, options.seconds)
        print(
            f"{game.name}: {speed:,.0f} steps a second ({unit / speed:.0f} look-ups a step); "
            f"{first:,.0f} in the first second; opened in {seconds * 1000:.0f} ms"
        )
        report_compiled(game, speed, options.seconds)


if __name__ == "__main__":
    main()
