"""A job of the plan: train one variant on one game, measure it, and store the rows."""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from drrn.experiments import job
from drrn.experiments.job import final_scores
from drrn.runs.config import versions
from drrn.runs.run import Run
from drrn.runs.scores import Round, RoundScores
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from lab.authors.added import sources_of
from lab.experiments import measure
from lab.experiments.plan import BAGS, BEST, PAIRED, RECALLED, REWORDED, Variant, cost
from lab.experiments.results import FACTS, GAME, KINDS, Results, to_csv, write_json
from lab.experiments.statistics import paraphrases_of
from textgames.errors import InputError
from textgames.game.contract import Game, close, fingerprint_of
from textgames.openers import GameSpec

FACTS_EDITION = 2  # raised whenever the facts of games change, so that they are computed again
CLOCK = "clock.json"
WITH_QUESTS = ("parser", "suites")  # groups of variants whose good endings are counted


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
    vectors: str | None = None  # hash of the word vectors, if the settings name some
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
        vectors = {"vectors": self.vectors} if self.vectors else {}  # wherever the file is
        return {**self.hashes, **self.settings.flat(), **final, **vectors}

    def is_done(self) -> bool:
        stored = self.results.load(self.game, self.name)
        if stored is None:
            self.check_unfinished()
            return False
        path = self.results.path(self.game, f"{self.name}.csv")
        self.refuse_other_settings(stored.record["wanted"], path)
        return True

    def run(self) -> Iterator[RoundScores]:
        start = time.perf_counter()
        game = GameSpec(self.source).open()  # trusts nothing that another machine sent
        if hashes_of(game, self.variant) != self.hashes:
            raise InputError(f"{self.source}: the game has changed; run the command again")
        try:
            if self.variant is None:
                facts = measure.facts(game, self.settings, self.source, self.game)
                rows = [{"measure": name, "value": value} for name, value in facts.items()]
                self._store(game, {"": to_csv(rows, FACTS)}, _Clock(self, start))
            else:
                yield from self._train(self.variant, game, start)
        finally:
            close(game)

    def _train(self, variant: Variant, game: Game, start: float) -> Iterator[RoundScores]:
        trainer = Trainer(game, self.settings, self.device, spec=GameSpec(self.source))
        run = Run(self.folder)
        trace = None
        if variant == BEST:
            trace = measure.Trace.of(run.folder, self.game, trainer.compiled)
        last = self.settings.run.rounds
        per_round = self.settings.run.episodes_per_round

        def before_save(finished: Round) -> None:
            episodes = finished.number * per_round
            if trace and (episodes in measure.TRACED_EPISODES or finished.number == last):
                trace.save(trainer.model, episodes)
            if variant.group in WITH_QUESTS:
                measure.save_step_counts(run, trainer)

        clock = _Clock(self, start)
        for finished in self.train(trainer, before_save):
            assert isinstance(finished, Round)
            clock.tick(finished.learning_seconds)
            yield finished
        rows = self._measure(variant, game, trainer, run)
        if trace:
            rows[".embeddings"] = trace.rows(self.settings.run.seeds, last * per_round)
        files = {ending: to_csv(each, KINDS[ending]) for ending, each in rows.items()}
        self._store(game, files, clock)
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
        if compiled and variant == BEST:
            examples = measure.example_rows(trainer, self.game, game, compiled)
            files |= {".examples": examples} if examples else {}
        if variant.group == "published":
            files[".progress"] = run.progress()
        if variant.group in WITH_QUESTS:
            files[".quests"] = measure.quest_rows(run, trainer, scores)
        if variant.group == "reading":
            recalled = RECALLED if variant in BAGS else ()
            files[".wordings"] = measure.wording_rows(trainer, self.source, ("", *recalled))
        return files

    def _store(self, game: Game, files: Mapping[str, str], clock: "_Clock") -> None:
        record = {
            "wanted": self.plan,
            "sources": sources_of(game),
            "versions": versions(),
            "seconds": clock.seconds,
            **{name: ", ".join(each) for name, each in clock.origin.items()},
        }
        if self.vectors:
            record["vectors"] = Path(str(self.settings.model.vectors)).name
        self.results.store(self.game, self.name, files, record)


class _Clock:
    """The duration of a job, and the commits and devices that ran it, over all interruptions."""

    def __init__(self, job: Job, start: float) -> None:
        self.path = job.folder / CLOCK
        self.start = start
        self.learning = 0.0
        self.before = {"whole": 0.0, "learning": 0.0} if job.variant else {"whole": 0.0}
        self.origin = {"commit": [job.commit], "device": [job.device]}
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            saved = json.loads(self.path.read_text(encoding="utf-8"))
            pairs = {name: [*saved[name], *now] for name, now in self.origin.items()}
            self.before = dict(saved["seconds"])
            self.origin = {name: list(dict.fromkeys(each)) for name, each in pairs.items()}

    def tick(self, learning: float) -> None:
        self.learning += learning
        write_json(self.path, {"seconds": self.seconds, **self.origin})

    @property
    def seconds(self) -> dict[str, float]:
        now = {"whole": time.perf_counter() - self.start, "learning": self.learning}
        return {name: round(before + now[name], 1) for name, before in self.before.items()}


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
