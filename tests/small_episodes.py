"""Hand-made episodes and those by chance, as a learner is told of them; and learners from returns."""

from dataclasses import dataclass

import numpy as np

from drrn.learning.menus import Menus
from drrn.learning.steps import Steps
from drrn.settings import Settings

RETURNS = {
    "learner": "returns",
    "optimiser": "adam",
    "learning_rate": 0.01,
    "updates": 25,
    "batch_size": 16,
    "keep": True,
}


def told(*episodes):
    """Steps of episodes: each a list of (state, menu, place taken, reward), and the page it came to rest on."""
    steps = [step for taken, _ in episodes for step in taken]
    last = [number == len(taken) for taken, _ in episodes for number in range(1, len(taken) + 1)]
    states, shown, places, rewards = zip(*steps, strict=True)
    return Steps(
        states=np.array(states),
        actions=Menus.of(shown),
        taken=np.array(places),
        probabilities=np.full(len(steps), 0.5),
        rewards=np.array(rewards, np.float64),
        last=np.array(last),
        end_states=np.array([state for _, (state, _) in episodes]),
        end_actions=Menus.of([menu for _, (_, menu) in episodes]),
    )


@dataclass(frozen=True)
class Played:
    """What a replica played."""

    of: Steps

    def steps(self):
        return self.of

    def transitions(self, discount, n_steps):
        return self.of.transitions(discount, n_steps)


def by_chance(built, seed, episodes=12):
    """Episodes on the pages of a small model, of one to four steps; some are stopped."""
    chance = np.random.default_rng(seed)
    states, actions = len(built.store.states), len(built.store.actions)

    def page():
        return int(chance.integers(states)), chance.permutation(actions)[
            : chance.integers(1, 4)
        ].tolist()

    def episode():
        pages = [page() for _ in range(chance.integers(1, 5))]
        steps = [
            (*here, int(chance.integers(len(here[1]))), float(chance.normal())) for here in pages
        ]
        return steps, (page() if chance.random() < 0.3 else (int(chance.integers(states)), []))

    return Played(told(*(episode() for _ in range(episodes))))


def return_learner(kind, built, **settings):
    """A kind of `ReturnLearning`, as a run would have it."""
    return kind(built, Settings.from_flat(**{**RETURNS, "replicas": len(built.seeds), **settings}))


def taught(
    learning, rounds=3, make=lambda replica, number: np.random.default_rng([replica, number])
):
    """What a model has learned after some rounds of episodes by chance: each replica has its own, by its seed."""
    seeds = learning.model.seeds
    for number in range(rounds):
        learning.forget()
        for replica, seed in enumerate(seeds):
            learning.tell(replica, by_chance(learning.model, [seed, number]))
        learning.learn([make(seed, number) for seed in seeds])
    return learning.model.state()
