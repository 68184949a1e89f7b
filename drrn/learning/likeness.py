"""Which texts are alike: a few bits for each text, which texts of mostly the same words have in common (SimHash).

Counts over these bits are counts of pages that are alike, where no page is ever shown twice (Tang et al. 2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drrn.learning.episode_memory import EpisodeMemory
from drrn.models.base import Pages
from drrn.models.initial import small_random
from drrn.text import Ids, Lexicon, Store, ranges

BITS = 16


class Likeness:
    """The bits of every text of a store."""

    def __init__(self, store: Store) -> None:
        self.states, self.actions = Signs(store.states), Signs(store.actions)

    def counted(self, memory: EpisodeMemory, pages: Pages) -> NDArray[np.float64]:
        """How often an action like each of a page's [N, A] was taken on a page like it."""
        steps = memory.steps
        taken = self._keys(memory.states[steps["page"]], memory.actions[steps["page"], steps["taken"]])
        known, counts = np.unique(taken, return_counts=True)
        asked = self._keys(pages.states[:, None], pages.actions)
        at = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
        found: NDArray[np.float64] = (
            np.where(known[at] == asked, counts[at], 0.0) if len(known) else np.zeros(asked.shape)
        )
        return found

    def _keys(self, states: Ids, actions: Ids) -> Ids:
        found: Ids = (self.states.of(states) << BITS) + self.actions.of(actions)
        return found


class Signs:
    """The bits of a lexicon's texts: the signs of sums of a random vector for each word."""

    def __init__(self, texts: Lexicon) -> None:
        self.texts, self.generation, self.spelled = texts, texts.generation, texts.vocabulary.spelled
        self.bits = np.zeros(0, np.int64)  # [T]
        self.words = np.zeros((0, BITS), np.float32)  # [V]

    def of(self, ids: Ids) -> Ids:
        """The bits of some texts; what -1, no text, has is of no account."""
        self._follow()
        found: Ids = np.append(self.bits, 0)[ids]
        return found

    def _follow(self) -> None:
        """Read what was met since."""
        if self.texts.generation != self.generation:
            self.bits, self.generation = self.bits[:0], self.texts.generation
        if self.texts.vocabulary.spelled is not self.spelled:  # other words have the numbers now
            self.words, self.spelled = self.words[:0], self.texts.vocabulary.spelled
        first, count = len(self.bits), len(self.texts)
        if first == count:
            return
        spelled = self.texts.vocabulary.spelled[len(self.words) :]
        self.words = np.concatenate([self.words, small_random(spelled, BITS, 0).reshape(-1, BITS)])
        starts = self.texts.starts[first:]
        sequence = self.texts.sequence[ranges(starts[:1], starts[-1:] - starts[:1])]
        sums = np.zeros((count - first, BITS))
        np.add.at(sums, np.repeat(np.arange(count - first), np.diff(starts)), self.words[sequence])
        self.bits = np.concatenate([self.bits, (sums > 0) @ (1 << np.arange(BITS))])
