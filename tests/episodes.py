"""Hand-made and random episodes, and learners from returns."""

import numpy as np

from drrn.learning.experience import Steps
from drrn.learning.menus import Menus
from drrn.settings import Settings

RETURNS = {
    "learner": "returns",
    "optimiser": "adam",
    "learning_rate": 0.01,
    "updates": 25,
    "batch_size": 16,
    "keep": True,
}


def bytes_of(buffer):
    """Return the size of a replay buffer's arrays."""
    arrays = (*buffer.columns.values(), buffer.first, buffer.actions)
    return sum(array.nbytes for array in arrays)


def single_steps(states, menus, taken, rewards, next_states, next_menus):
    """Return episodes of one step each; rewards are numbers, menus are `Menus`."""
    count = len(states)
    return Steps(
        states=states,
        actions=menus,
        taken=taken,
        probabilities=np.ones(count),
        rewards=np.asarray(rewards, np.float64),
        last=np.ones(count, bool),
        end_states=next_states,
        end_actions=next_menus,
    )


def steps_of(*episodes):
    """Return steps of episodes: each a list of (state, menu, index taken, reward), and its last page."""
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


def random_episodes(built, seed, episodes=12):
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

    return steps_of(*(episode() for _ in range(episodes)))


def return_learner(kind, built, **settings):
    """A kind of `ReturnLearning`, as a run would have it."""
    return kind(built, Settings.from_flat(**{**RETURNS, "replicas": len(built.seeds), **settings}))


def state_after_rounds(
    learning, rounds=3, make=lambda replica, number: np.random.default_rng([replica, number])
):
    """What a model has learned after some rounds of episodes by chance: each replica has its own, by its seed."""
    seeds = learning.model.seeds
    for number in range(rounds):
        learning.forget()
        for replica, seed in enumerate(seeds):
            learning.tell(replica, random_episodes(learning.model, [seed, number]))
        learning.learn([make(seed, number) for seed in seeds])
    return learning.model.state()
