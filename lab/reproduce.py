"""`python -m lab reproduce` and `python -m lab report`: the experiments of the paper."""

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, run_jobs, workers_for
from drrn.experiments.agents import AGENTS, read_settings
from drrn.experiments.diagnose import Budget, Trial, collect, sources_of, trials
from drrn.experiments.job import Job
from drrn.experiments.results import commit, refuse_sweep
from drrn.runs.agent import torch_device
from drrn.runs.limits import check_memory
from drrn.sentences import open_sentences
from drrn.settings import STRONG
from lab.experiments import arena, job, plan
from lab.experiments.job import hashes_of
from lab.experiments.measure import read_questions
from lab.experiments.plan import PAPER, PLAN, READERS, Scale, Variant
from lab.experiments.results import Results
from lab.experiments.statistics import paraphrases_of
from lab.reports.report import write_report
from textgames.errors import InputError
from textgames.game.contract import Game, close, title_of
from textgames.openers import BUILT_IN, absolute_name, make
from textgames.terminal import warn
from textsuites.protocols import Protocol, protocols

TRIALS: dict[str, int] = PLAN["published"]  # seeds of the published agents of the diagnostics


def run_reproduce(options: argparse.Namespace) -> int:
    scale = _scale(options)
    results = Results(options.out or Path("results-quick" if options.quick else "results"))
    refuse_sweep(results.root)
    jobs: list[Job] = list(_jobs(options, scale, results.root))
    minutes = sum(each.cost for each in jobs if isinstance(each, job.Job) and each.variant) / 60
    only = [name for name in options.only if name != "reading" or not options.games]
    jobs += published_trials(only, results.root, scale, options.device)
    specs = arena.game_specs(options.games, warn) if "arena" in options.only else []
    training = arena.training_jobs(specs, results.root, scale, options.device)
    jobs += training
    if not jobs and not specs:
        raise InputError("no game of these experiments can be opened, so there is nothing to run")
    if minutes > 1:
        print(f"estimate for all of these jobs: {minutes:.0f} minutes of one core")
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


def published_trials(only: Collection[str], root: Path, scale: Scale, device: str) -> list[Trial]:
    """The published trials of the diagnostics, and those of the experiment reading."""

    def trials_of(
        games: Collection[str], agents: Mapping[str, dict[str, Any]], seeds: Mapping[str, int]
    ) -> list[Trial]:
        budget = Budget(
            seeds=dict.fromkeys(seeds, scale.seeds) if scale.seeds else seeds,
            first_seed=scale.first_seed,
            episodes=1_200 if scale.quick else None,
            overrides=scale.overrides,
            side_by_side=True,
        )
        return trials(root, sources_of(games, plan.LEVEL), agents, budget, device)

    result = []
    if "diagnostics" in only:
        every = trials_of((), {name: AGENTS[name] for name in TRIALS}, TRIALS)
        result += [each for each in every if f"{each.agent} {each.game}" not in PLAN["too_slow"]]
    if "reading" in only:
        agents = {name: variant.changes for name, variant in READERS.items()}
        seeds = dict.fromkeys(agents, STRONG.run.replicas)
        every = trials_of(PLAN["read_diagnostics"], agents, seeds)
        result += [each for each in every if READERS[each.agent].suits(each.source, vectors=False)]
    return result


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
    if not options.vectors:
        for each in plan.variants_of(options.only, paraphrases=True):
            if each.vectors:
                warn(f"{each.name} is skipped: it needs a file of word vectors (--vectors FILE)")
    questions = read_questions(options.paper) if options.paper else {}
    titles = {title: name for name, title in PAPER.items()}
    sources: dict[str, str] = {}
    for opened in experiment_games(options.games, options.only, options.jericho):
        game = opened.game
        name = opened.name or titles.get(title_of(game), game.name)
        if sources.get(name) == opened.source:  # named twice
            continue
        if name in sources:
            both = f'{opened.source} and {sources[name]} are both named "{name}"'
            raise InputError(f"{both}; run one of them, or rename its file")
        sources[name] = opened.source
        has = {"paraphrases": paraphrases_of(game) is not None, "vectors": bool(options.vectors)}
        variants = plan.variants_of(options.only, game=name, **has)
        for variant in (None, *(each for each in variants if opened.runs(each, name))):
            settings = plan.settings_of(name, variant or plan.BEST, game, scale)
            if variant and (own := scale.overrides.keys() & variant.settings.keys()):
                warn(f"{variant.name}: --set does not change its {', '.join(sorted(own))}")
            if variant and options.ray is None:
                check_memory(settings)
            other = make(variant.source) if variant and variant.source else game
            yield job.Job(
                root=out,
                source=variant.source if variant and variant.source else opened.source,
                game=name,
                variant=variant,
                settings=settings,
                final=scale.final(variant or plan.BEST),
                hashes=hashes_of(other, variant),
                commit=commit(),
                device=options.device,
                questions=questions,
            )
        close(game)


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
        Results(own.root).remove(own.game, own.name)
        warn(f"{error}\n  computed again")
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
    names: Sequence[str], only: Collection[str], jericho: Path | None = None
) -> Iterator[GameToRun]:
    """Yield the named games. Without names, the games that the experiments (`only`) need."""
    for name in names:
        sources = {"built-in": BUILT_IN, "paper": PAPER}.get(name, [absolute_name(name)])
        yield from (GameToRun(each, make(each), requested=True) for each in sources)
    if names:
        return
    kinds = {_kind(name) for name in only} or {"stories"}
    if kinds & {"stories", "paper", "encoders"}:
        yield from _opened(PAPER, "only other games are used")
    if "stories" in kinds:
        yield from _opened(BUILT_IN)
    if "parser" in kinds:
        yield from (GameToRun(name, make(name), extra=True) for name in plan.PARSED)
    if "reading" in kinds:
        yield from (GameToRun(name, make(name), extra=True) for name in plan.READ)
        yield from _opened(["machine-of-death"], "it is left out of the experiment reading")
    if "published" in kinds:
        yield from published_games(only, jericho)


def _kind(name: str) -> str:
    """What games an experiment or a job runs on: "paper", "stories" or an experiment of its own."""
    group = plan.VARIANTS[name].group if name in plan.VARIANTS else name
    if name == "paper" or group in ("choices", "updates"):
        return "paper"
    return group if group in plan.ADDED else "stories"


def _opened(names: Iterable[str], consequence: str = "") -> Iterator[GameToRun]:
    """Yield all games, or none if one of them is missing."""
    try:
        yield from [GameToRun(name, make(name)) for name in names]
    except InputError as error:
        warn(f"{consequence}: {error}")


def published_games(only: Collection[str], jericho: Path | None) -> Iterator[GameToRun]:
    """Yield the games of the protocols whose suite, and file in the case of Jericho, is present."""
    for protocol in protocols():
        name = plan.published_job(protocol.slug)
        if "published" not in only and name not in only:
            continue
        file = _file_of(protocol, jericho)
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
