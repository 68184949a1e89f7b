"""`drrn reproduce`: run the paper's experiments, and write its tables and figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, read_settings, run_jobs, workers_for
from drrn.cli.terminal import warn
from drrn.errors import InputError
from drrn.game.contract import close, title_of
from drrn.lab.experiments.games import GameToRun, experiment_games
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import BEST, PAPER, SHAPE, Scale, settings_of, variants_of
from drrn.lab.experiments.results import Results, commit
from drrn.lab.reports.report import write_report
from drrn.runs.agent import torch_device
from drrn.runs.limits import check_memory
from drrn.stories.authored import paraphrases_of
from drrn.vectors import open_vectors

PLANNED = {*SHAPE, "seed", "replicas"}


def run(options: argparse.Namespace) -> int:
    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    results.refuse_sweep()
    with results.locked():
        jobs = list(_jobs(options, scale, results.root))
        with workers_for(options) as workers:
            failed = run_jobs(jobs, workers, is_done=partial(_is_done, again=options.again))
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
        overrides=read_settings(options.set, PLANNED),
    )


def _jobs(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[Job]:
    """Yield the jobs of each game, the game's facts first."""
    torch_device(options.device)
    common = {"root": out, "commit": commit(), "device": options.device}
    digest = _digest(options)
    files = {"textworld": options.textworld, "jericho": options.jericho}
    titles = {title: name for name, title in PAPER.items()}
    sources: dict[str, str] = {}
    for game in experiment_games(options.games, options.only, files, warn):
        name = titles.get(title_of(game.game), game.game.name)
        if sources.get(name) == game.source:  # named twice
            continue
        if name in sources:
            raise InputError(
                f'{game.source} and {sources[name]} are both named "{name}": run one of them, or '
                "rename its file"
            )
        sources[name] = game.source
        yield from _jobs_of(game, name, options, scale, digest, common)
        close(game.game)


def _jobs_of(
    opened: GameToRun,
    name: str,
    options: argparse.Namespace,
    scale: Scale,
    digest: str | None,
    common: dict[str, Any],
) -> Iterator[Job]:
    game = opened.game
    common = {**common, "source": opened.source, "game": name}
    settings = settings_of(name, BEST, game, scale)
    final = scale.final(BEST, settings)
    yield Job(variant=None, settings=settings, final=final, hashes=hashes_of(game), **common)
    has_paraphrases = paraphrases_of(game) is not None
    variants = variants_of(
        options.only, paraphrases=has_paraphrases, game=name, vectors=digest is not None
    )
    for variant in variants:
        if opened.runs(variant, name):
            settings = settings_of(name, variant, game, scale)
            if options.ray is None:
                check_memory(settings)
            yield Job(
                variant=variant,
                settings=settings,
                final=scale.final(variant, settings),
                hashes=hashes_of(game, variant),
                vectors=digest if settings.model.vectors else None,
                **common,
            )


def _digest(options: argparse.Namespace) -> str | None:
    """Return the digest of the word vectors; without them, warn about jobs that need them."""
    if options.vectors:
        return open_vectors(options.vectors).digest
    for variant in variants_of(options.only, paraphrases=True):
        if variant.vectors:
            warn(f"{variant.name} is left out: give a file of word vectors with --vectors FILE")
    return None


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
