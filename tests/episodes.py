"""Fixed and random episodes, and learners that learn from returns."""

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


def bytes_of(memory):
    """The size of a memory's arrays."""
    return sum(np.asarray(array).nbytes for array in memory.state().values())


def joined(above, below):
    """The menus of these pages, then of those."""
    return Menus(
        np.concatenate([above.which, below.which + len(above.first) - 1]),
        np.concatenate([above.first, below.first[1:] + above.first[-1]]),
        np.concatenate([above.actions, below.actions]),
    )


def single_steps(states, menus, indices, rewards, next_states, next_menus):
    """Return episodes of one step each; rewards are numbers, menus are `Menus`."""
    count = len(states)
    order = np.arange(2 * count).reshape(2, count).T.ravel()  # each page before the next one
    return Steps(
        page_states=np.concatenate([states, next_states])[order],
        page_actions=joined(menus, next_menus)[order],
        taken=indices,
        probabilities=np.ones(count),
        rewards=np.asarray(rewards, np.float64),
        last=np.ones(count, bool),
    )


def steps_of(*episodes):
    """Return the steps of episodes: each a list of (state, menu, index, reward), and a last page."""
    steps = []
    pages = []
    last = []
    for transitions, final in episodes:
        steps += transitions
        pages += [*((state, menu) for state, menu, _, _ in transitions), final]
        last += [number == len(transitions) for number in range(1, len(transitions) + 1)]
    _, _, indices, rewards = zip(*steps, strict=True)
    return Steps(
        page_states=np.array([state for state, _ in pages]),
        page_actions=Menus.of([menu for _, menu in pages]),
        taken=np.array(indices),
        probabilities=np.full(len(steps), 0.5),
        rewards=np.array(rewards, np.float64),
        last=np.array(last),
    )


def random_episodes(model, seed, episodes=12):
    """Return episodes of one to four steps on the pages of a small model; some are truncated."""
    generator = np.random.default_rng(seed)
    states = len(model.store.states)
    actions = len(model.store.actions)

    def random_page():
        state = int(generator.integers(states))
        menu = generator.permutation(actions)[: generator.integers(1, 4)].tolist()
        return state, menu

    def random_episode():
        pages = [random_page() for _ in range(generator.integers(1, 5))]
        steps = []
        for state, menu in pages:
            index = int(generator.integers(len(menu)))
            steps.append((state, menu, index, float(generator.normal())))
        if generator.random() < 0.3:
            return steps, random_page()
        return steps, (int(generator.integers(states)), [])

    return steps_of(*(random_episode() for _ in range(episodes)))


def return_learner(kind, model, **settings):
    """Return a `ReturnLearning` of this kind with the settings of a run."""
    return kind(model, Settings.from_flat(**{**RETURNS, "replicas": len(model.seeds), **settings}))


def state_after_rounds(
    learning, rounds=3, make=lambda replica, number: np.random.default_rng([replica, number])
):
    """Learn from rounds of random episodes, which depend on the seeds; return the model's state."""
    seeds = learning.model.seeds
    for number in range(rounds):
        learning.forget()
        for replica, seed in enumerate(seeds):
            learning.observe(replica, random_episodes(learning.model, [seed, number]))
        learning.learn([make(seed, number) for seed in seeds])
    return learning.model.state()
