"""Commands that run many jobs: `drrn reproduce`, `drrn diagnose` and `drrn sweep`."""

import argparse
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from drrn.cli.terminal import table, terminal_width, warn
from drrn.document import Block, Document, to_markdown, to_text
from drrn.errors import InputError, did_you_mean
from drrn.files import slug, write
from drrn.game.contract import Game, close, title_of
from drrn.game.make import BUILT_IN, absolute_name, make, missing_file
from drrn.lab.experiments import arena, diagnose, plan, workers
from drrn.lab.experiments.diagnose import RANDOM
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import AGENTS, OWN_OPTIONS, PAPER, Scale, Variant, seeds_text
from drrn.lab.experiments.results import Results, Row, commit
from drrn.lab.experiments.sweep import Scored, Sweep, changes_text, read_grid, scored, value_text
from drrn.lab.experiments.workers import ENDED, Event, Workers
from drrn.lab.reports.diagnostics import blocks_of
from drrn.lab.reports.figures import as_file, draw
from drrn.lab.reports.report import write_report
from drrn.processes import cores
from drrn.progress import tracked
from drrn.runs.agent import torch_device
from drrn.runs.limits import check_memory
from drrn.sentences import open_sentences
from drrn.settings import all_settings
from drrn.stories.authored import paraphrases_of
from drrn.suites.protocols import Protocol, protocols
from drrn.vectors import open_vectors
from drrn.writing import counted, visible


def workers_for(options: argparse.Namespace) -> Workers:
    """Return the workers that --jobs, --device and --ray name."""
    if options.ray is None:
        return workers.Processes(options.jobs or cores())
    from drrn.lab.experiments.cluster import LOCAL, RayCluster

    if options.device != "cpu":
        cause = f"--device {options.device} cannot be combined with --ray"
        raise InputError(f"{cause}; clusters use CPUs only")
    address = options.ray or os.environ.get("RAY_ADDRESS") or LOCAL
    return RayCluster(address, options.jobs or (cores() if address == LOCAL else None))


def read_settings(
    texts: Iterable[str], reserved: Sequence[str] = (), option: str = "--set"
) -> dict[str, Any]:
    """Parse NAME=VALUE; reserved settings and those with their own option are refused."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not equals or name not in all_settings():
                raise InputError("write NAME=VALUE, with a name that `drrn train --help` lists")
            if name in (*OWN_OPTIONS, *reserved):
                cause = "it differs between jobs, or has its own option"
                raise InputError(f"{name} cannot be set: {cause}")
            settings[name] = all_settings()[name].read(value)
        except InputError as error:
            raise InputError(f'{option} "{text}": {error}') from error
    return settings


def run_jobs(
    jobs: Sequence[Job],
    pool: Workers,
    text: str = "jobs are done",
    is_done: Callable[[Job], bool] = methodcaller("is_done"),
) -> list[Event]:
    """Run those jobs that are not done, and return the events of those that failed.

    `text` is printed after the number of jobs that are done.
    """
    missing = [job for job in jobs if not is_done(job)]
    print(f"{len(jobs) - len(missing)} of {len(jobs)} {text}", flush=True)
    if not missing:
        return []
    print(f"{len(missing)} to run, {pool.slots()} at a time", flush=True)
    events = workers.run_all(workers.in_order(missing), pool)
    count = sum(workers.event_count(job) for job in missing)
    ended = []
    try:
        for event in tracked(events, count, "jobs"):
            if event.kind in ("done", "failed"):
                ended.append(event)
            if event.kind in ENDED:
                print(f"[{len(ended):>3}/{len(missing)}] {_line(event)}", flush=True)
    except KeyboardInterrupt:
        warn("stopped; run the same command again to continue from the last finished rounds")
        raise
    return [event for event in ended if event.kind == "failed"]


def _line(event: Event) -> str:
    """Describe how a job ended."""
    name = f"{event.job.game} {event.job.name}"
    score = "" if event.score is None else f"{event.score:6.2f}"
    why = visible(event.why.strip().splitlines()[-1]) if event.why else ""
    outcome = {"done": "", "failed": f"  FAILED: {why}", "lost": f"  {why}; restarted"}
    return f"{name:<45}{event.seconds:6.0f} s  {score}{outcome[event.kind]}"


def failure_error(failed: list[Event], total: int) -> InputError:
    """Return the error that names the failed jobs."""
    reasons = "".join(f"\n  {event.job.game} {event.job.name}: {event.why}" for event in failed)
    remedy = "run the same command to try them again"
    return InputError(f"{len(failed)} of {total} jobs failed; {remedy}:{reasons}")


# --- drrn reproduce: the paper's experiments, and its tables and figures

SuiteFiles = Mapping[str, Path | None]  # files of games that no suite includes, by suite

STORIES = "stories"  # the games of the paper's experiments


def run_reproduce(options: argparse.Namespace) -> int:
    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    results.refuse_sweep()
    jobs = list(_jobs(options, scale, results.root))
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
        diagnose.collect(results.root)
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


def _jobs(options: argparse.Namespace, scale: Scale, out: Path) -> Iterator[Job]:
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
    if "published" in kinds:
        yield from published_games(only, files)


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
    """Yield the games of the protocols whose suite is installed; for Jericho, whose file exists."""
    for protocol in protocols():
        job = f"published-{protocol.slug}"
        if "published" not in only and job not in only:
            continue
        file = _file_of(protocol, files.get("jericho"))
        if protocol.of_file and file is None:
            warn(f"{job} is skipped: it needs {protocol.game}.z3, .z5 or .z8 (--jericho FOLDER)")
            continue
        try:
            name = protocol.training_game(file)
            yield GameToRun(absolute_name(name), make(name), extra=True, name=protocol.slug)
        except InputError as error:
            warn(f"{job} is skipped: {error}")


def _file_of(protocol: Protocol, path: Path | None) -> Path | None:
    """Return the file of a game: the given one, or one in the given folder; None without one."""
    if path is None:
        return None
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return next((file for file in files if protocol.matches(file)), None)


# --- drrn diagnose: agents on the diagnostic games, compared


def run_diagnose(options: argparse.Namespace) -> None:
    """Run the trials that have no rows yet; print the table, and write the files."""
    torch_device(options.device)
    results = Results(options.out)
    results.refuse_sweep()
    given = {name: value for name, value in vars(options).items() if name in all_settings()}
    texts = [*options.agent, *([changes_text(tuple(sorted(given.items())), ",")] if given else [])]
    agents = {text: changes_of(text) for text in texts or ["default"]}
    sources = diagnose.sources_of(options.games, options.level or (1 if options.quick else 2))
    seeds = options.seeds or (1 if options.quick else 3)
    overrides = read_settings(options.set)
    scale = Scale(seeds, options.first_seed, quick=options.quick, overrides=overrides)
    with results.locked("diagnose"):
        how = (scale, options.device, options.episodes)
        trials = diagnose.trials(results.root, sources, agents, *how)
        try:
            with workers_for(options) as workers:
                failed = run_jobs(trials, workers, "trials are done")
        finally:
            rows = diagnose.collect(results.root)
        digests = {trial.digest for trial in trials}
        if rows := [row for row in rows if row["digest"] in digests]:
            _write(results.root, rows)
    if failed:
        raise failure_error(failed, len(trials))


def changes_of(text: str) -> dict[str, Any]:
    """Return the settings of an agent: NAME, or NAME=VALUE,NAME=VALUE, or a name and settings."""
    parts = text.split(",")
    base, *settings = ["default", *parts] if "=" in parts[0] else parts
    if base not in AGENTS or (settings and base == RANDOM):
        near = did_you_mean(base, AGENTS)
        choices = f"Choose from {', '.join(AGENTS)}, or give settings such as encoder=gru,history=4"
        raise InputError(f'--agent "{text}": no such agent.{near} {choices}')
    return {**AGENTS[base], **read_settings(settings, option="--agent")}


def _write(root: Path, rows: Sequence[Row]) -> None:
    """Print the table, and write it as Markdown, with the figure if it can be drawn."""
    figure, table = blocks_of(rows)
    print(f"\n{to_text(Document('', [table]), width=terminal_width())}")
    blocks: list[Block] = [table]
    try:
        write(root / figure.path, as_file(draw(figure)))
        blocks.insert(0, figure)
    except InputError as error:
        warn(f"no figure: {error}")
    write(root / "diagnostics.md", to_markdown(Document("Diagnostics", blocks)))
    print(root / "diagnostics.md")


# --- drrn sweep GAME: combinations of settings, the best on other seeds

MAX_LINES = 20  # of the table; sweep.csv has all
MAX_ERRORS = 3  # combinations that are left out with the reason


def run_sweep(options: argparse.Namespace) -> None:
    sweep = _sweep(options)
    jobs, errors = sweep.jobs(options.budget, options.choice)
    for message in errors[:MAX_ERRORS]:
        warn(f"skipped: {message}")
    if len(errors) > MAX_ERRORS:
        warn(f"… and {counted(len(errors) - MAX_ERRORS, 'combination')} more")
    with Results(sweep.root).locked("sweep"), workers_for(options) as workers:
        sweep.start()
        failed = run_jobs(jobs, workers, f"selection jobs are done ({seeds_text(sweep.tuning)})")
        tuning = _scores(jobs, options)
        report_jobs = [sweep.job(tuning[0].changes, "report"), sweep.job((), "report")]
        text = f"report jobs are done ({seeds_text(sweep.report)})"
        failed += run_jobs(report_jobs, workers, text)
        report = _scores(report_jobs, options)
        sweep.write_tables(tuning, report)
        _print_table(sweep, tuning, options)
        _print_best(sweep, tuning[0], report)
    if failed:
        raise failure_error(failed, len(jobs) + 2)


def _sweep(options: argparse.Namespace) -> Sweep:
    torch_device(options.device)
    grid = read_grid(options.vary)
    game = make(options.game)
    return Sweep(
        root=options.out or Path("sweeps") / slug(game.name),
        source=options.game,
        game=game,
        grid=grid,
        overrides=read_settings(options.set),
        paper=options.paper,
        tuning=range(options.first_seed, options.first_seed + options.seeds),
        report=range(options.first_report_seed, options.first_report_seed + options.report_seeds),
        commit=commit(),
        device=options.device,
        remote=options.ray is not None,
    )


def _scores(jobs: list[Job], options: argparse.Namespace) -> list[Scored]:
    scores = scored(jobs, options.by, options.measure)
    if not scores:
        raise InputError("no job finished, so there is nothing to choose from; see above why")
    return scores


def _print_table(sweep: Sweep, scores: list[Scored], options: argparse.Namespace) -> None:
    rows = [
        [*(value_text(value) for _, value in each.changes), each.mean, each.deviation]
        for each in scores[:MAX_LINES]
    ]
    print(f"\n{options.measure.replace('_', ' ')} by {options.by}, {seeds_text(sweep.tuning)}:")
    print(table(rows, header=[*sweep.grid.values, "mean", "sd"]))
    if len(scores) > MAX_LINES:
        print(f"… and {len(scores) - MAX_LINES} more in {sweep.root / 'sweep.csv'}")
    if len(scores) > 1 and len({each.mean for each in scores}) == 1:
        warn(f"all have the same {options.measure}; try another --measure or --by")


def _print_best(sweep: Sweep, best: Scored, report: list[Scored]) -> None:
    print(f"\nbest: {changes_text(best.changes)}")
    print(f"  {seeds_text(sweep.tuning)}, used to choose it: {best}")
    for each in sorted(report, key=lambda each: each.changes == ()):
        which = "not used to choose it" if each.changes else "the unchanged recipe"
        print(f"  {seeds_text(sweep.report)}, {which}: {each}")
    print(f"its settings: {sweep.root / 'best.json'}")
