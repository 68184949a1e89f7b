"""A compiled game for every replica: Q of all pages once, then thousands of steps by look-ups alone.

This needs a model whose Q does not depend on the order in which actions are shown, and weights that rest meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.games import Compiled
from drrn.games.compiled.lockstep import Played
from drrn.learning.replay import Transitions
from drrn.learning.steps import Steps, last_steps
from drrn.models import Model, Pages
from drrn.playing.episodes import Episode
from drrn.playing.policies import QPolicy
from drrn.playing.rollouts import Rollout
from drrn.text import Ids, Store

Floats = NDArray[np.float64]
Tables = tuple[
    Floats, Floats | None
]  # the probability of each slot: at first, and on a page shown before, if it differs


class CompiledRollouts:
    """Plays a compiled game with a model, replica by replica."""

    def __init__(self, game: Compiled, model: Model, store: Store | None = None) -> None:
        """`store` is for a game whose texts the model has not all read: a scratch store, to look at and let go."""
        self.game, self.model, self.store = game, model, store or model.store
        states = np.array([self.store.states.id(text) for text in game.texts], np.int64)
        actions = np.array([*(self.store.actions.id(action) for action in game.actions), -1], np.int64)
        self.states: Ids = states[game.page_text]  # [P]
        self.actions: Ids = actions[game.page_actions]  # [P, A]; -1 stays -1

    def play(
        self, episodes: int, policy: QPolicy, generators: Sequence[np.random.Generator], *, learn: bool
    ) -> Sequence[Rollout]:
        """For each replica, so many episodes; its generator alone makes them. All words are known: none are learned."""
        found = []
        for tables, generator in zip(self.tables(policy), generators, strict=True):
            seed = int(generator.integers(2**62))
            played = self.game.play(tables[0], episodes, seed=seed, record=learn, again=tables[1])
            found.append(CompiledRollout(self, played, tables))
        return found

    def probabilities(self, policy: QPolicy) -> list[Floats]:
        """The probability of each slot of the game, for each replica, if it is the same whenever a page is shown."""
        found = self.tables(policy)
        if any(again is not None for _, again in found):
            raise InputError("this policy remembers the pages of an episode: its score can only be sampled")
        return [first for first, _ in found]

    def tables(self, policy: QPolicy) -> list[Tables]:
        """The probability of each slot, for each replica: at first, and where the page was shown before."""
        replicas = len(self.model.seeds)
        pages = Pages(np.tile(self.states, (replicas, 1)), np.tile(self.actions, (replicas, 1, 1)))
        q = self.model.q(pages, self.store).cpu().numpy()  # [R, P, A]
        on = (self.actions >= 0).any(axis=1)  # the pages that are no endings
        shown = Pages(self.states[on], self.actions[on])
        found = []
        for r in range(replicas):
            first, again = policy.first(r, q[r, on], shown), policy.again(r, q[r, on], shown)
            found.append((self._by_slot(first, shown), None if again is None else self._by_slot(again, shown)))
        return found

    def _by_slot(self, shares: Floats, shown: Pages) -> Floats:
        """Of each slot, what stands for its page and action [P, A]; endings, which have no actions, are left out."""
        return np.asarray(self.game.by_state(shares[shown.mask]), np.float64)


@dataclass(frozen=True)
class GraphRollout:
    """Episodes that one replica played on a compiled game; how its steps were recorded, a subclass knows."""

    rollouts: CompiledRollouts
    played: Played

    @property
    def episodes(self) -> list[Episode]:
        played, names = self.played, [place.passage for place in self.rollouts.game.endings]
        columns = (played.final_reward, played.total, played.steps, played.ending)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [Episode(final, total, steps, names[end] if end >= 0 else None) for final, total, steps, end in rows]

    def steps(self) -> Steps:
        raise NotImplementedError

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        return self.steps().transitions(discount, n_steps)


@dataclass(frozen=True)
class CompiledRollout(GraphRollout):
    """Episodes that one replica played by look-ups alone."""

    tables: Tables  # by which it was played

    def steps(self) -> Steps:
        """Every step, in the order of the episodes, if it was played to learn."""
        return self._steps

    @cached_property
    def _steps(self) -> Steps:
        """Made once: a learner and an explorer may both ask."""
        game, shown, taken = self.rollouts.game, self.rollouts, self.played.transitions
        assert taken is not None
        order = np.argsort(taken.episode, kind="stable")
        episode, state = taken.episode[order], taken.state[order]
        slot, after = taken.slot[order], taken.successor[order]
        last, (first, again) = last_steps(episode), self.tables
        return Steps(
            states=shown.states[game.page[state]],
            actions=shown.actions[game.page[state]],
            taken=slot - game.first[state],
            probabilities=first[slot] if again is None else np.where(taken.again[order], again[slot], first[slot]),
            rewards=game.reward[after],
            last=last,
            end_states=shown.states[game.page[after[last]]],
            end_actions=shown.actions[game.page[after[last]]],
        )
