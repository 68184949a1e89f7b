"""A job of the plan: train one variant on one game, measure it, and store the rows."""

import contextlib
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from drrn.experiments import job
from drrn.experiments.job import final_scores
from drrn.experiments.results import Row, to_csv
from drrn.models import Model
from drrn.models.word_table import small_random
from drrn.runs.config import versions
from drrn.runs.run import Run
from drrn.runs.scores import Round, RoundScores
from drrn.runs.storage import PROGRESS
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from drrn.vectors import open_vectors
from lab.experiments import measure
from lab.experiments.plan import (
    BAGS,
    BEST,
    MEMORY,
    PAIRED,
    RECALLED,
    REWORDED,
    Variant,
    cost,
    examples_of,
)
from lab.experiments.results import FACTS, GAME, KINDS, Results
from lab.experiments.statistics import paraphrases_of
from textgames import registry
from textgames.errors import InputError
from textgames.game.contract import Game, close, fingerprint_of
from textgames.openers import GameSpec

FACTS_EDITION = 2  # raised whenever the facts of games change, so that they are computed again


@dataclass(frozen=True)
class Job(job.Job):
    """A variant and a game, or (without a variant) the facts of a game."""

    root: Path  # of the results
    source: str  # what `make` opens
    game: str  # its name
    variant: Variant | None
    settings: Settings
    final: dict[str, int]  # episodes after the last round, by policy
    hashes: dict[str, str | None]  # of the game and its paraphrases
    commit: str
    device: str = "cpu"
    questions: measure.Questions = field(default_factory=dict)  # see `measure.example_rows`
    column: ClassVar[str] = "softmax_final_reward"  # the score that is displayed, if any

    @property
    def name(self) -> str:
        return self.variant.name if self.variant else GAME

    @property
    def results(self) -> Results:
        return Results(self.root)

    @property
    def folder(self) -> Path:
        """The folder of the training run."""
        return self.results.work(self.game, self.name)

    @property
    def rounds(self) -> int:
        return self.settings.run.rounds if self.variant else 0

    @property
    def cost(self) -> float:
        if self.variant is None:
            return super().cost
        return cost(self.game, self.variant, self.settings)

    @property
    def plan(self) -> dict[str, Any]:
        if self.variant is None:
            alpha = self.settings.exploration.alpha
            discount = self.settings.learner.discount
            return {**self.hashes, "alpha": alpha, "discount": discount, "edition": FACTS_EDITION}
        final = {f"final_{policy}": episodes for policy, episodes in self.final.items()}
        settings = {**self.hashes, **self.settings.flat(), **final}
        if path := self.settings.model.vectors:
            settings["vectors"] = open_vectors(Path(path)).digest  # wherever the file is
        if (self.variant.first_weights, self.variant.biases) != (1.0, 0.0):
            settings["first_weights"] = self.variant.first_weights
            settings["biases"] = self.variant.biases
        return settings

    def is_done(self) -> bool:
        stored = self.results.load(self.game, self.name)
        if stored is None:
            self.check_unfinished()
            return False
        path = self.results.path(self.game, f"{self.name}.csv")
        self.refuse_other_settings(stored.record["wanted"], path)
        return not self._is_unasked(stored.rows.get(".examples", []))

    def _is_unasked(self, rows: list[Row]) -> bool:
        """Whether the actions that the paper makes up are known now, but are not in the rows."""
        has_examples = any(example.printed for example in examples_of(self.game))
        kinds = {row["kind"] for row in rows}
        return bool(rows) and has_examples and not self.questions.keys() <= kinds

    def open(self) -> Game:
        """The game. Nothing that another machine sent is trusted."""
        game = GameSpec(self.source).open()
        if hashes_of(game, self.variant) != self.hashes:
            raise InputError(f"{self.source}: the game has changed; run the command again")
        return game

    def run(self) -> Iterator[RoundScores]:
        start = time.perf_counter()
        game = self.open()
        try:
            if self.variant is None:
                facts = measure.facts(game, self.settings, self.source, self.game)
                rows = [{"measure": name, "value": value} for name, value in facts.items()]
                self._store({"": to_csv(rows, FACTS)}, time.perf_counter() - start)
            else:
                yield from self._train(self.variant, game, start)
        finally:
            close(game)

    def _train(self, variant: Variant, game: Game, start: float) -> Iterator[RoundScores]:
        if variant == MEMORY:
            registry.trust(self.settings.learner.name)
        trainer = Trainer(game, self.settings, self.device, spec=GameSpec(self.source))
        vary_first_weights(trainer.model, variant)
        run = Run(self.folder)
        before = sum(row["seconds"] for row in run.progress()[-1:]) if run.has(PROGRESS) else 0.0
        trace = measure.Trace.of(run.folder, self.game, trainer) if variant == BEST else None

        def before_save(finished: Round) -> None:
            if trace:
                trace.save(trainer, finished.number)

        yield from self.train(trainer, before_save)
        rows = self._measure(variant, game, trainer, run)
        if trace:
            rows[".embeddings"] = trace.rows()
        files = {ending: to_csv(each, KINDS[ending]) for ending, each in rows.items()}
        self._store(files, before + time.perf_counter() - start)
        self.remove_checkpoint()

    def _measure(self, variant: Variant, game: Game, trainer: Trainer, run: Run) -> measure.Files:
        """The rows by the end of the file's name."""
        settings = self.settings
        common = {"game": self.game, **variant.columns(settings)}
        rows = measure.round_rows(run.rows(), common, variant.policies)
        with contextlib.ExitStack() as stack:
            played = trainer.played
            if name := measure.test_game_of(variant.job, self.source):
                played = stack.enter_context(measure.opened(name, settings.run.history))
            scores = final_scores(trainer, played, self.final)
        rows += measure.final_rows(scores, settings, common, paraphrased=False)
        files = {"": rows}
        for name in variant.paraphrase_sets:
            if paraphrases_of(game, name) is not None:
                other = GameSpec(self.source, paraphrased=name).open()
                others = final_scores(trainer, other, self.final, paraphrased=True)
                more = measure.final_rows(others, settings, common, paraphrased=True)
                files.setdefault(f".{REWORDED}" if name == REWORDED else "", []).extend(more)
        compiled = trainer.compiled
        if compiled and variant in PAIRED and paraphrases_of(game) is not None:
            files[".pairs"] = measure.pair_rows(trainer.model, game, compiled)
        if variant in (BEST, MEMORY):
            examples = measure.example_rows(trainer, self.game, game, self.questions)
            files |= {".examples": examples} if examples else {}
        if variant.group in ("published", "updates") or variant == BEST:
            files[".progress"] = run.progress()
        if variant.group == "parser":
            files[".quests"] = measure.quest_rows(run, trainer, scores)
        if variant.group == "reading":
            recalled = RECALLED if variant in BAGS else ()
            files[".wordings"] = measure.wording_rows(trainer, self.source, ("", *recalled))
        return files

    def _store(self, files: Mapping[str, str], seconds: float) -> None:
        record = {
            "wanted": self.plan,
            "versions": versions(),
            "seconds": {"whole": round(seconds, 1)},
            "commit": self.commit,
            "device": self.device,
        }
        if self.settings.model.vectors:
            record["vectors"] = Path(self.settings.model.vectors).name
        self.results.store(self.game, self.name, files, record)


def vary_first_weights(model: Model, variant: Variant) -> None:
    """Scale the first weights as the variant says, also those of words that are met later."""
    factor = variant.first_weights
    for table in model.tables.values():
        table.scale *= factor
        table.weight *= factor
    for name, weight in model.weights.items():
        weight *= factor
        if variant.biases and not weight.any():
            width = weight.shape[2]
            rows = [small_random([name], width, seed, variant.biases) for seed in model.seeds]
            weight += torch.from_numpy(np.stack(rows)).to(weight.device)


def hashes_of(game: Game, variant: Variant | None = None) -> dict[str, str | None]:
    """The hashes of what results depend on: the game with its rewards, its paraphrases."""
    hashes = {"sha256": fingerprint_of(game), "paraphrases": _hash_of(paraphrases_of(game))}
    if variant is not None and REWORDED in variant.paraphrase_sets:
        hashes[REWORDED] = _hash_of(paraphrases_of(game, REWORDED))
    return hashes


def _hash_of(paraphrases: Mapping[str, str] | None) -> str | None:
    if paraphrases is None:
        return None
    return hashlib.sha256(repr(sorted(paraphrases.items())).encode()).hexdigest()
