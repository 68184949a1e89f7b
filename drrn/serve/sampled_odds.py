"""What play from a place comes to where the story cannot be compiled: games that are played on from there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from drrn.game.contract import Game, Observation
from drrn.game.episodes import Policy, rest_of_episode
from drrn.game.optional import is_stopped, step_limit_of
from drrn.stories.playtest.findings import mean_of

# fewer say nothing
MOST_GAMES = 300
LEAST_GAMES = 10
SECONDS = 3.0  # twice that, where there are few games yet
MOST_MISSED = 100  # games after which few are not waited for: chance seldom leads to the place


def sampled_odds(
    game: Game, way: Sequence[str], choose: Policy, seconds: float = SECONDS
) -> dict[str, Any] | None:
    """Play on from where a way leads, again and again; None where chance seldom leads there, or games take too long."""
    until = time.monotonic() + seconds
    rewards = list[float]()
    steps = list[float]()
    endings: Counter[tuple[str, float]] = Counter()
    begin = getattr(choose, "begin", None)  # of a player who remembers the pages of a game
    for seed in range(MOST_GAMES):
        few = len(rewards) < LEAST_GAMES and seed < MOST_MISSED
        if time.monotonic() > until + (few * seconds):
            break
        shown = _at_place(game, way, seed)
        if shown is None:
            continue
        if begin is not None:
            begin()
        played = rest_of_episode(game, choose, shown, step_limit_of(game))
        rewards.append(played.final_reward)
        steps.append(played.steps)
        if played.ending is not None:
            endings[played.ending, played.final_reward] += 1
    return _told(rewards, steps, endings)


def _at_place(game: Game, way: Sequence[str], seed: int) -> Observation | None:
    """The page that the actions lead to; None where one of them is not offered."""
    shown = game.reset(seed)
    for action in way:
        if action not in shown.actions or is_stopped(game):
            return None
        shown = game.step(shown.actions.index(action))
    return shown


def _told(
    rewards: list[float], steps: list[float], endings: Counter[tuple[str, float]]
) -> dict[str, Any] | None:
    games = len(rewards)
    score = mean_of(rewards)
    taken = mean_of(steps)
    if games < LEAST_GAMES or score is None or taken is None:
        return None
    told = [
        {"name": name, "reward": pays, "odds": count / games}
        for (name, pays), count in endings.most_common()
    ]
    stopped = 1 - sum(endings.values()) / games
    return {"score": score.mean, "error": score.error, "steps": taken.mean, "endings": told, "trapped": stopped,
            "games": games}  # fmt: skip
