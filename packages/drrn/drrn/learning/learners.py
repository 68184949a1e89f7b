"""Learners by name. A new learner also needs its name in settings.toml."""

from collections.abc import Callable

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.fast.return_learning import FastReturnLearning
from drrn.learning.learner import Learner
from drrn.models.base import Model
from drrn.settings import Settings
from textgames import registry
from textgames.errors import InputError

LEARNERS = {"q-learning": FastQLearning, "returns": FastReturnLearning}


def build_learner(model: Model, settings: Settings) -> Learner:
    """The learner of the settings: built in, module:name, or a package's entry point."""
    name = settings.learner.name
    build: Callable[[Model, Settings], Learner] = registry.resolve("learner", name, LEARNERS)
    if not callable(build):
        raise InputError(f'learner "{name}" must be a class or a function of (model, settings)')
    learner = build(model, settings)
    if not isinstance(learner, Learner):
        base = "drrn.learning.learner.Learner"
        rule = f"must be a subclass of {base}, or a function that returns one"
        raise InputError(f'learner "{name}" {rule}')
    return learner
