"""Trainings of a moment, without a folder."""

import torch

from drrn.settings import Settings
from drrn.training.train import Trainer

CPU = torch.device("cpu")
SMALL = {"hidden": 8, "rounds": 2, "episodes_per_round": 12, "epochs": 2, "evaluation_episodes": 6, "replicas": 2}


def trained(game, **settings):
    trainer = Trainer(game, Settings(**{**SMALL, **settings}), CPU)
    rounds = list(trainer.train())
    return trainer, rounds
