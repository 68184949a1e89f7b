"""The share of episodes that end as the player wants, and the steps that were played to learn it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from drrn.compiled.game import Compiled
from drrn.compiled.solve import Score, best, one_slot, policy_score, random_play
from drrn.lab.experiments.added import DONE
from drrn.lab.experiments.rows import Row
from drrn.learning.q_learning import QLearning
from drrn.playing.evaluation import Evaluation
from drrn.runs.run import Run
from drrn.runs.trainer import Trainer

PLAYED = "played.json"  # in the run's folder: steps of play of each seed, after each round


def share_done(endings: Mapping[str, float]) -> float:
    """The share, or the number, of episodes that came to such an ending."""
    return sum(share for name, share in endings.items() if name in DONE)


def keep_played(run: Run, trainer: Trainer) -> None:
    """Add the steps that each seed has played so far to the run's folder, where the learner counts them."""
    if not isinstance(trainer.learner, QLearning) or not trainer.settings.learner.keep:
        return
    kept = {
        **_played(run),
        str(trainer.round): [buffer.count for buffer in trainer.learner.buffers],
    }
    run.write(PLAYED, json.dumps(kept))


def round_quests(run: Run, seeds: list[int]) -> list[Row]:
    """A row for each seed and round, by softmax."""
    played = _played(run)
    rows = []
    for row in run.rows():
        steps = played.get(row["round"])
        place = {
            "seed": int(row["seed"]),
            "round": int(row["round"]),
            "final": False,
            "policy": "softmax",
        }
        place["played"] = steps[seeds.index(int(row["seed"]))] if steps else None
        done = share_done(json.loads(row["endings"]))
        rows.append({**place, "done": done, "exact_done": None, "exact_return": None})
    return rows


def final_quests(
    found: list[tuple[Evaluation, Score | None]], trainer: Trainer, run: Run
) -> list[Row]:
    """A row for each seed and policy after the last round, exact where that can be computed."""
    settings = trainer.settings
    rows = []
    steps = _played(run).get(str(settings.run.rounds))
    for e, exact in found:
        place = {
            "seed": settings.run.seeds[e.replica],
            "round": settings.run.rounds,
            "final": True,
            "policy": e.policy,
        }
        place["played"] = steps[e.replica] if steps else None
        place["done"] = share_done(e.summary.endings) / e.summary.episodes
        known = trainer.compiled is not None and exact is not None
        place["exact_done"] = exact_done(trainer.compiled, exact) if known else None  # type: ignore[arg-type]
        rows.append({**place, "exact_return": exact.total if exact else None})
    return rows


def quest_facts(compiled: Compiled, max_steps: int) -> dict[str, float]:
    """How often random play and the best come to the ending that a player is after."""
    by_best = policy_score(compiled, one_slot(compiled, best(compiled, 1.0).slot), max_steps)
    by_chance = random_play(compiled, max_steps)
    return {
        "random_done": exact_done(compiled, by_chance),
        "best_done": exact_done(compiled, by_best),
    }


def exact_done(compiled: Compiled, score: Score) -> float:
    """How likely such an ending is."""
    pairs = zip(compiled.endings, score.endings, strict=True)
    return float(sum(share for place, share in pairs if place.passage in DONE))


def _played(run: Run) -> dict[str, list[int]]:
    try:
        return dict(json.loads((run.folder / PLAYED).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
