"""A taskset of seeded episodes for verifiers, and the environment that plays them.

    pip install verifiers>=0.4
    PYTHONPATH=examples/arena vf-eval drrn-arena --env.taskset.game night-market

verifiers finds environments by the name of a module. `load_environment("drrn-night-market")`
returns the environment of a game in Python.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import verifiers.v1 as vf

from textgames_arena.llm import TextMatch

__all__ = [
    "SolvedEnv",
    "SolvedTaskset",
    "load_environment",
]  # verifiers takes its classes from here

solved_match = lru_cache(TextMatch)  # all episodes of a process share the solved game


class SolvedConfig(vf.TasksetConfig):
    """The game, the kind of rewards (game or advantage) and the number of episodes."""

    game: str = "night-market"
    rewards: str = "game"
    episodes: int = 100


class SolvedData(vf.TaskData):
    """An episode: `info` has the game, its rewards and the seed."""

    info: dict[str, Any]


class SolvedTask(vf.Task[SolvedData, vf.State, vf.TaskConfig]):
    """An episode to play."""


class SolvedEnvConfig(vf.EnvConfig):
    """The seat of the one player: a chat without tools, on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class SolvedEnv(vf.Env[SolvedEnvConfig]):
    """Plays an episode. Its reward is the sum of the game's rewards."""

    async def run(self, task: Any, agents: Any) -> None:
        info = task.data.info
        match = solved_match(info["game"], info["rewards"]).another()
        match.start(info["seed"])
        total = 0.0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()  # the task's prompt is the first page
            while not segment.terminated:
                total += match.answer(segment.last_reply)
                if match.over:
                    break
                segment = await interaction.turn(match.text)
        interaction.trace.record_reward("return", total, 1.0)
        interaction.trace.info["arena"] = match.facts()


class SolvedTaskset(vf.Taskset[SolvedTask, SolvedConfig]):
    """One task for each seed."""

    def load(self) -> Iterator[SolvedTask]:
        config = self.config
        match = solved_match(config.game, config.rewards).another()
        for seed in range(config.episodes):
            match.start(seed)
            info = {"game": config.game, "rewards": config.rewards, "seed": seed}
            data = SolvedData(name=f"{config.game}#{seed}", prompt=match.text, info=info)
            yield SolvedTask(data, config.task)


def load_environment(name: str, **options: Any) -> SolvedEnv:
    """Return the environment of a game, such as `drrn-night-market`."""
    taskset = SolvedConfig(id="drrn-arena", game=name.removeprefix("drrn-"), **options)
    return SolvedEnv(SolvedEnvConfig(taskset=taskset))
