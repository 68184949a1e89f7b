"""A compiled game for models that see the whole menu: each page is shown with its actions in a new order, and all
episodes of all replicas step together, by look-ups and one forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.game import Compiled
from drrn.compiled.lockstep import Played, arrivals
from drrn.learning.equations import draw_actions, last_steps
from drrn.learning.experience import Steps
from drrn.learning.menus import Menus
from drrn.models import Model, Pages
from drrn.playing.compiled_rollouts import CompiledRollouts, GraphRollout
from drrn.playing.policies import QPolicy, chances
from drrn.playing.rollouts import Rollout
from drrn.text import Ids, Store


class MenuRollouts(CompiledRollouts):
    """Plays as `CompiledRollouts` does, where Q depends on the order of the actions."""

    @cached_property
    def actions(self) -> Ids:
        """The actions of each page side by side, -1 where it has no more: [P, A]."""
        return self.menus.padded()

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> Sequence[Rollout]:
        """For each replica, so many episodes; its generator alone makes them."""
        rows = [
            MenuEpisodes(self, r, generator, episodes) for r, generator in enumerate(generators)
        ]
        for _ in range(self.game.max_steps):
            if not any(len(row.episode) for row in rows):
                break
            q = self.model.q(_pages(rows), self.store).cpu().numpy()
            for row, here in zip(rows, q, strict=True):
                row.step(here[: len(row.episode)], policy)
        return [MenuRollout(self, row.played, row.steps) for row in rows]


@dataclass(frozen=True)
class MenuStep:
    """One step of all episodes under way: what was shown, what was taken, where it led and what was shown there."""

    episode: Ids
    text: Ids
    menu: Ids
    taken: Ids
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    next_text: Ids
    next_menu: Ids


class MenuEpisodes:
    """The episodes of one replica that are under way; those that are over leave."""

    def __init__(
        self, rollouts: MenuRollouts, replica: int, generator: np.random.Generator, episodes: int
    ) -> None:
        self.rollouts = rollouts
        self.replica = replica
        self.generator = generator
        self.arrive = arrivals(rollouts.game, generator)
        self.played = Played(
            np.zeros(episodes),
            np.zeros(episodes),
            np.zeros(episodes, np.intp),
            np.full(episodes, -1, np.intp),
        )
        self.episode = np.arange(episodes)
        self.shown = np.zeros(
            (episodes, len(rollouts.game.texts)), np.bool_
        )  # the texts of each episode's pages
        self._sit(self.arrive(np.zeros(episodes, np.intp)))
        none = self.episode[:0]
        nothing = np.zeros(0)
        text = self.text[:0]
        menu = self.menu[:0]
        self.steps = [
            MenuStep(none, text, menu, none, nothing, nothing, text, menu)
        ]  # the shapes, if no step follows
        self._leave()

    def step(self, q: NDArray[np.floating], policy: QPolicy) -> None:
        """Take an action in every episode."""
        game = self.rollouts.game
        played = self.played
        if not len(self.episode):
            return
        shares = chances(policy, self.replica, q, Pages(self.text, self.menu), self._seen())
        taken = draw_actions(shares, self.generator.random(len(self.episode)))
        rows = np.arange(len(taken))
        slot = game.first[self.state] + self.order[rows, taken]
        before = self.text, self.menu
        self._sit(self.arrive(game.row[slot]))
        reward = game.reward[self.state]
        played.total[self.episode] += reward
        played.steps[self.episode] += 1
        self.steps.append(
            MenuStep(
                self.episode, *before, taken, shares[rows, taken], reward, self.text, self.menu
            )
        )
        self._leave()

    def _seen(self) -> NDArray[np.bool_]:
        """Which episodes have shown the text of their page before; from now on, all have."""
        here = self.episode, self.rollouts.game.text[self.state]
        seen: NDArray[np.bool_] = self.shown[here]
        self.shown[here] = True
        return seen

    def _sit(self, state: NDArray[np.intp]) -> None:
        """Come to states: their pages are shown, each with its actions in a new order."""
        page = self.rollouts.game.page[state]
        actions = self.rollouts.actions[page]
        lots = np.where(actions >= 0, self.generator.random(actions.shape), 2.0)
        self.state = state
        self.order = np.argsort(lots, axis=1)
        self.text, self.menu = (
            self.rollouts.states[page],
            np.take_along_axis(actions, self.order, axis=1),
        )

    def _leave(self) -> None:
        """What is over is recorded."""
        game = self.rollouts.game
        over = game.ended[self.state]
        self.played.final_reward[self.episode[over]] = game.reward[self.state[over]]
        self.played.ending[self.episode[over]] = game.ending_at[self.state[over]]
        on = ~over
        self.episode = self.episode[on]
        self.state = self.state[on]
        self.order = self.order[on]
        self.text = self.text[on]
        self.menu = self.menu[on]


@dataclass(frozen=True)
class MenuRollout(GraphRollout):
    """Episodes that one replica played, with the menus as they were shown."""

    menu_steps: list[MenuStep]

    def steps(self) -> Steps:
        """Every step, in the order of the episodes."""
        columns = zip(*(vars(step).values() for step in self.menu_steps), strict=True)
        whole = MenuStep(*map(np.concatenate, columns))
        order = np.argsort(whole.episode, kind="stable")
        last = last_steps(whole.episode[order])
        return Steps(
            states=whole.text[order],
            actions=Menus.of_padded(whole.menu[order]),
            taken=whole.taken[order],
            probabilities=whole.probability[order],
            rewards=whole.reward[order],
            last=last,
            end_states=whole.next_text[order[last]],
            end_actions=Menus.of_padded(whole.next_menu[order[last]]),
        )


def _pages(rows: Sequence[MenuEpisodes]) -> Pages:
    """What all replicas see, padded to the most episodes that one of them has under way."""
    most = max(len(row.episode) for row in rows)
    width = rows[0].menu.shape[1]
    states = np.full((len(rows), most), -1)
    actions = np.full((len(rows), most, width), -1)
    for number, row in enumerate(rows):
        states[number, : len(row.text)], actions[number, : len(row.text)] = row.text, row.menu
    return Pages(states, actions)


def compiled_rollouts(game: Compiled, model: Model, store: Store | None = None) -> CompiledRollouts:
    """The way of playing a compiled game that fits the model."""
    return (MenuRollouts if model.sees_menu else CompiledRollouts)(game, model, store)
