"""What a run may take: settings that no memory holds are refused beforehand, and learning that diverges is said."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.settings import PAPER, Settings
from drrn.text import Store

log = logging.getLogger("drrn")

NUMBER = 4  # bytes of a weight
SLOTS = {"sgd": 0, "adam": 2}  # what an optimiser keeps beside each weight
PER_REPLICA = 16_000  # bytes: generators and lists, whatever the model
PER_EPISODE = 100  # bytes: one transition at least
PER_WORKER = 100_000_000  # bytes: Python and its modules
SATURATED = 5.0  # tanh of it is 0.9999: a unit that is given more cannot be told from one that is given twice as much
SIZES = (
    "hidden", "layers", "action_hidden", "embedding", "most_actions", "replicas", "batch_size", "episodes_per_round",
    "evaluation_episodes", "workers",
)  # fmt: skip
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB")


def check_memory(settings: Settings, store: Store | None = None, available: int | None = None) -> None:
    """Refuse settings whose weights, batches and episodes would not fit into this machine's memory."""
    words = [len(side.vocabulary) for side in store.sides.values()] if store else []
    needed = memory_needed(settings, sum(words))
    there = available or _memory()
    if needed > there:
        sizes = settings.flat()
        given = ((name, sizes[name] or 0, PAPER.flat()[name] or 0) for name in SIZES)
        asked = ", ".join(f"{name} {value}" for name, value, usual in given if value > usual) or f"{sum(words):,} words"
        raise InputError(
            f"{asked}: that would take about {_said(needed)} of memory, and this machine has {_said(there)}: "
            "choose smaller sizes"
        )


def memory_needed(settings: Settings, words: int) -> int:
    """Bytes that a run takes at least, about: weights with their gradients, a batch, a round's episodes, processes."""
    model = settings.model
    learner = settings.learner
    run = settings.run
    width = model.hidden if settings.uses("layers") else 1
    side = words * width + (model.layers - 1) * width**2 + (model.embedding or 0) * width
    outputs = max(width, words) * (model.most_actions or 0) + width * (model.action_hidden or 0)
    copies = 2 + SLOTS[learner.optimiser] + (learner.average is not None)
    batch = learner.batch_size * width * model.layers
    episodes = PER_EPISODE * max(run.episodes_per_round, run.evaluation_episodes)
    each = NUMBER * (copies * (side + width + outputs) + 2 * batch) + episodes + PER_REPLICA
    return run.replicas * each + (run.workers - 1) * PER_WORKER


class Divergence:
    """Checks the weights after each round: ends a run whose weights are not finite, warns once of saturated units."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.said = False

    def check(self, weights: Mapping[str, NDArray[Any]], number: int) -> None:
        cure = f"choose a smaller learning_rate than {self.settings.learning_rate:g}"
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise InputError(
                    f'in round {number} learning diverged: the weights "{name}" are no numbers any more: {cure}'
                )
        if self.said or not self.settings.uses("layers"):
            return
        for name, array in weights.items():
            if name.startswith("weight ") and array.size and (middle := float(np.median(np.abs(array)))) > SATURATED:
                self.said = True
                log.warning(
                    'after round %d half of the weights "%s" are beyond ±%.3g: hidden units are saturated and learn no '
                    "more: %s", number, name.removeprefix("weight "), middle, cure,
                )  # fmt: skip
                return


def note_a_game_without_words(name: str, store: Store, settings: Settings) -> None:
    """Say that a model which reads words has none to read."""
    if settings.model.name == "table":
        return
    for side, texts, encoder in zip(
        ("pages", "actions"), (store.states, store.actions), settings.model.encoders, strict=True
    ):
        if not len(texts.vocabulary) and encoder != "sentence":
            log.warning(
                "%s is a game without words: its %s hold no letters and no digits, so the model cannot tell them apart "
                "(the model table can)", name, side,
            )  # fmt: skip


def _memory() -> int:
    """Bytes of this machine's memory; where nobody says, none are too many."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**63


def _said(size: int) -> str:
    unit = 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size = size // 1000
        unit = unit + 1
    return f"{size:,} {UNITS[unit]}"
