"""Many games side by side: all replicas' episodes step together, so that one forward pass serves them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drrn.games import Observation, StoryGame
from drrn.learning.exploration import Probabilities, drawn
from drrn.learning.replay import Transitions
from drrn.models import Model, Pages
from drrn.playing.episodes import Episode
from drrn.text import Ids

Choose = Callable[[NDArray[np.floating], NDArray[np.bool_]], Probabilities]  # from Q and mask [N, A]


@dataclass
class Trajectory:
    """One episode as it was played: pages as ids, places of the actions taken, rewards."""

    states: list[int] = field(default_factory=list)
    menus: list[list[int]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    last_reward: float = 0.0  # of the page it stands on, the first one's included
    ending: str | None = None

    @property
    def episode(self) -> Episode:
        final = self.last_reward if self.ended else 0.0
        return Episode(final, sum(self.rewards), len(self.taken), self.ending)

    @property
    def ended(self) -> bool:
        return not self.menus[-1]


@dataclass(frozen=True)
class Rollout:
    """Episodes that one replica played."""

    tracks: list[Trajectory]

    @property
    def episodes(self) -> list[Episode]:
        return [track.episode for track in self.tracks]

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        moments = [(track, t) for track in self.tracks for t in range(len(track.taken))]
        return transitions_of(moments, discount, n_steps)


class Field:
    """Games of one story for every replica, and the model that reads them.

    While `learn_words` holds, a replica comes to know the words it reads; else unknown words count for nothing.
    """

    def __init__(self, game: StoryGame, model: Model) -> None:
        self.game, self.model = game, model
        replicas = len(model.seeds)
        self._met: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in range(replicas)]

    def play(
        self,
        episodes: int,
        choose: Choose,
        generators: Sequence[np.random.Generator],
        *,
        learn_words: bool,
    ) -> list[Rollout]:
        """For each replica, `episodes` finished or stopped ones; its generator alone makes them."""
        most = self.game.rules.max_steps
        tracks: list[list[Trajectory]] = []
        under_way: list[list[tuple[Trajectory, StoryGame]]] = []
        for replica, generator in enumerate(generators):
            row = [self.begin(replica, int(seed), learn_words) for seed in generator.integers(2**62, size=episodes)]
            tracks.append([track for track, _ in row])
            under_way.append([pair for pair in row if not pair[0].ended])
        for _ in range(most):
            if not any(under_way):
                break
            for replica, places in enumerate(self.choices(under_way, choose, generators)):
                for (track, game), place in zip(under_way[replica], places, strict=True):
                    self.advance(replica, track, game, place, learn_words)
                under_way[replica] = [pair for pair in under_way[replica] if not pair[0].ended]
        return [Rollout(row) for row in tracks]

    def begin(self, replica: int, seed: int, learn_words: bool) -> tuple[Trajectory, StoryGame]:
        """A new episode, at its first page."""
        track, game = Trajectory(), self.game.another()
        self.see(replica, track, game.reset(seed), learn_words)
        track.ending = game.ending
        return track, game

    def choices(
        self,
        under_way: Sequence[Sequence[tuple[Trajectory, StoryGame]]],
        choose: Choose,
        generators: Sequence[np.random.Generator],
    ) -> list[list[int]]:
        """A place for each game under way, replica by replica."""
        pages = pages_of([[(t.states[-1], t.menus[-1]) for t, _ in row] for row in under_way])
        q = self.model.q(pages).cpu().numpy()
        found = []
        for replica, row in enumerate(under_way):
            here, mask = q[replica, : len(row)], pages.mask[replica, : len(row)]
            uniform = generators[replica].random(len(row))
            found.append(drawn(choose(here, mask), uniform).tolist() if row else [])
        return found

    def advance(self, replica: int, track: Trajectory, game: StoryGame, place: int, learn_words: bool) -> None:
        observation = game.step(place)
        track.taken.append(place)
        track.rewards.append(observation.reward)
        self.see(replica, track, observation, learn_words)
        track.ending = game.ending

    def see(self, replica: int, track: Trajectory, observation: Observation, learn_words: bool) -> None:
        """The page as ids; new words become known to the replica, or count for nothing."""
        states, actions = self.model.states, self.model.actions
        states.grows = actions.grows = learn_words
        state, menu = states.id(observation.text), [actions.id(action) for action in observation.actions]
        track.states.append(state)
        track.menus.append(menu)
        track.last_reward = observation.reward
        if not learn_words:
            return
        seen_states, seen_actions = self._met[replica]
        if state not in seen_states:
            seen_states.add(state)
            self.model.meet_states(replica, np.array([state]))
        for action in menu:
            if action not in seen_actions:
                seen_actions.add(action)
                self.model.meet_actions(replica, np.array([action]))


def pages_of(rows: Sequence[Sequence[tuple[int, Sequence[int]]]]) -> Pages:
    """Pages of each replica, padded to one number of pages and of actions."""
    count = max(len(row) for row in rows)
    most = max((len(menu) for row in rows for _, menu in row), default=1) or 1
    states = np.full((len(rows), count), -1, np.int64)
    actions = np.full((len(rows), count, most), -1, np.int64)
    for replica, row in enumerate(rows):
        states[replica, : len(row)] = [state for state, _ in row]
        actions[replica, : len(row)] = _padded([menu for _, menu in row], most)
    return Pages(states, actions)


def transitions_of(moments: Sequence[tuple[Trajectory, int]], discount: float, n_steps: int = 1) -> Transitions:
    """What there is to learn from moments of episodes, each a track and a step.

    An episode that was stopped still has actions at its end, so it bootstraps.
    """
    spans = [(track, t, min(t + n_steps, len(track.taken))) for track, t in moments]
    most = max((len(track.menus[at]) for track, t, end in spans for at in (t, end)), default=1) or 1
    return Transitions(
        states=np.array([track.states[t] for track, t, _ in spans], np.int64),
        actions=_padded([track.menus[t] for track, t, _ in spans], most),
        taken=np.array([track.taken[t] for track, t, _ in spans], np.int64),
        rewards=np.array([_discounted(track.rewards[t:end], discount) for track, t, end in spans], np.float32),
        discounts=np.array([discount ** (end - t) for _, t, end in spans], np.float32),
        next_states=np.array([track.states[end] for track, _, end in spans], np.int64),
        next_actions=_padded([track.menus[end] for track, _, end in spans], most),
    )


def _padded(menus: Sequence[Sequence[int]], most: int) -> Ids:
    """Menus side by side, -1 where one has no more: [N, most]."""
    return np.array([[*menu, *[-1] * (most - len(menu))] for menu in menus], np.int64).reshape(-1, most)


def _discounted(rewards: Sequence[float], discount: float) -> float:
    return sum(discount**k * reward for k, reward in enumerate(rewards))
