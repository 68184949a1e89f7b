"""The runs in the runs' folder: what each is and how far it is. A request names a run by its id, which is looked up
among the folders that are there: nothing of a request becomes part of a path."""

from __future__ import annotations

import csv
import datetime
import io
import math
import statistics
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from drrn.files import home
from drrn.processes import is_locked
from drrn.serve.answers import Refusal
from drrn.serve.library import Library
from drrn.serve.run_files import HIDDEN, RunFiles

POLICIES = ("softmax", "greedy", "best")
OVER = ("finished", "stopped", "failed")
LOG_SHOWN = 4_000  # characters


@dataclass
class RunEntry:
    """A run as it stands at this moment."""

    files: RunFiles
    library: Library

    @property
    def id(self) -> str:
        return self.files.id

    @property
    def folder(self) -> Path:
        return self.files.folder

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the run says of itself; of one that is about to begin, what was asked for."""
        found = self.files.read_json(self.folder / "config.json")
        if (
            isinstance(found, dict)
            and isinstance(found.get("settings"), dict)
            and isinstance(found.get("game"), dict)
        ):
            return found
        asked: dict[str, Any] = self.asked.get("config", {"settings": {}, "game": {}})
        return asked

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What the page asked for; empty for a run that it did not begin."""
        found = self.files.read_json(self.files.request)
        return found if isinstance(found, dict) else {}

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = self.config["settings"]
        return found

    @property
    def history(self) -> int:
        return int(self.settings.get("history") or 0)

    @property
    def title(self) -> str:
        return str(self.config["game"].get("title") or "")

    @cached_property
    def curve(self) -> list[dict[str, Any]]:
        """A point for each finished round."""
        try:
            text = (self.folder / "evaluations.csv").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return []
        rounds: dict[int, list[dict[str, str]]] = {}
        for row in csv.DictReader(io.StringIO(text)):
            number = row.get("round") or ""
            if number.isdecimal():
                rounds.setdefault(int(number), []).append(row)
        each = int(self.settings.get("episodes_per_round") or 0)
        return [_point(number, number * each, rows) for number, rows in sorted(rounds.items())]

    @property
    def is_alive(self) -> bool:
        """Whether a process is at work on it."""
        return is_locked(self.files.alive) or is_locked(self.folder / ".lock")

    @property
    def stamp(self) -> tuple[Any, ...]:
        """What changes whenever there is something new to tell."""
        files = (
            self.folder / "evaluations.csv",
            self.folder / "config.json",
            self.files.error,
            self.files.stop,
        )
        return (self.is_alive, *map(_changed, files))

    @cached_property
    def status(self) -> str:
        """Starting, running, finished, stopped or failed."""
        if self.is_alive:
            return "running" if (self.folder / "config.json").exists() else "starting"
        if self.curve and self.curve[-1]["round"] >= int(self.settings.get("rounds") or 1):
            return "finished"
        return "failed" if self.error else "stopped"

    @property
    def error(self) -> str | None:
        try:
            return (
                self._without_places(self.files.error.read_text(encoding="utf-8").strip()) or None
            )
        except (OSError, ValueError):
            return None

    @cached_property
    def game(self) -> str | None:
        """The id of its game; None where the table has it not."""
        found = self.library.played_by(self.config["game"].get("source"), self.title)
        return found.id if found else None

    def told(self) -> dict[str, Any]:
        """As the page gets it in lists."""
        settings = self.settings
        last = self.curve[-1] if self.curve else None
        policies = last["policies"] if last else {}
        best = policies.get("best") or policies.get("softmax")
        return {
            "id": self.id, "game": self.game, "title": self.title, "model": settings.get("model"),
            "recipe": self.config.get("recipe"), "status": self.status,
            "stopping": self.status in ("starting", "running") and self.files.stop.exists(),
            "round": last["round"] if last else 0, "rounds": settings.get("rounds"),
            "episodes_per_round": settings.get("episodes_per_round"), "replicas": settings.get("replicas"),
            "began": self._began(), "ready": (self.folder / "model.safetensors").exists(),
            "score": best["mean"] if best else None, "error": self.error, "removable": bool(self.asked),
        }  # fmt: skip

    def told_whole(self) -> dict[str, Any]:
        """The same with settings, curve, reference scores and what it printed."""
        reference = self.files.read_json(self.files.reference)
        known = reference if isinstance(reference, dict) else {}
        more = {"reference": {"random": known.get("random"), "best": known.get("best")}}
        return {
            **self.told(),
            "settings": self.settings,
            **more,
            "curve": self.curve,
            "log": self._log(),
        }

    def _began(self) -> str | None:
        path = self.files.request if self.asked else self.folder / "config.json"
        try:
            moment = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.timezone.utc)
        except OSError:
            return None
        return moment.isoformat(timespec="seconds")

    def _log(self) -> str:
        try:
            return self._without_places(
                self.files.log.read_text(encoding="utf-8", errors="replace")[-LOG_SHOWN:]
            )
        except OSError:
            return ""

    def _without_places(self, text: str) -> str:
        """Names of files without their folders: where those lie is no business of the page."""
        return text.replace(f"{self.files.runs}/", "").replace(f"{home()}/", "")


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


class RunShelf:
    """The runs' folder as a table."""

    def __init__(self, folder: Path, library: Library) -> None:
        self.folder = folder.resolve()
        self.library = library

    def ids(self) -> set[str]:
        """The runs that are there: folders with a config.json, and those that the page asked for."""
        own = {path.parent.name for path in self.folder.glob("*/config.json")}
        begun = {path.parent.name for path in self.folder.glob(f"{HIDDEN}/*/request.json")}
        return {name for name in own | begun if not name.startswith(".")}

    def __getitem__(self, id: str) -> RunEntry:  # noqa: A002
        if id not in self.ids():
            raise Refusal(404, "There is no such run in the folder of runs.")
        return RunEntry(RunFiles(self.folder, id), self.library)

    def all(self) -> list[RunEntry]:
        """Every run, the newest first."""
        found = [RunEntry(RunFiles(self.folder, id_), self.library) for id_ in self.ids()]
        return sorted(found, key=lambda run: (run._began() or "", run.id), reverse=True)

    def counts(self) -> dict[str | None, int]:
        """How many runs each game has."""
        found: dict[str | None, int] = {}
        for run in self.all():
            found[run.game] = found.get(run.game, 0) + 1
        return found


def _point(number: int, episodes: int, rows: list[dict[str, str]]) -> dict[str, Any]:
    """The final rewards of a round: the mean over replicas, their deviation, and each."""
    policies: dict[str, Any] = {}
    for policy in POLICIES:
        scores = [
            score
            for row in rows
            if (score := _number(row.get(f"{policy}_final_reward"))) is not None
        ]
        deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
        mean = statistics.fmean(scores) if scores else 0.0
        policies[policy] = (
            {"mean": mean, "deviation": deviation, "replicas": scores} if scores else None
        )
    return {"round": number, "episodes": episodes, "policies": policies}


def _number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
