"""Limits of a run: settings that fit in memory, weights that are finite, words that are read."""

import logging
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.settings import PAPER, Settings
from drrn.text import Store
from textgames.errors import InputError

log = logging.getLogger("textgames")

SLOTS = {"sgd": 0, "adam": 2}  # numbers that an optimiser keeps for each weight
SIZES = (
    "hidden layers action_hidden embedding replicas batch_size episodes_per_round "
    "evaluation_episodes workers"
).split()
FULL = "%s: its %s have %d different words, the most that a model reads: new ones are ignored"
NO_WORDS = "%s: its %s have no letters or digits, so the model cannot distinguish them"


def check_memory(settings: Settings, store: Store | None = None) -> None:
    """Raise an `InputError` if weights, batches and episodes do not fit in memory."""
    words = sum(len(side.vocabulary) for side in store.sides.values()) if store else 0
    needed = memory_needed(settings, words)
    memory = _memory()
    if needed > memory:
        sizes = settings.flat()
        large = [name for name in SIZES if (sizes[name] or 0) > (PAPER.flat()[name] or 0)]
        causes = ", ".join(f"{name} {sizes[name]}" for name in large) or f"{words:,} words"
        what = f"{needed // 10**6:,} MB of memory, and this machine has {memory // 10**6:,} MB"
        raise InputError(f"{causes}: needs about {what}; choose smaller sizes")


def memory_needed(settings: Settings, words: int) -> int:
    """Estimate the bytes that a run needs at least.

    Counts weights with their gradients, a batch, the episodes of a round, and processes.
    """
    model = settings.model
    learner = settings.learner
    run = settings.run
    width = model.hidden if settings.uses("layers") else 1
    side = words * width + (model.layers - 1) * width**2 + (model.embedding or 0) * width
    outputs = width * (model.action_hidden or 0)
    copies = 2 + SLOTS[learner.optimiser] + (learner.average is not None)
    batch = learner.batch_size * width * model.layers
    numbers = copies * (side + width + outputs) + 2 * batch
    episodes = max(run.episodes_per_round, run.evaluation_episodes)
    transition = 100
    generators = 16_000
    each = 4 * numbers + transition * episodes + generators
    process = 100_000_000  # Python and its modules
    return run.replicas * each + (run.workers - 1) * process


def check_weights(weights: Mapping[str, NDArray[Any]], number: int, learning_rate: float) -> None:
    """Raise an `InputError` if weights after a round are not finite."""
    for name, array in weights.items():
        if not np.isfinite(array).all():
            what = f'weights "{name}" contain NaN or infinity'
            cure = f"choose a learning_rate below {learning_rate:g}"
            raise InputError(f"learning diverged in round {number}: {what}; {cure}")


def check_words(name: str, store: Store, settings: Settings, number: int) -> None:
    """Warn after the first round if there are no words, and after the last if there are too many.

    A game without actions is refused.
    """
    if not len(store.actions):
        raise InputError(f"{name}: its first page has no actions, so there is nothing to learn")
    sides = {"pages": store.states.vocabulary, "actions": store.actions.vocabulary}
    for (side, words), encoder in zip(sides.items(), settings.model.encoders, strict=True):
        if encoder == "sentence" or settings.model.name == "table":
            continue
        if not len(words) and number == 1:
            log.warning(NO_WORDS, name, side)
        elif words.full and number == settings.run.rounds:
            log.warning(FULL, name, side, len(words))


def _memory() -> int:
    """The bytes of memory of this machine. If they are not known, there is no limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**63
