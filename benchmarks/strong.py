"""Time the strong recipe and the paper's on the same game, in the same run.

    python benchmarks/strong.py [GAME] [--seeds 10] [--rounds 20]

Ten seeds learn side by side, 4,000 episodes each. Playing, computing returns and learning are timed separately;
evaluations are not counted. The transitions fitted per second are also given as a share of the machine's matrix product,
measured in the same run, for each distinct text of an update encoded once, forwards and backwards.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from learner import matrix_speed

import drrn
from drrn.learning.return_learning import Fits
from drrn.runs.trainer import Trainer
from drrn.text import Lexicon


class Clock:
    """Seconds spent in some methods of a trainer and its parts, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def watch(self, owner: Any, name: str, label: str) -> None:
        """Time the calls of a method from now on."""
        method: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = method(*arguments)
            self.seconds[label] += time.perf_counter() - start
            return result

        setattr(owner, name, timed)


def operations(trainer: Trainer, fits: Fits) -> float:
    """Return the operations per pair: each distinct text of an update encoded once, forwards and backwards."""
    store = trainer.store
    hidden = trainer.settings.model.hidden
    total = 0.0
    for k in range(len(fits.targets)):
        for r in range(trainer.settings.run.replicas):
            total += _encoding(store.states, fits.pages.states[k, r], hidden)
            total += _encoding(store.actions, fits.pages.actions[k, r], hidden)
            # inner products, and their gradients on both sides
            total += 3 * 2 * hidden * fits.targets.shape[2]
    return total / fits.targets.size


def _encoding(texts: Lexicon, ids: Any, hidden: int) -> float:
    """Return the operations of two layers over each distinct text, forwards and backwards."""
    distinct = np.unique(ids)
    lengths = texts.bags(distinct)[2]
    return float(4 * hidden * lengths.sum() + 6 * hidden * hidden * len(distinct))


def measure(game: str, *, paper: bool, seeds: int, rounds: int, limit: float) -> None:
    """Train with one recipe, and print where the time went."""
    trainer = drrn.trainer(game, paper=paper, replicas=seeds, rounds=rounds)
    clock = Clock()
    batches: list[Fits] = []
    clock.watch(trainer, "_play", "play")
    clock.watch(trainer.learner, "learn", "learn")
    if not paper:
        note = trainer.learner.fit  # type: ignore[attr-defined]
        trainer.learner.fit = lambda fits, by: (batches.append(fits), note(fits, by))  # type: ignore[attr-defined]
        clock.watch(trainer.learner, "fit", "fit")
        clock.watch(trainer.explorer, "tell", "explore")
    learned = 0
    for finished in trainer.train():
        learned += finished.transitions
    seconds = clock.seconds
    playing = seconds["play"] - seconds["explore"]
    learning = seconds["fit"] or seconds["learn"]
    valuing = 0.0 if paper else seconds["learn"] - seconds["fit"] + seconds["explore"]
    share = (
        ""
        if paper
        else f", {operations(trainer, batches[-1]) * learned / learning / limit:.1%} of the limit"
    )
    scores = ", ".join(f"{p} {finished.mean(f'{p}_final_reward'):.2f}" for p in ("softmax", "best"))
    print(
        f"{'paper ' if paper else 'strong'}: playing {playing:5.1f} s, returns {valuing:5.1f} s, "
        f"learning {learning:5.1f} s, together {playing + valuing + learning:5.1f} s; "
        f"{learned / learning:,.0f} transitions a second fitted{share}; ends at {scores}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "game", nargs="?", default="night-market", help="a name or a path (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--rounds", type=int, default=20, help="of 200 episodes each (default: %(default)s)"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    limit = matrix_speed()
    print(
        f"{options.game}: {options.seeds} seeds, {200 * options.rounds:,} episodes each; "
        f"this machine's matrix product: {limit / 1e9:.0f} GFLOP/s",
        flush=True,
    )
    for paper in (False, True):
        measure(options.game, paper=paper, seeds=options.seeds, rounds=options.rounds, limit=limit)


if __name__ == "__main__":
    main()
