"""A server of a solved game for OpenEnv, and its client (pip install openenv-core>=0.3).

DRRN_GAME=night-market uvicorn --app-dir examples/arena openenv_game:app --port 8000

with SolvedClient(base_url="http://localhost:8000").sync() as env:
    result = env.reset(seed=1)
    result = env.step(Answer(text="2"))
"""

import os
from typing import Any

from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.generic_client import GenericEnvClient

from textgames_arena.llm import TextMatch


class Answer(Action):
    """An action in words, or its number from 1."""

    text: str


class PageObservation(Observation):
    """A page as a prompt, its actions, and what is known of the match."""

    text: str
    actions: list[str]
    facts: dict[str, Any]


class SolvedEnvironment(Environment):
    """A solved game on the server. DRRN_GAME and DRRN_REWARDS choose it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        game = os.environ.get("DRRN_GAME", "night-market")
        self.match = TextMatch(game, os.environ.get("DRRN_REWARDS", "game"))
        self.match.start(0)

    def reset(self, seed: int | None = None, **_: Any) -> PageObservation:
        self.match.start(seed or 0)
        return self._observation(None)

    def step(self, action: Answer, timeout_s: float | None = None, **_: Any) -> PageObservation:
        return self._observation(self.match.answer(action.text))

    @property
    def state(self) -> State:
        return State(step_count=len(self.match.decisions))

    def _observation(self, reward: float | None) -> PageObservation:
        match = self.match
        facts = {"actions": list(match.page.actions), "facts": match.facts()}
        return PageObservation(done=match.over, reward=reward, text=match.text, **facts)


class SolvedClient(GenericEnvClient):
    """Plays on a server."""

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        result = super()._parse_result(payload)
        facts = {"done": result.done, "reward": result.reward}
        result.observation = PageObservation(**result.observation, **facts)
        return result


app = create_fastapi_app(SolvedEnvironment, Answer, PageObservation)
