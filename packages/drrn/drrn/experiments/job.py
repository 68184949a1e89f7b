"""A job: a training with everything that it needs, which continues if it was interrupted."""

import math
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from drrn.experiments.results import difference, write_json
from drrn.playing.compiled_rollouts import compiled_rollouts
from drrn.playing.evaluation import Evaluation, evaluate
from drrn.playing.policies import Rollouts, policy_of
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.runs.run import Run
from drrn.runs.scores import Round, RoundScores, compiled_or_none
from drrn.runs.storage import CHECKPOINT
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from textgames.compiled.solve import Score, policy_score
from textgames.errors import InputError
from textgames.files import json_or_none
from textgames.game.contract import Game, step_limit_of

PLAN = "job.json"  # in the run's folder: the settings and hashes that the job was started with
Scores = list[tuple[Evaluation, Score | None]]  # sampled, and exact if it can be computed


class Job(ABC):
    """A training on one game, with all seeds at once. Subclasses are dataclasses."""

    root: Path  # of the results
    source: str  # what `make` opens
    game: str  # its name
    settings: Settings
    commit: str
    device: str
    column: ClassVar[str] = ""  # the score that is displayed, if any

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the job, unique for its game."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of the training run."""

    @property
    @abstractmethod
    def plan(self) -> dict[str, Any]:
        """The settings and hashes that its results must have been computed with."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether the job has results. Refuses damaged ones, and those with other settings."""

    @abstractmethod
    def run(self) -> Iterator[RoundScores]:
        """Do the job and yield each round. The results are stored at the end."""

    @property
    def rounds(self) -> int:
        """The number of rounds that an uninterrupted job yields."""
        return self.settings.run.rounds

    @property
    def cost(self) -> float:
        """The approximate duration, in arbitrary units. Jobs without rounds come first."""
        if not self.rounds:
            return math.inf
        model = self.settings.model
        episodes = self.settings.run.rounds * self.settings.run.episodes_per_round
        return (2 + model.layers) * (200 + model.hidden) * episodes

    def refuse_other_settings(self, record: dict[str, Any], path: Path) -> None:
        """Raise an InputError if results were computed with other settings."""
        if apart := difference(record, self.plan):
            remedy = "choose another --out, or add --again to compute it again"
            raise InputError(f"{path}: computed with other settings ({apart}); {remedy}")

    def check_unfinished(self) -> None:
        """Refuse an unfinished run that was started with other settings."""
        if Run(self.folder).has(CHECKPOINT):
            record = json_or_none(self.folder / PLAN)
            self.refuse_other_settings(record if isinstance(record, dict) else {}, self.folder)

    def train(
        self, trainer: Trainer, before_save: Callable[[Round], None] | None = None
    ) -> Iterator[RoundScores]:
        """Train to the last round, after the last one that an interrupted run has saved.

        The plan is written before the first round, because the trainer may choose settings itself
        by a survey: config.json has these.
        """
        run = Run(self.folder)
        if run.has(CHECKPOINT):
            run.restore(trainer)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)  # interrupted in its first round
            Run.create(self.folder, trainer)
            write_json(self.folder / PLAN, self.plan)
        yield from run.train(trainer, before_save)

    def remove_checkpoint(self) -> None:
        """Remove what only an unfinished run needs."""
        (self.folder / CHECKPOINT).unlink(missing_ok=True)


def final_scores(
    trainer: Trainer, game: Game, episodes: dict[str, int], *, paraphrased: bool = False
) -> Scores:
    """Score each policy and seed after the last round. `episodes` is by policy."""
    settings = trainer.settings
    model = trainer.model
    compiled = compiled_or_none(game, settings) if paraphrased else trainer.compiled
    fast = None
    if compiled is not None:
        fast = compiled_rollouts(compiled, model, model.store.scratch() if paraphrased else None)
    stepped = SteppedRollouts(game, model)
    stepped.in_order = game is not trainer.played
    rollouts: Rollouts = fast or stepped
    alpha = settings.exploration.alpha * trainer.learner.alpha_factor
    seeds = settings.run.seeds
    number = settings.run.rounds + 1  # a separate round, for the random draws
    scores: Scores = []
    for policy, count in episodes.items():
        # None if a choice depends on the order of the actions, or on earlier pages.
        exact: list[Score | None] = [None] * len(seeds)
        if fast is not None and not model.sees_menu and policy != "best":
            probabilities = fast.probabilities(policy_of(policy, alpha))
            exact = [policy_score(fast.game, each, step_limit_of(game)) for each in probabilities]
        sampled = evaluate(rollouts, [policy], alpha, count, seeds, number)
        scores += [(each, exact[each.replica]) for each in sampled]
    return scores
