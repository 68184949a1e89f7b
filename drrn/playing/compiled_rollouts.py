"""A compiled game for every replica: Q of all pages once, then thousands of steps by look-ups alone.

This needs a model whose Q does not depend on the order in which actions are shown, and weights that rest meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.game import Compiled
from drrn.compiled.lockstep import Played
from drrn.errors import InputError
from drrn.game.episodes import Episode
from drrn.learning.equations import last_steps
from drrn.learning.experience import Steps
from drrn.learning.menus import Menus, groups_by_width
from drrn.models import Model, Pages
from drrn.playing.policies import QPolicy
from drrn.playing.rollouts import Rollout
from drrn.text import Ids, Store, ranges

Floats = NDArray[np.float64]
Tables = tuple[
    Floats, Floats | None
]  # the probability of each slot: at first; on a page shown before, if it differs


class CompiledRollouts:
    """Plays a compiled game with a model, replica by replica."""

    def __init__(self, game: Compiled, model: Model, store: Store | None = None) -> None:
        """`store` is for a game whose texts the model has not all read: a scratch store, to look at and let go."""
        self.game = game
        self.model = model
        self.store = store or model.store
        states = np.array([self.store.states.id(text) for text in game.texts], np.int64)
        actions = np.array([self.store.actions.id(action) for action in game.actions], np.int64)
        self.states: Ids = states[game.page_text]  # [P]
        self.menus = Menus(
            np.arange(len(self.states)), game.page_first, actions[game.page_action]
        )  # of each page

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
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
            raise InputError(
                "this policy remembers the pages of an episode: its score can only be sampled"
            )
        return [first for first, _ in found]

    def tables(self, policy: QPolicy) -> list[Tables]:
        """The probability of each slot, for each replica: at first, and where the page was shown before."""
        replicas = len(self.model.seeds)
        counts = self.menus.counts
        first, again = (
            [np.zeros(len(self.menus.actions)) for _ in range(replicas)] for _ in range(2)
        )
        differs = False
        for rows, width in groups_by_width(counts, self.menus.widest):
            states = self.states[rows]
            actions = self.menus[rows].padded(width)
            pages = Pages(np.tile(states, (replicas, 1)), np.tile(actions, (replicas, 1, 1)))
            q = self.model.q(pages, self.store).cpu().numpy()  # [R, P, A]
            on = counts[rows] > 0  # the pages that are no endings
            shown = Pages(states[on], actions[on])
            links = ranges(self.menus.first[rows], counts[rows])
            for r in range(replicas):
                first[r][links] = policy.first(r, q[r, on], shown)[shown.mask]
                other = policy.again(r, q[r, on], shown)
                if differs := other is not None:
                    again[r][links] = other[shown.mask]
        by_state = self.game.by_state  # of each slot, what stands for its page and action
        return [
            (by_state(one), by_state(two) if differs else None)
            for one, two in zip(first, again, strict=True)
        ]


@dataclass(frozen=True)
class GraphRollout:
    """Episodes that one replica played on a compiled game; how its steps were recorded, a subclass knows."""

    rollouts: CompiledRollouts
    played: Played

    @property
    def episodes(self) -> list[Episode]:
        played = self.played
        names = [place.passage for place in self.rollouts.game.endings]
        columns = (played.final_reward, played.total, played.steps, played.ending)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [
            Episode(final, total, steps, names[end] if end >= 0 else None)
            for final, total, steps, end in rows
        ]

    def steps(self) -> Steps:
        raise NotImplementedError


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
        game = self.rollouts.game
        shown = self.rollouts
        taken = self.played.transitions
        assert taken is not None
        order = np.argsort(taken.episode, kind="stable")
        episode = taken.episode[order]
        state = taken.state[order]
        slot = taken.slot[order]
        after = taken.successor[order]
        last, (first, again) = last_steps(episode), self.tables
        return Steps(
            states=shown.states[game.page[state]],
            actions=shown.menus[game.page[state]],
            taken=slot - game.first[state],
            probabilities=first[slot]
            if again is None
            else np.where(taken.again[order], again[slot], first[slot]),
            rewards=game.reward[after],
            last=last,
            end_states=shown.states[game.page[after[last]]],
            end_actions=shown.menus[game.page[after[last]]],
        )
