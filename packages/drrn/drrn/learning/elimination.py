"""Estimate which commands do nothing where, so that optimism skips them (Zahavy et al. 2018).

A step is idle if several actions lead from its page back to the page. Some games draw a part of a
page again at each step: there, a step is also idle if several actions lead to the same other page
for the same reward. The chance that a pair changes anything is estimated from the pairs of all
pages: of the action with as many words on the page, of all actions with as many, of all pairs.
"""

import numpy as np

from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.equations import Floats, Mask
from drrn.text import Store
from textgames.arrays import Ids


class Elimination:
    """Skips the pairs of a memory that seem to do nothing."""

    def __init__(
        self,
        memory: EpisodeMemory,
        store: Store,
        discount: float,
        *,
        most_words: int = 2,
        try_share: float = 0.01,
    ) -> None:
        """Prepare to skip.

        Pairs with `most_words` words of the action on the page, or more, are one class. The most
        promising share of the untried pairs, `try_share`, is never skipped.
        """
        self.most_words = most_words
        self.try_share = try_share
        self.memory = memory
        self.store = store
        self.discount = discount
        self.links = memory.links  # at the last update
        self.rewards = np.zeros(0, np.float32)
        self.generations = (0, 0)  # of the texts that the keys are made of
        self.keys = np.zeros(0, np.int64)  # of the pairs whose classes are known, ascending
        self.classes = np.zeros(0, np.int64)
        self.cost: float | None = None  # mean reward of idle steps, None if there are none

    def skip(self, values: Floats, prior: float) -> Floats:
        """The values of pairs, lower if they seem to do nothing. The highest value is `prior`."""
        memory = self.memory
        if memory.links is not self.links or memory.steps["reward"] is not self.rewards:
            self._update()
        if self.cost is None:
            return values
        # The best value known on the page of each pair: an idle step leads back to it.
        best = memory.over_texts(np.maximum, np.where(self.changed, memory.means, -np.inf))
        is_new = ~np.isfinite(best)
        best[is_new] = 0.0
        back = self.discount * best + self.cost
        expected = np.minimum(values, self.chance * prior + (1 - self.chance) * back)
        untried = memory.counts == 0
        tries = self.changed | is_new | (expected > best)
        if untried.any():
            least = np.quantile(self.chance[untried], 1 - self.try_share)
            tries |= untried & (self.chance >= least)
        values = np.where(self.changed | untried | is_new, values, expected)
        return np.where(tries, values, -1e100)  # a probability of exactly 0

    def _update(self) -> None:
        """Derive again which pairs changed anything, and the chance of each to do so."""
        memory = self.memory
        keys = memory.pair_keys
        self.links = memory.links
        self.rewards = memory.steps["reward"]
        idle, is_usual = idle_steps(memory)
        self.cost = float(self.rewards[idle].mean()) if idle.any() else None
        if self.cost is None:
            return
        self._classify(keys)
        self.changed = np.bincount(memory.pair_of_step[~idle], minlength=len(keys)) > 0
        tried = np.bincount(memory.pair_of_step[is_usual], minlength=len(keys)) > 0
        chance = np.full(len(keys), 0.5)
        of_action = (keys & 0xFFFFFFFF) * (self.most_words + 1) + self.classes
        for group in (np.zeros_like(keys), self.classes, of_action):
            changes = np.bincount(group[self.changed & tried], minlength=group.max() + 1)
            chance = (changes[group] + chance) / (np.bincount(group, tried)[group] + 1)
        self.chance = chance / (memory.counts + 1)

    def _classify(self, keys: Ids) -> None:
        """Find the class of each pair.

        Known classes are reused, since the words of a text never change.
        """
        generations = (self.store.states.generation, self.store.actions.generation)
        known = np.zeros(len(keys), bool)
        classes = np.zeros(len(keys), np.int64)
        if generations == self.generations and len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            known = self.keys[at] == keys
            classes[known] = self.classes[at[known]]
        if not known.all():
            new = keys[~known]
            words = words_on_page(self.store, new >> 32, new & 0xFFFFFFFF)
            classes[~known] = np.minimum(words, self.most_words)
        self.generations = generations
        self.keys = keys
        self.classes = classes


def idle_steps(memory: EpisodeMemory, several: int = 3) -> tuple[Mask, Mask]:
    """Which steps were idle, and which were on a page where several actions lead back."""
    page = memory.steps["page"].astype(np.int64)
    after = memory.steps["after"].astype(np.int64)
    if not (page == after).any():
        return np.zeros(len(page), bool), np.zeros(len(page), bool)
    rewards, reward = np.unique(memory.steps["reward"], return_inverse=True)
    move = page * len(memory.states) + after
    _, outcome = np.unique(move * len(rewards) + reward, return_inverse=True)
    size = len(memory.links) + 1
    with_action = np.unique(outcome * size + memory.link_of_step)
    shared = np.bincount(with_action // size, minlength=1)[outcome] >= several
    back = shared & (after == page)
    is_usual = np.isin(page, page[back])
    is_idle = np.isin(move, move[shared & is_usual]) & np.isin(reward, reward[back])
    return is_idle & (memory.widths[after] > 0), is_usual


def words_on_page(store: Store, states: Ids, actions: Ids) -> Ids:
    """How many distinct words of each action are on its page [N]."""
    numbers = store.states.vocabulary.numbers
    of_word = np.array([numbers.get(word, -1) for word in store.actions.vocabulary.spelled])
    distinct = np.unique(states)
    words, _, lengths = store.states.bags(distinct)
    on_pages = np.repeat(distinct << 32, lengths) + words
    words, _, lengths = store.actions.bags(actions)
    pair = np.repeat(np.arange(len(actions)), lengths)
    word = of_word[words]
    on_page = (word >= 0) & np.isin((states[pair] << 32) + word, on_pages)
    return np.bincount(pair[on_page], minlength=len(actions))
