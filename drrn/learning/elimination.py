"""Estimate which commands do nothing where, so that optimism skips them (Zahavy et al. 2018).

A step is idle if it leads back to its page. Some games draw a part of the page again at each step:
if several actions lead back to a page, then a step from it to a page where several actions lead for
the same reward is idle, too. The chance that a pair changes anything is estimated from the pairs of
all pages: of the same action with as many words on the page, of other actions with as many, of all.
In a game without idle steps, nothing is skipped.
"""

import numpy as np

from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.equations import Floats, Mask
from drrn.settings import Settings
from drrn.text import Ids, Store

SEVERAL = 3  # distinct actions of a page that have the same outcome
CLASSES = 3  # of pairs: no word of the action is on the page, one is, more are
TRY_SHARE = 0.01  # of the untried pairs: the most promising ones are never skipped
SKIP = -1e100  # value of a pair that is skipped; its probability is exactly 0


class Elimination:
    """Skips the pairs of a memory that seem to do nothing; all is derived from the memory."""

    def __init__(self, memory: EpisodeMemory, store: Store, settings: Settings) -> None:
        self.memory = memory
        self.store = store
        self.discount = settings.learner.discount
        # What the classes, and what the other arrays were derived from.
        self.links = np.zeros(0, np.int64)
        self.rewards = np.zeros(0, np.float32)
        self.classes = np.zeros(0, np.int64)  # [pairs] number of words on the page
        self.changed = np.zeros(0, bool)  # [pairs] at least once
        self.chance = np.zeros(0)  # [pairs] estimated probability of a change
        self.cost: float | None = None  # mean reward of idle steps, None if there are none

    def skip(self, values: Floats, prior: float) -> Floats:
        """Return the optimistic values of pairs; some have less, or `SKIP`.

        Args:
            values: of pairs by their counts and means.
            prior: The value of a pair whose outcome is unknown.
        """
        self._update()
        if self.cost is None:
            return values
        memory = self.memory
        # The best value known on the page of each pair: an idle step leads back to it.
        _, start, page = np.unique(memory.pair_keys >> 32, return_index=True, return_inverse=True)
        best = np.maximum.reduceat(np.where(self.changed, memory.means, -np.inf), start)[page]
        leads_on = np.isfinite(best)
        best[~leads_on] = 0.0
        back = self.discount * best + self.cost
        expected = self.chance * prior + (1 - self.chance) * back
        untried = memory.counts == 0
        tries = self.changed | ~leads_on | (expected > best)
        if untried.any():
            tries |= untried & (self.chance >= np.quantile(self.chance[untried], 1 - TRY_SHARE))
        values = np.where(self.changed | untried | ~leads_on, values, expected)
        return np.where(tries, values, SKIP)

    def _update(self) -> None:
        """Derive everything again if the memory has changed."""
        memory = self.memory
        if memory.links is self.links and memory.steps["reward"] is self.rewards:
            return
        self.rewards = memory.steps["reward"]
        idle, is_usual = idle_steps(memory)
        self.cost = float(self.rewards[idle].mean()) if idle.any() else None
        if self.cost is None:
            return
        if memory.links is not self.links:
            keys = memory.pair_keys
            words = words_on_page(self.store, keys >> 32, keys & 0xFFFFFFFF)
            self.classes = np.minimum(words, CLASSES - 1)
        self.links = memory.links
        size = len(memory.pair_keys)
        self.changed = np.bincount(memory.pair_of_step[~idle], minlength=size) > 0
        tried = np.bincount(memory.pair_of_step[is_usual], minlength=size) > 0
        self.chance = self._chances(self.changed & tried, tried)

    def _chances(self, changed: Mask, tried: Mask) -> Floats:
        classes = self.classes
        of_action = (self.memory.pair_keys & 0xFFFFFFFF) * CLASSES + classes
        chance = np.full(len(classes), 0.5)
        for group in (np.zeros_like(classes), classes, of_action):
            changes = np.bincount(group[changed], minlength=group.max() + 1)
            tries = np.bincount(group[tried], minlength=group.max() + 1)
            chance = (changes[group] + chance) / (tries[group] + 1)
        return np.asarray(chance / (self.memory.counts + 1))


def idle_steps(memory: EpisodeMemory) -> tuple[Mask, Mask]:
    """Return which steps were idle, and which were on a page where several actions lead back."""
    page = memory.steps["page"].astype(np.int64)
    after = memory.steps["after"].astype(np.int64)
    if not (after == page).any():
        return np.zeros(len(page), bool), np.zeros(len(page), bool)
    rewards, reward = np.unique(memory.steps["reward"], return_inverse=True)
    move = page * len(memory.states) + after
    _, outcome = np.unique(move * len(rewards) + reward, return_inverse=True)
    size = len(memory.links) + 1
    with_action = np.unique(outcome * size + memory.link_of_step)
    shared = np.bincount(with_action // size, minlength=1)[outcome] >= SEVERAL
    back = shared & (after == page)
    leads_back = np.zeros(len(memory.states), bool)
    leads_back[page[back]] = True
    is_usual = leads_back[page]
    is_idle = np.isin(move, np.unique(move[shared & is_usual]))
    is_idle &= np.isin(reward, np.unique(reward[back])) & (memory.widths[after] > 0)
    return is_idle, is_usual


def words_on_page(store: Store, states: Ids, actions: Ids) -> Ids:
    """Return how many distinct words of each action are on its page [N]."""
    numbers = store.states.vocabulary.numbers
    of_word = np.array([numbers.get(word, -1) for word in store.actions.vocabulary.spelled])
    size = len(numbers) + 1
    distinct = np.unique(states)
    words, _, lengths = store.states.bags(distinct)
    on_pages = np.repeat(distinct, lengths) * size + words
    words, _, lengths = store.actions.bags(actions)
    pair = np.repeat(np.arange(len(actions)), lengths)
    word = of_word[words]
    on_page = (word >= 0) & np.isin(states[pair] * size + word, on_pages)
    return np.bincount(pair[on_page], minlength=len(actions))
