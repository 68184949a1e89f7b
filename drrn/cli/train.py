"""`drrn train GAME`: learn a game, and keep the run in a folder."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from drrn.cli.begun_run import flag_of, new_run, resumed_run
from drrn.cli.rounds_display import rounds_display, told_as_json
from drrn.cli.show import add_game_options
from drrn.declaration import Setting
from drrn.errors import InputError
from drrn.game.optional import title_of
from drrn.recipes import shown_defaults
from drrn.runs.reference_scores import ReferenceScores, reference_scores
from drrn.settings import all_settings, uses
from drrn.stories.authored import Explorable
from drrn.writing import counted

if TYPE_CHECKING:
    from drrn.runs.record import Run
    from drrn.runs.train import Round, Trainer

USAGE = """drrn train GAME [--paper] [--out RUN] [settings]
       drrn train --resume RUN [--rounds N]"""

DESCRIPTION = """\
Learn a game: all replicas side by side, by one of two recipes.

  drrn train GAME           the strong recipe, which scores highest: returns of whole episodes, exploring by optimism
  drrn train GAME --paper   the paper's settings, and those that the game recommends (in a story's TOML: [training])

What you give here comes before either, and any part of the strong recipe can be switched off: none for what is
optional, 0 for a share, --no-… for what is on or off. After each round a row is added to evaluations.csv, and the run
can be killed at any moment and resumed. A finished run goes on when it is resumed with more --rounds."""

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
    command.add_argument(
        "--paper", action="store_true", help="the paper's settings, not the strong recipe's"
    )
    command.add_argument(
        "--out", type=Path, metavar="RUN", help="the run's folder (default: runs/GAME-MODEL-TIME)"
    )
    command.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run: cut, or to more --rounds"
    )
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="settings from the config.json of another run"
    )
    command.add_argument("--device", default="cpu", help="where to compute (default: cpu)")
    command.add_argument(
        "--tensorboard",
        action="store_true",
        help="an event file for TensorBoard in the run's folder",
    )
    command.add_argument(
        "--json", action="store_true", help="print each round as a line of JSON, and nothing else"
    )
    command.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads that PyTorch uses (default: 1; more rarely help)",
    )
    settings = command.add_argument_group("settings", OWN)
    for setting in all_settings().values():
        _add_setting(settings, setting)
    command.set_defaults(run=run)


def _add_setting(group: Any, setting: Setting) -> None:
    """An option for a setting; one that is not given is not among the options at all, so that none can be a value."""
    flag = flag_of(setting.name)
    common = {"default": argparse.SUPPRESS, "dest": setting.name}
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

    def __call__(
        self, _: Any, namespace: argparse.Namespace, __: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def _opposite(flag: str) -> str:
    """What switches off what a flag switches on: --no-keep, and --compile of --no-compile."""
    return (
        f"--{flag.removeprefix('--no-')}"
        if flag.startswith("--no-")
        else f"--no-{flag.removeprefix('--')}"
    )


def run(options: argparse.Namespace) -> None:
    if options.game is None and options.resume is None:
        raise InputError("name a GAME to learn, or --resume RUN")
    with new_run(options) if options.resume is None else resumed_run(options) as (trainer, folder):
        learn_and_keep(options, trainer, folder)


def learn_and_keep(options: argparse.Namespace, trainer: Trainer, folder: Run) -> None:
    """Round after round until the last, each kept and shown."""
    with _way_on(folder.folder):
        scores = _reference(trainer, folder)
        log_round = _event_writer(trainer, folder) if options.tensorboard else None
        with _display(options, trainer, folder, scores) as show:
            for finished in trainer.train():
                folder.keep(trainer)
                show(finished)
                if log_round:
                    log_round(finished)
        _finish(folder, trainer, scores, to=sys.stderr if options.json else sys.stdout)


def _reference(trainer: Trainer, folder: Run) -> ReferenceScores:
    """Reference scores, which the run keeps; a word of warning where there is nothing to learn."""
    scores = folder.reference()
    if scores is None:
        scores = reference_scores(
            trainer.game, trainer.compiled, trainer.settings.evaluation_episodes
        )
        folder.keep_reference(scores)
    if scores.best == scores.random:
        cure = (
            "give the endings their rewards in a TOML beside the story (drrn annotate begins one)"
        )
        words = (
            cure
            if isinstance(trainer.game, Explorable)
            else "does any ending of the game pay more than another?"
        )
        print(f"random play scores as much as the best: {words}", file=sys.stderr)
    return scores


def _event_writer(trainer: Trainer, folder: Run) -> Callable[[Round], None]:
    """What adds each round to the event file for TensorBoard; it holds the rounds before already."""
    from drrn.runs.event_file import EventFile

    file = EventFile(folder.folder)
    file.begin(trainer.rows)
    return lambda finished: file.add(
        [row for row in trainer.rows if row["round"] == str(finished.number)]
    )


def _display(
    options: argparse.Namespace, trainer: Trainer, folder: Run, scores: ReferenceScores
) -> contextlib.AbstractContextManager[Callable[[Round], None]]:
    if options.json:
        return contextlib.nullcontext(
            lambda finished: told_as_json(folder.folder, trainer, finished)
        )
    return rounds_display(trainer.settings, scores, trainer.round)


@contextlib.contextmanager
def _way_on(folder: Path) -> Iterator[None]:
    """Whoever stops a run is told how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"\nstopped; go on with: drrn train --resume {shlex.quote(str(folder))}",
            file=sys.stderr,
        )
        raise


def _finish(folder: Run, trainer: Trainer, scores: ReferenceScores, to: TextIO) -> None:
    from drrn.runs.curve import draw_curve

    settings = trainer.settings
    size = f"{settings.layers} × {settings.hidden}, " if uses(settings.model, "layers") else ""
    title = (
        f"{title_of(trainer.game)}: {settings.model}, {size}{counted(settings.replicas, 'replica')}"
    )
    folder.keep_card()
    print(f"run: {folder.folder}", file=to)
    try:
        path = folder.folder / "curve.png"
        draw_curve(folder.rows(), title, settings.episodes_per_round, scores, path)
        print(f"curve: {path}", file=to)
    except InputError as error:
        print(f"no curve was drawn: {error}", file=sys.stderr)
