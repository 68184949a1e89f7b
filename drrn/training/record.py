"""A run's folder: settings, one row per evaluation, weights, and a checkpoint from which it can go on.

    config.json           settings and their recipe, versions, the game and its hash
    evaluations.csv       one row for each replica and round
    model.safetensors     weights after the last round
    vocabulary.json       words of states and actions
    checkpoint.safetensors  all that a resumed run needs
    curve.png             the learning curve

Rows are written before the checkpoint that covers them, and each file is put in place whole; so a run killed at any
moment goes on from its last finished round, and ends with the numbers of a run that was never interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from drrn.errors import InputError
from drrn.games import Game, Recipe, recipe_of
from drrn.games.optional import fingerprint_of, sources_of, title_of
from drrn.learning.reward_scale import RewardScale
from drrn.models import Model
from drrn.playing.evaluation import Evaluation
from drrn.playing.policies import POLICIES
from drrn.settings import Settings
from drrn.text import State, Store
from drrn.training import tensor_file
from drrn.training.state_file import load_state, save_state
from drrn.version import __version__

MEASURES = ("final_reward", "return", "steps", "stopped")
COLUMNS = ["replica", "seed", "round", "episodes", *(f"{p}_{m}" for p in POLICIES for m in MEASURES), "endings"]
BEFORE_BEST = [name for name in COLUMNS if not name.startswith("best_")]  # of runs older than that policy


class Trains(Protocol):
    """What a run's folder asks of a trainer."""

    game: Game
    recipe: Recipe | None
    settings: Settings
    model: Model
    store: Store
    round: int  # finished
    rows: list[dict[str, str]]  # of evaluations.csv
    folder: Path | None  # that it was saved in
    home: str  # the folder where modules that the settings name were looked for
    settings_from: str | None  # the recipe: strong or paper; None of settings that were made by hand
    scale: RewardScale | None  # of rewards, where α is relative to their spread

    def state(self) -> State: ...
    def restore(self, state: State, source: str) -> None: ...


class Run:
    """A folder that a run writes to. It is never overwritten: a new run needs a new folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def begin(cls, folder: Path, trainer: Trains) -> Run:
        """Make the folder and write what the run is."""
        if (folder / "config.json").exists() or (folder.exists() and any(folder.iterdir())):
            raise InputError(f"{folder}: it exists; go on with it by --resume {folder}, or give another name by --out")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
        run = cls(folder)
        run.write("config.json", json.dumps(config_of(trainer), indent=2))
        run.write("evaluations.csv", csv_text([]))
        return run

    def write(self, name: str, text: str) -> None:
        tensor_file.write_whole(self.folder / name, [text.encode()])

    def keep(self, trainer: Trains) -> None:
        """After a round: the rows, then the checkpoint, then what is made from it."""
        if read_json(self.folder / "config.json", "").get("settings") != asdict(trainer.settings):  # more rounds, say
            self.write("config.json", json.dumps(config_of(trainer), indent=2))
        self.write("evaluations.csv", csv_text(trainer.rows))
        save_state(self.checkpoint, trainer.state())
        self._write_model(trainer)

    def resume(self, trainer: Trains) -> None:
        """Put the trainer where the last finished round left it."""
        if self.checkpoint.exists():
            try:
                trainer.restore(load_state(self.checkpoint), str(self.checkpoint))
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise InputError(f"{self.checkpoint}: not the checkpoint of this run: {error}") from error
            trainer.rows = self.rows(before=trainer.round + 1)
            self._write_model(trainer)  # a kill may have come between the checkpoint and what is made from it
        elif not (self.folder / "evaluations.csv").exists():
            self.write("evaluations.csv", csv_text([]))

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def rows(self, before: int | None = None) -> list[dict[str, str]]:
        """The rows of evaluations.csv, up to a round."""
        path = self.folder / "evaluations.csv"
        try:
            with path.open(encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                header, rows = reader.fieldnames, list(reader)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, csv.Error) as error:
            raise InputError(f"{path}: cannot be read as CSV in UTF-8: {error}") from error
        if header not in (COLUMNS, BEFORE_BEST):
            raise InputError(f"{path}, line 1: the header must be {','.join(COLUMNS)}")
        for number, row in enumerate(rows, 2):
            if not (row["round"] or "").isdecimal():
                raise InputError(f"{path}, line {number}: the round must be a whole number")
        return [row for row in rows if before is None or int(row["round"]) < before]

    def check_whole(self) -> None:
        """Refuse to go on where rounds were kept and the checkpoint is not there: it would begin again at the first.

        The rows of a first round stand alone for a moment, before its checkpoint is written: that is no loss.
        """
        if not (self.folder / "evaluations.csv").exists() and not (self.folder / "vocabulary.json").exists():
            return  # it was cut as it began
        kept = max((int(row["round"]) for row in self.rows()), default=0)
        if not self.checkpoint.exists() and (kept > 1 or (self.folder / "vocabulary.json").exists()):
            missing = f"{self.checkpoint}: it is missing, so the run cannot go on after round {kept}"
            raise InputError(f"{missing}: begin a new run")

    def _write_model(self, trainer: Trains) -> None:
        self.write("vocabulary.json", json.dumps(vocabulary_of(trainer), ensure_ascii=False))
        tensor_file.save(
            self.folder / "model.safetensors", trainer.model.state(), {"game": fingerprint_of(trainer.game)}
        )


def save(folder: Path, trainer: Trains) -> None:
    """Begin a run's folder, or bring the trainer's own up to date."""
    folder = folder.resolve()
    if folder.is_file():
        raise InputError(f"{folder}: a file; a run needs a folder of its own")
    if trainer.folder is None or trainer.folder.resolve() != folder:
        Run.begin(folder, trainer)
        trainer.folder = folder
    Run(folder).keep(trainer)


def config_of(trainer: Trains) -> dict[str, Any]:
    """What the run is: the game and how it is opened, settings, versions; of word vectors, which file they were."""
    vectors = trainer.model.vectors
    return {
        "game": game_entry(trainer.game, trainer.recipe),
        **({"recipe": trainer.settings_from} if trainer.settings_from else {}),
        "settings": asdict(trainer.settings),
        "folder": trainer.home,
        "most_actions": trainer.model.shape.most_actions,
        **({"vectors": {"sha256": vectors.words.digest}} if vectors else {}),
        "versions": {
            "drrn": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
    }


def game_entry(game: Game, recipe: Recipe | None) -> dict[str, Any]:
    """The game as config.json has it, and how it is opened again; an object that no name opened has no source."""
    opened_by = recipe or recipe_of(game)
    opened = asdict(opened_by) if opened_by else {"source": None, "lenient": False, "encoding": None}
    return {
        **opened,
        "by_name": recipe is not None,
        "title": title_of(game),
        "sha256": fingerprint_of(game),
        **sources_of(game),
    }


def vocabulary_of(trainer: Trains) -> dict[str, Any]:
    """Words by number; the keys of texts, where weights belong to texts; the units of Q, where rewards were scaled."""
    store = trainer.store
    found: dict[str, Any] = {
        "states": store.states.vocabulary.spelled,
        "actions": store.actions.vocabulary.spelled,
    }
    if trainer.model.indexes_texts:
        found["text_keys"] = {"states": store.states.keys, "actions": store.actions.keys}
    if trainer.scale:
        found["reward_scales"] = trainer.scale.factors
    return found


def evaluation_rows(evaluations: Sequence[Evaluation], settings: Settings) -> list[dict[str, str]]:
    """One row for each replica: the policies side by side, and the shares of endings by softmax."""
    rows = []
    for replica, seed in enumerate(settings.seeds):
        mine = {e.policy: e for e in evaluations if e.replica == replica}
        row: dict[str, Any] = {"replica": replica, "seed": seed}
        for policy, e in mine.items():
            s = e.summary
            row |= {"round": e.round, "episodes": s.episodes}
            values = (s.mean_final_reward, s.mean_return, s.mean_steps, e.stopped)
            row |= {f"{policy}_{m}": round(v, 6) for m, v in zip(MEASURES, values, strict=True)}
        shares = {
            name: count / mine["softmax"].summary.episodes for name, count in mine["softmax"].summary.endings.items()
        }
        row["endings"] = json.dumps(shares, ensure_ascii=False)
        rows.append({name: str(value) for name, value in row.items()})
    return rows


def csv_text(rows: Sequence[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_json(path: Path, missing: str) -> Any:
    """What a JSON file holds, or a sentence; `missing` is the one where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(missing) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
