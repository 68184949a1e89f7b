"""A sweep: Optuna proposes settings, which are chosen on some seeds and reported on others.

sweep.json      what is swept: the game, the recipe, the settings, the seeds
study.log       the trials, in Optuna's journal
runs/NAME       a run for each combination: tuning-… to choose by, report-…
sweep.csv       one line for each run, the best first
best.json       the settings of the best: drrn train GAME --config FOLDER/best.json
"""

import hashlib
import itertools
import logging
import math
import random
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drrn.experiments.agents import seeds_text, setting_named, settings_text, value_text
from drrn.experiments.job import Job
from drrn.experiments.results import SWEEP, to_csv, write_json
from drrn.experiments.workers import Event, Workers
from drrn.runs.config import settings_for_game
from drrn.runs.run import Run
from drrn.runs.scores import RoundScores
from drrn.runs.storage import CHECKPOINT, CONFIG
from drrn.runs.trainer import Trainer
from drrn.settings import Settings, recipe_name
from textgames.declaration import Setting
from textgames.errors import InputError, require
from textgames.files import json_or_none, slug, write
from textgames.game.contract import Game, close, fingerprint_of
from textgames.openers import GameSpec

Changes = dict[str, Any]  # the settings of a combination, by name
STUDY = "study.log"
RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+?)\.\.(?P<high>[^:,]+?)(:(?P<step>[^:,]*))?")
NOTATION = "write NAME=VALUE,VALUE… or NAME=LOW..HIGH:STEP, or NAME=log:LOW..HIGH without a step"
MOST = 10_000  # combinations of a grid
log = logging.getLogger("textgames")


def read_space(texts: Sequence[str]) -> dict[str, Any]:
    """Parse NAME=VALUES, each of another setting, to Optuna's distribution of each."""
    space: dict[str, Any] = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            if name in space:
                raise InputError(f"{name} occurs twice; combine its values")
            space[name] = _distribution(setting_named(name), values)
        except InputError as error:
            raise InputError(f'--vary "{text}": {error}') from error
    return space


def _distribution(setting: Setting, text: str) -> Any:
    """Listed values, a range with a step (of whole numbers: 1), or one that stands for all."""
    distributions = require("optuna").distributions
    match = RANGE.fullmatch(text) if setting.kind in (int, float) else None
    if match is None:
        values = [setting.read(each) for each in text.split(",")]
    else:
        low, high = setting.read(match["low"]), setting.read(match["high"])
        values = [low, high]
    for value in values:
        setting.check(value)
    if match is not None:
        step = Setting("the step", float, above=0.0).read(match["step"] or "1")
        if None in values or low > high or step * MOST < high - low or (match["log"] and low <= 0):
            raise InputError(f"there is no such range, or it has too many values; {NOTATION}")
        if match["log"] or (match["step"] is None and setting.kind is float):
            kinds = {int: distributions.IntDistribution, float: distributions.FloatDistribution}
            return kinds[setting.kind](low, high, log=bool(match["log"]))
        count = int((high - low) / step + 1e-9) + 1
        values = [setting.kind(round(low + number * step, 12)) for number in range(count)]
    return distributions.CategoricalDistribution(list(dict.fromkeys(values)))


@dataclass(frozen=True)
class SweepJob(Job):
    """The training of a combination with all its seeds, scored by its last round."""

    root: Path
    source: str
    game: str
    settings: Settings
    changes: Changes
    part: str  # "tuning" or "report"
    column: str  # type: ignore[misc]  # of the score, such as softmax_return
    device: str = "cpu"

    @property
    def name(self) -> str:
        text = settings_text(self.changes, ",") or "as-it-is"
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"{self.part}-{slug(text)[:80]}-{digest}"

    @property
    def folder(self) -> Path:
        return self.root / "runs" / self.name

    @property
    def plan(self) -> dict[str, Any]:
        return self.settings.flat()

    def is_done(self) -> bool:
        run = Run(self.folder)
        return run.has(CONFIG) and bool(run.summary()["state"] == "finished")

    def score(self) -> tuple[float, float]:
        """The mean and the deviation over seeds. The job is done."""
        last = Run(self.folder).round()
        return last.mean(self.column), last.sd(self.column)

    def run(self) -> Iterator[RoundScores]:
        game = GameSpec(self.source).open()  # trusts nothing that another machine sent
        try:
            trainer = Trainer(game, self.settings, self.device, spec=GameSpec(self.source))
            run = Run(self.folder)
            if run.has(CHECKPOINT):
                yield from run.rounds()  # the caller may not know them
            yield from self.train(trainer)
            self.remove_checkpoint()
        finally:
            close(game)


@dataclass(frozen=True)
class Sweep:
    """A game, the settings that all jobs share, those that vary, and how they are searched."""

    root: Path
    source: str
    game: Game
    space: dict[str, Any]  # Optuna's distribution of each setting that varies
    overrides: dict[str, Any]  # settings of all jobs
    paper: bool
    tuning: range  # seeds
    report: range
    column: str = "softmax_final_reward"
    search: str = "grid"
    budget: int | None = None  # the largest number of trials
    choice: int = 0  # seed of the search
    prune: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.tuning[0] in self.report or self.report[0] in self.tuning:
            both = f"{seeds_text(self.tuning)} to choose by and {seeds_text(self.report)} to report"
            raise InputError(f"{both} overlap; change --first-seed or --first-report-seed")
        if self.search != "grid" and self.budget is None:
            raise InputError("this search does not end by itself; add a --budget, such as 50")
        if self.search == "grid" and not 0 < self._combinations <= MOST:
            cause = "a range has no step, or there are too many combinations"
            raise InputError(f"{cause}; add --search random, or {NOTATION}")

    @property
    def _combinations(self) -> int:
        """Their number, or 0 if a range has no step."""
        return math.prod(len(getattr(each, "choices", ())) for each in self.space.values())

    @property
    def size(self) -> int:
        """The largest number of trials."""
        budget = self.budget or self._combinations
        return min(budget, self._combinations) if self.search == "grid" else budget

    def job(self, changes: Changes, part: str = "tuning") -> SweepJob:
        """The job of a combination: part "tuning" to choose by, "report" to report."""
        seeds = self.report if part == "report" else self.tuning
        base = {"seed": seeds[0], "replicas": len(seeds)}
        explicit = {**self.overrides, **changes}
        settings = settings_for_game(self.game, explicit, paper=self.paper, base=base)
        where = (self.root, self.source, self.game.name)
        return SweepJob(*where, settings, changes, part, self.column, self.device)

    def start(self) -> Any:
        """Write sweep.json, and open Optuna's study. Refuses a folder with other results."""
        definition = {
            "game": self.game.name,
            "sha256": fingerprint_of(self.game),
            "recipe": recipe_name(paper=self.paper),
            "settings": self.overrides,
            "by": self.column,
            "seeds": [str(self.tuning), str(self.report)],
            "vary": {name: str(each) for name, each in self.space.items()},
        }
        path = self.root / SWEEP
        if path.exists() and json_or_none(path) != definition:
            raise InputError(f"{self.root}: contains other results; choose another --out")
        write_json(path, definition)
        optuna = require("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        path = self.root / STUDY
        if path.exists():
            before, newline, _ = path.read_bytes().rpartition(b"\n")
            write(path, before + newline)  # a killed process may have cut a line short
        journal = require("optuna.storages.journal")  # the folder is locked, so it needs no lock
        backend = journal.JournalFileBackend(str(path), lock_obj=threading.Lock())
        return optuna.create_study(
            storage=journal.JournalStorage(backend),
            study_name="sweep",
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
        )

    def run(self, study: Any, workers: Workers) -> Iterator[Event]:
        """Run the trials that are not finished, and record in the study how they end."""
        states = require("optuna").trial.TrialState
        trials: dict[str, Any] = {}  # by the name of their job
        for event in workers.run(self._jobs(study, trials)):
            trial = trials[event.job.name]
            if event.kind == "done":
                study.tell(trial, self.job(trial.params).score()[0])
            elif event.kind == "failed":
                study.tell(trial, state=states.FAIL)
            elif event.kind == "round" and self.prune:
                known = study.get_trials(deepcopy=False)[trial.number].intermediate_values
                if event.rounds not in known:  # by a killed sweep
                    trial.report(event.score, event.rounds)
                if trial.should_prune():
                    workers.stop(event.job)
                    study.tell(trial, state=states.PRUNED)
                    event = replace(event, kind="pruned")
            yield event

    def _jobs(self, study: Any, trials: dict[str, Any]) -> Iterator[SweepJob]:
        """Yield the jobs to run, after their trial was added to `trials`."""
        states = require("optuna").trial.TrialState
        for trial in self._trials(study):
            try:
                job = self.job(trial.params)
            except InputError as error:
                log.warning("skipped: %s: %s", settings_text(trial.params), error)
                study.tell(trial, state=states.PRUNED)
                continue
            if job.is_done():  # proposed again, or killed before it was recorded
                study.tell(trial, job.score()[0])
            elif job.name in trials:
                study.tell(trial, state=states.PRUNED)
            else:
                trials[job.name] = trial
                yield job

    def _trials(self, study: Any) -> Iterator[Any]:
        """Yield the trials of a killed sweep that are not finished, then new ones."""
        optuna = require("optuna")
        states = optuna.trial.TrialState
        for frozen in study.get_trials(states=(states.RUNNING,)):
            if frozen.params.keys() == self.space.keys():
                yield optuna.trial.Trial(study, frozen._trial_id)
            else:  # killed while it was proposed
                study.tell(frozen.number, state=states.FAIL)
        for _ in study.get_trials(states=(states.WAITING,)):
            yield study.ask(self.space)
        counted = (states.COMPLETE, states.PRUNED, states.RUNNING)  # failed ones are tried again
        tried = [settings_text(each.params) for each in study.get_trials(states=counted)]
        if self.search == "grid":
            for changes in self._grid():
                if settings_text(changes) not in tried:
                    study.enqueue_trial(changes)
                    yield study.ask(self.space)
            return
        samplers = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
        for number in range(len(tried), self.size):
            study.sampler = samplers[self.search](seed=self.choice * MOST + number)
            yield study.ask(self.space)

    def _grid(self) -> list[Changes]:
        """The combinations of a grid, or a sample of them. The last setting changes first."""
        values = itertools.product(*(each.choices for each in self.space.values()))
        every = [dict(zip(self.space, each, strict=True)) for each in values]
        if self.size < len(every):
            random.Random(self.choice).shuffle(every)
        return every[: self.size]

    def finished(self, study: Any) -> list[SweepJob]:
        """The jobs of the finished combinations, the best first."""
        state = require("optuna").trial.TrialState.COMPLETE
        jobs = [self.job(each.params) for each in study.get_trials(states=[state])]
        unique = {job.name: job for job in jobs}.values()
        return sorted(unique, key=lambda job: -job.score()[0])

    def write_tables(self, jobs: Sequence[SweepJob]) -> None:
        """Write sweep.csv and best.json. The first job is the best."""
        rows = []
        for job in jobs:
            row = {name: value_text(each) for name, each in job.changes.items()}
            mean, deviation = job.score()
            seeds = seeds_text(job.settings.run.seeds)
            facts = {"part": job.part, "seeds": seeds, "mean": mean, "deviation": deviation}
            rows.append({**dict.fromkeys(self.space), **row, **facts})
        write(self.root / "sweep.csv", to_csv(rows, list(rows[0])))
        best = {**self.overrides, **jobs[0].changes}
        # the form of a run's config.json
        config = {"recipe": recipe_name(paper=self.paper), "settings": best}
        write_json(self.root / "best.json", config)
