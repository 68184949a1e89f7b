"""Explore by optimism: rarely tried actions count as good, so that play goes where it knows least.

A memory has the count N and the mean return of every pair of a page and an action. Play values the
pair as (N mean + w V) / (N + w), where V exceeds all returns so far. Returns rest on the same
values, so that a page from which something untried can be reached is worth visiting. If pages
hardly recur, the memory counts by SimHash: texts of mostly the same words share a few bits (Tang et
al. 2017).

After the optimistic rounds, training can follow a plan: on a page of the memory, it takes the tried
action with the highest mean return. It then repeats what exploration discovered, even if the
network has not learned it yet.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from drrn.learning.elimination import Elimination
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.equations import GREEDY, Floats, Probabilities, Q, greedy, softmax
from drrn.learning.experience import Steps
from drrn.models.base import Pages
from drrn.models.word_table import small_random
from drrn.settings import Settings
from drrn.text import Lexicon, State, Store
from textgames.arrays import Ids


class Optimism:
    """The optimistic policy of all replicas, for any learner."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        alpha_factor: NDArray[np.float64],
        *,
        state_bits: int = 8,
        action_bits: int = 16,
    ) -> None:
        """Prepare to explore, with the learner's factor on α, which changes during training.

        `SimHash` says why states have fewer bits than actions.
        """
        capacity = settings.learner.capacity
        seeds = settings.run.seeds
        self.settings = settings
        self.alpha_factor = alpha_factor
        self.alpha = settings.exploration.alpha
        self.plans = False  # whether the round follows a plan
        self.memories = [EpisodeMemory(capacity) for _ in seeds]
        self.similar = [EpisodeMemory(capacity) for _ in seeds]  # by SimHash
        self.all_memories = [*self.memories, *self.similar]
        discount = settings.learner.discount
        self.eliminations = [Elimination(memory, store, discount) for memory in self.memories]
        self.values = [np.zeros(0) for _ in seeds]  # [pairs] of each replica's memory in use
        self.valued = [np.zeros(0) for _ in seeds]  # the means that the values rest on
        self.state_hash = SimHash(store.states, state_bits)
        self.action_hash = SimHash(store.actions, action_bits)

    def start(self, number: int) -> bool:
        """Start a round, without the episodes of an interrupted attempt.

        Returns:
            Whether the round is optimistic or planned. In other rounds, the memories are empty.
        """
        self.alpha = self.settings.alpha_at(number)
        self.plans = self.settings.plans_at(number)
        if self.plans or self.settings.explores_at(number):
            for memory in self.all_memories:
                memory.begin(number)
            if self.plans:
                self._start_plan(number)
            return True
        for memory in self.all_memories:
            memory.clear()
        return False

    def observe(self, replica: int, steps: Steps) -> None:
        """Take in episodes of a replica, and renew its estimates."""
        memory = self.memories[replica]
        memory.add(steps)
        if self.plans:
            self._plan(memory)
            return
        if not recurs(memory, memory.texts):
            memory = self.similar[replica]
            memory.add(steps.renumbered(self.state_hash.of, self.action_hash.of))
        values = partial(self._values, replica, memory)
        memory.estimate(values, self.settings.learner, self._alpha_of(replica))

    def rescale(self, replica: int, factor: float) -> None:
        """Multiply the rewards that the replica reported."""
        for memory in (self.memories[replica], self.similar[replica]):
            memory.rescale(factor)

    def probabilities(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        """The policy of the round: planned, or the softmax over optimistic values.

        If pages with their menus hardly recur, most actions are untried, and the network's Q
        distinguishes them.
        """
        if self.plans:
            return self._planned(replica, q, pages)
        memory = self.memories[replica]
        prior = self.optimistic_value(memory)
        keys = pages
        preference = 0.0 if recurs(memory, len(memory.states)) else q.astype(np.float64)
        if not recurs(memory, memory.texts):
            memory = self.similar[replica]
            keys = Pages(self.state_hash.of(pages.states), self.action_hash.of(pages.actions))
        if self.valued[replica] is not memory.means:
            self.values[replica] = self._values(replica, memory)
            self.valued[replica] = memory.means
        weight = self.settings.exploration.optimism_count
        untried = weight * prior / weight + preference  # rounded like the values of pairs
        optimistic = memory.of_pages(keys, self.values[replica], untried)
        return softmax(optimistic, pages.mask, self._alpha_of(replica))

    def _start_plan(self, number: int) -> None:
        """Plan for a round. The first plan drops the optimistic estimates."""
        for memory in self.memories:
            if number == 1 or self.settings.explores_at(number - 1):
                memory.means = np.zeros_like(memory.means)
            self._plan(memory)
        for memory in self.similar:
            memory.clear()

    def _plan(self, memory: EpisodeMemory) -> None:
        """Estimate the returns of the policy that takes the best tried action of each page."""
        memory.estimate(memory.pessimistic, self.settings.learner, GREEDY)

    def _planned(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        """1 for the best tried action of a page, or the softmax over Q if none was tried."""
        memory = self.memories[replica]
        tried = np.where(memory.counts > 0, memory.means, -np.inf)
        returns = memory.of_pages(pages, tried, -np.inf)
        is_known = np.isfinite(returns).any(axis=1)
        probabilities = softmax(q, pages.mask, self._alpha_of(replica))
        probabilities[is_known] = greedy(returns[is_known], pages.mask[is_known])
        return probabilities

    def _values(self, replica: int, memory: EpisodeMemory) -> Floats:
        """The optimistic value of each pair of one of the replica's memories."""
        weight = self.settings.exploration.optimism_count
        prior = self.optimistic_value(self.memories[replica])
        values = (memory.counts * memory.means + weight * prior) / (memory.counts + weight)
        by_text = memory is self.memories[replica]
        return self.eliminations[replica].skip(values, prior) if by_text else np.asarray(values)

    def _alpha_of(self, replica: int) -> float:
        return self.alpha * float(self.alpha_factor[replica % len(self.alpha_factor)])

    def optimistic_value(self, memory: EpisodeMemory) -> float:
        """Return V, which exceeds the best return so far."""
        return self.settings.exploration.optimism * max(1.0, memory.best_return)

    def state(self) -> State:
        return {"memories": [memory.state() for memory in self.all_memories]}

    def restore(self, state: State) -> None:
        for memory, values in zip(self.all_memories, state["memories"], strict=True):
            memory.restore(values)


def recurs(memory: EpisodeMemory, distinct: int, share: float = 0.5) -> bool:
    """Whether most steps saw one of the distinct texts or pages again, or none saw any."""
    return distinct <= max(1, (1 - share) * len(memory))


class SimHash:
    """Bits of a lexicon's texts: the signs of the sums of a random vector for each word.

    Measured on texts of 30 words drawn as often as in speech, with one word exchanged: 8 bits are
    the same for 61 % (16 bits: 37 %), and 5 % of unrelated texts share them. Actions are short and
    mostly recur. One other word makes another action, which 16 bits distinguish.
    """

    def __init__(self, texts: Lexicon, count: int) -> None:
        self.texts = texts
        self.generation = texts.generation
        self.count = count
        self.bits = np.full(1, -1)  # [T + 1], the last for id -1 (no text)

    def of(self, ids: Ids) -> Ids:
        """The bits of some texts. -1 stays -1."""
        texts = self.texts
        if texts.generation != self.generation:
            self.bits = self.bits[-1:]
            self.generation = texts.generation
        new = np.arange(len(self.bits) - 1, len(texts))
        if len(new):
            self.bits = np.concatenate([self.bits[:-1], self._hash(new), self.bits[-1:]])
        return np.asarray(self.bits[ids])

    def _hash(self, ids: Ids) -> Ids:
        words, member = np.unique(self.texts.words_of(ids), return_inverse=True)
        spelled = [self.texts.vocabulary.spelled[word] for word in words]
        vectors = small_random(spelled, self.count, 0).reshape(-1, self.count)
        owner = np.repeat(np.arange(len(ids)), self.texts.lengths(ids))
        sums = np.zeros((len(ids), self.count))
        np.add.at(sums, owner, vectors[member])
        return np.asarray((sums > 0) @ (1 << np.arange(self.count)))
