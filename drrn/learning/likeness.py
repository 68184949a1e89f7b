"""Which texts are alike: a few bits for each text, which texts of mostly the same words have in common (SimHash).

Counts over these bits are counts of pages that are alike, where no page is ever shown twice (Tang et al. 2017).
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from drrn.learning.episode_memory import EpisodeMemory
from drrn.models.base import Pages
from drrn.models.initial import small_random
from drrn.text import Ids, Lexicon, Store, ranges

# Bits of a state's text, and of an action's. Measured on texts of 30 words, drawn as often as in speech, of which one
# was exchanged: 8 bits stay the same in 61 of 100 (16 bits in 37), and 5 of 100 altogether different texts share them.
# Actions are short and mostly recur: there one other word is another action, which 16 bits tell apart.
STATE_BITS, ACTION_BITS = 8, 16
Table = tuple[Ids, Ids]  # keys, ascending, and how often each was taken


class Likeness:
    """The bits of every text of a store, and counts over them."""

    def __init__(self, store: Store) -> None:
        self.states, self.actions = Signs(store.states, STATE_BITS), Signs(store.actions, ACTION_BITS)
        self._tables: WeakKeyDictionary[EpisodeMemory, tuple[list[Ids], Table]] = WeakKeyDictionary()

    def counted(self, memory: EpisodeMemory, pages: Pages) -> NDArray[np.float64]:
        """How often an action like each of a page's [N, A] was taken on a page like it."""
        asked = self._keys(pages.states[:, None], pages.actions)
        if not len(memory):
            return np.zeros(asked.shape)
        known, counts = self._table(memory)
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        found: NDArray[np.float64] = np.where(known[at] == asked, counts[at], 0.0)
        return found

    def _table(self, memory: EpisodeMemory) -> Table:
        """Counts of all that was taken, made anew only when the memory has changed: a game that is stepped asks at
        every step. What a memory holds is never changed in place, so the same arrays hold the same."""
        now = [memory.states, memory.actions, memory.steps["page"], memory.steps["taken"]]
        made, table = self._tables.get(memory, ([], None))
        if table is None or any(one is not other for one, other in zip(made, now, strict=True)):
            page, taken = memory.steps["page"], memory.steps["taken"]
            keys = self._keys(memory.states[page], memory.actions[page, taken])
            table = np.unique(keys, return_counts=True)
            self._tables[memory] = now, table
        return table

    def _keys(self, states: Ids, actions: Ids) -> Ids:
        found: Ids = (self.states.of(states) << ACTION_BITS) + self.actions.of(actions)
        return found


class Signs:
    """The bits of a lexicon's texts: the signs of sums of a random vector for each word."""

    def __init__(self, texts: Lexicon, count: int) -> None:
        self.texts, self.generation, self.spelled = texts, texts.generation, texts.vocabulary.spelled
        self.count = count
        self.bits = np.zeros(1, np.int64)  # [T + 1], the last of -1, no text, which is of no account
        self.words = np.zeros((0, count), np.float32)  # [V]

    def of(self, ids: Ids) -> Ids:
        """The bits of some texts."""
        self._follow()
        found: Ids = self.bits[ids]
        return found

    def _follow(self) -> None:
        """Read what was met since."""
        if self.texts.generation != self.generation:
            self.bits, self.generation = self.bits[-1:], self.texts.generation
        if self.texts.vocabulary.spelled is not self.spelled:  # other words have the numbers now
            self.words, self.spelled = self.words[:0], self.texts.vocabulary.spelled
        first, count = len(self.bits) - 1, len(self.texts)
        if first == count:
            return
        spelled = self.texts.vocabulary.spelled[len(self.words) :]
        self.words = np.concatenate([self.words, small_random(spelled, self.count, 0).reshape(-1, self.count)])
        starts = self.texts.starts[first:]
        sequence = self.texts.sequence[ranges(starts[:1], starts[-1:] - starts[:1])]
        sums = np.zeros((count - first, self.count))
        np.add.at(sums, np.repeat(np.arange(count - first), np.diff(starts)), self.words[sequence])
        self.bits = np.concatenate([self.bits[:-1], (sums > 0) @ (1 << np.arange(self.count)), [0]])
