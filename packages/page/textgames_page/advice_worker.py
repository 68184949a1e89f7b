"""The process in which agents rate actions: Q-values, probabilities, and which words matter."""

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from textgames.errors import InputError, require
from textgames.game.contract import Observation
from textgames_page.products import AGENTS, needed

Choice = tuple[Observation, int]  # a page and the index of the action chosen there


def agent_of(folder: str) -> Any:
    """The agent of a run. It is loaded again when its weights have changed."""
    with needed(AGENTS):
        from drrn.runs.storage import WEIGHTS

    path = Path(folder) / WEIGHTS
    if not path.exists():
        raise InputError("This run has no agent yet.")
    try:
        return _load(folder, path.stat().st_mtime)
    except InputError:  # its files may be replaced at this moment
        time.sleep(0.3)
        return _load(folder, path.stat().st_mtime)


@functools.lru_cache(3)
def _load(folder: str, _: float) -> Any:
    from drrn.runs.agent import Agent

    return Agent.load(folder)


class AdviceWorker:
    """Rates the actions of pages by the agents of runs."""

    def __init__(self) -> None:
        torch: Any = require("torch")
        torch.set_num_threads(1)  # the matrices are small

    def advise(
        self, folder: str, policy: str, past: Sequence[Choice], page: Observation, words: bool
    ) -> dict[str, Any]:
        """Rate the actions of a page by the agent of a run.

        Args:
            folder: The run.
            policy: The name of the policy.
            past: The earlier pages of the episode, with the indices of the actions chosen there.
            page: The present page.
            words: Whether the importance of words is computed, too.

        Returns:
            circle: Whether the episode is in a circle.
            choice: The index of the action. None if the policy is random.
            actions: For each action its mean Q, the Q of each replica, its share under softmax and
                its chance under the policy.
            words: The importance of words, or None.
        """
        from drrn.runs.importance import word_importance, word_pages

        agent = agent_of(folder)
        player = agent.policy(policy)
        for choice in past:
            player.take(*choice)
        is_circle = player.is_circle(page)
        texts = word_pages(page) if words else [page]
        texts = [replace(each, text=player.history.prepend_to(each.text)) for each in texts]
        q = agent.q(texts)
        replicas = q[:, 0]
        shares = agent.policy("softmax").probabilities(replicas, False).tolist()
        chances = player.probabilities(replicas, is_circle).tolist()
        means = replicas.mean(axis=0).tolist()
        rows = zip(means, replicas.T.tolist(), shares, chances, strict=True)
        names = ("q", "replicas", "share", "chance")
        most = max(chances)
        return {
            "circle": is_circle,
            "choice": chances.index(most) if most > 1 - 1e-9 else None,
            "actions": [dict(zip(names, row, strict=True)) for row in rows],
            "words": word_importance(page, q.mean(axis=0, dtype=np.float64)) if words else None,
        }
