"""Training runs on the page: started, stopped, resumed and removed.

A run is trained by its own process (see `train`), which outlives the server. It writes an ordinary
run, which the command can resume as well. SIGTERM stops it: finished rounds are saved. A request
names a run by an id that is looked up among the existing folders. No part of a request becomes part
of a path.
"""

import datetime
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from drrn.runs import storage
from drrn.runs.run import Run
from drrn.runs.scores import RoundScores
from drrn.runs.storage import CONFIG, WEIGHTS
from drrn.settings import Settings
from textgames.errors import InputError
from textgames.files import json_or_none, slug, write
from textgames.openers import GameSpec
from textgames.processes import is_locked, lock_file
from textgames_page.http import without_folders
from textgames_page.library import GameEntry, Library
from textgames_page.run_form import LIMITS

HIDDEN = ".serve"  # subfolder of the runs' folder, with the page's own files
# With -m, Python would import modules of the current folder, such as a stranger's torch.py.
START = "import sys; sys.path[:] = sys.argv[3:]; "
START += "from textgames_page.runs import train; train(*sys.argv[1:3])"


class PageRun(Run):
    """A run, and the files of the page in the folder `side`.

    request.json  the settings, the game and the recipe that the page asked for
    alive         locked while a process trains the run, whose number it contains
    error.txt     why the run failed, in one sentence
    log.txt       the output of the process
    progress.json what the process does at the moment
    title.txt     the name that a person gave the run
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.id = folder.name
        self.side = folder.parent / HIDDEN / folder.name
        self.request_file = self.side / "request.json"
        self.alive_file = self.side / "alive"
        self.error_file = self.side / "error.txt"
        self.log_file = self.side / "log.txt"
        self.progress_file = self.side / "progress.json"
        self.title_file = self.side / "title.txt"

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The run's config.json, or the request of the page before that exists."""
        if self.has(CONFIG) or not self.is_of_page:
            return super().config
        request: dict[str, Any] = storage.read_json(self.request_file)
        return request

    def rounds(self) -> list[RoundScores]:
        """The scores of each finished round. They are read again when they have changed."""
        path = self.folder / storage.ROWS
        return _rounds(self.folder, path.stat().st_mtime_ns) if path.exists() else []

    @property
    def is_of_page(self) -> bool:
        """Whether the run was started on the page."""
        return self.request_file.exists()

    @property
    def is_alive(self) -> bool:
        """Whether a process is training it."""
        return is_locked(self.alive_file) or self.is_running

    def when(self) -> str:
        """When the run was last written, or when the page asked for it before that."""
        is_new = self.is_of_page and not self.has(CONFIG)
        return Run(self.side).when() if is_new else super().when()

    def _summary(self) -> dict[str, Any]:
        if self.has(CONFIG):
            return super()._summary()
        settings = self.config["settings"]
        facts = {name: settings[name] for name in ("model", "replicas", "rounds")}
        facts |= {"game": self.config["game"]["title"], "recipe": self.config["recipe"]}
        return {**facts, "state": "interrupted", "rounds_done": 0}

    def as_json(self) -> dict[str, Any]:
        """The run's entry in the list: its summary, and what only the page knows."""
        data = self.summary()
        error = data.pop("fault") or ""
        if not error and self.error_file.exists():
            error = self.error_file.read_text(encoding="utf-8", errors="replace")
        if self.is_alive:
            data["state"] = "running" if self.has(CONFIG) else "starting"
        elif error and data["state"] == "interrupted":
            data["state"] = "failed"
        del data["run"]  # its folder is not the page's business
        data["id"] = self.id
        data["error"] = without_folders(error)
        data["ready"] = self.has(WEIGHTS)
        data["removable"] = self.is_of_page
        data["progress"] = json_or_none(self.progress_file) if self.is_alive else None
        data["title"] = self.title_file.read_text("utf-8") if self.title_file.exists() else ""
        return data

    def rename(self, title: str) -> None:
        """Give the run a name on the page. Its folder is not renamed."""
        write(self.title_file, title)

    def details(self, after: int = 0) -> dict[str, Any]:
        """The run with its settings, and its scores after a round."""
        data = {**self.as_json(), "settings": {}, "reference": None, "curve": []}
        if data["state"] != "damaged":
            data["settings"] = self.config["settings"]
            data["reference"] = self.reference()
            rounds = [scores for scores in self.rounds() if scores.number > after]
            data["curve"] = [scores.as_json() for scores in rounds]
        return data


def _detached(lock: int) -> dict[str, Any]:
    """The options of a process out of reach of Ctrl-C, which inherits a lock.

    On Windows locks are not inherited: the process locks the file itself.
    """
    if sys.platform == "win32":
        own_group = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
        return {"creationflags": own_group}
    return {"pass_fds": [lock], "start_new_session": True}


@functools.lru_cache(16)
def _rounds(folder: Path, _: int) -> list[RoundScores]:
    return Run(folder).rounds()


class RunFolder:
    """The runs in a folder, and the processes that train them: `most` at once."""

    def __init__(self, folder: Path, library: Library, most: int = 4) -> None:
        self.folder = folder.resolve()
        self.most = most
        self.library = library
        self._lock = threading.Lock()  # held while a run is started or stopped

    def ids(self) -> set[str]:
        """The names of all runs, including those that are about to start."""
        started = {path.parent.name for path in self.folder.glob(f"*/{CONFIG}")}
        requested = {path.parent.name for path in self.folder.glob(f"{HIDDEN}/*/request.json")}
        return {name for name in started | requested if not name.startswith(".")}

    def __getitem__(self, id: str) -> PageRun:  # noqa: A002
        if id not in self.ids():
            raise HTTPException(404, "There is no such run.")
        return PageRun(self.folder / id)

    def all(self, game: str | None = None) -> list[PageRun]:
        """Every run, or those of one game, the newest first."""
        runs = [PageRun(self.folder / id_) for id_ in self.ids()]
        if game is not None:
            runs = [run for run in runs if self.game_of(run) == game]
        return sorted(runs, key=lambda run: (run.when(), run.id), reverse=True)

    def game_of(self, run: PageRun) -> str | None:
        """The id of a run's game. None if the library lacks it."""
        try:
            game = run.config["game"]
        except InputError:
            return None
        entry = self.library.find(game.get("source"), str(game.get("title") or ""))
        return entry.id if entry else None

    def counts(self) -> Counter[str | None]:
        """The number of runs of each game."""
        return Counter(self.game_of(run) for run in self.all())

    def start(self, entry: GameEntry, checked: dict[str, Any], recipe: str) -> PageRun:
        """Start a run with settings that a form asked for. See `GameWorker.config`."""
        settings = checked["settings"]
        game = {**asdict(entry.spec), "title": checked["title"]}
        with self._lock:
            self._check_running()
            moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
            name = slug(f"{checked['name']}-{settings['model']}")[:60]
            run = PageRun(self.folder / f"{name}-{moment}")
            if run.folder.exists() or run.is_of_page:
                raise HTTPException(409, "Another run was started this second. Try again.")
            request = {"settings": settings, "game": game, "recipe": recipe}
            write(run.request_file, json.dumps(request, ensure_ascii=False))
            return self._launch(run)

    def resume(self, run: PageRun, rounds: Any = None) -> PageRun:
        """Resume a run. A finished one needs a larger number of rounds."""
        if run.is_alive:
            raise HTTPException(409, "This run is already running.")
        if rounds is None and run.as_json()["state"] == "finished":
            raise HTTPException(409, "This run has finished. Add rounds to continue it.")
        done = len(run.rounds())
        most = int(LIMITS["rounds"])
        if rounds is not None and (type(rounds) is not int or not done < rounds <= most):
            sentence = f"The run has {done} rounds. Give a number from {done + 1} to {most}."
            raise HTTPException(400, sentence)
        with self._lock:
            self._check_running()
            run.side.mkdir(parents=True, exist_ok=True)
            return self._launch(run, str(rounds or ""))

    def stop(self, run: PageRun) -> PageRun:
        """End the process of a run. Its finished rounds are saved already."""
        with self._lock:
            if not run.is_alive:
                raise HTTPException(409, "This run is not running.")
            if not is_locked(run.alive_file):
                raise HTTPException(409, "This run was started in a terminal. Press Ctrl-C there.")
            os.kill(int(run.alive_file.read_text()), signal.SIGTERM)
        return run

    def remove(self, run: PageRun) -> None:
        """Remove a run that was started on the page."""
        if not run.is_of_page:
            raise HTTPException(409, "This run was started in a terminal. Remove its folder there.")
        if run.is_alive:
            raise HTTPException(409, "This run is still running. Stop it first.")
        shutil.rmtree(run.folder, ignore_errors=True)
        shutil.rmtree(run.side, ignore_errors=True)

    def _launch(self, run: PageRun, rounds: str = "") -> PageRun:
        """Start the process of a run. It inherits the lock, which ends when the process ends."""
        run.error_file.unlink(missing_ok=True)
        run.progress_file.unlink(missing_ok=True)
        with (
            lock_file(run.alive_file, f"{run.id}: another process is training this run") as lock,
            run.log_file.open("ab") as output,
        ):
            process = subprocess.Popen(
                [sys.executable, "-c", START, str(run.folder), rounds, *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **_detached(lock.fileno()),
            )
            lock.write(str(process.pid))
        threading.Thread(target=process.wait, daemon=True).start()  # prevents a zombie
        return run

    def _check_running(self) -> None:
        running = sum(run.is_alive for run in self.all() if run.is_of_page)
        if running >= self.most:
            raise HTTPException(429, f"{running} runs are already training. Stop one, or wait.")


# --- in the process of a run


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
    from drrn.runs.records import LearningRecord
    from drrn.runs.trainer import Trainer

    run = Run(page_run.folder)
    resumes = run.has(CONFIG)
    progress = Progress(page_run.progress_file)
    progress.report("open")
    if not resumes:
        request = page_run.config
        entry = {name: value for name, value in request["game"].items() if name != "title"}
        spec = GameSpec(**{**entry, "folder": None})  # a module is in the server's folder
        settings = Settings.from_flat(request["settings"])
        options = {
            "recipe": request["recipe"],
            "progress": functools.partial(progress.report, "compile", 0),
        }
        trainer = Trainer(spec.open(), settings, spec=spec, **options)
        Run.create(run.folder, trainer)
    with run.locked():
        if resumes:
            trainer = Trainer.resume(run.folder, changes=changes)
            run.save_settings(trainer)
        progress.report("reference")
        run.ensure_reference(trainer)
        trainer.watch = progress.report
        record = LearningRecord.of(run.learning(), trainer.round)
        for finished in run.train(trainer, record=record):
            print(f"round {finished.number} of {trainer.settings.run.rounds}", flush=True)
