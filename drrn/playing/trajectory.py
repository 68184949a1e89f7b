"""An episode as it is played, in ids; and what there is to learn from some of its moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from drrn.game.episodes import Episode
from drrn.learning.experience import Steps, Transitions
from drrn.learning.menus import Menus
from drrn.models import Pages
from drrn.text import Ids


@dataclass
class Trajectory:
    """One episode: pages as ids, places of the actions taken, rewards."""

    states: list[int] = field(default_factory=list)
    menus: list[list[int]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    probabilities: list[float] = field(
        default_factory=list
    )  # of the actions taken, when they were taken
    last_reward: float = 0.0  # of the page it stands on, the first one's included
    ending: str | None = None
    stopped: bool = False  # by the game or by the step limit, though actions remain
    shown: set[int] = field(
        default_factory=set
    )  # hashes of the texts: a scratch store's ids may change on the way
    again: bool = False  # whether the page it stands on has a text that was shown before

    def show(self, text: str) -> None:
        """Come to a page."""
        key = hash(text)
        self.again = key in self.shown
        self.shown.add(key)

    @property
    def episode(self) -> Episode:
        final = self.last_reward if self.ended else 0.0
        return Episode(final, sum(self.rewards), len(self.taken), self.ending)

    @property
    def ended(self) -> bool:
        return not self.menus[-1]

    @property
    def over(self) -> bool:
        return self.ended or self.stopped

    @property
    def page(self) -> tuple[int, list[int]]:
        """The page it stands on."""
        return self.states[-1], self.menus[-1]


def transitions_of(
    moments: Sequence[tuple[Trajectory, int]], discount: float, n_steps: int
) -> Transitions:
    """Return transitions for steps, each a trajectory and the number of a step in it.

    A truncated episode has actions at its end, so that it bootstraps.
    """
    spans = [(each, t, min(t + n_steps, len(each.taken))) for each, t in moments]
    now = [each.menus[t] for each, t, _ in spans]
    then = [each.menus[end] for each, _, end in spans]
    menus = Menus.of([*now, *then])
    rewards = [_discounted(each.rewards[t:end], discount) for each, t, end in spans]
    return Transitions(
        states=np.array([each.states[t] for each, t, _ in spans], np.int64),
        actions=menus[: len(spans)],
        taken=np.array([each.taken[t] for each, t, _ in spans], np.int64),
        rewards=np.array(rewards, np.float32),
        discounts=np.array([discount ** (end - t) for _, t, end in spans], np.float32),
        next_states=np.array([each.states[end] for each, _, end in spans], np.int64),
        next_actions=menus[len(spans) :],
    )


def steps_of(trajectories: Sequence[Trajectory]) -> Steps:
    """Whole episodes that were played to learn, step after step."""
    some = [trajectory for trajectory in trajectories if trajectory.taken]
    shown = [menu for trajectory in some for menu in trajectory.menus[:-1]]
    menus = Menus.of([*shown, *(trajectory.menus[-1] for trajectory in some)])
    last = [
        t == len(trajectory.taken)
        for trajectory in some
        for t in range(1, len(trajectory.taken) + 1)
    ]
    return Steps(
        states=np.array(
            [state for trajectory in some for state in trajectory.states[:-1]], np.int64
        ),
        actions=menus[: len(shown)],
        taken=np.array([place for trajectory in some for place in trajectory.taken], np.int64),
        probabilities=np.array(
            [share for trajectory in some for share in trajectory.probabilities], np.float64
        ),
        rewards=np.array(
            [reward for trajectory in some for reward in trajectory.rewards], np.float64
        ),
        last=np.array(last, np.bool_),
        end_states=np.array([trajectory.states[-1] for trajectory in some], np.int64),
        end_actions=menus[len(shown) :],
    )


def pages_of(rows: Sequence[Sequence[tuple[int, Sequence[int]]]]) -> Pages:
    """Pages of each replica, padded to one number of pages and of actions."""
    count = max(len(row) for row in rows)
    most = max((len(menu) for row in rows for _, menu in row), default=1) or 1
    states = np.full((len(rows), count), -1, np.int64)
    actions = np.full((len(rows), count, most), -1, np.int64)
    for replica, row in enumerate(rows):
        states[replica, : len(row)] = [state for state, _ in row]
        actions[replica, : len(row)] = padded([menu for _, menu in row], most)
    return Pages(states, actions)


def padded(menus: Sequence[Sequence[int]], most: int) -> Ids:
    """Menus side by side, -1 where one has no more: [N, most]."""
    return np.array([[*menu, *[-1] * (most - len(menu))] for menu in menus], np.int64).reshape(
        -1, most
    )


def _discounted(rewards: Sequence[float], discount: float) -> float:
    return sum(discount**k * reward for k, reward in enumerate(rewards))
