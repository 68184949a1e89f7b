"""An agent's games, where a story cannot be compiled: a small agent learns it within the time there is, and plays.

It learns by the strong recipe, from few games, so what it scores is a lower bound of what can be scored; what it meets
on the way counts for the coverage as all other games do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.episodes import rest_of_episode
from drrn.game.optional import is_stopped, step_limit_of, training_of
from drrn.settings import Settings, recipe
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.sampled_games import RandomTally
from drrn.stories.playtest.sightings import Arrival, EndingKey, Sightings, arrival_of

if TYPE_CHECKING:
    from drrn.runs.agent import Agent
    from drrn.runs.trainer import Trainer

LEARNING = 0.7  # the part of the agent's time in which it learns
MOST_PLAYED = 200
SMALL: dict[str, Any] = {
    "rounds": 12, "episodes_per_round": 20, "replan": 10, "updates": 60, "replicas": 1, "hidden": 50,
    "evaluation_episodes": 1, "no_compile": True,
}  # fmt: skip


class _OutOfTime(Exception):  # noqa: N818 - it is no error
    """The agent's time is over."""


@dataclass(frozen=True)
class AgentPlay:
    """What an agent's games came to, after it had learned from so many."""

    learned_from: int
    tally: RandomTally


class WatchedGame:
    """A game of which every page that is met is noted, and which stops when the time is over."""

    def __init__(self, game: Game, sightings: Sightings) -> None:
        self.game = game
        self.name = game.name
        self.sightings = sightings
        self.max_steps = step_limit_of(game)
        self.until = 0.0
        self.begun = 0  # games
        self._before: Arrival | None = None
        self._clicks: list[tuple[str, int]] = []
        self._seed: int | None = None

    @property
    def ending(self) -> str | None:
        key = self.ending_key
        return key.name if key else None

    @property
    def ending_key(self) -> EndingKey | None:
        return self._before.ending if self._before else None

    @property
    def stopped(self) -> bool:
        return is_stopped(self.game)

    def reset(self, seed: int | None = None) -> Observation:
        self._check_time()
        self.begun += 1
        self._seed = seed if seed is not None else self.begun
        self._before = None
        self._clicks = []
        return self._arrive(self.game.reset(self._seed), 0)

    def step(self, index: int) -> Observation:
        self._check_time()
        assert self._before is not None
        self._clicks.append((self._before.shown.actions[index], index))
        return self._arrive(self.game.step(index), index)

    def _arrive(self, shown: Observation, index: int) -> Observation:
        now = arrival_of(self.game, shown)
        words = tuple(word for word, _ in self._clicks)
        places = tuple(place for _, place in self._clicks)
        self.sightings.arrive(
            self._before, index, now, lambda: ClickPath(words, places, self._seed, (), shown.text)
        )
        self._before = now
        return shown

    def _check_time(self) -> None:
        if time.monotonic() > self.until:
            raise _OutOfTime


def agent_play(game: Game, sightings: Sightings, seconds: float) -> AgentPlay | None:
    """Let an agent learn and then play, for so many seconds; None where it came to play no game."""
    import torch

    from drrn.runs.trainer import Trainer, torch_threads

    watched = WatchedGame(game, sightings)
    begun = time.monotonic()
    until = begun + seconds
    watched.until = begun + LEARNING * seconds
    chosen = recipe(paper=False, recommended=training_of(game))
    try:
        settings = Settings.from_flat({**chosen, **SMALL})
        trainer = Trainer(watched, settings, torch.device("cpu"))
        _learn(trainer)
        learned_from = watched.begun
        watched.until = until
        with torch_threads(1):
            tally = _played(watched, trainer.agent)
    except (
        InputError
    ):  # a page cannot be told, or the game asks for settings that are not there: it goes without
        return None
    return AgentPlay(learned_from, tally) if tally.games else None


def _learn(trainer: Trainer) -> None:
    try:
        for _ in trainer.train():
            pass
    except _OutOfTime:
        pass


def _played(watched: WatchedGame, agent: Agent) -> RandomTally:
    """Games by the policy `best`, as many as there is time for; one that the clock ends does not count."""
    player = agent.policy("best")
    tally = RandomTally()
    try:
        for number in range(MOST_PLAYED):
            player.begin()
            played = rest_of_episode(
                watched, player, watched.reset(2 * 10**6 + number), watched.max_steps
            )
            tally.steps.append(played.steps)
            tally.rewards.append(played.final_reward)
            if watched.ending_key and played.ending is not None:
                tally.endings[watched.ending_key] += 1
            else:
                tally.stopped += 1
    except _OutOfTime:
        tally.cut_short += 1
    return tally
