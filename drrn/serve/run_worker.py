"""The process of a training run that the page started.

    python -m drrn.serve.run_worker RUNS ID begin|resume [ROUNDS]

It does not need the server. It reads the page's request and writes an ordinary run, which
`drrn train --resume` can resume as well.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.game.make import GameSpec
from drrn.processes import locked
from drrn.runs.run import Run
from drrn.runs.scores import Round, reference_scores
from drrn.runs.trainer import Trainer
from drrn.serve.embeddings import EmbeddingLog
from drrn.serve.forms import settings_from
from drrn.serve.runs import RunFiles, read_json
from drrn.settings import recipe_name

POLL_SECONDS = 0.3  # between checks whether the run has to stop
PROGRESS_SECONDS = 5


def train(runs: str, id_: str, action: str, rounds: str | None = None) -> int:
    """Train a run to its last round or until the page stops it; return the exit code."""
    files = RunFiles(Path(runs), id_)
    try:
        with locked(files.alive, f"{id_}: another process is training this run"):
            files.starting.unlink(missing_ok=True)
            threading.Thread(target=_interrupt_on, args=(files.stop,), daemon=True).start()
            _train(files, action, {"rounds": int(rounds)} if rounds else {})
    except KeyboardInterrupt:
        print("stopped")
        return 130
    except (InputError, OSError, MemoryError) as error:
        files.error.write_text(str(error) or type(error).__name__, encoding="utf-8")
        print(error)
        return 2
    except BaseException as error:
        message = f"The training failed: {type(error).__name__}: {error}"
        files.error.write_text(message, encoding="utf-8")
        raise
    return 0


def _train(files: RunFiles, action: str, changes: dict[str, Any]) -> None:
    opened = _new_run(files) if action == "begin" else _resumed_run(files, changes)
    with opened as (trainer, run):
        settings = trainer.settings.run
        scores = reference_scores(trainer.game, trainer.compiled, settings.evaluation_episodes)
        run.save_reference(scores)
        best = "unknown" if scores.best is None else f"{scores.best:.2f}"
        print(f"{settings.replicas} replicas; random play {scores.random:.2f}, best {best}")
        embeddings = EmbeddingLog(files.side, trainer)

        def save_embeddings(finished: Round) -> None:
            try:
                embeddings.save(finished.number)
            except Exception as error:  # training is more important than its picture
                print(f"embeddings were not saved: {type(error).__name__}: {error}", flush=True)

        for finished in run.train(trainer, save_embeddings):
            print(f"round {finished.number} of {settings.rounds}", flush=True)
        run.write_card()


@contextmanager
def _new_run(files: RunFiles) -> Iterator[tuple[Trainer, Run]]:
    request = read_json(files.request)
    spec = GameSpec(**request["recipe"])
    game = spec.open()
    settings = settings_from(game, request["settings"], paper=request["paper"])
    recipe = recipe_name(paper=request["paper"])
    trainer = Trainer(game, settings, spec=spec, recipe=recipe, progress=_progress())
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


def _progress() -> Callable[[int], None]:
    """Return a function that prints the number of searched states every few seconds."""
    printed = time.monotonic()

    def show(states: int) -> None:
        nonlocal printed
        if time.monotonic() > printed + PROGRESS_SECONDS:
            printed = time.monotonic()
            print(f"{states:,} states searched", flush=True)

    return show


def _interrupt_on(path: Path) -> None:
    """Interrupt this process like Ctrl-C once the file exists."""
    while not path.exists():
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    # The parent process may ignore or block SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.exit(train(*sys.argv[1:5]))
