"""`drrn train GAME`: train an agent, and save the run to a folder."""

import argparse
import contextlib
import datetime
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drrn.playing import survey
from drrn.runs.config import settings_for_game
from drrn.runs.records import LearningRecord
from drrn.runs.run import Run
from drrn.runs.scores import ReferenceScores, Round, Row
from drrn.runs.storage import CONFIG, CURVE, check_files, read_json
from drrn.runs.trainer import Trainer
from drrn.settings import STRONG_CHANGES, Settings, all_settings, recipe_name
from textgames import terminal
from textgames.compiled.compile import MOST_STATES
from textgames.errors import InputError, require
from textgames.files import slug
from textgames.game.contract import Game
from textgames.openers import training_named
from textgames.progress import tracked
from textgames.wording import counted

NOT_RESUMED = ("paper", "out", "config", "lenient", "encoding", "outside")
TENSORBOARD_TAGS = {"final_reward": "final reward", "return": "return"}
survey.track = tracked


def run(options: argparse.Namespace) -> None:
    """Start or resume a run, and train it to its last round."""
    if options.game is None and options.resume is None:
        raise InputError("name a GAME to train on, or a run with --resume RUN")
    with new_run(options) if options.resume is None else resumed_run(options) as (trainer, folder):
        train(options, trainer, folder)


@contextlib.contextmanager
def new_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """Create the trainer and the locked folder of a new run."""
    spec = terminal.game_spec(options)
    game = terminal.open_game(options)
    settings, paper = _settings(options, game)
    recipe = recipe_name(paper=paper)
    trainer = Trainer(game, settings, spec=spec, recipe=recipe, **_trainer_options(options))
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
    if options.game is not None:
        raise InputError(f"a resumed run keeps its game; leave out {options.game}")
    changes = _given(options)
    fixed = [name for name in changes if name != "rounds" and not all_settings()[name].same_results]
    for name in (*(name for name in NOT_RESUMED if getattr(options, name)), *fixed):
        flag = name.replace("_", "-")
        raise InputError(f"a resumed run keeps its settings; leave out --{flag}")
    folder = Run(options.resume)
    with folder.locked():
        trainer = Trainer.resume(options.resume, changes=changes, **_trainer_options(options))
        folder.save_settings(trainer)
        if trainer.round == trainer.settings.run.rounds:
            done = counted(trainer.round, "round")
            terminal.warn(f"the run is finished ({done}); train more with --rounds N")
        yield trainer, folder


def _trainer_options(options: argparse.Namespace) -> dict[str, Any]:
    progress = terminal.counter("states", MOST_STATES)
    return {"device": options.device, "progress": progress}


def _given(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(options).items() if name in all_settings()}


def _settings(options: argparse.Namespace, game: Game) -> tuple[Settings, bool]:
    """The settings of a new run, and whether they are based on the paper's."""
    config, paper = _read_config(options.config, paper=options.paper)
    if not paper:  # the recipe sets its own values again, to suit the settings given here
        own = STRONG_CHANGES.items()
        config = {name: value for name, value in config.items() if (name, value) not in own}
    config = {**training_named(options.game), **config}
    return settings_for_game(game, _given(options), paper=paper, base=config), paper


def _read_config(path: Path | None, *, paper: bool) -> tuple[dict[str, Any], bool]:
    """The settings in a config.json, and whether they are based on the paper's."""
    if path is None:
        return {}, paper
    if path.is_dir():
        check_files(path, CONFIG)
        path = path / CONFIG
    config = read_json(path)
    settings = config.get("settings", config) if isinstance(config, dict) else None
    if not isinstance(settings, dict):
        raise InputError(f'{path}: must be the config.json of a run, or {{"setting": value}}')
    if "settings" not in config:
        return settings, paper
    if paper and config.get("recipe") == "strong":
        raise InputError(f"{path}: based on the strong recipe; leave out --paper or --config")
    return settings, config.get("recipe") != "strong"


def train(options: argparse.Namespace, trainer: Trainer, run: Run) -> None:
    """Train to the last round. Save and display each."""
    settings = trainer.settings.run
    try:
        scores = run.ensure_reference(trainer)
        _warn_if_all_pay_the_same(scores)
        log = _tensorboard(trainer, run) if options.tensorboard else None
        rounds = run.train(trainer, record=LearningRecord.of(run.learning(), trainer.round))
        if not options.json:
            print(_reference_text(settings.replicas, scores), flush=True)
            rounds = tracked(rounds, settings.rounds, "training", trainer.round)
        for finished in rounds:
            if options.json:
                _print_json(run, finished)
            else:
                print(_round_text(finished, settings.rounds), flush=True)
            if log:
                log(finished.replicas)
        _finish(run, trainer, output=sys.stderr if options.json else sys.stdout)
        trainer.close()
    except KeyboardInterrupt:
        command = f"drrn train --resume {shlex.quote(str(run.folder))}"
        terminal.warn(f"\ninterrupted; resume with: {command}")
        raise


def _warn_if_all_pay_the_same(scores: ReferenceScores) -> None:
    if scores.best == scores.random:
        remedy = "give its endings different rewards (of a story: storytest annotate)"
        terminal.warn(f"random play already gets the best possible final reward; {remedy}")


def _finish(run: Run, trainer: Trainer, output: Any) -> None:
    if trainer.deployment:
        print(_deployment_text(trainer.deployment), file=output)
    print(f"run: {run.folder}", file=output)
    path = run.folder / CURVE
    run.plot().save(path)
    print(f"curve: {path}", file=output)


def _tensorboard(trainer: Trainer, run: Run) -> Callable[[list[Row]], None]:
    """A function that logs the rows of a round. Log the rounds before."""
    require("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    folder = run.folder / "tensorboard"
    for path in folder.glob("events.out.tfevents.*"):  # of processes that were interrupted
        path.unlink()
    writer = SummaryWriter(str(folder))

    def log(rows: list[Row]) -> None:
        for row in rows:
            for column, value in row.items():
                policy, _, measure = column.partition("_")
                if measure in TENSORBOARD_TAGS:
                    tag = f"{TENSORBOARD_TAGS[measure]}/{policy}/replica {row['replica']}"
                    writer.add_scalar(tag, value, row["round"])
        writer.flush()

    log(trainer.rows)
    return log


# --- display


def _deployment_text(deployment: dict[str, Any]) -> str:
    scores = {name: f"{mean:.4g}" for name, (mean, _) in deployment["scores"].items()}
    policy = deployment["policy"]
    others = ", ".join(f"{name} {score}" for name, score in scores.items() if name != policy)
    games = f"over {deployment['episodes']:,} games"
    return f"Deployed policy: {policy}, mean return {scores[policy]} {games} ({others})"


def _reference_text(replicas: int, scores: ReferenceScores) -> str:
    text = _score("random play", scores.random, scores.random_return)
    if scores.best is not None:
        text += _score(", best possible", scores.best, scores.best_return)
    return f"{counted(replicas, 'replica')}; {text}"


def _score(name: str, final_reward: float, total: float | None) -> str:
    text = f"{name} {final_reward:.2f}"
    return text if total is None else f"{text} (return {total:.2f})"


def _round_text(finished: Round, rounds: int) -> str:
    mean = finished.mean
    sd = finished.sd("softmax_final_reward")
    speed = finished.transitions / max(finished.learning_seconds, 1e-9)
    text = (
        f"round {finished.number:>3}/{rounds}  "
        f"softmax {mean('softmax_final_reward'):6.2f} ± {sd:.2f}  "
        f"greedy {mean('greedy_final_reward'):6.2f}  "
        f"best {mean('best_final_reward'):6.2f}  {speed:>9,.0f} transitions/s"
    )
    if finished.pays_on_the_way:
        returns = f"softmax {mean('softmax_return'):.2f} ± {finished.sd('softmax_return'):.2f}"
        text += f"  returns: {returns}  best {mean('best_return'):.2f}"
    return text


def _print_json(run: Run, finished: Round) -> None:
    """Print a round as a line of JSON: its scores, and what it took."""
    seconds = round(finished.learning_seconds, 3)
    cost = {"transitions": finished.transitions, "learning_seconds": seconds}
    terminal.print_json({"run": str(run.folder), **finished.as_json(), **cost})
