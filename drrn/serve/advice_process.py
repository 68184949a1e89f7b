"""The process in which agents think: Q of each replica and action, what a policy would do, and which words matter."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from drrn.errors import InputError
from drrn.game.contract import Observation
from drrn.serve.asking import answer_questions
from drrn.serve.left_out import Page, Values, word_importance
from drrn.writing import visible

MOST_AGENTS = 3  # that are kept, each with all its weights

Past = Sequence[tuple[str, str]]  # pages before, and the actions taken there


class Advisers:
    """Agents by the folder of their run; one that has learned on is loaded anew."""

    def __init__(self) -> None:
        self.agents: OrderedDict[tuple[str, float], Any] = OrderedDict()  # the last used one last

    def advice(
        self,
        folder: str,
        policy: str,
        past: Past,
        text: str,
        actions: Sequence[str],
        seen: bool,
        words: bool,
    ) -> dict[str, Any]:
        """What the agent thinks of a page, and with what chance a policy takes each action."""
        agent = self._agent(folder)
        player = agent.policy(policy)
        for before, action in past:
            player.history.add(before, action)
        page = Observation(text, tuple(actions))
        q, chances = player.thinks(page, seen=seen)
        told = player.history.told
        replicas = agent.ask(told(text), page.actions)  # [R, A]
        _, shares = agent.policy("softmax").thinks(
            Observation(told(text), page.actions), seen=False
        )
        return {
            "seen": seen,
            "choice": int(np.argmax(chances)) if chances.max() > 1 - 1e-9 else None,
            "actions": [
                {"q": float(q[i]), "replicas": replicas[:, i].tolist(), "share": float(shares[i]),
                 "chance": float(chances[i])}
                for i in range(len(page.actions))
            ],
            "words": self._words(agent, told, text, actions) if words else None,
        }  # fmt: skip

    def _words(self, agent: Any, told: Any, text: str, actions: Sequence[str]) -> dict[str, Any]:
        from drrn.playing.trajectory import pages_of

        def ask(pages: Sequence[Page]) -> Values:
            store = agent.model.store.scratch()
            rows = [store.page(told(state), menu) for state, menu in pages]
            q = (
                agent.model.q(pages_of([rows] * len(agent.model.seeds)), store)[
                    :, :, : len(actions)
                ]
                .cpu()
                .numpy()
            )
            mean: Values = (q / agent.scales[:, :, None]).mean(axis=0, dtype=np.float64)
            return mean

        return word_importance(visible(text), [visible(action) for action in actions], ask)

    def _agent(self, folder: str) -> Any:
        from drrn.runs.agent import Agent  # PyTorch takes a second to import
        from drrn.runs.storage import WEIGHTS

        path = Path(folder) / WEIGHTS
        key = (folder, path.stat().st_mtime if path.exists() else 0.0)
        old = next((other for other in self.agents if other[0] == folder), None)
        found = self.agents.pop(old) if old else None
        if old != key:
            try:
                found = Agent.load(Path(folder))
            except InputError:  # its files may be just being replaced: what it knew before will do
                if found is None:
                    raise
                key = old or key
        self.agents[key] = found
        while len(self.agents) > MOST_AGENTS:
            self.agents.popitem(last=False)
        return found


def serve_advice(connection: Connection[Any, Any]) -> None:
    """Answer questions about pages; an empty one only has PyTorch loaded for the next."""
    import torch

    torch.set_num_threads(1)  # the products are small
    advisers = Advisers()
    answer_questions(connection, lambda *page: advisers.advice(*page) if page else None)
