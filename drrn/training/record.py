"""A run's folder: settings, one row per evaluation, weights, and a checkpoint from which it can go on.

    config.json           settings, versions, the game and its hash
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
import hashlib
import io
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import drrn
from drrn.errors import InputError
from drrn.games import StoryGame
from drrn.games.authors.place import origin_if_sound
from drrn.learning.replay import TYPES
from drrn.playing.evaluation import POLICIES, Evaluation
from drrn.training import tensor_file
from drrn.training.agent import arrays_of, put_arrays, read_config
from drrn.training.settings import Settings
from drrn.training.train import Round, Trainer

MEASURES = ("final_reward", "return", "steps", "stopped")
COLUMNS = ["replica", "seed", "round", "episodes", *(f"{p}_{m}" for p in POLICIES for m in MEASURES), "endings"]


class Run:
    """A folder that a run writes to. It is never overwritten: a new run needs a new folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def begin(cls, folder: Path, game: StoryGame, source: dict[str, Any], trainer: Trainer) -> Run:
        """Make the folder and write what the run is."""
        if (folder / "config.json").exists() or (folder.exists() and any(folder.iterdir())):
            raise InputError(f"{folder}: it exists; go on with it by --resume {folder}, or give another name by --out")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
        config = {
            "game": {**source, "title": game.title, "sha256": fingerprint(game), **sources_of(game)},
            "settings": asdict(trainer.settings),
            "most_actions": trainer.model.shape.most_actions,
            "versions": {
                "drrn": drrn.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "torch": torch.__version__,
            },
        }
        run = cls(folder)
        run.write("config.json", json.dumps(config, indent=2))
        run.write("evaluations.csv", _csv([]))
        return run

    def write(self, name: str, text: str) -> None:
        tensor_file.write_whole(self.folder / name, [text.encode()])

    def keep(self, finished: Round, trainer: Trainer) -> None:
        """After a round: its rows, then the checkpoint, then what is made from it."""
        rows = self.rows(before=finished.number) + rows_of(finished.evaluations, trainer.settings)
        self.write("evaluations.csv", _csv(rows))
        save_checkpoint(self.folder / "checkpoint.safetensors", trainer)
        self._write_model(trainer)

    def _write_model(self, trainer: Trainer) -> None:
        self.write("vocabulary.json", json.dumps(_vocabulary(trainer), ensure_ascii=False))
        tensor_file.save(
            self.folder / "model.safetensors", arrays_of(trainer.model), {"game": fingerprint(trainer.game)}
        )

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
        if header != COLUMNS:
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
        path = self.folder / "checkpoint.safetensors"
        if not path.exists() and (kept > 1 or (self.folder / "vocabulary.json").exists()):
            raise InputError(f"{path}: it is missing, so the run cannot go on after round {kept}: begin a new run")

    def resume(self, trainer: Trainer, game: StoryGame) -> None:
        """Put the trainer where the last finished round left it."""
        if read_config(self.folder)["game"]["sha256"] != fingerprint(game):
            raise InputError(f"{self.folder}: the story has changed since this run began: begin a new run")
        path = self.folder / "checkpoint.safetensors"
        if path.exists():
            load_checkpoint(path, trainer)
            self._write_model(trainer)  # a kill may have come between the checkpoint and what is made from it
        elif not (self.folder / "evaluations.csv").exists():
            self.write("evaluations.csv", _csv([]))


def rows_of(evaluations: list[Evaluation], settings: Settings) -> list[dict[str, Any]]:
    """One row for each replica: both policies side by side, and the shares of endings by softmax."""
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
        rows.append({**row, "endings": json.dumps(shares, ensure_ascii=False)})
    return rows


def fingerprint(game: StoryGame) -> str:
    """Of the story, its rewards and its paraphrases: what a result belongs to."""
    story = game.script.story
    digest = hashlib.sha256()
    for passage in story.passages.values():
        digest.update(repr((passage.name, passage.text, passage.tags)).encode())
    digest.update(repr((story.start, asdict(game.rules) | {"story": "", "paraphrases": ""})).encode())
    return digest.hexdigest()


def sources_of(game: StoryGame) -> dict[str, Any]:
    """For a game that was added from its authors' files: the hash of those files, and whose rewards it has."""
    made = origin_if_sound()
    if made is None or game.rules.story is None or game.rules.story.parent != made.path:
        return {}
    return {"sources_sha256": made.sha256, "as_published": made.as_published}


def save_checkpoint(path: Path, trainer: Trainer) -> None:
    arrays = arrays_of(trainer.model)
    for lexicon, side in ((trainer.states, "states"), (trainer.actions, "actions")):
        arrays |= {f"{side} {name}": array for name, array in lexicon.arrays().items()}
    if trainer.learner.target is not None:
        arrays |= {f"target {name}": array for name, array in arrays_of(trainer.learner.target).items()}
    arrays |= {f"slot {name}": slot.cpu().numpy() for name, slot in trainer.learner.optimiser.slots.items()}
    if trainer.settings.keep or trainer.settings.form == "online":
        for r, memory in enumerate(trainer.memories):
            arrays |= {f"memory {r} {name}": array[: len(memory)] for name, array in memory.arrays.items()}
            if memory.priorities is not None:
                arrays[f"memory {r} sums"] = memory.priorities.sums
    state = {
        "game": fingerprint(trainer.game),
        "round": trainer.round,
        "updates": trainer.learner.updates,
        "counts": [memory.count for memory in trainer.memories],
        "largest": [memory.priorities.largest if memory.priorities else 1.0 for memory in trainer.memories],
        **_vocabulary(trainer),
    }
    tensor_file.save(path, arrays, {"state": json.dumps(state, ensure_ascii=False)})


def load_checkpoint(path: Path, trainer: Trainer) -> None:
    arrays, metadata = tensor_file.load(path)
    try:
        state = json.loads(metadata["state"])
        if state.get("game", fingerprint(trainer.game)) != fingerprint(trainer.game):
            raise InputError(f"{path}: it holds the weights of another story")
        target = trainer.model.frozen() if trainer.learner.target else None  # while what grows has not grown
        for lexicon, side in ((trainer.states, "states"), (trainer.actions, "actions")):
            lexicon.restore(state[side], state["texts"][side], _part(arrays, f"{side} "))
        learned = {name: a for name, a in arrays.items() if name.startswith(("weight ", "table ", "known "))}
        put_arrays(trainer.model, learned, str(path))
        if target is not None:
            put_arrays(target, _part(arrays, "target "), str(path))
            trainer.learner.target = target
        slots = _part(arrays, "slot ")
        trainer.learner.optimiser.slots = {n: torch.from_numpy(a).to(trainer.device) for n, a in slots.items()}
        for r, memory in enumerate(trainer.memories):
            memory.count = state["counts"][r]
            if f"memory {r} states" in arrays:
                memory.arrays = {name: arrays[f"memory {r} {name}"] for name in TYPES}
            if memory.priorities is not None and f"memory {r} sums" in arrays:
                memory.priorities.sums = arrays[f"memory {r} sums"]
                memory.priorities.leaves = len(memory.priorities.sums) // 2
                memory.priorities.largest = state["largest"][r]
        trainer.round, trainer.learner.updates = state["round"], state["updates"]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not the checkpoint of this run: {error}") from error


def _part(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _vocabulary(trainer: Trainer) -> dict[str, Any]:
    """Words and texts by number, so that a resumed run counts them alike."""
    return {
        "states": trainer.states.spelled,
        "actions": trainer.actions.spelled,
        "texts": {"states": trainer.states.texts, "actions": trainer.actions.texts},
    }


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
