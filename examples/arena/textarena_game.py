"""A solved game as an environment of TextArena (pip install textarena>=0.7).

Import this file, then `ta.make("drrn/Game-v0", game="night-market")` opens any solved game, and
`rewards="advantage"` pays A*. The outcome of an episode is the sum of its rewards.
"""

from typing import Any

import textarena as ta

from textgames_arena.llm import TextMatch


class SolvedEnv(ta.Env):
    """A solved game as an environment of TextArena, for one player."""

    def __init__(self, game: str = "night-market", **options: Any) -> None:
        self.match = TextMatch(game, **options)

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        self.state = ta.SinglePlayerState(num_players=num_players, seed=seed)
        self.match.start(0 if seed is None else seed)
        self.rewards = 0.0
        self.state.reset(game_state={}, player_prompt_function=lambda **_: self.match.text)

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        kind = ta.ObservationType
        self.state.add_observation(message=action, observation_type=kind.PLAYER_ACTION, from_id=0)
        self.rewards += self.match.answer(action)
        self.state.step_info.update(self.match.facts())
        self.state.add_observation(message=self.match.text, observation_type=kind.GAME_BOARD)
        if self.match.over:
            outcome = self.match.result().episode.ending or "out of steps"
            self.state.set_outcome(reward=self.rewards, reason=outcome)
        done, info = self.state.step()
        return bool(done), dict(info)


ta.envs.registration.register(id="drrn/Game-v0", entry_point=SolvedEnv)
