"""`drrn reproduce`: run the paper's experiments, and write its tables and figures."""

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from drrn.cli.jobs import failure_error, read_settings, run_jobs, workers_for
from drrn.cli.terminal import warn
from drrn.errors import InputError
from drrn.game.contract import Game, close, title_of
from drrn.game.make import BUILT_IN, absolute_name, make
from drrn.lab.experiments import diagnose, plan
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import PAPER, Scale, Variant
from drrn.lab.experiments.results import Results, commit
from drrn.lab.reports.report import write_report
from drrn.runs.agent import torch_device
from drrn.runs.limits import check_memory
from drrn.sentences import open_sentences
from drrn.stories.authored import paraphrases_of
from drrn.vectors import open_vectors

SuiteFiles = Mapping[str, Path | None]  # files of games that no suite includes, by suite

STORIES = "stories"  # the games of the paper's experiments


def run(options: argparse.Namespace) -> int:
    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    results.refuse_sweep()
    with results.locked():
        jobs = list(_jobs(options, scale, results.root))
        if "diagnostics" in options.only:
            jobs += diagnose.published_trials(results.root, scale, options.device)
        if "reading" in options.only and not options.games:
            jobs += diagnose.reading_trials(results.root, scale, options.device)
        if options.ray is None:
            _check_sentences(jobs)
        with workers_for(options) as workers:
            failed = run_jobs(jobs, workers, is_done=partial(_is_done, again=options.again))
        diagnose.collect(results.root)
        has_report = _write_report(results)
    if failed:
        raise failure_error(failed, len(jobs))
    return 0 if has_report else 2


def _scale(options: argparse.Namespace) -> Scale:
    return Scale(
        seeds=options.seeds or (1 if options.quick else None),
        first_seed=options.first_seed,
        quick=options.quick,
        vectors=str(options.vectors) if options.vectors else None,
        overrides=read_settings(options.set, plan.SHAPE),
    )


def _jobs(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[Job]:
    """Yield the jobs of each game, the game's facts first."""
    torch_device(options.device)
    common = {"root": out, "commit": commit(), "device": options.device}
    digest = _digest(options)
    files = {"textworld": options.textworld, "jericho": options.jericho}
    titles = {title: name for name, title in PAPER.items()}
    sources: dict[str, str] = {}
    for opened in experiment_games(options.games, options.only, files):
        game = opened.game
        name = titles.get(title_of(game), game.name)
        if sources.get(name) == opened.source:  # named twice
            continue
        if name in sources:
            both = f'{opened.source} and {sources[name]} are both named "{name}"'
            raise InputError(f"{both}; run one of them, or rename its file")
        sources[name] = opened.source
        has = {"paraphrases": paraphrases_of(game) is not None, "vectors": digest is not None}
        variants = plan.variants_of(options.only, game=name, **has)
        for variant in (None, *(each for each in variants if opened.runs(each, name))):
            settings = plan.settings_of(name, variant or plan.BEST, game, scale)
            if variant and options.ray is None:
                check_memory(settings)
            yield Job(
                source=opened.source,
                game=name,
                variant=variant,
                settings=settings,
                final=scale.final(variant or plan.BEST, settings),
                hashes=hashes_of(game, variant),
                vectors=digest if variant and settings.model.vectors else None,
                **common,
            )
        close(game)


def _digest(options: argparse.Namespace) -> str | None:
    """Return the digest of the word vectors; without them, warn about jobs that need them."""
    if options.vectors:
        return open_vectors(options.vectors).digest
    for variant in plan.variants_of(options.only, paraphrases=True):
        if variant.vectors:
            warn(f"{variant.name} is skipped: it needs a file of word vectors (--vectors FILE)")
    return None


def _check_sentences(jobs: Iterable[Job]) -> None:
    """Open the sentence models of all jobs, so that none fails after training for lack of one."""
    models = {job.settings.model.sentences for job in jobs}
    if any(job.variant in plan.BAGS for job in jobs):
        models.update(plan.RECALLED)
    for model in sorted(filter(None, models)):
        open_sentences(model)


def _is_done(job: Job, again: bool) -> bool:
    try:
        return job.is_done()
    except InputError as error:
        if not again:
            raise
        aside = job.results.move_aside(job.game, job.name)
        warn(f"{error}\n  moved to {aside}")
        return False


def _write_report(results: Results) -> bool:
    """Write the report; a failure is printed, since the rows are complete."""
    try:
        for path in write_report(results):
            print(path)
    except InputError as error:
        warn(f"the rows are complete, but the report could not be written: {error}")
        return False
    return True


# --- The games of the experiments


@dataclass(frozen=True)
class GameToRun:
    """A game, and what opens it again."""

    source: str
    game: Game
    requested: bool = False  # by name
    extra: bool = False  # of an experiment with separate games

    def runs(self, variant: Variant, name: str) -> bool:
        """Return whether a variant is trained on it; on a requested game, all variants are."""
        if self.requested:
            return True
        if self.extra:
            return variant.group in plan.ADDED
        return variant.group != "encoders" or name in plan.ENCODED


def experiment_games(
    names: Sequence[str], only: Collection[str], files: SuiteFiles
) -> Iterator[GameToRun]:
    """Yield the named games; without names, the games that the experiments (`only`) need."""
    for name in names:
        sources = {"built-in": BUILT_IN, "paper": PAPER}.get(name, [absolute_name(name)])
        yield from (GameToRun(each, make(each), requested=True) for each in sources)
    if names:
        return
    kinds = {_kind(name) for name in only} or {STORIES}
    if STORIES in kinds:
        yield from _opened(PAPER, "only the built-in stories are used")
        yield from _opened(BUILT_IN, "")
    elif "encoders" in kinds:
        yield from _opened(plan.ENCODED, "the experiment encoders is skipped")
    if "parser" in kinds:
        yield from (GameToRun(name, make(name), extra=True) for name in plan.PARSED)
    if "reading" in kinds:
        yield from (GameToRun(name, make(name), extra=True) for name in plan.READ)
        yield from _opened(
            ["machine-of-death"], "Machine of Death is left out of the experiment reading"
        )
    if "suites" in kinds:
        yield from suite_games(files)


def _kind(name: str) -> str:
    """Return the experiment with separate games that a name belongs to; else STORIES."""
    for experiment, variants in plan.ADDED.items():
        if name == experiment or any(name == variant.name for variant in variants):
            return experiment
    return STORIES


def _opened(names: Iterable[str], consequence: str) -> Iterator[GameToRun]:
    """Yield all games, or none if one of them is missing."""
    try:
        yield from [GameToRun(name, make(name)) for name in names]
    except InputError as error:
        warn(f"{consequence}: {error}")


def suite_games(files: SuiteFiles) -> Iterator[GameToRun]:
    """Yield a game of each installed suite."""
    for suite, source in plan.PLAN["suite_games"]:
        if "{file}" in source and files.get(suite) is None:
            warn(f"{suite} is skipped: it needs the file of a game (--{suite} FILE)")
            continue
        name = f"{suite}:{source.format(file=files.get(suite))}"
        try:
            yield GameToRun(absolute_name(name), make(name), extra=True)
        except InputError as error:
            warn(f"{name} is skipped: {error}")
