"""A small agent for play-tests of stories that cannot be compiled: trained within seconds."""

from __future__ import annotations

import contextlib
from typing import Any

from drrn.game.contract import Game, Observation
from drrn.game.optional import training_of
from drrn.settings import Settings, recipe
from drrn.stories.playtest.play import OutOfTime, Player

SMALL: dict[str, Any] = {
    "rounds": 12,
    "episodes_per_round": 20,
    "replan": 10,
    "updates": 60,
    "replicas": 1,
    "hidden": 50,
    "evaluation_episodes": 1,
    "no_compile": True,
}


class QuickPlayer:
    """The policy `best` of a trained agent, on one thread."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def begin(self) -> None:
        self.policy.begin()

    def __call__(self, observation: Observation) -> int:
        from drrn.runs.trainer import torch_threads

        with torch_threads(1):
            return int(self.policy(observation))


def quick_player(game: Game) -> Player | None:
    """Train a small agent on a game until it raises `OutOfTime`; None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    from drrn.runs.trainer import Trainer

    chosen = recipe(paper=False, recommended=training_of(game))
    settings = Settings.from_flat({**chosen, **SMALL})
    trainer = Trainer(game, settings, torch.device("cpu"))
    with contextlib.suppress(OutOfTime):
        for _ in trainer.train():
            pass
    return QuickPlayer(trainer.agent.policy("best"))
