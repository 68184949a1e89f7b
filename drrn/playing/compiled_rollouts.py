"""Play a compiled game by look-ups: thousands of episodes at once.

`CompiledRollouts` computes Q of all pages once, which needs fixed weights and a model whose Q does
not depend on the order of the actions. `MenuRollouts` is for models that see the menu: each page
shows its actions in a new order, and all episodes of all replicas step together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.game import Compiled, Played, arrivals
from drrn.errors import InputError
from drrn.game.episodes import Episode
from drrn.learning.equations import Floats, draw_actions, last_steps
from drrn.learning.experience import Steps
from drrn.learning.menus import Menus, groups_by_width
from drrn.models import Model, Pages
from drrn.playing.policies import QPolicy, Rollout, probabilities_of
from drrn.text import Ids, Store, ranges

# The probability of each slot: on new pages, and on repeated pages if it differs.
Tables = tuple[Floats, Floats | None]


class CompiledRollouts:
    """Plays a compiled game with a model, replica by replica."""

    def __init__(self, game: Compiled, model: Model, store: Store | None = None) -> None:
        """Read the game's texts; `store` is a scratch store for texts that are new to the model."""
        self.game = game
        self.model = model
        self.store = store or model.store
        states = np.array([self.store.states.id(text) for text in game.texts], np.int64)
        actions = np.array([self.store.actions.id(action) for action in game.actions], np.int64)
        self.states: Ids = states[game.page_text]  # [P]
        pages = np.arange(len(self.states))
        self.menus = Menus(pages, game.page_first, actions[game.page_action])

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> list[Rollout]:
        """Play episodes with each replica (see `Rollouts`)."""
        rollouts = []
        for tables, generator in zip(self.tables(policy), generators, strict=True):
            seed = int(generator.integers(2**62))
            played = self.game.play(tables[0], episodes, seed=seed, record=learn, again=tables[1])
            rollouts.append(self._rollout(played, tables))
        return rollouts

    def _rollout(self, played: Played, tables: Tables) -> Rollout:
        return Rollout(lambda: self.outcomes(played), lambda: self._steps(played, tables))

    def probabilities(self, policy: QPolicy) -> list[Floats]:
        """Return the probability of each slot of the game, for each replica.

        Raises:
            InputError: The policy depends on the earlier pages of an episode.
        """
        tables = self.tables(policy)
        if any(again is not None for _, again in tables):
            raise InputError(
                "this policy depends on the earlier pages of an episode: its score can only be "
                "estimated by playing"
            )
        return [first for first, _ in tables]

    def tables(self, policy: QPolicy) -> list[Tables]:
        """Return the probability of each slot for each replica, on new and on repeated pages."""
        replicas = len(self.model.seeds)
        counts = self.menus.counts
        size = len(self.menus.actions)
        first = [np.zeros(size) for _ in range(replicas)]
        again = [np.zeros(size) for _ in range(replicas)]
        differs = False
        for rows, width in groups_by_width(counts, self.menus.widest):
            states = self.states[rows]
            actions = self.menus[rows].padded(width)
            pages = Pages(np.tile(states, (replicas, 1)), np.tile(actions, (replicas, 1, 1)))
            q = self.model.q(pages, self.store).cpu().numpy()  # [R, P, A]
            nonterminal = counts[rows] > 0
            some = Pages(states[nonterminal], actions[nonterminal])
            links = ranges(self.menus.first[rows], counts[rows])
            for r in range(replicas):
                values = q[r, nonterminal]
                first[r][links] = policy.first(r, values, some)[some.mask]
                other = policy.again(r, values, some)
                differs = other is not None
                if other is not None:
                    again[r][links] = other[some.mask]
        by_state = self.game.by_state  # from links to slots
        pairs = zip(first, again, strict=True)
        return [(by_state(one), by_state(two) if differs else None) for one, two in pairs]

    def outcomes(self, played: Played) -> list[Episode]:
        """Return the outcome of each episode."""
        names = [ending.passage for ending in self.game.endings]
        columns = (played.final_reward, played.total, played.steps, played.ending)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [
            Episode(final, total, steps, names[end] if end >= 0 else None)
            for final, total, steps, end in rows
        ]

    def _steps(self, played: Played, tables: Tables) -> Steps:
        game = self.game
        taken = played.transitions
        assert taken is not None
        order = np.argsort(taken.episode, kind="stable")
        state = taken.state[order]
        slot = taken.slot[order]
        after = taken.successor[order]
        last = last_steps(taken.episode[order])
        first, again = tables
        probabilities = first[slot]
        if again is not None:
            probabilities = np.where(taken.again[order], again[slot], probabilities)
        return Steps(
            states=self.states[game.page[state]],
            actions=self.menus[game.page[state]],
            taken=slot - game.first[state],
            probabilities=probabilities,
            rewards=game.reward[after],
            last=last,
            end_states=self.states[game.page[after[last]]],
            end_actions=self.menus[game.page[after[last]]],
        )


class MenuRollouts(CompiledRollouts):
    """Plays a compiled game with a model whose Q depends on the order of the actions."""

    @cached_property
    def actions(self) -> Ids:
        """The actions of each page, padded with -1: [P, A]."""
        return self.menus.padded()

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> list[Rollout]:
        """Play episodes with each replica (see `Rollouts`)."""
        rows = [MenuEpisodes(self, r, by, episodes) for r, by in enumerate(generators)]
        for _ in range(self.game.max_steps):
            if not any(len(row.episode) for row in rows):
                break
            q = self.model.q(_pages(rows), self.store).cpu().numpy()
            for row, values in zip(rows, q, strict=True):
                row.step(values[: len(row.episode)], policy)
        return [self._menu_rollout(row) for row in rows]

    def _menu_rollout(self, row: MenuEpisodes) -> Rollout:
        return Rollout(lambda: self.outcomes(row.played), row.all_steps)


@dataclass(frozen=True)
class MenuStep:
    """One step of all running episodes: the page, the action taken, and the next page."""

    episode: Ids
    text: Ids
    menu: Ids
    taken: Ids
    probability: Floats
    reward: Floats
    next_text: Ids
    next_menu: Ids


class MenuEpisodes:
    """The running episodes of one replica."""

    def __init__(
        self, rollouts: MenuRollouts, replica: int, generator: np.random.Generator, episodes: int
    ) -> None:
        self.rollouts = rollouts
        self.replica = replica
        self.generator = generator
        self.arrive = arrivals(rollouts.game, generator)
        steps = np.zeros(episodes, np.intp)
        endings = np.full(episodes, -1, np.intp)
        self.played = Played(np.zeros(episodes), np.zeros(episodes), steps, endings)
        self.episode = np.arange(episodes)
        texts = len(rollouts.game.texts)
        self.shown = np.zeros((episodes, texts), np.bool_)  # texts that each episode has shown
        self._enter(self.arrive(np.zeros(episodes, np.intp)))
        none = self.episode[:0]
        text = self.text[:0]
        menu = self.menu[:0]
        empty = MenuStep(none, text, menu, none, np.zeros(0), np.zeros(0), text, menu)
        self.steps = [empty]  # gives the shapes if there are no steps
        self._remove_ended()

    def step(self, q: NDArray[np.floating], policy: QPolicy) -> None:
        """Take an action in every episode."""
        if not len(self.episode):
            return
        game = self.rollouts.game
        text = self.text
        menu = self.menu
        probabilities = probabilities_of(
            policy, self.replica, q, Pages(text, menu), self._mark_shown()
        )
        taken = draw_actions(probabilities, self.generator.random(len(self.episode)))
        rows = np.arange(len(taken))
        slot = game.first[self.state] + self.order[rows, taken]
        self._enter(self.arrive(game.row[slot]))
        reward = game.reward[self.state]
        self.played.total[self.episode] += reward
        self.played.steps[self.episode] += 1
        probability = probabilities[rows, taken]
        before = (self.episode, text, menu)
        self.steps.append(MenuStep(*before, taken, probability, reward, self.text, self.menu))
        self._remove_ended()

    def all_steps(self) -> Steps:
        """Return every step in the order of the episodes."""
        columns = zip(*(vars(step).values() for step in self.steps), strict=True)
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

    def _mark_shown(self) -> NDArray[np.bool_]:
        """Return which episodes have shown the text of their page before, and mark it as shown."""
        here = (self.episode, self.rollouts.game.text[self.state])
        repeated: NDArray[np.bool_] = self.shown[here]
        self.shown[here] = True
        return repeated

    def _enter(self, state: NDArray[np.intp]) -> None:
        """Enter states; their pages show the actions in a new order."""
        page = self.rollouts.game.page[state]
        actions = self.rollouts.actions[page]
        keys = np.where(actions >= 0, self.generator.random(actions.shape), 2.0)
        self.state = state
        self.order = np.argsort(keys, axis=1)
        self.text = self.rollouts.states[page]
        self.menu = np.take_along_axis(actions, self.order, axis=1)

    def _remove_ended(self) -> None:
        """Record the outcomes of episodes that have ended, and remove them."""
        game = self.rollouts.game
        ended = game.ended[self.state]
        self.played.final_reward[self.episode[ended]] = game.reward[self.state[ended]]
        self.played.ending[self.episode[ended]] = game.ending_at[self.state[ended]]
        running = ~ended
        self.episode = self.episode[running]
        self.state = self.state[running]
        self.order = self.order[running]
        self.text = self.text[running]
        self.menu = self.menu[running]


def _pages(rows: Sequence[MenuEpisodes]) -> Pages:
    """Return the pages of all replicas, padded to the largest number of running episodes."""
    most = max(len(row.episode) for row in rows)
    width = rows[0].menu.shape[1]
    states = np.full((len(rows), most), -1)
    actions = np.full((len(rows), most, width), -1)
    for replica, row in enumerate(rows):
        states[replica, : len(row.text)] = row.text
        actions[replica, : len(row.text)] = row.menu
    return Pages(states, actions)


def compiled_rollouts(game: Compiled, model: Model, store: Store | None = None) -> CompiledRollouts:
    """Return the rollouts of a compiled game that suit the model."""
    kind = MenuRollouts if model.sees_menu else CompiledRollouts
    return kind(game, model, store)
