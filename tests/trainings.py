"""Short trainings without a run folder."""

from typing import Any

import numpy as np
import torch

from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.runs.trainer import Trainer
from drrn.settings import Settings

CPU = torch.device("cpu")
LISTS = ("opening", "outcomes", "look", "reachable_states")
SMALL: dict[str, Any] = {
    "hidden": 8,
    "rounds": 2,
    "episodes_per_round": 12,
    "epochs": 2,
    "evaluation_episodes": 6,
    "replicas": 2,
}


class Stepped:
    """A game without its list of outcomes: it is not compiled, and texts are new as they occur."""

    def __init__(self, game):
        self._game = game

    def __getattr__(self, name):
        if name in LISTS or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._game, name)

    def reset(self, seed=None):
        return self._game.reset(seed)

    def step(self, index):
        return self._game.step(index)

    def another(self):
        return Stepped(self._game.another())


def run_training(game, **settings):
    """Train; return the trainer and its rounds."""
    trainer = Trainer(game, Settings.from_flat(**{**SMALL, **settings}), CPU)
    rounds = list(trainer.train())
    return trainer, rounds


def weights(trainer):
    """Return the weights by name."""
    return trainer.model.state()


def biases(trainer):
    """Return copies of the weights without the word tables."""
    return [array.copy() for name, array in weights(trainer).items() if name.startswith("weight ")]


def same_weights(first, second):
    """Whether two trainers have the same weights, bit for bit."""
    arrays = weights(first)
    others = weights(second)
    if arrays.keys() != others.keys():
        return False
    return all(np.array_equal(array, others[name]) for name, array in arrays.items())


# Greedy play by these Q-values never ends in the story FORK.
LOOP_Q = {"Go out.": 1.0, "Stay in.": 0.0, "Row on.": 0.0, "Turn back.": 1.0}


def fix_q(model, action_q=LOOP_Q):
    """Replace a model's Q-values by these, in all replicas."""

    def q(pages, readers=None):
        table = np.zeros(100)
        for action, value in action_q.items():
            table[(pages.store or model.store).actions.id(action)] = value
        return torch.from_numpy(table[pages.actions])

    model.q = q


def rollouts_of(game, kind, action_q=LOOP_Q):
    trainer = Trainer(
        game,
        Settings.from_flat(**{**SMALL, "model": "max-action" if kind == "menu" else "drrn"}),
        CPU,
    )
    fix_q(trainer.model, action_q)
    return SteppedRollouts(trainer.game, trainer.model) if kind == "stepped" else trainer.rollouts
