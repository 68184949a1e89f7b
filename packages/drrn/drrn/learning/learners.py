"""Learners by name. A new learner also needs its name in settings.toml."""

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
    build = registry.resolve("learner", name, LEARNERS)
    learner = build(model, settings) if callable(build) else build
    if not isinstance(learner, Learner):
        rule = "a subclass of drrn.learning.learner.Learner, or a function that returns one"
        raise InputError(f'learner "{name}" must be {rule}')
    return learner
