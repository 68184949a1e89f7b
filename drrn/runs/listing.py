"""Runs in a folder: what each learned, how far it came, and whether a process is at work on it."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.playing.policies import POLICIES
from drrn.processes import is_locked
from drrn.runs.loading import read_config
from drrn.runs.metrics import metrics_of
from drrn.runs.record import LOCK, WORDS, Run

MOST_LEVELS = 4  # of folders in folders


@dataclass(frozen=True)
class ListedRun:
    """A run as its folder has it."""

    run: str
    state: str  # running, finished, cut, agent (without its run) or damaged
    game: str | None = None
    model: str | None = None
    recipe: str | None = None
    replicas: int | None = None
    rounds_done: int | None = None
    rounds: int | None = None
    scores: dict[str, float] | None = None  # mean final reward after the last round, by policy
    when: str | None = None  # the last time that something was written
    fault: str | None = None  # of a damaged one, in a sentence


def runs_in(folder: Path) -> list[ListedRun]:
    """Every run in a folder and the folders in it, the last written first."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; drrn train keeps its runs in runs/, or where --out says")
    found = [_listed_or_damaged(path) for path in _folders(folder)]
    return sorted(found, key=lambda run: (run.when or "", run.run), reverse=True)


def _listed_or_damaged(folder: Path) -> ListedRun:
    """One of them; what cannot be read is told, and is no reason to stop."""
    try:
        return _listed(folder)
    except InputError as error:
        return ListedRun(str(folder), "damaged", when=_when(folder), fault=str(error))


def _listed(folder: Path) -> ListedRun:
    config = read_config(folder)
    run = Run(folder)
    running = is_locked(folder / LOCK)
    if not running:  # else it may be writing just now
        run.check("config.json", "evaluations.csv", "metrics.jsonl")
    settings = config["settings"]
    rows = run.rows() if (folder / "evaluations.csv").exists() else None
    rounds = list(metrics_of(rows or (), settings["episodes_per_round"]))
    done = rounds[-1]["round"] if rounds else 0
    state = "running" if running else "finished" if done >= settings["rounds"] else "cut"
    scores = {policy: rounds[-1].get(f"{policy}_final_reward") for policy in POLICIES} if rounds else {}
    return ListedRun(
        run=str(folder),
        state="agent" if rows is None and (folder / WORDS).exists() else state,
        game=config["game"]["title"],
        model=settings["model"],
        recipe=config.get("recipe"),
        replicas=settings["replicas"],
        rounds_done=done,
        rounds=settings["rounds"],
        scores={policy: score for policy, score in scores.items() if score is not None},
        when=_when(folder),
    )


def _folders(folder: Path) -> Iterator[Path]:
    """Folders that hold a run; what lies in a run is not looked through."""
    start = len(folder.parts)
    for path, inner, files in os.walk(folder):
        if "config.json" in files:
            inner.clear()
            if {"hashes.json", "evaluations.csv", WORDS} & set(files):  # others have a config.json, too
                yield Path(path)
        elif len(Path(path).parts) - start >= MOST_LEVELS:
            inner.clear()
        inner[:] = sorted(name for name in inner if not name.startswith("."))


def _when(folder: Path) -> str:
    """When something was last written there."""
    moments = [path.stat().st_mtime for path in folder.iterdir() if path.is_file()]
    return datetime.datetime.fromtimestamp(max(moments, default=0.0)).isoformat(sep=" ", timespec="seconds")
