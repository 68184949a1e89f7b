"""Learning made faster, with the same sums: behind `FastQLearning` and `FastReturnLearning`, for `learners` alone.

A sparse first layer is slow, since its words are fetched one by one. Where texts are few, texts are moved instead of
words (`text_view`), and the paper's own network is differentiated by hand (`by_hand`). `benchmarks/learner.py` measures
how much that gains over `QLearning`.
"""

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.fast.return_learning import FastReturnLearning

__all__ = ["FastQLearning", "FastReturnLearning"]
