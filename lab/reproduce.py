"""`python -m lab reproduce` and `python -m lab report`: the experiments of the paper."""

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from drrn.cli.jobs import failure_error, run_jobs, workers_for
from drrn.experiments.agents import read_settings
from drrn.experiments.diagnose import collect
from drrn.experiments.job import Job
from drrn.runs.agent import torch_device
from drrn.runs.limits import check_memory
from drrn.sentences import open_sentences
from drrn.vectors import open_vectors
from lab.experiments import arena, diagnose, job, plan
from lab.experiments.job import hashes_of
from lab.experiments.plan import PAPER, Scale, Variant
from lab.experiments.results import Results, commit
from lab.experiments.statistics import paraphrases_of
from lab.reports.report import write_report
from textgames.errors import InputError
from textgames.game.contract import Game, close, title_of
from textgames.openers import BUILT_IN, absolute_name, make, missing_file
from textgames.terminal import warn
from textsuites.protocols import Protocol, protocols

SuiteFiles = Mapping[str, Path | None]  # files of games that no suite includes, by suite

STORIES = "stories"  # the games of the paper's experiments


def run_reproduce(options: argparse.Namespace) -> int:
    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    results.refuse_sweep()
    jobs: list[Job] = list(_jobs(options, scale, results.root))
    if "diagnostics" in options.only:
        jobs += diagnose.published_trials(results.root, scale, options.device)
    if "reading" in options.only and not options.games:
        jobs += diagnose.reading_trials(results.root, scale, options.device)
    specs = arena.game_specs(options.games, warn) if "arena" in options.only else []
    training = arena.training_jobs(specs, results.root, scale, options.device)
    jobs += training
    if not jobs and not specs:
        raise InputError("no game of these experiments can be opened, so there is nothing to run")
    with results.locked():
        if options.ray is None:
            _check_sentences(jobs)
        with workers_for(options) as workers:
            failed = run_jobs(jobs, workers, is_done=partial(_is_done, again=options.again))
        collect(results.root)
        if specs and not failed:
            arena.play_all(specs, training, scale, warn)
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


def _jobs(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[job.Job]:
    """Yield the jobs of each game, the game's facts first."""
    torch_device(options.device)
    common = {"root": out, "commit": commit(), "device": options.device}
    digest = _digest(options)
    files = {"textworld": options.textworld, "jericho": options.jericho}
    for path in filter(None, files.values()):
        if not path.exists():
            raise missing_file(path)
    titles = {title: name for name, title in PAPER.items()}
    sources: dict[str, str] = {}
    for opened in experiment_games(options.games, options.only, files):
        game = opened.game
        name = opened.name or titles.get(title_of(game), game.name)
        if sources.get(name) == opened.source:  # named twice
            continue
        if name in sources:
            both = f'{opened.source} and {sources[name]} are both named "{name}"'
            raise InputError(f"{both}; run one of them, or rename its file")
        sources[name] = opened.source
        has = {"paraphrases": paraphrases_of(game) is not None, "vectors": digest is not None}
        variants = plan.variants_of(options.only, game=name, **has)
        for variant in (None, *(each for each in variants if opened.runs(each, name))):
            if variant and (own := scale.overrides.keys() & variant.settings.keys()):
                warn(f"{variant.name}: --set does not change its {', '.join(sorted(own))}")
            settings = plan.settings_of(name, variant or plan.BEST, game, scale)
            if variant and options.ray is None:
                check_memory(settings)
            yield job.Job(
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
    """The digest of the word vectors. Without them, warn about jobs that need them."""
    if options.vectors:
        return open_vectors(options.vectors).digest
    for variant in plan.variants_of(options.only, paraphrases=True):
        if variant.vectors:
            warn(f"{variant.name} is skipped: it needs a file of word vectors (--vectors FILE)")
    return None


def _check_sentences(jobs: Iterable[Job]) -> None:
    """Open the sentence models of all jobs, so that none fails after training for lack of one."""
    models = {each.settings.model.sentences for each in jobs}
    if any(isinstance(each, job.Job) and each.variant in plan.BAGS for each in jobs):
        models.update(plan.RECALLED)
    for model in sorted(filter(None, models)):
        open_sentences(model)


def _is_done(own: Job, again: bool) -> bool:
    try:
        return own.is_done()
    except InputError as error:
        if not again:
            raise
        aside = Results(own.root).move_aside(own.game, own.name)
        warn(f"{error}\n  moved to {aside}")
        return False


def _write_report(results: Results) -> bool:
    """Write the report. A failure is only printed, since the rows are complete."""
    try:
        print(write_report(results))
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
    name: str = ""  # in the results, if not the game's own

    def runs(self, variant: Variant, name: str) -> bool:
        """Whether a variant is trained on it. On a requested game, all variants are."""
        if self.requested:
            return True
        if self.extra:
            return variant.group in plan.ADDED
        return variant.group != "encoders" or name in plan.ENCODED


def experiment_games(
    names: Sequence[str], only: Collection[str], files: SuiteFiles
) -> Iterator[GameToRun]:
    """Yield the named games. Without names, the games that the experiments (`only`) need."""
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
    if "published" in kinds:
        yield from published_games(only, files)


def _kind(name: str) -> str:
    """The experiment with separate games that a name belongs to, or STORIES."""
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
        file = files.get(suite)
        if "{file}" in source and (file is None or file.is_dir()):
            warn(f"{suite} is skipped: it needs the file of a game (--{suite} FILE)")
            continue
        name = f"{suite}:{source.format(file=file)}"
        try:
            yield GameToRun(absolute_name(name), make(name), extra=True)
        except InputError as error:
            warn(f"{name} is skipped: {error}")


def published_games(only: Collection[str], files: SuiteFiles) -> Iterator[GameToRun]:
    """Yield the games of the protocols whose suite (or file, for Jericho) is present."""
    for protocol in protocols():
        name = plan.published_job(protocol.slug)
        if "published" not in only and name not in only:
            continue
        file = _file_of(protocol, files.get("jericho"))
        if protocol.of_file and file is None:
            warn(f"{name} is skipped: it needs {protocol.game}.z3, .z5 or .z8 (--jericho FOLDER)")
            continue
        try:
            source = protocol.training_game(file)
            game = make(source)
            yield GameToRun(absolute_name(source), game, extra=True, name=protocol.slug)
        except InputError as error:
            warn(f"{name} is skipped: {error}")


def _file_of(protocol: Protocol, path: Path | None) -> Path | None:
    """The file of a game, if it is the given one or is in the given folder."""
    if path is None:
        return None
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return next((file for file in files if protocol.matches(file)), None)


# --- The command line
