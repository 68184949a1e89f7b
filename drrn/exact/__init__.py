"""Exact figures of a compiled game: scores of policies, the best possible, Q-learning's fixed point."""
