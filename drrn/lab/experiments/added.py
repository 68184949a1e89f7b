"""Comparisons that were added to the paper's: encoders, parser games, and games of the suites that people use."""

from __future__ import annotations

from drrn.lab.experiments.variants import Added

# --- encoders: DRRN of the paper's size and settings, and another way to read texts

ENCODED = ("machine-of-death", "saving-john")  # the games, where nobody names others


def _encoder(name: str, says: str, *, vectors: bool = False) -> Added:
    job = f"drrn-2x100-{name.replace('+', '-')}"
    return Added("drrn", 2, 100, job=job, changes=(("encoder", name),), vectors=vectors, says=says)


LSTM = _encoder("lstm", "LSTM")
GRU = _encoder("gru", "GRU")
ATTENTION = _encoder("attention", "attention")
BAG_VECTORS = _encoder("bag+vectors", "bag and word vectors, added", vectors=True)
ENCODERS = (LSTM, GRU, ATTENTION, BAG_VECTORS)

# --- parser games: the agents of Narasimhan et al. (2015) beside DRRN, with the settings that suit each world

PARSED = ("home-world", "comet-house")
PARSER_GAMES = (*PARSED, "home-world-original")  # which is run where it was added, and asked for


def _parser(name: str, model: str, says: str, **changes: str) -> Added:
    return Added(
        model, job=f"parser-{name}", changes=tuple(changes.items()), games=PARSER_GAMES, says=says
    )


BOW_DQN = _parser("bow-dqn", "verb-object", "BOW-DQN")
LSTM_DQN = _parser("lstm-dqn", "verb-object", "LSTM-DQN", encoder="lstm")
DRRN_BAG = _parser("drrn-bag", "drrn", "DRRN, bag of words")
DRRN_LSTM = _parser("drrn-lstm", "drrn", "DRRN, LSTM", encoder="lstm", action_encoder="bag")
PARSERS = (BOW_DQN, LSTM_DQN, DRRN_BAG, DRRN_LSTM)

# --- suites: DRRN with a bag of words and with a GRU

SUITE_GAMES = ("twx-*", "textworld-*", "jericho-*", "scienceworld-*")  # as their short names are
SUITE_SEEDS = 3
SUITE_BAG = Added("drrn", job="suite-bag", games=SUITE_GAMES, says="DRRN, bag of words")
SUITE_GRU = Added(
    "drrn", job="suite-gru", changes=(("encoder", "gru"),), games=SUITE_GAMES, says="DRRN, GRU"
)
SUITE_JOBS = (SUITE_BAG, SUITE_GRU)

ADDED = {
    "parser": PARSERS,
    "suites": SUITE_JOBS,
}  # beside `encoders`, which has a job of the paper's, too
DONE = ("quest done", "the comet seen", "won")  # the endings that a player is after, by name

# How long a job takes on a small game, in the unit of all jobs, about.
ADDED_COST = {"lstm": 12.0, "gru": 12.0, "attention": 8.0, "bag-vectors": 1.5}
ADDED_COST |= {"bow-dqn": 2.0, "lstm-dqn": 6.0, "drrn-bag": 2.0, "drrn-lstm": 6.0, "bag": 10.0}


def added_cost(variant: Added) -> float:
    """How long the job will take on a small game, in the unit of all jobs."""
    return next(
        (cost for end, cost in ADDED_COST.items() if variant.name.endswith(f"-{end}")), 10.0
    )
