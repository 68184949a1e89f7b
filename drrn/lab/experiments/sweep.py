"""A sweep: combinations of settings are tried on some seeds, the best is reported on other seeds.

sweep.json            what is swept: the game, the recipe, the settings
rows/GAME/JOB.csv     rows as of every experiment: tuning-… to choose by, report-… to report
sweep.csv             one line for each combination, the best first
best.json             the settings of the best: drrn train GAME --config FOLDER/best.json
"""

import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from drrn.declaration import Setting
from drrn.errors import InputError, did_you_mean
from drrn.files import write
from drrn.game.contract import Game
from drrn.game.episodes import mean_and_sd
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import OWN_OPTIONS, Variant, seeds_text
from drrn.lab.experiments.results import SWEEP, Row, to_csv, write_json
from drrn.runs.config import settings_for_game
from drrn.runs.limits import check_memory
from drrn.settings import POLICIES, Settings, all_settings, recipe_name
from drrn.vectors import open_vectors

Changes = tuple[tuple[str, Any], ...]  # names of settings, and their values

# --- The grid

MAX_VALUES = 10_000  # of one setting
MAX_JOBS = 10_000
MAX_TRIED = 100_000  # combinations; some are impossible
RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+?)\.\.(?P<high>[^:,]+?)(?::(?P<by>[^:,]*))?")
NOTATION = "write NAME=VALUE,VALUE… or NAME=LOW..HIGH:STEP or NAME=log:LOW..HIGH:COUNT"


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some settings."""

    values: dict[str, tuple[Any, ...]]

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def in_order(self) -> Iterator[Changes]:
        """Yield all combinations; the last setting changes first."""
        for values in itertools.product(*self.values.values()):
            yield tuple(zip(self.values, values, strict=True))

    def at_random(self, seed: int) -> Iterator[Changes]:
        """Yield combinations in random order, each once; of a large grid, a sample."""
        generator = random.Random(seed)
        if self.size <= MAX_TRIED:
            combinations = list(self.in_order())
            yield from generator.sample(combinations, self.size)
            return
        sample = set[Changes]()
        while len(sample) < MAX_TRIED:
            changes = tuple((n, generator.choice(values)) for n, values in self.values.items())
            if changes not in sample:
                sample.add(changes)
                yield changes


def read_grid(texts: Sequence[str]) -> Grid:
    """Parse NAME=VALUES, each of another setting."""
    values: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, right = text.partition("=")
        if name in values:
            raise InputError(f'--vary "{text}": {name} occurs twice; combine its values')
        try:
            values[name] = _values(_setting(name), right) if equals else ()
            if not values[name]:
                raise InputError(NOTATION)
        except InputError as error:
            raise InputError(f'--vary "{text}": {error}') from error
    return Grid(values)


def _setting(name: str) -> Setting:
    settings = all_settings()
    if name not in settings:
        near = did_you_mean(name, settings)
        raise InputError(f'no setting is named "{name}".{near} See: drrn train --help')
    if name in OWN_OPTIONS:
        options = "--seeds, --first-seed, --report-seeds, --first-report-seed"
        raise InputError(f"{name} cannot be varied; use {options}")
    if settings[name].same_results:
        raise InputError(f"results do not depend on {name}")
    return settings[name]


def _values(setting: Setting, text: str) -> tuple[Any, ...]:
    """Parse a list of values and ranges; each value occurs once."""
    values: list[Any] = []
    for part in text.split(","):
        match = RANGE.fullmatch(part) if setting.kind in (int, float) else None
        values += _range(setting, match) if match else [setting.read(part)]
    for value in values:
        setting.check(value)
    return tuple(dict.fromkeys(values))


def _range(setting: Setting, parts: re.Match[str]) -> list[Any]:
    low = setting.read(parts["low"])
    high = setting.read(parts["high"])
    by = parts["by"]
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"a range needs two numbers; {NOTATION}")
    if low > high:
        raise InputError(f"the range from {low} to {high} is empty; write the smaller number first")
    if parts["log"]:
        if not by or not by.isdecimal() or int(by) < 2 or low <= 0:
            raise InputError("log:LOW..HIGH:COUNT needs a LOW above 0 and a COUNT of at least 2")
        count = int(by)
    else:
        if by is None and setting.kind is float:
            raise InputError(f"the range from {low} to {high} needs a step; {NOTATION}")
        step = setting.read(by) if by is not None else 1
        if not step or not 0 < step < math.inf:
            raise InputError(f"the step of a range must be above 0, not {by}")
        count = int(min((high - low) / step, MAX_VALUES) + 1e-9) + 1
    if count > MAX_VALUES:
        raise InputError(f"a setting can have {MAX_VALUES:,} values at most; use a larger step")
    if not parts["log"]:
        return [setting.kind(round(low + number * step, 12)) for number in range(count)]
    factor = (high / low) ** (1 / (count - 1))
    # rounded, to be the same on every machine
    values = [float(f"{low * factor**number:.6g}") for number in range(count)]
    return [round(value) for value in values] if setting.kind is int else values


# --- The sweep

_open_vectors = cache(open_vectors)
FINAL = 2  # evaluation after the last round, relative to that of a round


def job_name(changes: Changes, part: str) -> str:
    """Return the settings as a file name, with a hash if that loses information."""
    text = changes_text(changes, ",")
    plain = re.sub(r"[^\w=,+-]", "_", text)
    if re.sub(r"(?<=\d)\.(?=\d)", "_", text) != plain or len(plain) > 100:
        plain = f"{plain[:100]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return f"{part}-{plain}"


def changes_text(changes: Changes, separator: str = " ") -> str:
    """Return settings as a person writes them."""
    parts = [f"{name}={value_text(value)}" for name, value in changes]
    return separator.join(parts) or "as-it-is"


def value_text(value: Any) -> str:
    """Return a setting's value as a person writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Sweep:
    """A game, the settings that all jobs share, and those that vary."""

    root: Path
    source: str
    game: Game
    grid: Grid
    overrides: dict[str, Any]  # settings of all jobs
    paper: bool
    tuning: range  # seeds
    report: range
    commit: str
    device: str = "cpu"
    remote: bool = False  # on a cluster, whose machines may have more memory than this one

    def __post_init__(self) -> None:
        if self.tuning[0] in self.report or self.report[0] in self.tuning:
            seeds = (
                f"{seeds_text(self.tuning)} to choose by and {seeds_text(self.report)} to report"
            )
            raise InputError(f"{seeds} overlap; change --first-seed or --first-report-seed")
        if both := sorted(self.overrides.keys() & self.grid.values.keys()):
            raise InputError(f"{both[0]} is in both --set and --vary; leave it out of one of them")

    @cached_property
    def hashes(self) -> dict[str, str | None]:
        return hashes_of(self.game)

    def settings(self, changes: Changes, seeds: range) -> Settings:
        """Return the settings of a combination, as `drrn train` has them."""
        explicit = {**self.overrides, **dict(changes)}
        base = {"seed": seeds[0], "replicas": len(seeds)}
        return settings_for_game(self.game, explicit, paper=self.paper, base=base)

    def job(self, changes: Changes, part: str = "tuning") -> Job:
        """Return the job of a combination: part "tuning" to choose by, "report" to report."""
        settings = self.settings(changes, self.report if part == "report" else self.tuning)
        vectors = settings.model.vectors
        return Job(
            root=self.root,
            source=self.source,
            game=self.game.name,
            variant=Variant(group="sweep", job=job_name(changes, part), changes=dict(changes)),
            settings=settings,
            final=dict.fromkeys(POLICIES, FINAL * settings.run.evaluation_episodes),
            hashes=self.hashes,
            commit=self.commit,
            device=self.device,
            vectors=_open_vectors(vectors).digest if vectors else None,
        )

    def jobs(self, budget: int | None, seed: int) -> tuple[list[Job], list[str]]:
        """Return the jobs to choose by, and a sentence for each combination that is impossible.

        A grid of more jobs than the budget is sampled.
        """
        most = min(budget or MAX_JOBS, MAX_JOBS)
        size = self.grid.size
        if budget is None and size > MAX_JOBS:
            message = f"{size:,} combinations are too many; add a limit, such as --budget 50"
            raise InputError(message)
        jobs = list[Job]()
        errors = list[str]()
        for changes in self.grid.at_random(seed) if size > most else self.grid.in_order():
            try:
                if not self.remote:
                    check_memory(self.settings(changes, self.tuning))
                    check_memory(self.settings(changes, self.report))
                jobs.append(self.job(changes))
            except InputError as error:
                errors.append(f"{changes_text(changes)}: {error}")
            if len(jobs) == most:
                break
        if not jobs:
            raise InputError(f"no combination is possible; the first, {errors[0]}")
        return jobs, errors

    def start(self) -> None:
        """Write sweep.json; refuse a folder with other results."""
        recipe = recipe_name(paper=self.paper)
        value = {"game": self.game.name, "recipe": recipe, "settings": self.overrides}
        path = self.root / SWEEP
        try:
            existing = dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            existing = {} if (self.root / "rows").exists() else value
        except (OSError, ValueError, TypeError):
            existing = {}
        if not value.items() <= existing.items():
            raise InputError(f"{self.root}: contains other results; choose another --out")
        write_json(path, {**value, "vary": self.grid.values})

    def write_tables(self, tuning: "list[Scored]", report: "list[Scored]") -> None:
        """Write sweep.csv and best.json; the scores are sorted, the best first."""
        reported = {each.changes: each for each in report}
        rows = []
        for each in tuning:
            row: Row = {name: value_text(value) for name, value in each.changes}
            for part, score in (("tuning", each), ("report", reported.get(each.changes))):
                for measure in ("mean", "deviation", "seeds"):
                    row[f"{part}_{measure}"] = getattr(score, measure) if score else None
            rows.append(row)
        write(self.root / "sweep.csv", to_csv(rows, list(rows[0])))
        best = {**self.overrides, **dict(tuning[0].changes)}
        # the form of a run's config.json
        config = {"recipe": recipe_name(paper=self.paper), "settings": best}
        write_json(self.root / "best.json", config)


class Scored(NamedTuple):
    """A combination, and its score after the last round over the seeds."""

    changes: Changes
    mean: float
    deviation: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def scored(jobs: list[Job], policy: str, measure: str) -> list[Scored]:
    """Return the scores of the finished jobs, the best first; equal ones keep their order."""
    results = []
    for job in jobs:
        stored = job.results.load(job.game, job.name)
        rows = stored.rows[""] if stored else []
        rows = [row for row in rows if row["final"] and row["policy"] == policy]
        # an exact score does not depend on random draws
        exact = measure == "final_reward" and all(row["exact"] is not None for row in rows)
        scores = [row["exact" if exact else measure] for row in rows]
        if scores and job.variant:
            changes = tuple(job.variant.changes.items())
            results.append(Scored(changes, *mean_and_sd(scores), len(scores)))
    return sorted(results, key=lambda each: -each.mean)
