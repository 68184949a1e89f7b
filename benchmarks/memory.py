"""Measure the memory of a run whose pages never repeat: a million distinct texts, learned from and evaluated.

    python benchmarks/memory.py [--texts 1000000] [--keep]

Every page of the game is new: a new number and eighty words. The peak of the process's memory is printed after each
round, and first that of a process that has only imported PyTorch. With --keep, the replay buffer holds every transition,
so that all texts must stay.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

import torch  # noqa: F401 — its own memory is measured first

import drrn

WORDS = [f"w{number}" for number in range(2_000)]


class Endless:
    """A hundred new pages in each episode."""

    name = "endless"
    pages = 0  # over all copies

    def __init__(self) -> None:
        self.random = random.Random(0)
        self.step_number = 0

    def another(self) -> Endless:
        return Endless()

    def reset(self, seed: int | None = None) -> drrn.Observation:
        if seed is not None:
            self.random = random.Random(seed)
        self.step_number = 0
        return self._page()

    def step(self, index: int) -> drrn.Observation:
        self.step_number += 1
        if self.step_number == 100:
            return drrn.Observation("the end", (), float(index))
        return self._page()

    def _page(self) -> drrn.Observation:
        Endless.pages += 1
        text = f"page {Endless.pages} " + " ".join(self.random.choices(WORDS, k=80))
        return drrn.Observation(text, ("go on", "go back"))


def peak() -> float:
    """Return the peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument(
        "--keep", action="store_true", help="the replay buffer keeps all transitions"
    )
    options = parser.parse_args()
    print(f"Python with PyTorch: {peak():,.0f} MB", flush=True)
    trainer = drrn.trainer(Endless(), paper=True, rounds=10**6, keep=options.keep)
    start = time.perf_counter()
    for finished in trainer.train():
        seconds = time.perf_counter() - start
        print(
            f"round {finished.number}: {Endless.pages:>9,} texts  {peak():6,.0f} MB  {seconds:5.0f} s",
            flush=True,
        )
        if Endless.pages >= options.texts:
            break


if __name__ == "__main__":
    main()
