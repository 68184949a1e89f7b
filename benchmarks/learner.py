"""Measure how fast the learner learns, relative to the arithmetic that it needs.

    python benchmarks/learner.py            transitions a second, and the share of the machine's own speed
    python benchmarks/learner.py --growth   time against vocabulary, distinct texts and actions, as CSV and PNG

The update is DRRN, 2 layers of 100, on text like Machine of Death's: 2,200 words, 85 words a state, 4 actions of 7.
The limit is what the machine's matrix product would need for the same multiplications: each distinct text of a batch
encoded once, and back-propagation through the chosen actions only. The second figure counts every text of a batch, which
is how an update is usually written.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import Batches, QLearning
from drrn.models import Pages, Shape, build_model
from drrn.settings import Settings
from drrn.text import Lexicon, Store
from textgames.arrays import Ids

Distinct = Callable[[Ids], Ids]


@dataclass(frozen=True)
class Case:
    """A generated game, by its sizes."""

    replicas: int = 1
    batch: int = 64
    vocabulary: int = 2_200
    texts: int = 530
    state_words: int = 85
    actions: int = 4
    action_texts: int = 170
    action_words: int = 7
    hidden: int = 100


def fill(lexicon: Lexicon, texts: int, length: int, generator: np.random.Generator) -> None:
    """Add texts whose words follow Zipf's law."""
    vocabulary = len(lexicon.vocabulary)
    shares = 1 / np.arange(1, vocabulary + 1)
    shares /= shares.sum()
    for _ in range(texts):
        lexicon.id(" ".join(f"w{i}" for i in generator.choice(vocabulary, length, p=shares)))


def learner_of(
    case: Case, kind: type[QLearning] = FastQLearning
) -> tuple[QLearning, np.random.Generator]:
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(case.vocabulary)]
    store = Store.of_words(words, words[:420])
    fill(store.states, case.texts, case.state_words, generator)
    fill(store.actions, case.action_texts, case.action_words, generator)
    shape = Shape(hidden=case.hidden, most_actions=case.actions)
    model = build_model("drrn", shape, store, list(range(case.replicas)), torch.device("cpu"))
    for replica in range(case.replicas):
        model.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return kind(model, Settings.from_flat(learning_rate=1e-4, replicas=case.replicas)), generator


def batches_of(case: Case, generator: np.random.Generator, count: int) -> Batches:
    shape = (count, case.replicas, case.batch)

    def pages(actions: int) -> Pages:
        return Pages(
            generator.integers(case.texts, size=shape),
            generator.integers(case.action_texts, size=(*shape, actions)),
        )

    ones = np.ones(shape, np.float32)
    taken = np.zeros(shape, np.int64)
    return Batches(pages(1), taken, ones, 0.9 * ones, pages(case.actions), ones)


def speed(
    case: Case,
    seconds: float,
    at_once: int = QLearning.prepared,
    kind: type[QLearning] = FastQLearning,
) -> tuple[float, float, float]:
    """Return transitions a second over all replicas, and the operations of one transition.

    The operations are counted twice: with each distinct text of a batch encoded once, and with every text. The fastest
    call counts, because slower ones were disturbed by other load.
    """
    learner, generator = learner_of(case, kind)
    prepared = [batches_of(case, generator, at_once) for _ in range(2)]
    learner.update(prepared[0])
    fastest = np.inf
    calls = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        call_start = time.perf_counter()
        learner.update(prepared[calls % 2])
        fastest = min(fastest, time.perf_counter() - call_start)
        calls += 1
    rate = at_once * case.batch * case.replicas / fastest
    return (
        rate,
        operations(case, learner, prepared[0]),
        operations(case, learner, prepared[0], np.ravel),
    )


def operations(
    case: Case, learner: QLearning, batches: Batches, distinct: Distinct = np.unique
) -> float:
    """Return the operations of one transition: encode the texts, back-propagate through the chosen ones."""
    h = case.hidden
    total = 0.0
    model = learner.model
    for k in range(len(batches.taken)):
        for r in range(case.replicas):
            for texts, now, then in (
                (model.store.states, batches.pages.states[k, r], batches.next_pages.states[k, r]),
                (
                    model.store.actions,
                    batches.pages.actions[k, r, :, 0],
                    batches.next_pages.actions[k, r].ravel(),
                ),
            ):
                lengths = texts.bags(np.arange(len(texts)))[2]
                forwards = distinct(np.concatenate([now, then]))
                backwards = distinct(now)
                total += 2 * h * lengths[forwards].sum() + 2 * h * h * len(forwards)
                total += 2 * h * lengths[backwards].sum() + 4 * h * h * len(backwards)
            total += 2 * h * case.batch * (case.actions + 3)  # inner products, and back through one
    return total / (len(batches.taken) * case.replicas * case.batch)


def matrix_speed(seconds: float = 1.0) -> float:
    """Return the speed of the machine's single-precision matrix product, by its fastest call (operations a second)."""
    a = torch.randn(512, 512)
    b = torch.randn(512, 512)
    fastest = np.inf
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        call_start = time.perf_counter()
        for _ in range(10):
            torch.mm(a, b)
        fastest = min(fastest, time.perf_counter() - call_start)
    return 10 * 2 * 512**3 / fastest


def report(seconds: float) -> None:
    for replicas in (1, 5):
        case = Case(replicas=replicas)
        limit = matrix_speed()
        rate, needed, every_text = speed(case, seconds)
        plain, *_ = speed(case, seconds, kind=QLearning)
        limit = max(limit, matrix_speed())
        print(
            f"R = {replicas}, batch {case.batch}: {rate:,.0f} transitions a second of {needed / 1e3:.0f} thousand "
            f"operations, {rate * needed / limit:.1%} of what the matrix product does ({limit / 1e9:.0f} GFLOP/s); "
            f"with every text encoded separately, {every_text / 1e3:.0f} thousand, "
            f"{rate * every_text / limit:.1%}; the plain learner: {plain:,.0f} transitions a second"
        )


GROWTH = {
    "vocabulary": [Case(vocabulary=n) for n in (1_000, 3_000, 10_000, 30_000, 100_000)],
    "texts": [Case(texts=n, vocabulary=10_000) for n in (100, 1_000, 10_000, 100_000)],
    "actions": [Case(actions=n, action_texts=2_000, batch=16) for n in (2, 8, 32, 128, 500)],
}


LABELS = {
    "vocabulary": "words in the vocabulary",
    "texts": "distinct states",
    "actions": "actions of a state",
}


def growth(seconds: float, out: Path) -> None:
    """Measure microseconds a transition for each size; write a CSV and a plot."""
    rows = []
    for axis, cases in GROWTH.items():
        for case in cases:
            rate, needed, _ = speed(case, seconds, at_once=64)
            rows.append(
                {
                    "axis": axis,
                    "size": getattr(case, axis),
                    "microseconds": 1e6 / rate,
                    "operations": needed,
                }
            )
            print(
                f"{axis} {getattr(case, axis):>7,}: {1e6 / rate:8.1f} µs a transition", flush=True
            )
    with (out / "growth.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for ax, axis in zip(axes, GROWTH, strict=True):
        mine = [row for row in rows if row["axis"] == axis]
        sizes = [row["size"] for row in mine]
        times = [row["microseconds"] for row in mine]
        ax.loglog(sizes, times, "o-", color="#1f5fa8", label="measured")
        ax.loglog(
            sizes,
            [times[0] * size / sizes[0] for size in sizes],
            ":",
            color="#888888",
            label="in proportion",
        )
        ax.set(xlabel=LABELS[axis], ylim=(1, 1e4))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("µs a transition")
    axes[0].legend(frameon=False)
    figure.savefig(out / "growth.png", dpi=150)
    print(f"wrote {out / 'growth.csv'} and {out / 'growth.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--growth", action="store_true", help="measure how time grows with sizes")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for each measurement (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks"), help="where growth.csv and growth.png go"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.growth:
        growth(options.seconds, options.out)
    else:
        report(options.seconds)


if __name__ == "__main__":
    main()
