"""Trainings of a moment, without a folder."""

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
    trainer = Trainer(game, Settings.from_flat(**{**SMALL, **settings}), CPU)
    rounds = list(trainer.train())
    return trainer, rounds


def weights(trainer):
    """All that its model has learned, by name."""
    return trainer.model.state()


def biases(trainer):
    """Copies of the weights that are no word tables."""
    return [array.copy() for name, array in weights(trainer).items() if name.startswith("weight ")]


def same_weights(one, two):
    """Whether two trainers have the same weights, bit for bit."""
    one, two = weights(one), weights(two)
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
