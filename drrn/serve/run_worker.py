"""The process of a training run that the page started.

    python -m drrn.serve.run_worker RUN [ROUNDS]

It does not need the server. It reads the page's request and writes an ordinary run, which
`drrn train --resume` can resume as well. The page stops it by SIGTERM: finished rounds are saved.
"""

import sys
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.game.make import GameSpec
from drrn.runs.run import Run
from drrn.runs.scores import Round
from drrn.runs.storage import CONFIG
from drrn.runs.trainer import Trainer
from drrn.serve.embeddings import EmbeddingLog
from drrn.serve.runs import PageRun
from drrn.settings import Settings


def train(folder: str, rounds: str | None = None) -> None:
    """Train a run to its last round; save the reason if it fails."""
    run = PageRun(Path(folder))
    try:
        _train(run, {"rounds": int(rounds)} if rounds else {})
    except BaseException as error:
        reason = f"The training failed: {type(error).__name__}: {error}"
        if isinstance(error, InputError):
            reason = str(error)
        run.error_file.write_text(reason, encoding="utf-8")
        raise


def _train(page_run: PageRun, changes: dict[str, Any]) -> None:
    run = Run(page_run.folder)
    resumes = run.has(CONFIG)
    if not resumes:
        trainer = _new_trainer(page_run.config)
        Run.create(run.folder, trainer)
    with run.locked():
        if resumes:
            trainer = Trainer.resume(run.folder, changes=changes)
            run.save_settings(trainer)
        settings = trainer.settings.run
        run.ensure_reference(trainer)
        embeddings = EmbeddingLog(page_run.side, trainer)

        def save_embeddings(finished: Round) -> None:
            try:
                embeddings.save(finished.number)
            except Exception as error:  # training is more important than its picture
                print(f"embeddings were not saved: {type(error).__name__}: {error}", flush=True)

        for finished in run.train(trainer, save_embeddings):
            print(f"round {finished.number} of {settings.rounds}", flush=True)
        run.write_card()


def _new_trainer(request: dict[str, Any]) -> Trainer:
    entry = {name: value for name, value in request["game"].items() if name != "title"}
    spec = GameSpec(**{**entry, "folder": None})  # a module is in the server's folder
    settings = Settings.from_flat(request["settings"])
    return Trainer(spec.open(), settings, spec=spec, recipe=request["recipe"])


if __name__ == "__main__":
    train(*sys.argv[1:3])
