"""The one place for settings that were chosen for a game or a model: whatever differs from the defaults stands here.

Each line of `TUNED` names games and jobs by pattern (`*` is any), and what they are given. A later line wins over an
earlier one. The baselines get the same care as DRRN: a line for one model alone needs a reason beside it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

TUNED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # game, job, settings
    # Per-action DQN rises slowly: on seeds 1000 to 1004 it reaches 8.5 in two epochs. DRRN gains nothing by a second
    # one (9.6 and 9.3, seeds 1000 to 1009).
    ("machine-of-death", "per-action-*", {"epochs": 2}),
    # The matrix between the embeddings has no bound as tanh has: with η = 0.001 it diverged in two games. At half the
    # rate the one epoch of Machine of Death is too little, so it gets two.
    ("*", "*-bilinear-*", {"learning_rate": 0.0005}),
    ("machine-of-death", "*-bilinear-*", {"epochs": 2}),
    # Games of suites: steps are slow, so few episodes are played, and all of them are learned from in every round. They
    # are short of rewards, so α begins low. Chosen on seeds from 1,000 on.
    (
        "*",
        "suite-*",
        {"optimiser": "adam", "learning_rate": 0.002, "batch_size": 256, "keep": True, "epochs": 4},
    ),
    ("*", "suite-*", {"n_steps": 3, "alpha_start": 0.3}),
    ("*", "suite-*", {"rounds": 8, "episodes_per_round": 40, "evaluation_episodes": 5}),
    ("twx-cookingworld", "suite-*", {"rounds": 12}),  # four rewards in a row are to be found
    ("textworld-*", "suite-*", {"rounds": 4, "episodes_per_round": 15, "evaluation_episodes": 2}),
    (
        "scienceworld-*",
        "suite-*",
        {"rounds": 6, "episodes_per_round": 10, "evaluation_episodes": 2},
    ),
    ("jericho-*", "suite-*", {"rounds": 8, "episodes_per_round": 10, "evaluation_episodes": 2}),
    # A GRU takes a hundred times as long over a text as a bag does.
    ("*", "suite-gru", {"hidden": 64, "epochs": 2}),
)


def tuned(game: str, job: str) -> dict[str, Any]:
    """What was chosen for this job of this game."""
    found: dict[str, Any] = {}
    for games, jobs, settings in TUNED:
        if fnmatchcase(game, games) and fnmatchcase(job, jobs):
            found |= settings
    return found
