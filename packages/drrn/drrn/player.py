"""A trained agent as a player of the arena: the entry point `agent` of `textgames.players`."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textgames.errors import require
from textgames.files import read_bytes
from textgames.game.episodes import Policy


def open_agent(run: str) -> tuple[dict[str, Any], Callable[[int], Policy]]:
    """What identifies a run's agent, and its deployed policy by seed. The replicas play in turn."""
    require("torch")
    from drrn.runs.agent import Agent
    from drrn.runs.run import Run
    from drrn.runs.storage import WEIGHTS

    folder = Path(run)
    agent = Agent.load(folder)
    weights = hashlib.sha256(read_bytes(folder / WEIGHTS)).hexdigest()

    def policy(seed: int) -> Policy:
        return agent.policy(seed=seed, replica=seed % len(agent.model.seeds))

    return {"weights": weights, "recipe": Run(folder).config.get("recipe")}, policy
