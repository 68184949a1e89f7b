"""A sweep: combinations of settings are tried on some seeds, the best is reported on other seeds.

sweep.json      what is swept: the game, the recipe, the settings, the seeds
study.log       the trials, in Optuna's journal
sweep.csv       one line for each combination, the best first
best.json       the settings of the best: drrn train GAME --config FOLDER/best.json

Optuna proposes the combinations, and stores how each trial ends. A sweep that was killed repeats
the trials that it had not finished.
"""

import itertools
import math
import multiprocessing
import random
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from drrn.experiments.agents import OWN_OPTIONS, seeds_text, settings_text, value_text
from drrn.experiments.job import final_scores
from drrn.experiments.results import SWEEP, to_csv, write_json
from drrn.runs.config import settings_for_game
from drrn.runs.trainer import Trainer
from drrn.settings import Settings, all_settings, recipe_name
from textgames.errors import InputError, did_you_mean, require
from textgames.files import json_or_none, write
from textgames.game.contract import close, fingerprint_of
from textgames.game.episodes import mean_and_sd
from textgames.openers import GameSpec

STUDY = "study.log"
RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+?)\.\.(?P<high>[^:,]+?)(?::(?P<step>[^:,]+))?")

Changes = dict[str, Any]  # the settings of a combination, by name
Space = dict[str, Any]  # Optuna's distribution of each setting


def read_space(texts: Sequence[str]) -> Space:
    """Parse NAME=VALUE,VALUE… or NAME=LOW..HIGH:STEP or NAME=log:LOW..HIGH."""
    settings = all_settings()
    space: Space = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            if name not in settings:
                near = did_you_mean(name, settings)
                raise InputError(f'no setting is named "{name}".{near} See: drrn train --help')
            if name in (*OWN_OPTIONS, *space) or settings[name].same_results:
                raise InputError("cannot be varied, has its own option, or occurs twice")
            space[name] = _distribution(name, values)
        except (InputError, ValueError) as error:
            raise InputError(f'--vary "{text}": {error}') from error
    return space


def _distribution(name: str, text: str) -> Any:
    distributions = require("optuna").distributions
    setting = all_settings()[name]
    match = RANGE.fullmatch(text) if setting.kind in (int, float) else None
    if match is None:
        values = [setting.read(each) for each in text.split(",")]
        for value in values:
            setting.check(value)
        return distributions.CategoricalDistribution(list(dict.fromkeys(values)))
    low, high = (setting.read(match[side]) for side in ("low", "high"))
    setting.check(low)
    setting.check(high)
    step = setting.read(match["step"]) if match["step"] else None
    if setting.kind is int:
        return distributions.IntDistribution(low, high, bool(match["log"]), step or 1)
    return distributions.FloatDistribution(low, high, bool(match["log"]), step)


def grid(space: Space) -> list[Changes]:
    """All combinations. The last setting changes first."""
    lists = []
    for name, each in space.items():
        if hasattr(each, "choices"):
            lists.append(list(each.choices))
        elif each.step is None or each.log:
            raise InputError(f"{name}: a range without a step needs --search random or tpe")
        else:
            count = math.floor((each.high - each.low) / each.step + 1e-9) + 1
            lists.append([round(each.low + number * each.step, 12) for number in range(count)])
    if math.prod(map(len, lists)) > 10_000:
        raise InputError("more than 10,000 combinations: use --search random or tpe")
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*lists)]


class Scored(NamedTuple):
    """A combination, and its score after the last round over the seeds."""

    changes: Changes
    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


@dataclass(frozen=True)
class Sweep:
    """A game, the settings that all trials share, those that vary, and how they are searched."""

    root: Path
    source: str
    space: Space
    overrides: dict[str, Any]  # settings of all trials
    paper: bool
    tuning: range  # seeds
    report: range
    policy: str = "softmax"
    measure: str = "final_reward"
    search: str = "grid"
    budget: int | None = None  # the largest number of trials
    choice: int = 0  # seed of the search
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.tuning[0] in self.report or self.report[0] in self.tuning:
            both = f"{seeds_text(self.tuning)} to choose by and {seeds_text(self.report)} to report"
            raise InputError(f"{both} overlap; change --first-seed or --first-report-seed")
        if both := ", ".join(sorted(self.overrides.keys() & self.space.keys())):
            raise InputError(f"{both} is in both --set and --vary; leave it out of one of them")
        if self.budget is None and self.search != "grid":
            raise InputError("this search does not end by itself; add a --budget, such as 50")

    def proposals(self) -> list[Changes]:
        """What the trials try. Nothing for those that Optuna proposes when they start."""
        if self.search == "tpe":
            return [{}] * (self.budget or 0)
        if self.search == "random":
            optuna = require("optuna")
            memory = optuna.create_study(sampler=optuna.samplers.RandomSampler(self.choice))
            return [memory.ask(self.space).params for _ in range(self.budget or 0)]
        every = grid(self.space)
        if self.budget is not None and self.budget < len(every):
            random.Random(self.choice).shuffle(every)
        return every[: self.budget]

    def settings(self, changes: Changes, seeds: range) -> Settings:
        """The settings of a combination."""
        base = {"seed": seeds[0], "replicas": len(seeds)}
        game = GameSpec(self.source).open()
        try:
            explicit = {**self.overrides, **changes}
            return settings_for_game(game, explicit, paper=self.paper, base=base)
        finally:
            close(game)

    def start(self) -> Any:
        """Write sweep.json, and open the study with its trials. Refuses other results."""
        definition = {
            "game": self.source,
            "sha256": fingerprint_of(GameSpec(self.source).open()),
            "recipe": recipe_name(paper=self.paper),
            "settings": self.overrides,
            "by": [self.policy, self.measure],
            "seeds": [str(self.tuning), str(self.report)],
            "vary": {name: str(each) for name, each in self.space.items()},
            "search": [self.search, self.choice],
        }
        if (self.root / SWEEP).exists() and json_or_none(self.root / SWEEP) != definition:
            raise InputError(f"{self.root}: contains other results; choose another --out")
        write_json(self.root / SWEEP, definition)
        optuna = require("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            storage=self._storage(), study_name="sweep", direction="maximize", load_if_exists=True
        )
        repeated = {trial.user_attrs.get("repeats") for trial in study.trials}
        proposed = sum("repeats" not in trial.user_attrs for trial in study.trials)
        for trial in study.trials:
            if trial.state.name == "RUNNING":  # of a sweep that was killed
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            if trial.state.name in ("RUNNING", "FAIL") and trial.number not in repeated:
                study.enqueue_trial(trial.params, {"repeats": trial.number})
        for changes in self.proposals()[proposed:]:
            study.enqueue_trial(changes)
        study.sampler = optuna.samplers.TPESampler(seed=self.choice + len(study.trials))
        return study

    def _storage(self) -> Any:
        """Optuna's journal. The folder is locked, so the file needs no lock of its own."""
        path = self.root / STUDY
        if path.exists():
            before, newline, _ = path.read_bytes().rpartition(b"\n")
            write(path, before + newline)  # a killed process may have cut a line short
        journal = require("optuna.storages.journal")
        backend = journal.JournalFileBackend(str(path), lock_obj=threading.Lock())
        return journal.JournalStorage(backend)

    def run(self, study: Any, processes: int, ended: Callable[[Any, Any], None]) -> None:
        """Run the trials that are not finished. `ended(study, trial)` is called after each."""
        optuna = require("optuna")
        waiting = sum(trial.state.name == "WAITING" for trial in study.trials)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context) as executor:

            def objective(trial: Any) -> float:
                changes = {name: trial._suggest(name, each) for name, each in self.space.items()}
                try:
                    settings = self.settings(changes, self.tuning)
                    if processes == 1:
                        scores = self.scores(settings)
                    else:
                        scores = executor.submit(self.scores, settings).result()
                except InputError as error:  # an impossible combination, or learning diverged
                    trial.set_user_attr("reason", str(error))
                    raise optuna.TrialPruned from error
                trial.set_user_attr("scores", scores)
                return mean_and_sd(scores)[0]

            how = {"n_jobs": processes, "catch": (Exception,), "callbacks": [ended]}
            if waiting:
                study.optimize(objective, waiting, **how)

    def scores(self, settings: Settings) -> list[float]:
        """Train, and return the score of each seed after the last round."""
        spec = GameSpec(self.source)
        game = spec.open()
        try:
            trainer = Trainer(game, settings, self.device, spec=spec)
            for _ in trainer.train():
                pass
            episodes = {self.policy: 2 * settings.run.evaluation_episodes}
            scores = []
            for sampled, exact in final_scores(trainer, trainer.played, episodes):
                measures = sampled.measures
                if exact:
                    measures = {"final_reward": exact.final_reward, "return": exact.total}
                scores.append(float(measures[self.measure]))
            return scores
        finally:
            close(game)

    def scored(self, study: Any) -> list[Scored]:
        """The scores of the finished trials, the best first. Ties keep their order."""
        trials = [each for each in study.trials if each.state.name == "COMPLETE"]
        scores = [Scored(t.params, *mean_and_sd(t.user_attrs["scores"])) for t in trials]
        return sorted(scores, key=lambda each: -each.mean)

    def reported(self, study: Any, changes: Changes) -> Scored:
        """The score of a combination on the seeds to report on. The study keeps it."""
        name = f"report {settings_text(changes)}"
        if name not in study.user_attrs:
            study.set_user_attr(name, self.scores(self.settings(changes, self.report)))
        return Scored(changes, *mean_and_sd(study.user_attrs[name]))

    def write_tables(self, scores: list[Scored]) -> None:
        """Write sweep.csv and best.json. The scores are sorted, the best first."""
        rows = []
        for each in scores:
            texts = {name: value_text(value) for name, value in each.changes.items()}
            rows.append({**texts, "mean": each.mean, "deviation": each.deviation})
        write(self.root / "sweep.csv", to_csv(rows, list(rows[0])))
        # the form of a run's config.json
        settings = {**self.overrides, **scores[0].changes}
        config = {"recipe": recipe_name(paper=self.paper), "settings": settings}
        write_json(self.root / "best.json", config)
