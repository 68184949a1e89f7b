"""The files of a run that the page began: beside the run's own folder, in a hidden one of the runs' folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HIDDEN = ".serve"


@dataclass(frozen=True)
class RunFiles:
    """Where the files of a run stand."""

    runs: Path
    id: str  # the name of its folder; whoever makes one of these has vetted it

    @property
    def folder(self) -> Path:
        """The run's own."""
        return self.runs / self.id

    @property
    def beside(self) -> Path:
        return self.runs / HIDDEN / self.id

    @property
    def request(self) -> Path:
        """What was asked for: the game and the settings."""
        return self.beside / "request.json"

    @property
    def alive(self) -> Path:
        """Locked for as long as the process lives."""
        return self.beside / "alive"

    @property
    def starting(self) -> Path:
        """There from when the process is begun until it holds its lock."""
        return self.beside / "starting"

    @property
    def stop(self) -> Path:
        """There once the run is to stop."""
        return self.beside / "stop"

    @property
    def error(self) -> Path:
        """Why the run failed, in a sentence."""
        return self.beside / "error.txt"

    @property
    def log(self) -> Path:
        """What the process printed."""
        return self.beside / "log.txt"

    @property
    def reference(self) -> Path:
        """The scores of random and of best play."""
        return self.beside / "reference.json"

    def write_json(self, path: Path, value: Any) -> None:
        """Write a file whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        unfinished.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        unfinished.replace(path)

    def read_json(self, path: Path) -> Any:
        """What a file holds; None where it is not there, or not whole."""
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
