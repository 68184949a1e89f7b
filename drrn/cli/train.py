"""`drrn train GAME`: learn a game, and keep the run in a folder."""

from __future__ import annotations

import argparse
import datetime
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import add_game_options, open_named, states_progress
from drrn.declaration import Setting
from drrn.errors import InputError, require
from drrn.experiments.tuned import suiting
from drrn.games.compiled.compile import MOST_STATES
from drrn.games.optional import title_of
from drrn.games.stories.authored import Authored
from drrn.recipes import STRONG, recipe_name, shown_defaults
from drrn.recipes import recipe as chosen_recipe
from drrn.settings import Settings, all_settings, settings_for, uses
from drrn.training.reference_scores import ReferenceScores, reference_scores

if TYPE_CHECKING:
    from drrn.games import Game
    from drrn.training.record import Run
    from drrn.training.train import Round, Trainer

USAGE = """drrn train GAME [--paper] [--out RUN] [settings]
       drrn train --resume RUN"""

DESCRIPTION = """\
Learn a game: all replicas side by side, by one of two recipes.

  drrn train GAME           the strong recipe, the one that wins: returns of whole episodes, exploring by optimism
  drrn train GAME --paper   the paper's settings, under what suits the game (in a story's TOML: [training])

What you give here comes before either, and any part of the strong recipe can be switched off: none for what is
optional, 0 for a share, --no-… for what is on or off. After each round a row is added to evaluations.csv, and the run
can be killed at any moment and resumed."""

OWN = """A model, interaction, encoder or learner may be your own, beside those named here: module:name, such as
mypackage.models:Additive, found in the current folder or where Python finds it; or a name that an installed package
registers as an entry point (groups drrn.models, drrn.interactions, drrn.encoders, drrn.learners)."""


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "train",
        help="learn a game, and keep the run in a folder",
        usage=USAGE,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_game_options(command, optional=True)
    command.add_argument("--paper", action="store_true", help="the paper's settings, not the strong recipe's")
    command.add_argument("--out", type=Path, metavar="RUN", help="the run's folder (default: runs/GAME-MODEL-TIME)")
    command.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run that was interrupted")
    command.add_argument("--config", type=Path, metavar="FILE", help="settings from the config.json of another run")
    command.add_argument("--device", default="cpu", help="where to compute (default: cpu)")
    command.add_argument("--tensorboard", action="store_true", help="scalars for TensorBoard in the run's folder, too")
    command.add_argument(
        "--threads", type=int, default=1, help="threads that PyTorch uses (default: 1; more rarely help)"
    )
    settings = command.add_argument_group("settings", OWN)
    for setting in all_settings().values():
        _add_setting(settings, setting)
    command.set_defaults(run=run)


def _add_setting(group: Any, setting: Setting) -> None:
    """An option for a setting; one that is not given is not among the options at all, so that none can be a value."""
    flag, common = _flag(setting.name), {"default": argparse.SUPPRESS, "dest": setting.name}
    explanation = f"{setting.help}{shown_defaults(setting)}".replace("%", "%%")
    if setting.kind is bool:
        group.add_argument(flag, _opposite(flag), action=OnOrOff, help=explanation, **common)
        return
    metavar = f"{{{','.join(setting.choices)}}}" if setting.choices else "X"
    group.add_argument(flag, type=setting.read, metavar=metavar, help=explanation, **common)


class OnOrOff(argparse.Action):
    """Two flags for a setting that is on or off: the first says yes, the other no."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, _: Any, namespace: argparse.Namespace, __: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def _opposite(flag: str) -> str:
    """What switches off what a flag switches on: --no-keep, and --compile of --no-compile."""
    return f"--{flag.removeprefix('--no-')}" if flag.startswith("--no-") else f"--no-{flag.removeprefix('--')}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def run(options: argparse.Namespace) -> None:
    if options.tensorboard:
        require("tensorboard", "tensorboard")
    if options.game is None and options.resume is None:
        raise InputError("name a GAME to learn, or --resume RUN")
    with new_run(options) if options.resume is None else resumed_run(options) as (trainer, folder):
        learn_and_keep(options, trainer, folder)


def learn_and_keep(options: argparse.Namespace, trainer: Trainer, folder: Run) -> None:
    """Round after round until the last, each kept and shown."""
    with _way_on(folder.folder):
        scores = reference_scores(trainer.game, trainer.compiled, trainer.settings.evaluation_episodes)
        _warn_where_nothing_pays(trainer.game, scores)
        write = scalars(folder.folder) if options.tensorboard else None
        with rounds_display(trainer.settings, scores, trainer.round) as show:
            for finished in trainer.train():
                folder.keep(trainer)
                show(finished)
                if write:
                    write(finished)
        _finish(folder, trainer, scores)


def _warn_where_nothing_pays(game: Game, scores: ReferenceScores) -> None:
    """Where random play does as well as the best, nothing can be learned."""
    if scores.best == scores.random:
        cure = "give the endings their rewards in a TOML beside the story (drrn annotate begins one)"
        words = cure if isinstance(game, Authored) else "does any ending of the game pay more than another?"
        print(f"random play scores as much as the best: {words}", file=sys.stderr)


@contextmanager
def new_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """A new run: a trainer, and the folder that it is kept in, locked."""
    from drrn.training.agent import torch_device  # PyTorch takes a second to import: the other commands do without
    from drrn.training.record import Run
    from drrn.training.train import Trainer

    device, (game, recipe) = torch_device(options.device), open_named(options)
    settings, paper = _settings(options, game)
    progress = states_progress(MOST_STATES)
    trainer = Trainer(game, settings, device, recipe=recipe, threads=options.threads, progress=progress)
    trainer.settings_from = recipe_name(paper=paper)
    begun = Run.begin(options.out or _new_folder(f"{game.name}-{settings.model}"), trainer)
    with begun.locked():
        yield trainer, begun


def _settings(options: argparse.Namespace, game: Game) -> tuple[Settings, bool]:
    """What the run learns with, and whether by the paper's recipe."""
    (config, paper), given = _config(options.config, paper=options.paper), _given(options)
    if not paper:  # what the recipe holds, it decides anew beside what is given here
        config = {name: value for name, value in config.items() if name not in STRONG or STRONG[name] != value}
    base = chosen_recipe(paper=paper, suiting=suiting(game), given={**config, **given})
    return settings_for({**base, **config}, given), paper


def _new_folder(name: str) -> Path:
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    plain = re.sub(r"[^\w.-]+", "-", name)
    return Path("runs") / f"{plain}-{moment}"


@contextmanager
def resumed_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """A run that was interrupted: it keeps its game and its settings, but for those that leave results as they are."""
    from drrn.training.loading import resumed
    from drrn.training.record import Run

    if options.game is not None:
        raise InputError(f"a resumed run keeps its game: leave out {options.game}")
    given = _given(options)
    free = {name: value for name, value in given.items() if all_settings()[name].same_results}
    others = [name for name in ("paper", "out", "config", "lenient", "encoding", "outside") if getattr(options, name)]
    for name in (*others, *(name for name in given if name not in free)):
        raise InputError(f"a resumed run keeps its settings: leave out {_flag(name)}")
    progress = states_progress(MOST_STATES)
    more = {"threads": options.threads, "progress": progress, "changes": free}
    begun = Run(options.resume)
    with begun.locked():
        yield resumed(options.resume, device=options.device, **more), begun


@contextmanager
def _way_on(folder: Path) -> Iterator[None]:
    """Whoever stops a run is told how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\nstopped; go on with: drrn train --resume {shlex.quote(str(folder))}", file=sys.stderr)
        raise


def _config(path: Path | None, *, paper: bool) -> tuple[dict[str, Any], bool]:
    """The settings in the config.json of another run, and whether they are beside the paper's recipe: a run's own comes
    with it, and one that does not say which it was is older than the strong one."""
    if path is None:
        return {}, paper
    from drrn.training.record import read_json

    path = path / "config.json" if path.is_dir() else path
    config = read_json(path, f"{path}: no such file")
    found = config.get("settings", config) if isinstance(config, dict) else None
    if not isinstance(found, dict):
        raise InputError(f'{path}: it must be a run\'s config.json, or settings as {{"name": value}}')
    if "settings" not in config:
        return found, paper
    if paper and config.get("recipe") == "strong":
        raise InputError(f"{path}: its settings are those of the strong recipe: leave out --paper, or --config")
    return found, config.get("recipe") != "strong"


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that stand on the command line."""
    return {name: value for name, value in vars(options).items() if name in all_settings()}


def _finish(folder: Run, trainer: Trainer, scores: ReferenceScores) -> None:
    from drrn.training.curve import draw_curve

    settings = trainer.settings
    size = f"{settings.layers} × {settings.hidden}, " if uses(settings.model, "layers") else ""
    title = f"{title_of(trainer.game)}: {settings.model}, {size}{settings.replicas} replicas"
    print(f"run: {folder.folder}")
    try:
        path = folder.folder / "curve.png"
        draw_curve(folder.rows(), title, settings.episodes_per_round, scores, path)
        print(f"curve: {path}")
    except InputError as error:
        print(f"no curve was drawn: {error}", file=sys.stderr)


def scalars(folder: Path) -> Callable[[Round], None]:
    """A writer of each evaluation for TensorBoard."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / "tensorboard"))

    def write(finished: Round) -> None:
        for e in finished.evaluations:
            where = f"{e.policy}/replica {e.replica}"
            writer.add_scalar(f"final reward/{where}", e.summary.mean_final_reward, finished.number)
            writer.add_scalar(f"return/{where}", e.summary.mean_return, finished.number)
        writer.flush()

    return write


class rounds_display:  # noqa: N801 — used as a verb
    """Each round in a line: a live table where a person looks on, plain lines elsewhere."""

    def __init__(self, settings: Settings, scores: ReferenceScores, done: int) -> None:
        self.settings, self.scores, self.done = settings, scores, done
        self.start = time.perf_counter()

    def __enter__(self) -> rounds_display:
        scores = self.scores
        known = _known("random play", scores.random, scores.random_return)
        known += _known(", best possible", scores.best, scores.best_return)
        print(f"{self.settings.replicas} replicas; {known}", flush=True)
        self.bar = _bar(self.settings.rounds, self.done)
        return self

    def __call__(self, finished: Round) -> None:
        from drrn.playing.evaluation import mean_and_deviation, pays_on_the_way

        softmax, deviation = mean_and_deviation(finished.evaluations, "softmax")
        greedy, best = (mean_and_deviation(finished.evaluations, policy)[0] for policy in ("greedy", "best"))
        speed = finished.transitions / finished.learning_seconds if finished.learning_seconds else 0.0
        line = (
            f"round {finished.number:>3}/{self.settings.rounds}  softmax {softmax:6.2f} ± {deviation:.2f}  "
            f"greedy {greedy:6.2f}  best {best:6.2f}  {speed:>9,.0f} transitions/s"
        )
        if pays_on_the_way(finished.evaluations):  # a game may pay before its end, or instead of it
            softmax, deviation = mean_and_deviation(finished.evaluations, "softmax", "mean_return")
            best, _ = mean_and_deviation(finished.evaluations, "best", "mean_return")
            line += f"  returns: softmax {softmax:.2f} ± {deviation:.2f}  best {best:.2f}"
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.console.print(line, highlight=False)
            self.bar.advance(self.bar.task_ids[0])

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _known(what: str, final_reward: float | None, total: float | None) -> str:
    """A reference score in words; the return beside it, where the game pays on the way."""
    returned = "" if total is None else f" (return {total:.2f})"
    return "" if final_reward is None else f"{what} {final_reward:.2f}{returned}"


def _bar(total: int, done: int) -> Any:
    """A progress bar with the time left, where a person looks on and rich is installed."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = [TextColumn("training"), BarColumn(), TextColumn("{task.completed}/{task.total}")]
    bar = Progress(*columns, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), transient=True)
    bar.start()
    bar.add_task("", total=total, completed=done)
    return bar
