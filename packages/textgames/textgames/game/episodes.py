"""Play episodes to an ending or to the step limit."""

import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from textgames.game.contract import Game, Observation, checked, ending_of, is_stopped, step_limit_of
from textgames.game.gymnasium_game import game_of

# Returns the index of an action. A policy with memory also has begin(), which `episode` calls.
Policy = Callable[[Observation], int]

# An episode is in a circle if it was on the same page this many times before, without a positive
# reward since the first of them. Fewer visits are often due to chance, such as failed moves.
CIRCLE = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One page of an episode; `index` is the action that led to it, None for the opening page."""

    page: Observation
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """The outcome of an episode."""

    final_reward: float  # reward of the ending; 0 if the episode was truncated
    total: float  # undiscounted return
    steps: int
    ending: str | None  # name of the ending; None if the episode was truncated


class Visits:
    """Counts the visits of each page in an episode since its last positive reward.

    A page is its text and its actions in any order.
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def is_circle(self, page: Observation) -> bool:
        """Return whether the episode is in a circle when it shows a page."""
        return page.reward <= 0 and self.counts[_key(page)] >= CIRCLE

    def add(self, page: Observation) -> None:
        """Count a visit."""
        if page.reward > 0:
            self.counts.clear()
        self.counts[_key(page)] += 1


def _key(page: Observation) -> int:
    return hash((page.text, frozenset(page.actions)))


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over episodes."""

    episodes: int
    mean_final_reward: float
    mean_return: float
    mean_steps: float
    endings: dict[str, int]  # number of episodes for each ending, most frequent first

    @property
    def shares(self) -> dict[str, float]:
        """The share of episodes with each ending."""
        return {name: count / self.episodes for name, count in self.endings.items()}


class _RandomPolicy:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._draw = random.Random(seed).random

    def __call__(self, observation: Observation) -> int:
        return int(self._draw() * len(observation.actions))

    def __repr__(self) -> str:
        return f"<random policy, seed {self.seed}>"


def random_policy(seed: int) -> Policy:
    """A policy that takes each action with the same probability."""
    return _RandomPolicy(seed)


def episode(
    game: Game,
    policy: Policy,
    seed: int | None = None,
    *,
    opening: Observation | None = None,
    max_steps: int | None = None,
) -> Iterator[Step]:
    """Play one episode and yield its pages, the opening page first.

    Args:
        game: The game to play.
        policy: Maps an observation to the index of an action. If it has a method `begin()`, that
            is called first.
        seed: Passed to `game.reset`; None continues the game's random generator.
        opening: The page that the game already shows; if given, the game is not reset.
        max_steps: Truncates the episode (default: the game's step limit).

    Yields:
        A `Step` for each page. The episode is truncated if the last page has actions.
    """
    begin = getattr(policy, "begin", None)
    if begin is not None:
        begin()
    limit = step_limit_of(game) if max_steps is None else max_steps
    page = checked(game, game.reset(seed)) if opening is None else opening
    yield Step(page)
    steps = 0
    while page.actions and steps < limit and not (steps and is_stopped(game)):
        index = policy(page)
        steps += 1
        page = checked(game, game.step(index), steps)
        yield Step(page, index)


def play_episodes(game: Any, policy: Policy, episodes: int, seed: int) -> Iterator[Episode]:
    """Play episodes and yield the outcome of each.

    Args:
        game: A name, a path or a game.
        policy: Maps an observation to the index of an action.
        episodes: How many to play.
        seed: Determines all episodes.

    Example:
        >>> for outcome in play_episodes(make("long-watch"), random_policy(0), 2, seed=0):
        ...     print(outcome.ending, outcome.total)
    """
    game = game_of(game)
    for number in range(episodes):
        yield outcome_of(game, episode(game, policy, seed if number == 0 else None))


def outcome_of(game: Game, steps: Iterable[Step]) -> Episode:
    """Play an episode's steps to the last and return its outcome."""
    pages = iter(steps)
    page = next(pages).page
    total = 0.0
    count = 0
    for step in pages:
        page = step.page
        total += page.reward
        count += 1
    final_reward = page.reward if page.ended else 0.0
    return Episode(final_reward, total, count, ending_of(game, page))


def summarise(outcomes: Iterable[Episode]) -> Summary:
    """Return means over episodes."""
    episodes = list(outcomes)
    count = max(len(episodes), 1)
    endings = Counter(outcome.ending for outcome in episodes if outcome.ending is not None)
    return Summary(
        episodes=len(episodes),
        mean_final_reward=sum(outcome.final_reward for outcome in episodes) / count,
        mean_return=sum(outcome.total for outcome in episodes) / count,
        mean_steps=sum(outcome.steps for outcome in episodes) / count,
        endings=dict(endings.most_common()),
    )


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation, which is 0 for a single value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
