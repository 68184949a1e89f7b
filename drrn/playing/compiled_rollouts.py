"""A compiled game for every replica: Q of all pages once, then thousands of steps by look-ups alone.

This needs a model whose Q does not depend on the order in which actions are shown, and weights that rest meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drrn.games import Compiled
from drrn.games.compiled.lockstep import Played
from drrn.learning.replay import Transitions
from drrn.learning.steps import Steps
from drrn.models import Model, Pages
from drrn.playing.episodes import Episode
from drrn.playing.rollouts import QPolicy
from drrn.text import Ids, Store


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
    ) -> Sequence[CompiledRollout]:
        """For each replica, so many episodes; its generator alone makes them. All words are known: none are learned."""
        found = []
        for probabilities, generator in zip(self.probabilities(policy), generators, strict=True):
            seed = int(generator.integers(2**62))
            played = self.game.play(probabilities, episodes, seed=seed, record=learn)
            found.append(CompiledRollout(self, played, probabilities))
        return found

    def probabilities(self, policy: QPolicy) -> list[NDArray[np.float64]]:
        """The probability of each slot of the game, for each replica."""
        replicas = len(self.model.seeds)
        pages = Pages(np.tile(self.states, (replicas, 1)), np.tile(self.actions, (replicas, 1, 1)))
        q = self.model.q(pages, self.store).cpu().numpy()  # [R, P, A]
        mask = self.actions >= 0
        going_on = mask.any(axis=1)
        found = []
        for r in range(replicas):
            shares = np.zeros(mask.shape)
            shares[going_on] = policy(q[r, going_on], mask[going_on])
            found.append(np.asarray(self.game.by_state(shares[mask]), np.float64))
        return found


@dataclass(frozen=True)
class CompiledRollout:
    """Episodes that one replica played."""

    rollouts: CompiledRollouts
    played: Played
    shares: NDArray[np.float64]  # the probability of each slot

    @property
    def episodes(self) -> list[Episode]:
        played, names = self.played, [place.passage for place in self.rollouts.game.endings]
        columns = (played.final_reward, played.total, played.steps, played.ending)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [Episode(final, total, steps, names[end] if end >= 0 else None) for final, total, steps, end in rows]

    def steps(self) -> Steps:
        """Every step, in the order of the episodes, while it was played to learn."""
        game, shown, taken = self.rollouts.game, self.rollouts, self.played.transitions
        assert taken is not None
        order = np.argsort(taken.episode, kind="stable")
        episode, state = taken.episode[order], taken.state[order]
        slot, after = taken.slot[order], taken.successor[order]
        last = last_steps(episode)
        return Steps(
            states=shown.states[game.page[state]],
            actions=shown.actions[game.page[state]],
            taken=slot - game.first[state],
            probabilities=self.shares[slot],
            rewards=game.reward[after],
            last=last,
            end_states=shown.states[game.page[after[last]]],
            end_actions=shown.actions[game.page[after[last]]],
        )

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        return self.steps().transitions(discount, n_steps)


def last_steps(episode: Ids) -> NDArray[np.bool_]:
    """Of steps in the order of their episodes: which are the last of their episode."""
    return np.append(episode[1:] != episode[:-1], True)[: len(episode)]
