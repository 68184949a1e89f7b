"""Play a compiled game by look-ups: thousands of episodes at once.

`CompiledRollouts` computes Q of all pages once, which needs fixed weights and a model whose Q does
not depend on the order of the actions. `MenuRollouts` is for models that see the menu: each page
shows its actions in a new order, and all episodes of all replicas step together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import Floats, draw_actions, last_steps
from drrn.learning.experience import Steps
from drrn.learning.learner import Generators
from drrn.learning.menus import Menus, groups_by_width
from drrn.models import Model, Pages
from drrn.playing.policies import Policy, Rollouts, probabilities_of
from drrn.text import Store
from textgames.arrays import Ids, ranges
from textgames.compiled.game import Compiled, Lanes, Played, arrivals
from textgames.errors import InputError
from textgames.game.episodes import Episode


class CompiledRollouts(Rollouts):
    """Plays a compiled game with a model, replica by replica."""

    def __init__(self, game: Compiled, model: Model, store: Store | None = None) -> None:
        """Read the game's texts. `store` is a scratch store for texts that are new to the model."""
        self.game = game
        self.model = model
        self.store = store or model.store
        states = np.array([self.store.states.id(text) for text in game.texts], np.int64)
        actions = np.array([self.store.actions.id(action) for action in game.actions], np.int64)
        self.states: Ids = states[game.page_text]  # [P]
        pages = np.arange(len(self.states))
        self.menus = Menus(pages, game.page_first, actions[game.page_action])

    def play(self, count: int, policy: Policy, generators: Generators) -> list[list[Episode]]:
        return [
            self.outcomes(self.game.play(first, count, seed=int(by.integers(2**62)), again=again))
            for (first, again), by in zip(self.tables(policy), generators, strict=True)
        ]

    def record(self, count: int, policy: Policy, generators: Generators) -> list[Steps]:
        game = self.game
        results = []
        for (first, again), generator in zip(self.tables(policy), generators, strict=True):
            seed = int(generator.integers(2**62))
            taken = game.play(first, count, seed=seed, record=True, again=again).transitions
            assert taken is not None
            order = np.argsort(taken.episode, kind="stable")
            last = last_steps(taken.episode[order])
            slot = taken.slot[order]
            probabilities = first[slot]
            if again is not None:
                probabilities = np.where(taken.again[order], again[slot], probabilities)
            state = taken.state[order]
            after = taken.successor[order]
            pages = game.page[np.insert(state, np.flatnonzero(last) + 1, after[last])]
            steps = Steps(
                page_states=self.states[pages],
                page_actions=self.menus[pages],
                taken=slot - game.first[state],
                probabilities=probabilities,
                rewards=game.reward[after],
                last=last,
            )
            results.append(steps)
        return results

    def probabilities(self, policy: Policy) -> list[Floats]:
        """The probability of each slot for each replica, by a policy without a memory."""
        if policy[1] is not None:
            cause = "this policy depends on the earlier pages of an episode"
            raise InputError(f"{cause}, so its score can only be estimated by playing")
        return [first for first, _ in self.tables(policy)]

    def tables(self, policy: Policy) -> list[tuple[Floats, Floats | None]]:
        """Return each replica's probabilities of slots, in general and in circles (None: same)."""
        choices = [choose for choose in policy if choose is not None]
        replicas = len(self.model.seeds)
        counts = self.menus.counts
        tables = np.zeros((replicas, len(choices), len(self.menus.actions)))
        for rows, width in groups_by_width(counts, self.menus.widest):
            pages = Pages(self.states[rows], self.menus[rows].padded(width), self.store)
            everywhere = pages[np.tile(np.arange(len(rows)), (replicas, 1))]
            q = self.model.q(everywhere).cpu().numpy()  # [R, P, A]
            nonterminal = counts[rows] > 0
            some = pages[nonterminal]
            links = ranges(self.menus.first[rows], counts[rows])
            for r in range(replicas):
                for table, choose in zip(tables[r], choices, strict=True):
                    table[links] = choose(r, q[r, nonterminal], some)[some.mask]
        by_state = self.game.by_state  # from links to slots
        return [(by_state(own[0]), by_state(own[1]) if policy[1] else None) for own in tables]

    def outcomes(self, played: Played) -> list[Episode]:
        """The outcome of each episode."""
        names = [ending.passage for ending in self.game.endings]
        columns = (played.final_reward, played.total, played.steps, played.ending)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [
            Episode(final, total, steps, names[end] if end >= 0 else None)
            for final, total, steps, end in rows
        ]


class MenuRollouts(CompiledRollouts):
    """Plays a compiled game with a model whose Q depends on the order of the actions."""

    def __init__(self, game: Compiled, model: Model, store: Store | None = None) -> None:
        super().__init__(game, model, store)
        self.actions = self.menus.padded()  # of each page, [P, A]

    def play(self, count: int, policy: Policy, generators: Generators) -> list[list[Episode]]:
        return [self.outcomes(row.lanes.played) for row in self._play(count, policy, generators)]

    def record(self, count: int, policy: Policy, generators: Generators) -> list[Steps]:
        return [row.all_steps() for row in self._play(count, policy, generators)]

    def _play(self, count: int, policy: Policy, generators: Generators) -> list[MenuEpisodes]:
        rows = [MenuEpisodes(self, r, by, count) for r, by in enumerate(generators)]
        while sum(row.lanes.start_and_finish() for row in rows):
            pages = Pages.of_replicas([row.pages() for row in rows], self.store)
            q = self.model.q(pages).cpu().numpy()
            for row, values in zip(rows, q, strict=True):
                row.step(values[: len(row.lanes.state)], policy)
        return rows


class MenuEpisodes:
    """The running episodes of one replica. Every page shows its actions in a new order."""

    def __init__(
        self, rollouts: MenuRollouts, replica: int, generator: np.random.Generator, count: int
    ) -> None:
        self.rollouts = rollouts
        self.replica = replica
        self.generator = generator
        self.arrive = arrivals(rollouts.game, generator)
        self.lanes = Lanes(rollouts.game, self.arrive, count, count)
        self.order = self._shuffled(self.lanes.state)  # of the actions of each lane's page
        # Columns of each step, in the order of `all_steps`; the first gives the shapes.
        none = np.zeros(0, np.int64)
        menu = np.zeros((0, rollouts.actions.shape[1]), np.int64)
        self.steps = [(none, none, menu, none, np.zeros(0), none, menu)]

    def pages(self) -> tuple[Ids, Ids]:
        """The texts and the menus of the present pages."""
        return self._pages(self.lanes.state, self.order[self.lanes.number])

    def step(self, q: NDArray[np.floating], policy: Policy) -> None:
        """Take an action in every episode."""
        game = self.rollouts.game
        lanes = self.lanes
        if not lanes.state.size:
            return
        pages = Pages(*self.pages())
        probabilities = probabilities_of(policy, self.replica, q, pages, lanes.visit())
        taken = draw_actions(probabilities, self.generator.random(len(q)))
        rows = np.arange(len(taken))
        order = self.order[lanes.number]
        after = self.arrive(game.row[game.first[lanes.state] + order[rows, taken]])
        next_order = self._shuffled(after)
        self.order[lanes.number] = next_order
        chosen = (taken, probabilities[rows, taken])
        # Copies, since lanes change these arrays in place.
        self.steps.append(
            (lanes.episode.copy(), lanes.state, order, *chosen, after.copy(), next_order)
        )
        lanes.move(after)

    def all_steps(self) -> Steps:
        """Every step in the order of the episodes."""
        columns = map(np.concatenate, zip(*self.steps, strict=True))
        episode, state, order, taken, probability, after, next_order = columns
        by_episode = np.argsort(episode, kind="stable")
        last = last_steps(episode[by_episode])
        ends = np.flatnonzero(last)
        final = by_episode[ends]
        texts, menus = self._pages(
            np.insert(state[by_episode], ends + 1, after[final]),
            np.insert(order[by_episode], ends + 1, next_order[final], axis=0),
        )
        return Steps(
            page_states=texts,
            page_actions=Menus.of_padded(menus),
            taken=taken[by_episode],
            probabilities=probability[by_episode],
            rewards=self.rollouts.game.reward[after[by_episode]],
            last=last,
        )

    def _pages(self, state: Ids, order: Ids) -> tuple[Ids, Ids]:
        page = self.rollouts.game.page[state]
        menus = np.take_along_axis(self.rollouts.actions[page], order, axis=1)
        return self.rollouts.states[page], menus

    def _shuffled(self, state: Ids) -> Ids:
        """A new order of the actions of each state, [N, A]."""
        actions = self.rollouts.actions[self.rollouts.game.page[state]]
        keys = np.where(actions >= 0, self.generator.random(actions.shape), 2.0)
        return np.argsort(keys, axis=1)


def compiled_rollouts(game: Compiled, model: Model, store: Store | None = None) -> CompiledRollouts:
    """The rollouts of a compiled game that suit the model."""
    kind = MenuRollouts if model.sees_menu else CompiledRollouts
    return kind(game, model, store)
