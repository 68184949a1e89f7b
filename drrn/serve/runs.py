"""Training runs on the page: listed, started, stopped, resumed and removed.

A run is trained by its own process, which outlives the server. A request names a run by an id that
is looked up among the existing folders; no part of a request becomes part of a path.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from drrn.errors import InputError
from drrn.files import home, write_atomically
from drrn.processes import is_locked
from drrn.runs.run import Run
from drrn.runs.scores import RoundScores
from drrn.runs.storage import CONFIG, ROWS, WEIGHTS
from drrn.serve.forms import LIMITS
from drrn.serve.game_worker import CheckedSettings
from drrn.serve.http import RequestError
from drrn.serve.library import GameEntry, Library
from drrn.settings import POLICIES

HIDDEN = ".serve"  # subfolder of the runs' folder, with the page's own files
MODULE = "drrn.serve.run_worker"
ENDED = ("finished", "stopped", "failed")
MAX_RUNNING = 4
START_SECONDS = 60  # in which a process that another server started must lock its file
MAX_LOG = 4_000  # characters
NO_TORCH = "Training needs PyTorch, which is not installed: pip install 'drrn[torch]'"


class PolicyScores(TypedDict):
    """The final rewards of a round by one policy."""

    mean: float
    deviation: float
    replicas: list[float]


class CurvePoint(TypedDict):
    """A finished round."""

    round: int
    episodes: int
    policies: dict[str, PolicyScores | None]


class RunPayload(TypedDict):
    """A run in a list."""

    id: str
    game: str | None  # id of its game, if the library has it
    title: str
    model: str | None
    recipe: str | None
    status: str  # starting, running, finished, stopped or failed
    stopping: bool
    round: int
    rounds: int | None
    episodes_per_round: int | None
    replicas: int | None
    started: str | None
    ready: bool  # it has weights
    score: float | None
    error: str | None
    removable: bool  # it was started on the page


class ReferencePayload(TypedDict):
    """The scores of random play and the best possible score."""

    random: float | None
    best: float | None


class RunDetails(RunPayload):
    """A run with its settings and its learning curve."""

    settings: dict[str, Any]
    reference: ReferencePayload
    curve: list[CurvePoint]
    log: str


def check_torch() -> None:
    """Raise a `RequestError` if PyTorch is not installed."""
    try:
        spec = importlib.util.find_spec("torch")
    except ImportError:
        spec = None
    if spec is None:
        raise RequestError(503, NO_TORCH)


@dataclass(frozen=True)
class RunFiles:
    """The files of a run: its folder, and those that only the page uses."""

    runs: Path
    id: str  # name of the folder; checked by the caller

    @property
    def folder(self) -> Path:
        return self.runs / self.id

    @property
    def side(self) -> Path:
        """The folder of the page's own files."""
        return self.runs / HIDDEN / self.id

    @property
    def request(self) -> Path:
        """The game and the settings that the page asked for."""
        return self.side / "request.json"

    @property
    def alive(self) -> Path:
        """Locked while the process lives."""
        return self.side / "alive"

    @property
    def starting(self) -> Path:
        """Exists from the start of the process until it holds its lock."""
        return self.side / "starting"

    @property
    def stop(self) -> Path:
        """Exists once the run has to stop."""
        return self.side / "stop"

    @property
    def error(self) -> Path:
        """Why the run failed, in one sentence."""
        return self.side / "error.txt"

    @property
    def log(self) -> Path:
        """The output of the process."""
        return self.side / "log.txt"


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file; None if it does not exist or is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(value, ensure_ascii=False).encode())


@dataclass
class RunEntry:
    """A run as it is at this moment."""

    files: RunFiles
    library: Library

    @property
    def id(self) -> str:
        return self.files.id

    @property
    def folder(self) -> Path:
        return self.files.folder

    @cached_property
    def run(self) -> Run:
        return Run(self.folder)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The run's config.json; before that exists, the request of the page."""
        try:
            return self.run.config
        except InputError:
            config: dict[str, Any] = self.request.get("config", {"settings": {}, "game": {}})
            return config

    @cached_property
    def request(self) -> dict[str, Any]:
        """What the page asked for; empty if the run was started in a terminal."""
        request = read_json(self.files.request)
        return request if isinstance(request, dict) else {}

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.config["settings"]
        return settings

    @property
    def history(self) -> int:
        return int(self.settings.get("history") or 0)

    @property
    def title(self) -> str:
        return str(self.config["game"].get("title") or "")

    @cached_property
    def rounds(self) -> list[RoundScores]:
        """The finished rounds; empty if the file is missing or damaged."""
        try:
            return self.run.rounds()
        except InputError:
            return []

    @property
    def rounds_done(self) -> int:
        return self.rounds[-1].number if self.rounds else 0

    @property
    def has_started(self) -> bool:
        return self.run.has(CONFIG)

    @property
    def is_alive(self) -> bool:
        """Whether a process is training it."""
        return is_locked(self.files.alive) or self.run.is_running

    @property
    def stamp(self) -> tuple[Any, ...]:
        """A value that differs whenever there is something new."""
        files = self.files
        paths = (self.folder / ROWS, self.folder / CONFIG, files.error, files.stop)
        return (self.is_alive, *map(_modified, paths))

    @cached_property
    def status(self) -> str:
        if self.is_alive:
            return "running" if self.has_started else "starting"
        if self.rounds and self.rounds_done >= int(self.settings.get("rounds") or 1):
            return "finished"
        return "failed" if self.error else "stopped"

    @property
    def error(self) -> str | None:
        return self._text(self.files.error).strip() or None

    @cached_property
    def game(self) -> str | None:
        """The id of its game; None if the library lacks it."""
        entry = self.library.find(self.config["game"].get("source"), self.title)
        return entry.id if entry else None

    @property
    def started(self) -> str | None:
        modified = _modified(self.files.request if self.request else self.folder / CONFIG)
        if modified is None:
            return None
        moment = datetime.datetime.fromtimestamp(modified, datetime.timezone.utc)
        return moment.isoformat(timespec="seconds")

    def as_json(self) -> RunPayload:
        settings = self.settings
        last = _point(self.rounds[-1])["policies"] if self.rounds else {}
        scores = last.get("best") or last.get("softmax")
        return {
            "id": self.id,
            "game": self.game,
            "title": self.title,
            "model": settings.get("model"),
            "recipe": self.config.get("recipe"),
            "status": self.status,
            "stopping": self.status not in ENDED and self.files.stop.exists(),
            "round": self.rounds_done,
            "rounds": settings.get("rounds"),
            "episodes_per_round": settings.get("episodes_per_round"),
            "replicas": settings.get("replicas"),
            "started": self.started,
            "ready": self.run.has(WEIGHTS),
            "score": scores["mean"] if scores else None,
            "error": self.error,
            "removable": bool(self.request),
        }

    def details(self) -> RunDetails:
        return {
            **self.as_json(),
            "settings": self.settings,
            "reference": self._reference(),
            "curve": [_point(scores) for scores in self.rounds],
            "log": self._text(self.files.log)[-MAX_LOG:],
        }

    def _reference(self) -> ReferencePayload:
        try:
            scores = self.run.reference()
        except InputError:
            scores = None
        if scores is None:
            return {"random": None, "best": None}
        return {"random": scores.random, "best": scores.best}

    def _text(self, path: Path) -> str:
        """Return a text file, without the folders in it, which are not the page's business."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text.replace(f"{self.files.runs}/", "").replace(f"{home()}/", "")


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _point(scores: RoundScores) -> CurvePoint:
    policies: dict[str, PolicyScores | None] = {}
    for policy in POLICIES:
        column = f"{policy}_final_reward"
        values = [value for value in scores.values(column) if math.isfinite(value)]
        policies[policy] = None
        if len(values) == len(scores.replicas):
            policies[policy] = {
                "mean": scores.mean(column),
                "deviation": scores.sd(column),
                "replicas": values,
            }
    return {"round": scores.number, "episodes": scores.episodes_played, "policies": policies}


class RunFolder:
    """The runs in a folder, and the processes that train them."""

    def __init__(self, folder: Path, library: Library) -> None:
        self.folder = folder.resolve()
        self.library = library
        self._processes: dict[str, subprocess.Popen[bytes]] = {}  # started by this server

    def ids(self) -> set[str]:
        """Return the names of all runs, including those that are about to start."""
        started = {path.parent.name for path in self.folder.glob(f"*/{CONFIG}")}
        requested = {path.parent.name for path in self.folder.glob(f"{HIDDEN}/*/request.json")}
        return {name for name in started | requested if not name.startswith(".")}

    def __getitem__(self, id: str) -> RunEntry:  # noqa: A002
        if id not in self.ids():
            raise RequestError(404, "There is no such run.")
        return RunEntry(RunFiles(self.folder, id), self.library)

    def all(self, game: str | None = None) -> list[RunEntry]:
        """Return every run, or those of one game, the newest first."""
        runs = [RunEntry(RunFiles(self.folder, id_), self.library) for id_ in self.ids()]
        runs = [run for run in runs if game in (None, run.game)]
        return sorted(runs, key=lambda run: (run.started or "", run.id), reverse=True)

    def counts(self) -> Counter[str | None]:
        """Return the number of runs of each game."""
        return Counter(run.game for run in self.all())

    def as_json(self, run: RunEntry) -> RunPayload:
        """Return a run for the page; it is starting until its process holds its lock."""
        payload = run.as_json()
        if payload["status"] in ENDED and self.is_starting(run):
            payload["status"] = "starting"
            payload["error"] = None
            payload["stopping"] = run.files.stop.exists()
        return payload

    def details(self, run: RunEntry) -> RunDetails:
        return {**run.details(), **self.as_json(run)}

    def start(
        self, entry: GameEntry, checked: CheckedSettings, values: dict[str, Any], *, paper: bool
    ) -> RunEntry:
        """Start a run with the values of a form, which were checked."""
        check_torch()
        self._check_running()
        settings = checked["settings"]
        files = RunFiles(self.folder, self._new_id(f"{checked['name']}-{settings['model']}"))
        spec = asdict(entry.spec)
        config = {
            "settings": settings,
            "game": {**spec, "title": checked["title"]},
            "recipe": "paper" if paper else "strong",
        }
        request = {"recipe": spec, "settings": values, "paper": paper, "config": config}
        write_json(files.request, request)
        return self._start(files, "begin")

    def resume(self, run: RunEntry, rounds: Any = None) -> RunEntry:
        """Resume a run; a finished one needs a larger number of rounds."""
        check_torch()
        if run.status not in ENDED or self.is_starting(run):
            raise RequestError(409, "This run is running.")
        if run.status == "finished" and rounds is None:
            raise RequestError(409, "This run has finished; it continues only with more rounds.")
        _check_rounds(run, rounds)
        self._check_running()
        run.files.side.mkdir(parents=True, exist_ok=True)
        if run.has_started:
            return self._start(run.files, "resume", *([str(rounds)] if rounds else []))
        if not run.request:
            raise RequestError(409, "This run has no files to resume from.")
        return self._start(run.files, "begin")

    def stop(self, run: RunEntry) -> RunEntry:
        """Tell a run to stop; its finished rounds are saved already."""
        if run.status in ENDED and not self.is_starting(run):
            raise RequestError(409, "This run is not running.")
        if not run.files.side.is_dir():
            raise RequestError(409, "This run was started in a terminal: press Ctrl-C there.")
        run.files.stop.touch()
        return self[run.id]

    def remove(self, run: RunEntry) -> None:
        """Remove a run that was started on the page."""
        if not run.request:
            raise RequestError(409, "This run was started in a terminal: remove its folder there.")
        if run.status not in ENDED or self.is_starting(run):
            raise RequestError(409, "This run is running: stop it first.")
        shutil.rmtree(run.folder, ignore_errors=True)
        shutil.rmtree(run.files.side, ignore_errors=True)

    def is_starting(self, run: RunEntry) -> bool:
        """Whether its process was started and does not hold its lock yet."""
        started = _modified(run.files.starting)
        if started is None:
            return False
        self._forget_ended()
        return run.id in self._processes or time.time() < started + START_SECONDS

    def _forget_ended(self) -> None:
        for id_, process in list(self._processes.items()):
            if process.poll() is not None:
                self._processes.pop(id_, None)

    def _start(self, files: RunFiles, *arguments: str) -> RunEntry:
        files.stop.unlink(missing_ok=True)
        files.error.unlink(missing_ok=True)
        files.starting.touch()
        with files.log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(files.runs), files.id, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # out of reach of Ctrl-C and of a closed terminal
            )
        threading.Thread(target=process.wait, daemon=True).start()  # prevents a zombie
        self._processes[files.id] = process
        return self[files.id]

    def _check_running(self) -> None:
        self._forget_ended()
        running = sum(run.is_alive for run in self.all() if run.request)
        if max(running, len(self._processes)) >= MAX_RUNNING:
            raise RequestError(429, f"{MAX_RUNNING} runs are training: stop one, or wait.")

    def _new_id(self, name: str) -> str:
        moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "run"
        id_ = f"{plain[:60]}-{moment}"
        number = 1
        while id_ in self.ids() or (self.folder / id_).exists():
            number += 1
            id_ = f"{plain[:60]}-{moment}-{number}"
        return id_


def _check_rounds(run: RunEntry, rounds: Any) -> None:
    done = run.rounds_done
    limit = int(LIMITS["rounds"])
    if rounds is not None and (type(rounds) is not int or not done < rounds <= limit):
        raise RequestError(
            400, f"The run has {done} rounds: give an integer from {done + 1} to {limit}."
        )
