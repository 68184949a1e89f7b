"""Exploring by optimism: what was seldom tried counts as good, so play goes where it knows least.

A memory of every pair of page and action has the count N of how often it was taken and the mean of the returns that
followed; play takes the pair for (N mean + w V) / (N + w), V being more than anything seen so far. Returns rest on the
same numbers, so that a page from which something untried can be reached is worth going to. Where pages hardly ever
recur, the memory is one of pages that are alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drrn.learning.episode_memory import EpisodeMemory, Marked
from drrn.learning.exploration import Probabilities, softmax
from drrn.learning.learner import Experience
from drrn.learning.likeness import Likeness
from drrn.learning.return_learning import value_anew
from drrn.models.base import Pages
from drrn.settings import Settings
from drrn.text import Ids, State, Store, texts_of_all

RECUR = 0.5  # share of steps on pages that were seen before, above which pages count as recurring


class Optimism:
    """An explorer for all replicas: it is told what was played, and chooses; any learner may stand beside it."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.alpha = settings.exploration.alpha
        self.memories = [EpisodeMemory(settings.learner.capacity) for _ in settings.run.seeds]
        self.alike = [
            EpisodeMemory(settings.learner.capacity) for _ in settings.run.seeds
        ]  # where pages do not recur
        self.marked = Marked([*self.memories, *self.alike])
        self.likeness = Likeness(store)

    def begin(self, number: int) -> None:
        """A round begins; what it told before it was interrupted, if it was, is let go of. Once it explores no more,
        nothing has to be remembered."""
        self.alpha = self.settings.alpha_at(number)
        if self.settings.explores_at(number):
            self.marked.begin(number)
        else:
            self._forget()

    def tell(self, replica: int, played: Experience) -> None:
        """Take in what a replica played; from now on it chooses by that, too."""
        memory = self.memories[replica]
        steps = played.steps()
        memory.add(steps)
        hoped = self.generous(memory)
        if not recurs(memory):
            memory = self.alike[replica]
            memory.add(self.likeness.of_steps(steps))
        value_anew(memory, hoped, self.settings, self.alpha)

    def rescale(self, replica: int, factor: float) -> None:
        for memory in (self.memories[replica], self.alike[replica]):
            memory.rescale(factor)

    def first(self, replica: int, q: NDArray[np.floating], pages: Pages) -> Probabilities:
        """The probabilities of a replica's actions: softmax over optimistic values, whatever the network says."""
        memory = self.memories[replica]
        weight = self.settings.learner.pseudo_count
        shown = pages
        hoped = self.generous(memory)
        if not recurs(memory):
            memory = self.alike[replica]
            shown = self.likeness.of_pages(pages)
        count, value = memory.known(shown)
        optimistic = (count * value + weight * hoped) / (count + weight)
        return softmax(optimistic, pages.mask, self.alpha)

    def again(self, replica: int, q: NDArray[np.floating], pages: Pages) -> Probabilities | None:
        return None

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return texts_of_all(self.memories)

    def renumber(self, states: Ids, actions: Ids) -> None:
        for memory in self.memories:
            memory.renumber(states, actions)
        self.marked.void()

    def state(self) -> State:
        return {"memories": [memory.state() for memory in (*self.memories, *self.alike)]}

    def restore(self, state: State) -> None:
        for memory, kept in zip((*self.memories, *self.alike), state["memories"], strict=True):
            memory.restore(kept)
        self.marked.void()

    def _forget(self) -> None:
        for memory in (*self.memories, *self.alike):
            memory.clear()
        self.marked.void()

    def generous(self, memory: EpisodeMemory) -> float:
        """V: more than the best that was seen."""
        return self.settings.exploration.optimism * max(1.0, memory.best_return)


def recurs(memory: EpisodeMemory) -> bool:
    """Whether most steps were taken on pages that the memory had already; with nothing known, so it is taken to be."""
    return len(memory.states) <= max(1, (1 - RECUR) * len(memory))
