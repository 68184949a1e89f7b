"""`drrn reproduce`: run the paper's experiments, and write its tables and figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.jobs import (
    STOPPED,
    add_set_option,
    add_workers_options,
    failure_error,
    read_settings,
    run_jobs,
    workers_for,
)
from drrn.cli.terminal import positive
from drrn.errors import InputError
from drrn.game.optional import close, title_of
from drrn.lab.experiments.plan import (
    BEST,
    EXPERIMENTS,
    ON_REQUEST,
    PAPER,
    SHAPE,
    Scale,
    settings_of,
    variants_of,
)
from drrn.stories.authored import paraphrases_of
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.games import GameToRun
    from drrn.lab.experiments.job import Job
    from drrn.lab.experiments.results import Results

DESCRIPTION = f"""Run the paper's experiments and write RESULTS.md and report.html. Experiments:
{", ".join(EXPERIMENTS)}; {", ".join(ON_REQUEST)} run only if --only names them. A job (one model
of one size on one game, all seeds at once) never runs twice; a killed one continues from its last
round and ends with the same numbers. Rows of other settings, or of another version of a game, are
never mixed."""
PLANNED = {*SHAPE, "seed", "replicas"}


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "reproduce", help="run the paper's experiments", description=DESCRIPTION
    )
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    command.add_argument(
        "--only", **several, metavar="NAME", help="names of experiments, or of jobs"
    )
    command.add_argument(
        "--games",
        **several,
        metavar="GAME",
        help="paper, built-in, names or paths (default: the paper's if installed, and built-in)",
    )
    command.add_argument(
        "--seeds",
        type=positive,
        metavar="N",
        help="number of seeds (default: 5; beyond the paper 10, suites 3; quick 1)",
    )
    command.add_argument(
        "--first-seed", type=int, default=0, metavar="N", help="the first seed (default: 0)"
    )
    command.add_argument(
        "--quick", action="store_true", help="a three-minute version: one seed, few rounds"
    )
    add_workers_options(command)
    _add_file_options(command)
    command.add_argument(
        "--again",
        action="store_true",
        help="run jobs again that have rows of other settings; old rows are moved aside",
    )
    command.set_defaults(run=run)


def _add_file_options(command: argparse.ArgumentParser) -> None:
    path: dict[str, Any] = {"type": Path, "metavar": "FILE"}
    command.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="the folder of results (default: results; quick: results-quick)",
    )
    add_set_option(command, "; needs another --out")
    command.add_argument(
        "--vectors", **path, help="word vectors; without them, jobs that need them are left out"
    )
    command.add_argument(
        "--textworld",
        **path,
        help="a TextWorld game for suites (default: a coin collector, generated if installed)",
    )
    command.add_argument("--jericho", **path, help="a Jericho game for suites (default: none)")


def run(options: argparse.Namespace) -> int:
    from drrn.lab.experiments.results import Results

    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    results.refuse_sweep()
    with results.locked():
        jobs = list(_jobs(options, scale, results.root))
        missing = [job for job in jobs if not _is_done(job, options.again)]
        names = {(job.game, job.name) for job in missing}
        finished = [job for job in jobs if (job.game, job.name) not in names]
        print(f"{len(finished)} of {len(jobs)} jobs are done", flush=True)
        try:
            with workers_for(options) as workers:
                failed = run_jobs(_in_order(missing), workers, finished)
        except KeyboardInterrupt:
            print(STOPPED, file=sys.stderr)
            raise
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


def _in_order(jobs: list[Job]) -> list[Job]:
    from drrn.lab.experiments.workers import in_order

    return in_order(jobs)


def _jobs(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[Job]:
    """Yield the jobs of each game, the game's facts first."""
    from drrn.lab.experiments.games import SuiteFiles, experiment_games
    from drrn.lab.experiments.results import commit
    from drrn.runs.agent import torch_device

    torch_device(options.device)
    common = {"root": out, "commit": commit(), "device": options.device}
    digest = _digest(options)
    files = SuiteFiles(options.textworld, options.jericho, out / "work" / "suites")
    titles = {title: name for name, title in PAPER.items()}
    sources: dict[str, str] = {}
    for game in experiment_games(options.games, options.only, files, _warn):
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
    from drrn.lab.experiments.job import Job, hashes_of
    from drrn.runs.limits import check_memory

    game = opened.game
    common = {**common, "source": opened.source, "game": name, "suite": opened.suite}
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
        from drrn.vectors import open_vectors

        return open_vectors(options.vectors).digest
    for variant in variants_of(options.only, paraphrases=True):
        if variant.vectors:
            _warn(f"{variant.name} is left out: give a file of word vectors with --vectors FILE")
    return None


def _warn(message: str) -> None:
    print(message, file=sys.stderr)


def _is_done(job: Job, again: bool) -> bool:
    try:
        return job.is_done()
    except InputError as error:
        if not again:
            raise
        aside = job.results.move_aside(job.game, job.name)
        _warn(f"{visible(str(error))}\n  moved to {aside}")
        return False


def _write_report(results: Results) -> bool:
    """Write the report; a failure is printed, since the rows are complete."""
    from drrn.lab.reports.report import write_report

    try:
        for path in write_report(results):
            print(path)
    except InputError as error:
        _warn(f"the rows are complete, but the report could not be written: {error}")
        return False
    return True
