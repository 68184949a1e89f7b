"""Limits of a run: settings that fit in memory, weights that are finite, words that are read."""

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.settings import PAPER, ModelSettings, Settings
from drrn.text import Store, Vocabulary
from textgames.errors import InputError

log = logging.getLogger("textgames")

SLOTS = {"sgd": 0, "adam": 2}  # numbers that an optimiser keeps for each weight
SIZES = (
    "hidden layers action_hidden embedding replicas batch_size episodes_per_round "
    "evaluation_episodes workers"
).split()
SATURATION = (
    'after round %d half of the weights "%s" are beyond ±%.3g, so hidden units are saturated and '
    "do not learn; %s"
)
NO_WORDS = (
    "%s: its %s have no letters or digits, so the model cannot distinguish them (the model table "
    "can)"
)
FULL = "%s: its %s have %s different %s, the most that a model reads: new ones are ignored%s"
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB")


def check_memory(settings: Settings, store: Store | None = None) -> None:
    """Raise an `InputError` if weights, batches and episodes do not fit in memory."""
    words = sum(len(side.vocabulary) for side in store.sides.values()) if store else 0
    needed = memory_needed(settings, words)
    memory = _memory()
    if needed <= memory:
        return
    sizes = settings.flat()
    usual = PAPER.flat()
    large = [name for name in SIZES if (sizes[name] or 0) > (usual[name] or 0)]
    causes = ", ".join(f"{name} {sizes[name]}" for name in large) or f"{words:,} words"
    sizes_text = f"{_size(needed)} of memory, and this machine has {_size(memory)}"
    raise InputError(f"{causes}: needs about {sizes_text}; choose smaller sizes")


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


class Divergence:
    """Checks the weights after each round: they must be finite, and should not saturate.

    A unit is saturated if its input is above 5, since tanh(5) is 0.9999.
    """

    def __init__(self, settings: Settings, saturated: float = 5.0) -> None:
        self.saturated = saturated
        self.remedy = f"choose a learning_rate below {settings.learning_rate:g}"
        self.warns = settings.uses("layers")  # once

    def check(self, weights: Mapping[str, NDArray[Any]], number: int) -> None:
        """Warn once of saturated units. Weights that are not finite are an `InputError`."""
        for name, array in weights.items():
            if not np.isfinite(array).all():
                what = f'weights "{name}" contain NaN or infinity'
                raise InputError(f"learning diverged in round {number}: {what}; {self.remedy}")
            if not self.warns or not name.startswith("weight ") or not array.size:
                continue
            median = float(np.median(np.abs(array)))
            if median > self.saturated:
                self.warns = False
                log.warning(SATURATION, number, name[len("weight ") :], median, self.remedy)


def warn_about_missing_words(name: str, store: Store, settings: Settings) -> None:
    """Warn if a model that reads words has none to read. A game without actions is refused."""
    if not len(store.actions):
        raise InputError(f"{name}: its first page has no actions, so there is nothing to learn")
    for side, vocabulary, _ in _sides_by_words(store, settings.model):
        if not len(vocabulary):
            log.warning(NO_WORDS, name, side)


def _sides_by_words(store: Store, model: ModelSettings) -> Iterator[tuple[str, Vocabulary, str]]:
    """Yield the name, the vocabulary and the encoder of each side that the model reads by words."""
    sides = (("pages", store.states), ("actions", store.actions))
    for (side, texts), encoder in zip(sides, model.encoders, strict=True):
        if encoder != "sentence" and model.name != "table":
            yield side, texts.vocabulary, encoder


class VocabularyLimit:
    """Warns once for pages and once for actions if new words are ignored."""

    def __init__(self, settings: Settings) -> None:
        self.model = settings.model
        self.warned: set[str] = set()

    def check(self, name: str, store: Store) -> None:
        for side, vocabulary, encoder in _sides_by_words(store, self.model):
            if side in self.warned or not vocabulary.full:
                continue
            self.warned.add(side)
            noun = "words"
            hint = ""
            if encoder == "hash":
                noun = "texts"
            elif self.model.phrases:
                noun = "words and phrases"
                hint = "" if self.model.pairs_only else "; a new run with pairs_only has more room"
            log.warning(FULL, name, side, f"{len(vocabulary):,}", noun, hint)


def _memory() -> int:
    """The bytes of memory of this machine. If they are not known, there is no limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**63


def _size(size: int) -> str:
    unit = min((len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size // 1000**unit:,} {UNITS[unit]}"
