"""`drrn train GAME`: train an agent, and save the run to a folder."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.terminal import add_game_options, counter, open_named, print_json
from drrn.compiled.compile import MOST_STATES
from drrn.declaration import Setting
from drrn.errors import InputError, require
from drrn.files import slug
from drrn.game.contract import Game
from drrn.game.optional import title_of
from drrn.runs.config import settings_for_game
from drrn.runs.run import Run
from drrn.runs.scores import ReferenceScores, Round, Row, reference_scores, rounds_of
from drrn.runs.storage import CONFIG, CURVE, read_json
from drrn.settings import (
    STRONG_CHANGES,
    RunSettings,
    Settings,
    all_settings,
    default_text,
    recipe_name,
)
from drrn.stories.authored import Explorable
from drrn.writing import counted

if TYPE_CHECKING:
    from drrn.runs.trainer import Trainer

USAGE = """drrn train GAME [--paper] [--out RUN] [settings]
       drrn train --resume RUN [--rounds N]"""
DESCRIPTION = """\
Train an agent: several replicas at once, with one of two recipes.

  drrn train GAME           the strong recipe, which scores highest: learns from the returns of
                            whole episodes, explores by optimism
  drrn train GAME --paper   the paper's settings, and those that the game recommends (in a
                            story's TOML: [training])

Settings that you give override either recipe. Switch off a part of the strong recipe with none
(optional settings), 0 (shares) or --no-… (flags). Each round adds a row per replica to
evaluations.csv. A run can be interrupted at any moment and resumed; a finished one continues if
it is resumed with more --rounds."""
OWN = """A model, interaction, encoder or learner may be your own: give it as module:name, such as
mypackage.models:Additive, where the module is in the current folder or installed; or register it
as an entry point (groups drrn.models, drrn.interactions, drrn.encoders, drrn.learners)."""
NOT_RESUMED = ("paper", "out", "config", "lenient", "encoding", "outside")
TENSORBOARD_TAGS = {"final_reward": "final reward", "return": "return"}


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "train",
        usage=USAGE,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_game_options(command, optional=True)
    flag = command.add_argument
    flag("--paper", action="store_true", help="use the paper's settings, not the strong recipe")
    flag(
        "--out", type=Path, metavar="RUN", help="folder of the run (default: runs/GAME-MODEL-TIME)"
    )
    flag("--resume", type=Path, metavar="RUN", help="resume a run, or extend it with --rounds")
    flag(
        "--config", type=Path, metavar="FILE", help="use the settings in another run's config.json"
    )
    flag("--device", default="cpu", help="PyTorch device (default: cpu)")
    flag("--tensorboard", action="store_true", help="log the scores for TensorBoard in the folder")
    flag("--json", action="store_true", help="print each round as a line of JSON, nothing else")
    flag("--threads", type=int, default=1, help="threads of PyTorch (default: 1; more rarely help)")
    settings = command.add_argument_group("settings", OWN)
    for setting in all_settings().values():
        _add_setting(settings, setting)
    command.set_defaults(run=run)


def _add_setting(group: Any, setting: Setting) -> None:
    """Add the option of a setting; if it is not given, the namespace does not have it."""
    flag = flag_of(setting.name)
    common = {"default": argparse.SUPPRESS, "dest": setting.name}
    explanation = f"{setting.help}{default_text(setting)}".replace("%", "%%")
    if setting.kind is bool:
        name = flag.removeprefix("--").removeprefix("no-")
        opposite = f"--{name}" if flag.startswith("--no-") else f"--no-{name}"
        group.add_argument(flag, opposite, action=OnOrOff, help=explanation, **common)
        return
    metavar = f"{{{','.join(setting.choices)}}}" if setting.choices else "X"
    group.add_argument(flag, type=setting.read, metavar=metavar, help=explanation, **common)


class OnOrOff(argparse.Action):
    """Two flags for one setting: the first switches it on, the second off."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(
        self, _: Any, namespace: argparse.Namespace, __: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def flag_of(name: str) -> str:
    """Return the option of a setting."""
    return f"--{name.replace('_', '-')}"


def run(options: argparse.Namespace) -> None:
    """Start or resume a run, and train it to its last round."""
    if options.game is None and options.resume is None:
        raise InputError("name a GAME to learn, or a run with --resume RUN")
    with new_run(options) if options.resume is None else resumed_run(options) as (trainer, folder):
        train(options, trainer, folder)


@contextlib.contextmanager
def new_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """Create the trainer and the locked folder of a new run."""
    from drrn.runs.trainer import Trainer

    game, spec = open_named(options)
    settings, paper = _settings(options, game)
    trainer = Trainer(
        game,
        settings,
        options.device,
        spec=spec,
        recipe=recipe_name(paper=paper),
        threads=options.threads,
        progress=counter("states", MOST_STATES),
    )
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    default = Path("runs") / slug(f"{game.name}-{settings.model.name}-{moment}")
    folder = Run.create(options.out or default, trainer)
    with folder.locked():
        yield trainer, folder


@contextlib.contextmanager
def resumed_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """Restore the trainer of a run, whose folder is locked.

    Only the number of rounds and settings that do not affect the results may change.
    """
    from drrn.runs.trainer import Trainer

    if options.game is not None:
        raise InputError(f"a resumed run keeps its game; leave out {options.game}")
    changes = _given(options)
    fixed = [name for name in changes if name != "rounds" and not all_settings()[name].same_results]
    for name in (*(name for name in NOT_RESUMED if getattr(options, name)), *fixed):
        raise InputError(f"a resumed run keeps its settings; leave out {flag_of(name)}")
    folder = Run(options.resume)
    with folder.locked():
        trainer = Trainer.resume(
            options.resume,
            changes=changes,
            device=options.device,
            threads=options.threads,
            progress=counter("states", MOST_STATES),
        )
        folder.save_settings(trainer)
        yield trainer, folder


def _given(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(options).items() if name in all_settings()}


def _settings(options: argparse.Namespace, game: Game) -> tuple[Settings, bool]:
    """Return the settings of a new run, and whether they are based on the paper's."""
    config, paper = _read_config(options.config, paper=options.paper)
    if not paper:  # the recipe sets its own values again, to suit the settings given here
        config = {
            name: value
            for name, value in config.items()
            if name not in STRONG_CHANGES or STRONG_CHANGES[name] != value
        }
    return settings_for_game(game, _given(options), paper=paper, base=config), paper


def _read_config(path: Path | None, *, paper: bool) -> tuple[dict[str, Any], bool]:
    """Return the settings in a config.json, and whether they are based on the paper's."""
    if path is None:
        return {}, paper
    path = path / CONFIG if path.is_dir() else path
    config = read_json(path)
    settings = config.get("settings", config) if isinstance(config, dict) else None
    if not isinstance(settings, dict):
        raise InputError(f'{path}: it must be a run\'s config.json, or {{"setting": value}}')
    if "settings" not in config:
        return settings, paper
    if paper and config.get("recipe") == "strong":
        raise InputError(f"{path}: based on the strong recipe; leave out --paper or --config")
    return settings, config.get("recipe") != "strong"


def train(options: argparse.Namespace, trainer: Trainer, run: Run) -> None:
    """Train to the last round; save and display each."""
    try:
        scores = _reference(trainer, run)
        log = _tensorboard(trainer, run) if options.tensorboard else None
        with _display(options, trainer, run, scores) as show:
            for finished in run.train(trainer):
                show(finished)
                if log:
                    log(trainer.rows[-trainer.settings.run.replicas :])
        _finish(run, trainer, scores, output=sys.stderr if options.json else sys.stdout)
    except KeyboardInterrupt:
        command = f"drrn train --resume {shlex.quote(str(run.folder))}"
        print(f"\ninterrupted; resume with: {command}", file=sys.stderr)
        raise


def _reference(trainer: Trainer, run: Run) -> ReferenceScores:
    """Return the reference scores; warn if there is nothing to learn."""
    scores = run.reference()
    if scores is None:
        episodes = trainer.settings.run.evaluation_episodes
        scores = reference_scores(trainer.game, trainer.compiled, episodes)
        run.save_reference(scores)
    if scores.best == scores.random:
        remedy = "does any ending of the game pay more than another?"
        if isinstance(trainer.game, Explorable):
            remedy = "give the endings their rewards in a TOML (drrn annotate writes one)"
        print(f"random play scores as much as the best: {remedy}", file=sys.stderr)
    return scores


def _finish(run: Run, trainer: Trainer, scores: ReferenceScores, output: Any) -> None:
    from drrn.runs.curve import draw_curve

    settings = trainer.settings
    model = settings.model
    size = f"{model.layers} × {model.hidden}, " if settings.uses("layers") else ""
    replicas = counted(settings.run.replicas, "replica")
    title = f"{title_of(trainer.game)}: {model.name}, {size}{replicas}"
    run.write_card()
    print(f"run: {run.folder}", file=output)
    path = run.folder / CURVE
    try:
        draw_curve(run.rounds(), title, scores, path)
        print(f"curve: {path}", file=output)
    except InputError as error:
        print(f"no curve: {error}", file=sys.stderr)


def _tensorboard(trainer: Trainer, run: Run) -> Callable[[list[Row]], None]:
    """Return a function that logs the rows of a round; log the rounds before."""
    require("tensorboard", "tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    folder = run.folder / "tensorboard"
    is_new = not folder.exists()
    writer = SummaryWriter(str(folder), purge_step=None if is_new else trainer.round + 1)

    def log(rows: list[Row]) -> None:
        for row in rows:
            for column, cell in row.items():
                policy, _, measure = column.partition("_")
                if measure in TENSORBOARD_TAGS:
                    tag = f"{TENSORBOARD_TAGS[measure]}/{policy}/replica {row['replica']}"
                    writer.add_scalar(tag, float(cell), int(row["round"]))
        writer.flush()

    if is_new:
        log(trainer.rows)
    return log


# --- display


def _display(
    options: argparse.Namespace, trainer: Trainer, run: Run, scores: ReferenceScores
) -> contextlib.AbstractContextManager[Callable[[Round], None]]:
    if options.json:
        return contextlib.nullcontext(lambda finished: _print_round(run, trainer, finished))
    return RoundsDisplay(trainer.settings.run, scores, trainer.round)


def _print_round(run: Run, trainer: Trainer, finished: Round) -> None:
    """Print a round as a line of JSON: its entry in metrics.jsonl, and what it took."""
    settings = trainer.settings.run
    (last,) = rounds_of(trainer.rows[-settings.replicas :], settings.episodes_per_round)
    print_json(
        {
            "run": str(run.folder),
            **last.as_json(),
            "transitions": finished.transitions,
            "learning_seconds": round(finished.learning_seconds, 3),
        }
    )


class RoundsDisplay:
    """Prints a line for each round, above a progress bar if stdout is a terminal."""

    def __init__(self, settings: RunSettings, scores: ReferenceScores, done: int) -> None:
        self.settings = settings
        self.scores = scores
        self.done = done
        self.bar: Any = None

    def __enter__(self) -> RoundsDisplay:
        scores = self.scores
        text = _score("random play", scores.random, scores.random_return)
        if scores.best is not None:
            text += _score(", best possible", scores.best, scores.best_return)
        print(f"{counted(self.settings.replicas, 'replica')}; {text}", flush=True)
        if sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                self.bar = _progress_bar(self.settings.rounds, self.done)
        return self

    def __call__(self, finished: Round) -> None:
        from drrn.playing.evaluation import mean_and_deviation, pays_on_the_way

        evaluations = finished.evaluations
        softmax, sd = mean_and_deviation(evaluations, "softmax")
        greedy, _ = mean_and_deviation(evaluations, "greedy")
        best, _ = mean_and_deviation(evaluations, "best")
        speed = finished.transitions / max(finished.learning_seconds, 1e-9)
        line = (
            f"round {finished.number:>3}/{self.settings.rounds}  "
            f"softmax {softmax:6.2f} ± {sd:.2f}  "
            f"greedy {greedy:6.2f}  best {best:6.2f}  {speed:>9,.0f} transitions/s"
        )
        if pays_on_the_way(evaluations):
            softmax, sd = mean_and_deviation(evaluations, "softmax", "mean_return")
            best, _ = mean_and_deviation(evaluations, "best", "mean_return")
            line += f"  returns: softmax {softmax:.2f} ± {sd:.2f}  best {best:.2f}"
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.console.print(line, highlight=False)
            self.bar.advance(self.bar.task_ids[0])

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _score(name: str, final_reward: float, total: float | None) -> str:
    text = f"{name} {final_reward:.2f}"
    return text if total is None else f"{text} (return {total:.2f})"


def _progress_bar(total: int, done: int) -> Any:
    from rich import progress

    bar = progress.Progress(
        progress.TextColumn("training"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        transient=True,
    )
    bar.start()
    bar.add_task("", total=total, completed=done)
    return bar
