"""`drrn train GAME`: learn a game, and keep the run in a folder."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import add_game_options, states_progress
from drrn.errors import InputError, require
from drrn.games import StoryGame, make
from drrn.games.make import lasting_name
from drrn.training.settings import Settings, settings_for
from drrn.training.yardsticks import Yardsticks, yardsticks

if TYPE_CHECKING:
    from drrn.training.record import Run
    from drrn.training.train import Round

DESCRIPTION = """Learn a game: all replicas side by side. After each round a row is added to evaluations.csv, and the
run can be killed and gone on with at any moment. GAME carries settings that suit it; what you give here comes first."""

NONE = "none"  # on the command line, what turns a setting off


def add_command(commands: Any) -> None:
    command = commands.add_parser("train", help="learn a game, and keep the run in a folder", description=DESCRIPTION)
    add_game_options(command, optional=True)
    command.add_argument("--out", type=Path, metavar="RUN", help="the run's folder (default: runs/GAME-MODEL-TIME)")
    command.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run that was interrupted")
    command.add_argument("--config", type=Path, metavar="FILE", help="settings from the config.json of another run")
    command.add_argument("--device", default="cpu", help="where to compute (default: cpu)")
    command.add_argument("--tensorboard", action="store_true", help="scalars for TensorBoard in the run's folder, too")
    command.add_argument("--threads", type=int, default=1, help="of PyTorch; small products want one (default: 1)")
    settings = command.add_argument_group("settings (defaults: the paper's, or what suits the game)")
    for f in dataclasses.fields(Settings):
        _add_setting(settings, f)
    command.set_defaults(run=run)


def _add_setting(group: Any, f: dataclasses.Field[Any]) -> None:
    flag, explanation = f"--{f.name.replace('_', '-')}", f.metadata["help"]
    if f.default is False:
        group.add_argument(flag, action="store_true", default=None, help=explanation)
        return
    kind: Any = float if "float" in str(f.type) else str if str(f.type) == "str" else int
    if f.default is None:
        kind = _or_none(kind)
    shown = "" if f.default is None else f" (default: {f.default})"
    choices = f.metadata["choices"]
    metavar = f"{{{','.join(choices)}}}" if choices else "X"
    group.add_argument(flag, type=kind, metavar=metavar, help=f"{explanation}{shown}".replace("%", "%%"))


def _or_none(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A value that may be turned off where a game has one of its own, by the word none."""

    def value(text: str) -> Any:
        return NONE if text == NONE else kind(text)

    value.__name__ = f"{getattr(kind, '__name__', kind)} or none"  # what a complaint calls it
    return value


def run(options: argparse.Namespace) -> None:
    import torch  # it takes a second to import: the other commands do without

    from drrn.training.agent import torch_device
    from drrn.training.record import Run
    from drrn.training.train import MOST_STATES, Trainer

    if options.tensorboard:
        require("tensorboard", "tensorboard")
    if options.threads < 1:
        raise InputError(f"--threads is {options.threads}; it must be at least 1")
    device = torch_device(options.device)
    torch.set_num_threads(options.threads)
    if options.resume is not None:
        game, settings = _resumed(options)
    elif options.game is None:
        raise InputError("name a GAME to learn, or --resume RUN")
    else:
        game = make(options.game, lenient=options.lenient, encoding=options.encoding)
        settings = _settings(options, game)
    trainer = Trainer(game, settings, device, states_progress(MOST_STATES))
    if options.resume is not None:
        folder = Run(options.resume)
        folder.resume(trainer, game)
    else:
        source = {"source": lasting_name(options.game), "lenient": options.lenient, "encoding": options.encoding}
        folder = Run.begin(options.out or _default_folder(game, settings), game, source, trainer)
    with _way_on(folder.folder):
        lines = yardsticks(game, trainer.compiled)
        if lines.best == lines.random:
            words = "random play scores as much as the best: give the endings their rewards in a TOML beside the story"
            print(f"{words} (drrn annotate begins one)", file=sys.stderr)
        write = scalars(folder.folder) if options.tensorboard else None
        with display(settings, lines, trainer.round) as show:
            for finished in trainer.train():
                folder.keep(finished, trainer)
                show(finished)
                if write:
                    write(finished)
        _finish(folder, game, settings, lines)


@contextmanager
def _way_on(folder: Path) -> Iterator[None]:
    """Whoever stops a run is told how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\nstopped; go on with: drrn train --resume {shlex.quote(str(folder))}", file=sys.stderr)
        raise


def _settings(options: argparse.Namespace, game: StoryGame) -> Settings:
    """Defaults, under the game's own, under --config, under what stands on the command line."""
    given: dict[str, Any] = {}
    if options.config is not None:
        from drrn.training.agent import read_json

        config = read_json(options.config, f"{options.config}: no such file")
        found = config.get("settings", config) if isinstance(config, dict) else None
        if not isinstance(found, dict):
            raise InputError(f'{options.config}: it must be a run\'s config.json, or settings as {{"name": value}}')
        given = dict(found)
    asked = {f.name: getattr(options, f.name) for f in dataclasses.fields(Settings)}
    given |= {name: None if value == NONE else value for name, value in asked.items() if value is not None}
    return settings_for(game.title, game.rules.training, given)


def _resumed(options: argparse.Namespace) -> tuple[StoryGame, Settings]:
    from drrn.training.agent import game_of, read_config
    from drrn.training.record import Run

    if options.game is not None:
        raise InputError(f"a resumed run keeps its game: leave out {options.game}")
    names = ("out", "config", "lenient", "encoding", *(f.name for f in dataclasses.fields(Settings)))
    for name in names:
        if getattr(options, name) is not None and getattr(options, name) is not False:  # 0 is a setting
            raise InputError(f"a resumed run keeps its settings: leave out --{name.replace('_', '-')}")
    settings = Settings(**read_config(options.resume)["settings"])
    Run(options.resume).check_whole()
    return game_of(options.resume), settings


def _default_folder(game: StoryGame, settings: Settings) -> Path:
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{game.name}-{settings.model}-{moment}"


def _finish(folder: Run, game: StoryGame, settings: Settings, lines: Yardsticks) -> None:
    from drrn.training.curve import draw_curve

    title = f"{game.title}: {settings.model}, {settings.layers} × {settings.hidden}, {settings.replicas} replicas"
    print(f"run: {folder.folder}")
    try:
        path = folder.folder / "curve.png"
        draw_curve(folder.rows(), title, settings.episodes_per_round, lines, path)
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


class display:  # noqa: N801 — used as a verb
    """Each round in a line: a live table where a person looks on, plain lines elsewhere."""

    def __init__(self, settings: Settings, lines: Yardsticks, done: int) -> None:
        self.settings, self.lines, self.done = settings, lines, done
        self.start = time.perf_counter()

    def __enter__(self) -> display:
        best = "" if self.lines.best is None else f", best possible {self.lines.best:.2f}"
        print(f"{self.settings.replicas} replicas; random play {self.lines.random:.2f}{best}", flush=True)
        self.bar = _bar(self.settings.rounds, self.done)
        return self

    def __call__(self, finished: Round) -> None:
        from drrn.playing.evaluation import mean_and_deviation

        softmax, deviation = mean_and_deviation(finished.evaluations, "softmax")
        greedy, _ = mean_and_deviation(finished.evaluations, "greedy")
        speed = finished.transitions / finished.learning_seconds if finished.learning_seconds else 0.0
        line = (
            f"round {finished.number:>3}/{self.settings.rounds}  softmax {softmax:6.2f} ± {deviation:.2f}  "
            f"greedy {greedy:6.2f}  {speed:>9,.0f} transitions/s"
        )
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.console.print(line, highlight=False)
            self.bar.advance(self.bar.task_ids[0])

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


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
