"""Short trainings without a run folder."""

import numpy as np
import torch

from drrn.runs.trainer import Trainer
from drrn.settings import Settings

CPU = torch.device("cpu")
SMALL = {
    "hidden": 8,
    "rounds": 2,
    "episodes_per_round": 12,
    "epochs": 2,
    "evaluation_episodes": 6,
    "replicas": 2,
}


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
