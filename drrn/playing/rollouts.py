"""Rollouts: a game played with a model, many episodes of all replicas at once; one protocol for all ways of doing it.

`SteppedRollouts` steps any game, `CompiledRollouts` looks a compiled game up, `MenuRollouts` does so where the model
sees the whole menu of actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from drrn.game.episodes import Episode
from drrn.learning.experience import Steps
from drrn.models import Model
from drrn.playing.policies import QPolicy


class Rollout(Protocol):
    """Episodes that one replica played."""

    @property
    def episodes(self) -> list[Episode]: ...

    def steps(self) -> Steps:
        """Every step, in the order of the episodes, if it was played to learn."""


class Rollouts(Protocol):
    """Plays one game with one model's replicas."""

    model: Model

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> Sequence[Rollout]:
        """For each replica, `episodes` finished or stopped ones; its generator alone makes them.

        While it plays to `learn`, a replica comes to know the words it reads; else unknown words count for nothing, and
        only what became of the episodes is kept.
        """
