"""A small agent for play-tests of stories that cannot be compiled: trained within seconds."""

import contextlib
from collections.abc import Callable
from typing import Any

from drrn.errors import OutOfTime
from drrn.game.contract import Game, training_of
from drrn.game.episodes import Policy
from drrn.settings import Settings, recipe

SMALL: dict[str, Any] = {
    **{"rounds": 12, "episodes_per_round": 20, "replan": 10, "updates": 60},
    **{"replicas": 1, "hidden": 50, "evaluation_episodes": 1, "no_compile": True},
}


def quick_player(game: Game) -> Callable[[], Policy] | None:
    """Train a small agent on a game until it raises `OutOfTime`.

    Returns a function that starts an episode and returns its policy; None without PyTorch.
    """
    try:
        import torch
    except ImportError:
        return None
    from drrn.runs.trainer import Trainer

    torch.set_num_threads(1)  # the matrices are small
    chosen = recipe(paper=False, recommended=training_of(game))
    trainer = Trainer(game, Settings.from_flat({**chosen, **SMALL}))
    with contextlib.suppress(OutOfTime):
        for _ in trainer.train():
            pass
    player = trainer.agent.policy()

    def new_policy() -> Policy:
        player.begin()
        return player

    return new_policy
