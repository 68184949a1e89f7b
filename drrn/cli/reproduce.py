"""`drrn reproduce`: run the paper's experiments, and make its tables and figures."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.jobs import (
    add_crew_options,
    crew_of,
    failures,
    in_order,
    read_setting,
    run_jobs,
    seconds_before,
)
from drrn.cli.terminal import positive
from drrn.errors import InputError
from drrn.game.optional import close, title_of
from drrn.lab.experiments.plan import BEST, EXPERIMENTS, PAPER, Scale, settings_of, variants_of
from drrn.lab.experiments.variants import Named
from drrn.stories.authored import paraphrases_of
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.running import Work

DESCRIPTION = f"""Run those of the paper's experiments that are missing, continue interrupted ones, and write RESULTS.md
and report.html. Experiments: {", ".join(EXPERIMENTS)}; the last three run only if --only names them.
A job (one model of one size on one game, all seeds at once) is never run twice; a killed run continues from its last
round and ends with the same numbers. Rows made with other settings, or with another version of a game, are never
mixed."""
PLANNED = {*BEST.settings, "action_hidden", "seed", "replicas"}


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "reproduce",
        help="run the paper's experiments, make its tables and figures",
        description=DESCRIPTION,
    )
    command.add_argument(
        "--only",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="names of experiments, or of jobs",
    )
    command.add_argument(
        "--games", nargs="+", action="extend", default=[], metavar="GAME",
        help="paper, built-in, names or paths (default: the paper's, where installed, and the built-in ones)",
    )  # fmt: skip
    command.add_argument(
        "--seeds",
        type=positive,
        metavar="N",
        help="number of seeds (default: 5; 10 beyond the paper, 3 of suites; quick: 1)",
    )
    command.add_argument(
        "--first-seed", type=int, default=0, metavar="N", help="the first seed (default: 0)"
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="a short version in three minutes: one seed, few rounds",
    )
    add_crew_options(command)
    command.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="the folder of results (default: results; quick: results-quick)",
    )
    command.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
        help="a setting for all jobs, as `drrn train` has them, such as rounds=2; give another --out with it",
    )  # fmt: skip
    command.add_argument(
        "--vectors", type=Path, metavar="FILE",
        help="a file of word vectors, for the jobs that need them; without it they are left out",
    )  # fmt: skip
    command.add_argument(
        "--textworld", type=Path, metavar="FILE",
        help="a game that TextWorld made, for suites (default: a coin collector is made, where it is installed)",
    )  # fmt: skip
    command.add_argument(
        "--jericho",
        type=Path,
        metavar="FILE",
        help="a game that Jericho knows, for suites; without it none is played",
    )
    command.add_argument(
        "--again",
        action="store_true",
        help="run jobs again whose rows were made with other settings; old rows are moved aside",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from drrn.lab.experiments.folder import Results

    given = dict(read_setting(text, "--set", PLANNED) for text in options.set)
    scale = Scale(first_seed=options.first_seed, quick=options.quick, given=given)
    if options.quick:
        scale = dataclasses.replace(scale, seeds=1, beyond_seeds=1, suite_seeds=1)
        scale = dataclasses.replace(scale, final_softmax=100, final_greedy=50, final_best=50)
    if options.seeds:
        many = options.seeds
        scale = dataclasses.replace(scale, seeds=many, beyond_seeds=many, suite_seeds=many)
    scale = dataclasses.replace(scale, vectors=str(options.vectors) if options.vectors else None)
    out = options.out or Path("results-quick" if options.quick else "results")
    results = Results(out)
    results.refuse_sweep()
    with results.locked():
        works = list(_works(options, scale, out))
        missing = [work for work in works if not _done(work, options.again)]
        print(f"{len(works) - len(missing)} of {len(works)} jobs are done", flush=True)
        done = [work for work in works if work not in missing]
        try:
            with crew_of(options) as crew:
                failed = run_jobs(in_order(missing), crew, seconds_before(done))
        except KeyboardInterrupt:
            print(
                "stopped: the same command goes on from the last finished rounds", file=sys.stderr
            )
            raise
        reported = _report(results)
    if failed:
        raise failures(failed, len(works))
    return 0 if reported else 2


def _works(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[Work]:
    """A game's facts, and its jobs."""
    from drrn.lab.experiments.games import SuiteFiles, experiment_games
    from drrn.lab.experiments.provenance import commit
    from drrn.lab.experiments.running import Work, hashes_of
    from drrn.runs.agent import torch_device
    from drrn.runs.limits import check_memory

    torch_device(options.device)
    made_at = commit()
    digest = _digest(options)
    files = SuiteFiles(options.textworld, options.jericho, out / "work" / "suites")
    seen: dict[str, str] = {}
    for opened in experiment_games(options.games, options.only, files, _say):
        source = opened.source
        game = opened.game
        name = {title: name for name, title in PAPER.items()}.get(title_of(game), game.name)
        if seen.get(name) == source:  # asked for twice
            continue
        if name in seen:
            raise InputError(
                f'{source} and {seen[name]} are both named "{name}": run one of them, or rename its file'
            )
        seen[name] = source
        common: dict[str, Any] = {
            "root": out,
            "source": source,
            "game": name,
            "suite": opened.suite,
        }
        common |= {"commit": made_at, "device": options.device}
        of_game = settings_of(name, BEST, game, scale)
        yield Work(
            variant=None,
            settings=of_game,
            final=scale.final(BEST),
            hashes=hashes_of(game),
            **common,
        )
        has = paraphrases_of(game) is not None
        for variant in variants_of(
            options.only, paraphrases=has, game=name, vectors=digest is not None
        ):
            if not opened.is_for(variant, name):
                continue
            settings = settings_of(name, variant, game, scale)
            if options.ray is None:
                check_memory(settings)
            final = scale.final(variant, settings)
            hashes = hashes_of(game, variant)
            read = digest if settings.model.vectors else None
            yield Work(
                variant=variant,
                settings=settings,
                final=final,
                hashes=hashes,
                vectors=read,
                **common,
            )
        close(game)


def _digest(options: argparse.Namespace) -> str | None:
    """The digest of the word vectors; None where there are none, and a sentence says what is left out."""
    if options.vectors:
        from drrn.vectors import open_vectors

        return open_vectors(options.vectors).digest
    jobs = variants_of(options.only, paraphrases=True)
    for job in jobs:
        if isinstance(job, Named) and job.vectors:
            _say(f"{job.name} is left out: give a file of word vectors by --vectors FILE")
    return None


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _done(work: Work, again: bool) -> bool:
    from drrn.lab.experiments.folder import Results
    from drrn.lab.experiments.running import is_done

    try:
        return is_done(work)
    except InputError as error:
        if not again:
            raise
        aside = Results(work.root).set_aside(work.game, work.name)
        print(f"{visible(str(error))}\n  put aside: {aside}", file=sys.stderr)
        return False


def _report(results: Any) -> bool:
    """Write the report, or say why there is none: the rows are safe by then."""
    from drrn.lab.reports.report import write_report

    try:
        for path in write_report(results):
            print(path)
    except InputError as error:
        print(f"the rows are there, but no report was made: {error}", file=sys.stderr)
        return False
    return True
