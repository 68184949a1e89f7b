"""Which texts are alike: a few bits for each text, which texts of mostly the same words have in common (SimHash).

A memory of these bits is one of pages that are alike, where no page is ever shown twice (Tang et al. 2017 count so).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drrn.learning.steps import Steps
from drrn.models.base import Pages
from drrn.models.word_table import small_random
from drrn.text import Ids, Lexicon, Store, ranges

# Bits of a state's text, and of an action's. Measured on texts of 30 words, drawn as often as in speech, of which one
# was exchanged: 8 bits stay the same in 61 of 100 (16 bits in 37), and 5 of 100 altogether different texts share them.
# Actions are short and mostly recur: there one other word is another action, which 16 bits tell apart.
STATE_BITS = 8
ACTION_BITS = 16


class Likeness:
    """Pages by what they have in common with others: ids of texts become their bits."""

    def __init__(self, store: Store) -> None:
        self.states = Signs(store.states, STATE_BITS)
        self.actions = Signs(store.actions, ACTION_BITS)

    def of_pages(self, pages: Pages) -> Pages:
        """The same pages, for states [N] and actions [N, A]; where there is no action, there is none."""
        return Pages(
            self.states.of(pages.states), np.where(pages.mask, self.actions.of(pages.actions), -1)
        )

    def of_steps(self, steps: Steps) -> Steps:
        """The same episodes."""
        here, ends = (
            replace(menus, actions=self.actions.of(menus.actions))
            for menus in (steps.actions, steps.end_actions)
        )
        states = self.states.of(steps.states)
        end_states = self.states.of(steps.end_states)
        return replace(steps, states=states, actions=here, end_states=end_states, end_actions=ends)


class Signs:
    """The bits of a lexicon's texts: the signs of sums of a random vector for each word."""

    def __init__(self, texts: Lexicon, count: int) -> None:
        self.texts = texts
        self.generation = texts.generation
        self.spelled = texts.vocabulary.spelled
        self.count = count
        self.bits = np.zeros(
            1, np.int64
        )  # [T + 1], the last of -1, no text, which is of no account
        self.words = np.zeros((0, count), np.float32)  # [V]

    def of(self, ids: Ids) -> Ids:
        """The bits of some texts."""
        self._follow()
        found: Ids = self.bits[ids]
        return found

    def _follow(self) -> None:
        """Read what was met since."""
        if self.texts.generation != self.generation:
            self.bits = self.bits[-1:]
            self.generation = self.texts.generation
        if self.texts.vocabulary.spelled is not self.spelled:  # other words have the numbers now
            self.words = self.words[:0]
            self.spelled = self.texts.vocabulary.spelled
        first = len(self.bits) - 1
        count = len(self.texts)
        if first == count:
            return
        spelled = self.texts.vocabulary.spelled[len(self.words) :]
        self.words = np.concatenate(
            [self.words, small_random(spelled, self.count, 0).reshape(-1, self.count)]
        )
        starts = self.texts.starts[first:]
        sequence = self.texts.sequence[ranges(starts[:1], starts[-1:] - starts[:1])]
        sums = np.zeros((count - first, self.count))
        np.add.at(sums, np.repeat(np.arange(count - first), np.diff(starts)), self.words[sequence])
        self.bits = np.concatenate([self.bits[:-1], (sums > 0) @ (1 << np.arange(self.count)), [0]])
