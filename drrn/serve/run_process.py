"""The process of a training run that the page began: `python -m drrn.serve.run_process RUNS ID begin|resume [ROUNDS]`.

It needs no server. What it is to learn stands in a file beside the runs; what it writes is a run's folder like any
other, so `drrn train --resume` can go on with it, too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.game.make import GameSpec
from drrn.processes import locked
from drrn.runs.run import Run
from drrn.runs.scores import reference_scores
from drrn.runs.trainer import Trainer
from drrn.serve.embeddings import EmbeddingLog
from drrn.serve.run_files import RunFiles
from drrn.serve.setting_form import settings_of_form
from drrn.settings import recipe_name

LOOKED_EVERY = 0.3  # seconds: whether the run is to stop


def train_apart(runs: str, id_: str, what: str, rounds: str | None = None) -> int:
    """Begin a run, or go on with it, until its last round or until it is told to stop."""
    files = RunFiles(Path(runs), id_)
    try:
        with locked(files.alive, f"{id_}: another process is at work on this run"):
            files.starting.unlink(missing_ok=True)
            threading.Thread(target=_stop_when_told, args=(files.stop,), daemon=True).start()
            _learn(files, what, {"rounds": int(rounds)} if rounds else {})
    except KeyboardInterrupt:
        print("stopped")
        return 130
    except (InputError, OSError, MemoryError) as error:
        files.error.write_text(str(error) or type(error).__name__, encoding="utf-8")
        print(error)
        return 2
    except BaseException as error:
        files.error.write_text(
            f"The training failed: {type(error).__name__}: {error}", encoding="utf-8"
        )
        raise
    return 0


def _learn(files: RunFiles, what: str, changes: dict[str, Any]) -> None:
    with _new_run(files) if what == "begin" else _resumed_run(files, changes) as (trainer, run):
        scores = reference_scores(
            trainer.game, trainer.compiled, trainer.settings.run.evaluation_episodes
        )
        files.write_json(files.reference, asdict(scores))
        print(
            f"{trainer.settings.run.replicas} replicas; random play {scores.random:.2f}, best {scores.best}",
            flush=True,
        )
        embeddings = EmbeddingLog(files, trainer)
        for finished in run.train(trainer, lambda done: _keep_embeddings(embeddings, done.number)):
            print(f"round {finished.number} of {trainer.settings.run.rounds}", flush=True)
        run.write_card()


def _keep_embeddings(embeddings: EmbeddingLog, number: int) -> None:
    try:
        embeddings.keep(number)
    except Exception as error:  # a drawing is no reason to end a training
        print(f"no embeddings were kept: {type(error).__name__}: {error}", flush=True)


@contextmanager
def _new_run(files: RunFiles) -> Iterator[tuple[Trainer, Run]]:
    asked = json.loads(files.request.read_text(encoding="utf-8"))
    recipe = GameSpec(**asked["recipe"])
    game = recipe.open()
    settings = settings_of_form(game, asked["settings"], paper=asked["paper"])
    by = recipe_name(paper=asked["paper"])
    trainer = Trainer(game, settings, spec=recipe, recipe=by, progress=_progress())
    run = Run.create(files.folder, trainer)
    with run.locked():
        yield trainer, run


@contextmanager
def _resumed_run(files: RunFiles, changes: dict[str, Any]) -> Iterator[tuple[Trainer, Run]]:
    run = Run(files.folder)
    with run.locked():
        trainer = Trainer.resume(files.folder, changes=changes, progress=_progress())
        run.save_settings(trainer)
        yield trainer, run


def _progress() -> Any:
    shown = time.monotonic()

    def show(states: int) -> None:
        nonlocal shown
        if time.monotonic() > shown + 5:
            shown = time.monotonic()
            print(f"{states:,} states searched", flush=True)

    return show


def _stop_when_told(path: Path) -> None:
    """Interrupt this process as Ctrl-C would, once the file is there; what is finished is kept already."""
    while not path.exists():
        time.sleep(LOOKED_EVERY)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # also where who began this process ignores it,
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # or keeps it back
    sys.exit(train_apart(*sys.argv[1:5]))
