"""Faster versions of the learners; `benchmarks/learner.py` measures the gain."""

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.fast.return_learning import FastReturnLearning

__all__ = ["FastQLearning", "FastReturnLearning"]
