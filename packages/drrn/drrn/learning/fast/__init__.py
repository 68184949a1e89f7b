"""Faster versions of the learners. `benchmarks/learner.py` measures the gain."""
