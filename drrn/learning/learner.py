"""What a learner is: it is told what was played, and moves a model's weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from drrn.learning.replay import Transitions
from drrn.learning.steps import Steps
from drrn.text import Ids, State


class Experience(Protocol):
    """Steps that one replica played."""

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        """The steps as transitions, each with the rewards of `n_steps` steps."""

    def steps(self) -> Steps:
        """Whole episodes, with the probabilities of the actions taken; the online form has none to tell."""


Generators = Sequence[np.random.Generator]  # one for each replica


class Learner(Protocol):
    """Moves the weights of a model's replicas. It is made of a model and the settings: `learner(model, settings)`."""

    def tell(self, replica: int, played: Experience) -> None:
        """Take in what a replica played."""

    def rescale(self, replica: int, factor: float) -> None:
        """Rewards are told in other units from now on: those that the replica was told are multiplied."""

    def learn(self, generators: Generators) -> int:
        """After a round: learn from what was told; how many transitions were learned from."""

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        """After a step: one update of the replicas that are true; how many transitions were learned from."""

    def forget(self) -> None:
        """Between rounds: let go of what the next round will not learn from."""

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """The distinct texts, of states and of actions, that are yet to be learned from."""

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`, and so for actions; -1 stays -1."""

    def state(self) -> State:
        """What the next round needs beside the model's weights: arrays, and what JSON can hold."""

    def restore(self, state: State) -> None:
        """Go on from that state."""
