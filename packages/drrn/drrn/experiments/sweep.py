"""A sweep: combinations of settings are tried on some seeds, the best is reported on other seeds.

sweep.json      what is swept: the game, the recipe, the settings, the seeds
study.log       the trials, in Optuna's journal
runs/NAME       a run for each combination and its score.json: tuning-… to choose by, report-…
sweep.csv       one line for each combination, the best first
best.json       the settings of the best: drrn train GAME --config FOLDER/best.json

Optuna proposes the combinations and decides which trials to end early. A proposal is stored before
its job starts, so a sweep that was killed continues with the same trials.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from drrn.experiments.agents import seeds_text, settings_text, value_text
from drrn.experiments.job import Job, final_scores
from drrn.experiments.results import SWEEP, Row, to_csv, write_json
from drrn.experiments.space import NOTATION, Changes, Space, grid, grid_size, suggest
from drrn.experiments.workers import Event, Workers
from drrn.runs.config import settings_for_game
from drrn.runs.limits import check_memory
from drrn.runs.run import Run
from drrn.runs.scores import RoundScores
from drrn.runs.storage import CHECKPOINT
from drrn.runs.trainer import Trainer
from drrn.settings import Settings, recipe_name
from drrn.vectors import open_vectors
from textgames.errors import InputError, require
from textgames.files import json_or_none, write
from textgames.game.contract import Game, close, fingerprint_of
from textgames.game.episodes import mean_and_sd
from textgames.openers import GameSpec

STUDY = "study.log"
SCORE = "score.json"  # in the run's folder: what the sweep compares, by seed


def job_name(changes: Changes, part: str) -> str:
    """The settings as a file name, with a hash if that loses information."""
    text = settings_text(changes, ",") or "as-it-is"
    plain = re.sub(r"[^\w=,+-]", "_", text)
    if re.sub(r"(?<=\d)\.(?=\d)", "_", text) != plain or len(plain) > 100:
        plain = f"{plain[:100]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return f"{part}-{plain}"


@dataclass(frozen=True)
class SweepJob(Job):
    """The training of a combination, with its seeds at once, and its score after the last round."""

    root: Path
    source: str
    game: str
    settings: Settings
    changes: Changes
    part: str  # "tuning" or "report"
    policy: str
    measure: str
    hashes: dict[str, str]
    commit: str
    device: str = "cpu"

    @property
    def column(self) -> str:  # type: ignore[override]
        return f"{self.policy}_{self.measure}"

    @property
    def name(self) -> str:
        return job_name(self.changes, self.part)

    @property
    def folder(self) -> Path:
        return self.root / "runs" / self.name

    @property
    def plan(self) -> dict[str, Any]:
        return {**self.hashes, **self.settings.flat()}

    def is_done(self) -> bool:
        if (self.folder / SCORE).exists():
            return True
        self.check_unfinished()
        return False

    def result(self) -> "Scored":
        """The score of the finished job."""
        path = self.folder / SCORE
        scores = json_or_none(path)
        if not isinstance(scores, list) or not all(isinstance(score, float) for score in scores):
            raise InputError(f"{path}: not the scores of a job; delete {self.folder}")
        return Scored(self.changes, *mean_and_sd(scores), len(scores))

    def run(self) -> Iterator[RoundScores]:
        game = GameSpec(self.source).open()  # trusts nothing that another machine sent
        try:
            if fingerprint_of(game) != self.hashes["sha256"]:
                raise InputError(f"{self.source}: the game has changed; run the command again")
            trainer = Trainer(game, self.settings, self.device, spec=GameSpec(self.source))
            run = Run(self.folder)
            if run.has(CHECKPOINT):
                yield from run.rounds()  # the caller may not know them
            yield from self.train(trainer)
            episodes = {self.policy: 2 * self.settings.run.evaluation_episodes}
            scores = []
            for sampled, exact in final_scores(trainer, trainer.played, episodes):
                measures = sampled.measures
                if exact:
                    measures = {"final_reward": exact.final_reward, "return": exact.total}
                scores.append(measures[self.measure])
            write_json(self.folder / SCORE, scores)
            self.remove_checkpoint()
        finally:
            close(game)


class Scored(NamedTuple):
    """A combination, and its score after the last round over the seeds."""

    changes: Changes
    mean: float
    deviation: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


# --- The sweep


@dataclass(frozen=True)
class Sweep:
    """A game, the settings that all jobs share, those that vary, and how they are searched."""

    root: Path
    source: str
    game: Game
    space: Space
    overrides: dict[str, Any]  # settings of all jobs
    paper: bool
    tuning: range  # seeds
    report: range
    commit: str
    policy: str = "softmax"
    measure: str = "final_reward"
    search: str = "grid"
    budget: int | None = None  # the largest number of combinations
    choice: int = 0  # seed of the search
    prune: bool = False
    device: str = "cpu"
    remote: bool = False  # on a cluster, whose machines may have more memory than this one

    def __post_init__(self) -> None:
        if self.tuning[0] in self.report or self.report[0] in self.tuning:
            both = f"{seeds_text(self.tuning)} to choose by and {seeds_text(self.report)} to report"
            raise InputError(f"{both} overlap; change --first-seed or --first-report-seed")
        if both := ", ".join(sorted(self.overrides.keys() & self.space.keys())):
            raise InputError(f"{both} is in both --set and --vary; leave it out of one of them")
        size = grid_size(self.space)
        if self.budget is None and (size is None or self.search != "grid"):
            raise InputError("this search does not end by itself; add a --budget, such as 50")
        if size is None and self.search == "grid":
            raise InputError(f"a range without a step needs --search random or tpe; or {NOTATION}")
        if self.budget is None and size is not None and size > 10_000:
            raise InputError(f"{size:,} combinations are too many; add a --budget, such as 50")

    @property
    def size(self) -> int:
        """The largest number of combinations that will be tried."""
        sizes = [each for each in (self.budget, grid_size(self.space)) if each is not None]
        return min(sizes)

    @cached_property
    def hashes(self) -> dict[str, str]:
        return {"sha256": fingerprint_of(self.game)}

    def job(self, changes: Changes, part: str = "tuning") -> SweepJob:
        """The job of a combination: part "tuning" to choose by, "report" to report."""
        seeds = self.report if part == "report" else self.tuning
        base = {"seed": seeds[0], "replicas": len(seeds)}
        explicit = {**self.overrides, **changes}
        settings = settings_for_game(self.game, explicit, paper=self.paper, base=base)
        if not self.remote:
            check_memory(settings)
        vectors = settings.model.vectors
        return SweepJob(
            root=self.root,
            source=self.source,
            game=self.game.name,
            settings=settings,
            changes=changes,
            part=part,
            policy=self.policy,
            measure=self.measure,
            hashes=self.hashes | ({"vectors": open_vectors(vectors).digest} if vectors else {}),
            commit=self.commit,
            device=self.device,
        )

    def start(self) -> Any:
        """Write sweep.json, and open Optuna's study. Refuses a folder with other results."""
        definition = {
            "game": self.game.name,
            **self.hashes,
            "recipe": recipe_name(paper=self.paper),
            "settings": self.overrides,
            "by": [self.policy, self.measure],
            "seeds": [str(self.tuning), str(self.report)],
            "vary": {name: str(each) for name, each in self.space.items()},
        }
        path = self.root / SWEEP
        if not (self.root / "runs").exists():  # nothing was tried yet
            (self.root / STUDY).unlink(missing_ok=True)
        elif json_or_none(path) != definition:
            raise InputError(f"{self.root}: contains other results; choose another --out")
        write_json(path, definition)
        optuna = require("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        return optuna.create_study(
            storage=self._storage(),
            study_name="sweep",
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
        )

    def _storage(self) -> Any:
        """Optuna's journal. The folder is locked, so the file needs no lock of its own."""
        path = self.root / STUDY
        if path.exists():
            before, newline, _ = path.read_bytes().rpartition(b"\n")
            write(path, before + newline)  # a killed process may have cut a line short
        journal = require("optuna.storages.journal")
        backend = journal.JournalFileBackend(str(path), lock_obj=threading.Lock())
        return journal.JournalStorage(backend)

    def run(self, study: Any, workers: Workers, skip: Callable[[str], None]) -> Iterator[Event]:
        """Run the trials that are not finished, and record in the study how they end.

        `skip` is called with each combination that is impossible, and why.
        """
        states = require("optuna").trial.TrialState
        trials: dict[str, Any] = {}

        def jobs() -> Iterator[SweepJob]:
            for trial, changes in self._trials(study, skip):
                job = self.job(changes)
                if job.is_done():  # killed before it was recorded
                    study.tell(trial, job.result().mean)
                else:
                    trials[job.name] = trial
                    yield job

        for event in workers.run(jobs()):
            trial = trials[event.job.name]
            if event.kind == "done":
                study.tell(trial, self.job(trial.params).result().mean)
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

    def _trials(self, study: Any, skip: Callable[[str], None]) -> Iterator[tuple[Any, Changes]]:
        """Yield the trials of a killed sweep that are not finished, then new ones."""
        optuna = require("optuna")
        states = optuna.trial.TrialState
        tried = set[str]()
        for frozen in study.trials:
            if frozen.state in (states.RUNNING, states.WAITING):
                is_running = frozen.state == states.RUNNING
                trial = optuna.trial.Trial(study, frozen._trial_id) if is_running else study.ask()
                changes = suggest(trial, self.space)
                tried.add(settings_text(changes))
                yield trial, changes
            elif frozen.state != states.FAIL:  # a failed one is tried again
                tried.add(settings_text(frozen.params))
        misses = 0  # in a row
        for changes in self._candidates(study):
            if len(tried) >= self.size or misses > 10_000:
                return
            misses += 1
            text = settings_text(changes)
            if text not in tried and self._is_possible(changes, skip):
                misses = 0
                tried.add(text)
                study.enqueue_trial(changes)  # in one step, so that no trial is half stored
                trial = study.ask()
                yield trial, suggest(trial, self.space)

    def _is_possible(self, changes: Changes, skip: Callable[[str], None]) -> bool:
        try:
            self.job(changes)
            self.job(changes, "report")
        except InputError as error:
            skip(f"{settings_text(changes)}: {error}")
            return False
        return True

    def _candidates(self, study: Any) -> Iterator[Changes]:
        """Yield what the search proposes, again and again.

        Optuna samples in a study of its own in memory. It has the same seed in a continued sweep.
        """
        if self.search == "grid" and self.size == grid_size(self.space):
            yield from grid(self.space)
            return
        optuna = require("optuna")
        known = -1
        while True:
            trials = study.get_trials(deepcopy=False)
            if known < 0 or (self.search == "tpe" and len(trials) != known):
                known = len(trials)
                sampler = optuna.samplers.RandomSampler(self.choice)
                if self.search == "tpe":
                    sampler = optuna.samplers.TPESampler(seed=self.choice + known)
                memory = optuna.create_study(sampler=sampler, direction="maximize")
                memory.add_trials([each for each in trials if each.state.is_finished()])
            yield suggest(memory.ask(), self.space)

    def scored(self, study: Any) -> "list[Scored]":
        """The scores of the finished combinations, the best first. Ties keep their order."""
        state = require("optuna").trial.TrialState.COMPLETE
        trials = study.get_trials(deepcopy=False, states=[state])
        scores = [self.job(each.params).result() for each in trials]
        return sorted(scores, key=lambda each: -each.mean)

    def write_tables(self, tuning: "list[Scored]", report: "list[Scored]") -> None:
        """Write sweep.csv and best.json. The scores are sorted, the best first."""
        reported = {settings_text(each.changes): each for each in report}
        rows = []
        for each in tuning:
            row: Row = {name: value_text(value) for name, value in each.changes.items()}
            other = reported.get(settings_text(each.changes))
            for part, score in (("tuning", each), ("report", other)):
                for measure in ("mean", "deviation", "seeds"):
                    row[f"{part}_{measure}"] = getattr(score, measure) if score else None
            rows.append(row)
        write(self.root / "sweep.csv", to_csv(rows, list(rows[0])))
        best = {**self.overrides, **tuning[0].changes}
        # the form of a run's config.json
        config = {"recipe": recipe_name(paper=self.paper), "settings": best}
        write_json(self.root / "best.json", config)
