"""The process of a training run that the page started. It calls `train`.

It does not need the server. It reads the page's request and writes an ordinary run, which
`drrn train --resume` can resume as well. The page stops it by SIGTERM: finished rounds are saved.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from drrn.runs.records import LearningRecord
from drrn.runs.run import Run
from drrn.runs.storage import CONFIG
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from textgames.errors import InputError
from textgames.files import write
from textgames.openers import GameSpec
from textgames.processes import lock_file
from textgames_page.runs import PageRun


def train(folder: str, rounds: str) -> None:
    """Train a run to its last round. If it fails, the reason is saved."""
    run = PageRun(Path(folder))
    if sys.platform == "win32":  # where a lock is not inherited
        lock = lock_file(run.alive_file, f"{run.id}: another process is training this run")
        lock.write(str(os.getpid()))
        lock.flush()
    try:
        _train(run, {"rounds": int(rounds)} if rounds else {})
    except BaseException as error:
        reason = f"The training failed: {type(error).__name__}: {error}"
        if isinstance(error, InputError):
            reason = str(error)
        run.error_file.write_text(reason, encoding="utf-8")
        raise


class Progress:
    """Writes what the process does, for the page, every few `seconds`."""

    def __init__(self, path: Path, seconds: float = 0.3) -> None:
        self.path = path
        self.seconds = seconds
        self.phase = ""
        self.next = 0.0

    def report(self, phase: str, total: int = 0, done: int = 0) -> None:
        """Write a phase of the training, and how many of its episodes are done."""
        now = time.monotonic()
        if phase == self.phase and now < self.next:
            return
        self.phase = phase
        self.next = now + self.seconds
        write(self.path, json.dumps({"phase": phase, "done": done, "total": total}))


def _train(page_run: PageRun, changes: dict[str, Any]) -> None:
    run = Run(page_run.folder)
    resumes = run.has(CONFIG)
    progress = Progress(page_run.progress_file)
    progress.report("open")
    if not resumes:
        compiling = partial(progress.report, "compile", 0)
        trainer = _new_trainer(page_run.config, compiling)
        Run.create(run.folder, trainer)
    with run.locked():
        if resumes:
            trainer = Trainer.resume(run.folder, changes=changes)
            run.save_settings(trainer)
        settings = trainer.settings.run
        progress.report("reference")
        run.ensure_reference(trainer)
        trainer.watch = progress.report
        record = LearningRecord.of(run.learning(), trainer.round)
        for finished in run.train(trainer, record=record):
            print(f"round {finished.number} of {settings.rounds}", flush=True)


def _new_trainer(request: dict[str, Any], progress: Callable[[int], None]) -> Trainer:
    entry = {name: value for name, value in request["game"].items() if name != "title"}
    spec = GameSpec(**{**entry, "folder": None})  # a module is in the server's folder
    settings = Settings.from_flat(request["settings"])
    recipe = request["recipe"]
    return Trainer(spec.open(), settings, spec=spec, recipe=recipe, progress=progress)
