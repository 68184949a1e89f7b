"""The one place for settings that were chosen for a game or a model: whatever differs from `settings_for` stands here.

Each line names games and jobs by pattern (`*` is any), and what they are given. A later line wins over an earlier one.
The baselines get the same care as DRRN: a line for one model alone needs a reason beside it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

TUNED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # game, job, settings
    # On seeds from 1000 on, two baselines do better from raw counts than from bags of one length: per-action DQN (8.5,
    # 7.0) and linear (4.5 in one epoch, 3.3 in two). DRRN (9.3, 12.4) and max-action DQN (after 8 rounds
    # 4.2, 5.0) do not.
    ("machine-of-death", "per-action-*", {"bag_norm": None}),
    ("machine-of-death", "linear", {"bag_norm": None, "epochs": 1}),
)


def tuned(game: str, job: str) -> dict[str, Any]:
    """What was chosen for this job of this game."""
    found: dict[str, Any] = {}
    for games, jobs, settings in TUNED:
        if fnmatchcase(game, games) and fnmatchcase(job, jobs):
            found |= settings
    return found
