"""Steps a second through the Gymnasium adaptor, with regret and Q*: python benchmarks/arena.py [GAME ...]

Measured in CPU seconds of one process; PyTorch is not imported.
"""

import argparse
import random
import sys
import time

import drrn.gym

STEPS = 50_000


def measure(name: str) -> float:
    env = drrn.gym.StoryEnv(name, most_actions=300, regret=True)
    _, info = env.reset(seed=0)
    start = 0.0
    for step in range(2 * STEPS):  # the first half fills the cache
        if step == STEPS:
            start = time.process_time()
        _, _, terminated, truncated, info = env.step(int(random.random() * len(info["q_star"])))
        if terminated or truncated:
            _, info = env.reset()
    return STEPS / (time.process_time() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", default=["long-watch", "night-market"], metavar="GAME")
    for game in parser.parse_args().games:
        print(f"{game}: {measure(game):,.0f} steps per CPU second")
    assert "torch" not in sys.modules
