"""A sweep: settings are tried on some seeds, and the best of them is reported on seeds that it was not chosen on.

sweep.json            what is swept: the game, the recipe, the settings
rows/GAME/JOB.csv     rows, as every experiment's: tuning-… to choose by, report-… to report
sweep.csv             a line for each combination, best first
best.json             the settings of the best: drrn train GAME --config FOLDER/best.json
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.game.contract import Game
from drrn.lab.experiments.folder import SWEEP, Results, make_folder
from drrn.lab.experiments.grid import Changes, Grid
from drrn.lab.experiments.running import Work, hashes_of
from drrn.lab.experiments.variants import Swept, in_words
from drrn.runs.config import recommended_settings
from drrn.runs.limits import check_memory
from drrn.settings import Settings, recipe, recipe_name, settings_for

MOST = 10_000  # combinations of one sweep
POLICIES = ("softmax", "greedy", "best")
FINAL = 2  # evaluations of a round in the last one


@dataclass(frozen=True)
class Seeds:
    """Seeds one after another."""

    first: int
    count: int

    @property
    def all(self) -> range:
        return range(self.first, self.first + self.count)

    def __str__(self) -> str:
        return f"seed {self.first}" if self.count == 1 else f"seeds {self.first} to {self.all[-1]}"


@dataclass(frozen=True)
class Sweep:
    """What is swept: a game, the settings that are the same for all jobs, and those that vary."""

    root: Path
    source: str
    game: Game
    grid: Grid
    given: dict[str, Any]
    paper: bool
    tuning: Seeds
    report: Seeds
    commit: str
    device: str = "cpu"
    elsewhere: bool = False  # done on a cluster, whose machines may have more memory than this one
    digests: dict[str, str] = field(default_factory=dict)  # of files of word vectors

    def __post_init__(self) -> None:
        if max(self.tuning.first, self.report.first) < min(
            self.tuning.all.stop, self.report.all.stop
        ):
            cure = "give other ones by --first-seed or --first-report-seed"
            raise InputError(
                f"{self.tuning} to choose by and {self.report} to report overlap: {cure}"
            )
        if twice := sorted(self.given.keys() & self.grid.values.keys()):
            raise InputError(
                f"{twice[0]} stands in --set and in --vary: leave it out of one of them"
            )

    @cached_property
    def suiting(self) -> dict[str, Any]:
        return recommended_settings(self.game)

    @cached_property
    def hashes(self) -> dict[str, str | None]:
        return hashes_of(self.game)

    def settings(self, changes: Changes, seeds: Seeds) -> Settings:
        """The recipe, under what is given for all jobs, under what this one changes; as `drrn train` has them."""
        asked = {**self.given, **dict(changes)}
        base = recipe(paper=self.paper, recommended=self.suiting, given=asked)
        return settings_for({**base, "seed": seeds.first, "replicas": seeds.count}, asked)

    def work(self, changes: Changes, part: str = "tuning") -> Work:
        """A job of the sweep: to choose by, or to report."""
        settings = self.settings(changes, self.report if part == "report" else self.tuning)
        strong = settings.learner.name != "q-learning"
        shape = (
            settings.model.name,
            settings.model.layers,
            settings.model.hidden,
            settings.model.interaction,
            settings.model.action_hidden,
        )
        variant = Swept(
            *shape,
            settings.model.shared,
            settings.learner.n_steps,
            changes=changes,
            part=part,
            strong=strong,
        )
        final = dict.fromkeys(POLICIES, FINAL * settings.run.evaluation_episodes)
        where: dict[str, Any] = {
            "commit": self.commit,
            "device": self.device,
            "vectors": self._digest(settings),
        }
        return Work(
            self.root, self.source, self.game.name, variant, settings, final, self.hashes, **where
        )

    def tried(
        self, budget: int | None, *, at_random: bool, seed: int
    ) -> tuple[list[Work], list[str]]:
        """The jobs to choose by: all combinations, or a seeded choice where there are more than the budget; and a
        sentence for each combination that the settings themselves refuse."""
        most = min(budget or MOST, MOST)
        if budget is None and not at_random and self.grid.size > MOST:
            raise InputError(
                f"these are {self.grid.size:,} combinations: give a --budget, such as 50 (jobs) or 30m"
            )
        chance = at_random or self.grid.size > most
        works = list[Work]()
        refused = list[str]()
        for changes in islice(
            self.grid.at_random(seed) if chance else self.grid.in_order(), 10 * MOST
        ):
            if len(works) == most:
                break
            try:
                self._check_sizes(changes)
                works.append(self.work(changes))
            except InputError as error:
                refused.append(f"{Swept('', changes=changes).said()} is left out: {error}")
        if not works:
            raise InputError(refused[0])
        return works, refused

    def _check_sizes(self, changes: Changes) -> None:
        """Refuse a combination that this machine's memory cannot hold, with the seeds to choose by or to report."""
        for seeds in () if self.elsewhere else (self.tuning, self.report):
            check_memory(self.settings(changes, seeds))

    def begin(self) -> None:
        """Write what is swept; a folder of other results, or of another sweep's, is refused."""
        said = {
            "game": self.game.name,
            "recipe": recipe_name(paper=self.paper),
            "settings": self.given,
        }
        path = self.root / SWEEP
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            other = next((name for name in said if found.get(name) != said[name]), None)
        except FileNotFoundError:
            other = "folder" if (self.root / "rows").exists() else None
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"{path}: not what is swept: give another --out") from error
        if other:
            raise InputError(
                f"{self.root}: it has other results (another {other}): give another --out"
            )
        make_folder(self.root)
        vary = {name: list(values) for name, values in self.grid.values.items()}
        write_atomically(
            path,
            [(json.dumps({**said, "vary": vary}, indent=2, ensure_ascii=False) + "\n").encode()],
        )

    def _digest(self, settings: Settings) -> str | None:
        if settings.model.vectors is None:
            return None
        from drrn.vectors import open_vectors

        if settings.model.vectors not in self.digests:
            self.digests[settings.model.vectors] = open_vectors(Path(settings.model.vectors)).digest
        return self.digests[settings.model.vectors]


@dataclass(frozen=True)
class Scored:
    """How a job played after its last round: the score of each seed."""

    work: Work
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0

    @property
    def variant(self) -> Swept:
        assert isinstance(self.work.variant, Swept)
        return self.work.variant


def scored(works: list[Work], policy: str, measure: str) -> list[Scored]:
    """The scores of those works that are done, best first; the order they come in decides where they are equal."""
    return sorted(_scores(works, policy, measure), key=lambda found: -found.mean)


def _scores(works: list[Work], policy: str, measure: str) -> Iterator[Scored]:
    for work in works:
        stored = Results(work.root).load(work.game, work.name)
        rows = (
            [row for row in stored.rows[""] if row["final"] and row["policy"] == policy]
            if stored
            else []
        )
        exact = measure == "final_reward"  # where it is known exactly, chance has no part in it
        scores = [
            row["exact"] if exact and row["exact"] is not None else row[measure] for row in rows
        ]
        if scores:
            yield Scored(work, tuple(scores))


def write_tables(sweep: Sweep, tried: list[Scored], reported: list[Scored]) -> None:
    """sweep.csv and best.json, from the rows alone."""
    by_changes = {found.variant.changes: found for found in reported}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("mean", "deviation", "seeds")
    names = [*sweep.grid.values]
    writer.writerow([*names, *(f"tuning_{c}" for c in columns), *(f"report_{c}" for c in columns)])
    for found in tried:
        cells = [in_words(value) for _, value in found.variant.changes]
        report = by_changes.get(found.variant.changes)
        writer.writerow(
            [*cells, *_cells(found), *(_cells(report) if report else [""] * len(columns))]
        )
    write_atomically(sweep.root / "sweep.csv", [text.getvalue().encode()])
    chosen = {**sweep.given, **tried[0].variant.settings}
    best = {"recipe": recipe_name(paper=sweep.paper), "settings": chosen}  # as a run's config.json
    write_atomically(
        sweep.root / "best.json", [(json.dumps(best, indent=2, ensure_ascii=False) + "\n").encode()]
    )


def _cells(found: Scored) -> list[Any]:
    return [round(found.mean, 6), round(found.deviation, 6), len(found.scores)]
