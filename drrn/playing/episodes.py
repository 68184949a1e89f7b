"""Playing episodes to their ending or to the step limit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from drrn.games import Game, Observation, as_game
from drrn.games.contract import checked
from drrn.games.optional import ending_of, is_stopped, step_limit_of

Policy = Callable[[Observation], int]  # the index of the action to take; one that remembers has a begin(), too


@dataclass(frozen=True, slots=True)
class Episode:
    """The outcome of an episode: final reward, return, steps, and the name of its ending."""

    final_reward: float  # of the ending; 0 where the episode was stopped
    total: float  # the return, undiscounted
    steps: int
    ending: str | None  # the ending's name; None: stopped, by the step limit or by the game


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over episodes."""

    episodes: int
    mean_final_reward: float
    mean_return: float
    mean_steps: float
    endings: dict[str, int]  # how many episodes ended there, most first; those that were stopped are in none


def random_policy(seed: int) -> Policy:
    """A policy that takes each action with the same probability."""
    draw = random.Random(seed).random
    return lambda observation: int(draw() * len(observation.actions))


def play_episodes(game: Any, policy: Policy, episodes: int, seed: int) -> Iterator[Episode]:
    """Play episodes and yield the outcome of each, an `Episode`.

    `game` is a name, a path or an object; `policy` is a function from an observation to the index of an action. One
    seed determines all episodes. If the policy has a method `begin()`, it is called before each episode.
    """
    game = as_game(game)
    most = step_limit_of(game)
    begin = getattr(policy, "begin", None)
    for number in range(episodes):
        if begin is not None:
            begin()
        yield rest_of_episode(game, policy, checked(game, game.reset(seed if number == 0 else None)), most)


def rest_of_episode(game: Game, policy: Policy, observation: Observation, most: int) -> Episode:
    """Play from an observation on, so many steps at most; what came before it counts for nothing."""
    total, steps = 0.0, 0
    while observation.actions and steps < most and not (steps and is_stopped(game)):
        observation = checked(game, game.step(policy(observation)))
        total += observation.reward
        steps += 1
    return Episode(observation.reward if observation.ended else 0.0, total, steps, ending_of(game, observation))


def summarise(played: Iterable[Episode]) -> Summary:
    """Means over episodes."""
    done = list(played)
    count = max(len(done), 1)
    return Summary(
        episodes=len(done),
        mean_final_reward=sum(episode.final_reward for episode in done) / count,
        mean_return=sum(episode.total for episode in done) / count,
        mean_steps=sum(episode.steps for episode in done) / count,
        endings=dict(Counter(e.ending for e in done if e.ending is not None).most_common()),
    )
