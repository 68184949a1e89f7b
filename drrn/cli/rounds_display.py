"""The rounds of a training as they are finished: a live table, plain lines, or a line of JSON each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.runs.reference_scores import ReferenceScores
from drrn.settings import Settings
from drrn.writing import counted, visible_json

if TYPE_CHECKING:
    from drrn.runs.train import Round, Trainer


class rounds_display:  # noqa: N801 — used as a verb
    """Each round in a line: a live table where a person looks on, plain lines elsewhere."""

    def __init__(self, settings: Settings, scores: ReferenceScores, done: int) -> None:
        self.settings = settings
        self.scores = scores
        self.done = done

    def __enter__(self) -> rounds_display:
        scores = self.scores
        known = _known("random play", scores.random, scores.random_return)
        known += _known(", best possible", scores.best, scores.best_return)
        print(f"{counted(self.settings.run.replicas, 'replica')}; {known}", flush=True)
        self.bar = _bar(self.settings.run.rounds, self.done)
        return self

    def __call__(self, finished: Round) -> None:
        from drrn.playing.evaluation import mean_and_deviation, pays_on_the_way

        softmax, deviation = mean_and_deviation(finished.evaluations, "softmax")
        greedy, best = (
            mean_and_deviation(finished.evaluations, policy)[0] for policy in ("greedy", "best")
        )
        speed = (
            finished.transitions / finished.learning_seconds if finished.learning_seconds else 0.0
        )
        line = (
            f"round {finished.number:>3}/{self.settings.run.rounds}  softmax {softmax:6.2f} ± {deviation:.2f}  "
            f"greedy {greedy:6.2f}  best {best:6.2f}  {speed:>9,.0f} transitions/s"
        )
        if pays_on_the_way(finished.evaluations):  # a game may pay before its end, or instead of it
            softmax, deviation = mean_and_deviation(finished.evaluations, "softmax", "mean_return")
            best, _ = mean_and_deviation(finished.evaluations, "best", "mean_return")
            line += f"  returns: softmax {softmax:.2f} ± {deviation:.2f}  best {best:.2f}"
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.console.print(line, highlight=False)
            self.bar.advance(self.bar.task_ids[0])

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _known(what: str, final_reward: float | None, total: float | None) -> str:
    """A reference score in words; the return beside it, where the game pays on the way."""
    returned = "" if total is None else f" (return {total:.2f})"
    return "" if final_reward is None else f"{what} {final_reward:.2f}{returned}"


def _bar(total: int, done: int) -> Any:
    """A progress bar with the time left, where a person looks on and rich is installed."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        return None
    columns = [TextColumn("training"), BarColumn(), TextColumn("{task.completed}/{task.total}")]
    bar = Progress(
        *columns, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), transient=True
    )
    bar.start()
    bar.add_task("", total=total, completed=done)
    return bar


def told_as_json(folder: Path, trainer: Trainer, finished: Round) -> None:
    """A finished round as a line of JSON: what metrics.jsonl has of it, and what it took."""
    from drrn.runs.metrics import metrics_of

    rows = [row for row in trainer.rows if row["round"] == str(finished.number)]
    (told,) = metrics_of(rows, trainer.settings.run.episodes_per_round)
    took = {
        "transitions": finished.transitions,
        "learning_seconds": round(finished.learning_seconds, 3),
    }
    print(
        visible_json(json.dumps({"run": str(folder), **told, **took}, ensure_ascii=False)),
        flush=True,
    )
