"""Learners by name; a new one is a class, a line here, and its name in `settings.LEARNERS`."""

from __future__ import annotations

from collections.abc import Callable

from drrn import registry
from drrn.errors import InputError
from drrn.learning.fast import FastQLearning, FastReturnLearning
from drrn.learning.learner import Learner
from drrn.models.base import Model
from drrn.settings import Settings

Made = Callable[[Model, Settings], Learner]

LEARNERS: dict[str, Made] = {"q-learning": FastQLearning, "returns": FastReturnLearning}


def build_learner(model: Model, settings: Settings) -> Learner:
    """The learner that the settings name: built in, of the user's module:name, or registered by a package."""
    made: Made = registry.resolve("learner", settings.learner.name, LEARNERS)
    if not callable(made):
        raise InputError(
            f'learner "{settings.learner.name}": it must be a class or a function of (model, settings)'
        )
    return made(model, settings)
