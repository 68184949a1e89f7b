"""A run's folder: settings, one row per evaluation, weights, and a checkpoint from which it can go on.

    config.json           settings and their recipe, versions, the game and its hash
    evaluations.csv       one row for each replica and round
    metrics.jsonl         the same as JSON, a line for each round
    reference_scores.json random play and the best possible
    model.safetensors     weights after the last round
    vocabulary.json       words of states and actions
    checkpoint.safetensors  all that a resumed run needs
    hashes.json           SHA-256 of each of them, written last
    curve.png             the learning curve
    README.md             the model card, for those who are given the folder

Rows are written before the checkpoint that covers them, and each file is put in place whole; so a run killed at any
moment goes on from its last finished round, and ends with the numbers of a run that was never interrupted.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from drrn import files
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import GameSpec, spec_of
from drrn.game.optional import fingerprint_of, sources_of, title_of
from drrn.learning.reward_scale import RewardScale
from drrn.models import Model
from drrn.processes import locked
from drrn.settings import Settings
from drrn.text import State, Store
from drrn.runs import hashes, tensor_file
from drrn.runs.card import model_card
from drrn.runs.metrics import METRICS, metrics_text
from drrn.runs.reference_scores import ReferenceScores
from drrn.runs.row_file import check_rounds, csv_text, read_rows
from drrn.runs.state_file import load_state, packed_state
from drrn.version import __version__

WEIGHTS = "model.safetensors"
WORDS = "vocabulary.json"
SCORES = "reference_scores.json"
CARD = "README.md"
FILES = (
    "config.json", "evaluations.csv", "checkpoint.safetensors", WORDS, WEIGHTS, METRICS, SCORES, hashes.NAME,
    "curve.png", CARD,
)  # fmt: skip
LOCK = ".lock"


class Trains(Protocol):
    """What a run's folder asks of a trainer."""

    game: Game
    recipe: GameSpec | None
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
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
        run = cls(folder)
        with run.locked():
            if any(path.name not in (LOCK, hashes.NAME) for path in folder.iterdir()):  # hashes alone: cut as it began
                cure = f"go on with it by --resume {folder}, or give another name by --out"
                raise InputError(f"{folder}: it exists; {cure}")
            run._replace({"config.json": run._config(trainer), "evaluations.csv": [csv_text([]).encode()]})
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time writes to the folder; what one that was killed has left half-written is cleared."""
        if not self.folder.is_dir():
            raise InputError(f"{self.folder}: no run is here: there is no config.json")
        busy = f"{self.folder}: another process is at work on this run: wait for it, or give another folder"
        with locked(self.folder / LOCK, busy):
            files.remove_leftovers(self.folder, FILES)
            yield

    def write(self, name: str, text: str) -> None:
        """Put a file beside those of the run, whole; no hash vouches for it."""
        files.write_atomically(self.folder / name, [text.encode()])

    def keep(self, trainer: Trains) -> None:
        """After a round: the rows, then the checkpoint, then what is made from it."""
        self._replace(
            {
                **self._changed_config(trainer),
                "evaluations.csv": [csv_text(trainer.rows).encode()],
                self.checkpoint.name: packed_state(trainer.state()),
                **self._model(trainer),
            }
        )

    def keep_settings(self, trainer: Trains) -> None:
        """Before the first round of a run that goes on with other settings, so that a kill does not undo them."""
        if changed := self._changed_config(trainer):
            self._replace(changed)

    def keep_reference(self, scores: ReferenceScores) -> None:
        """Reference scores, which a comparison of runs then need not compute."""
        self._replace({SCORES: [json.dumps(asdict(scores), indent=2).encode()]})

    def keep_card(self) -> None:
        """The model card, from what else is in the folder; one that a person has changed is left as it is."""
        path = self.folder / CARD
        known = hashes.hashes_of_run(self.folder) or {}
        if not path.exists() or hashes.hash_of(CARD, [tensor_file.contents(path)]) in known.get(CARD, ()):
            config = read_json(self.folder / "config.json", "")
            self._replace({CARD: [model_card(config, self.rows(), self.reference()).encode()]})

    def reference(self) -> ReferenceScores | None:
        """Reference scores, where the run has kept them."""
        if not (self.folder / SCORES).exists():
            return None
        self.check(SCORES)
        try:
            found = ReferenceScores(**read_json(self.folder / SCORES, ""))
            if found.random is None or not all(_is_score(value) for value in asdict(found).values()):
                raise TypeError("numbers are wanted")
        except TypeError as error:
            cure = "remove it, and they are computed anew"
            raise InputError(f"{self.folder / SCORES}: not the reference scores of a run: {cure}") from error
        return found

    def resume(self, trainer: Trains) -> None:
        """Put the trainer where the last finished round left it."""
        if not self.checkpoint.exists():
            if not (self.folder / "evaluations.csv").exists():
                self._replace({"evaluations.csv": [csv_text([]).encode()]})
            return
        rows = self.rows()  # first, since it can name the line
        self.check("config.json", "evaluations.csv", self.checkpoint.name)
        try:
            trainer.restore(load_state(self.checkpoint), str(self.checkpoint))
            finished = int(trainer.round)
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,
            AssertionError,
            OverflowError,
        ) as error:
            raise InputError(f"{self.checkpoint}: not the checkpoint of this run: {error}") from error
        trainer.rows = [row for row in rows if int(row["round"]) <= finished]
        check_rounds(self.folder / "evaluations.csv", trainer.rows, finished, trainer.settings.run.replicas)
        self._replace(self._model(trainer))  # a kill may have come between the checkpoint and what is made from it

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def rows(self) -> list[dict[str, str]]:
        """The rows of evaluations.csv."""
        return read_rows(self.folder / "evaluations.csv")

    def check(self, *names: str) -> None:
        """Refuse files that are not as the run wrote them."""
        hashes.check_files(self.folder, names)

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

    def _replace(self, files: hashes.Parts) -> None:
        hashes.replace_files(self.folder, files)

    def _config(self, trainer: Trains) -> list[bytes]:
        return [json.dumps(config_of(trainer), indent=2).encode()]

    def _model(self, trainer: Trains) -> dict[str, list[bytes]]:
        """What is made from the trainer and its rows at any time: weights, words, metrics."""
        told = metrics_text(trainer.rows, trainer.settings.run.episodes_per_round)
        factors = trainer.scale.factors if trainer.scale else None
        return {METRICS: [told.encode()], **_weights(trainer.model, fingerprint_of(trainer.game), factors)}

    def _changed_config(self, trainer: Trains) -> dict[str, list[bytes]]:
        """config.json, if its settings are others now: more rounds, say."""
        settings = read_json(self.folder / "config.json", "").get("settings")
        return {} if settings == trainer.settings.flat() else {"config.json": self._config(trainer)}


def save(folder: Path, trainer: Trains) -> None:
    """Begin a run's folder, or bring the trainer's own up to date."""
    folder = folder.resolve()
    if folder.is_file():
        raise InputError(f"{folder}: a file; a run needs a folder of its own")
    if trainer.folder is None or trainer.folder.resolve() != folder:
        Run.begin(folder, trainer)
        trainer.folder = folder
    run = Run(folder)
    with run.locked():
        run.keep(trainer)
        run.keep_card()


def save_agent(folder: Path, config: Mapping[str, Any], model: Model, factors: Sequence[float] | None) -> None:
    """A new folder from which `drrn.load` makes the agent again; there is no run to go on with."""
    folder = folder.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
    with Run(folder).locked():
        if any(path.name not in (LOCK, hashes.NAME) for path in folder.iterdir()):
            raise InputError(f"{folder}: it exists; give another name")
        weights = _weights(model, config["game"]["sha256"], factors)
        hashes.replace_files(folder, {**weights, "config.json": [json.dumps(config, indent=2).encode()]})


def _weights(model: Model, game: str, factors: Sequence[float] | None) -> dict[str, list[bytes]]:
    words = json.dumps(vocabulary_of(model, factors), ensure_ascii=False).encode()
    return {WORDS: [words], WEIGHTS: tensor_file.packed(model.state(), {"game": game})}


def config_of(trainer: Trains) -> dict[str, Any]:
    """What the run is: the game and how it is opened, settings, versions; of word vectors, which file they were."""
    vectors = trainer.model.shape.vectors
    return {
        "game": game_entry(trainer.game, trainer.recipe),
        **({"recipe": trainer.settings_from} if trainer.settings_from else {}),
        "settings": trainer.settings.flat(),
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


def game_entry(game: Game, recipe: GameSpec | None) -> dict[str, Any]:
    """The game as config.json has it, and how it is opened again; an object that no name opened has no source."""
    opened_by = recipe or spec_of(game)
    opened = asdict(opened_by) if opened_by else {"source": None, "lenient": False, "encoding": None}
    return {
        **opened,
        "by_name": recipe is not None,
        "title": title_of(game),
        "sha256": fingerprint_of(game),
        **sources_of(game),
    }


def vocabulary_of(model: Model, factors: Sequence[float] | None) -> dict[str, Any]:
    """Words by number; the keys of texts, where weights belong to texts; the units of Q, where rewards were scaled."""
    store = model.store
    found: dict[str, Any] = {
        "states": store.states.vocabulary.spelled,
        "actions": store.actions.vocabulary.spelled,
    }
    if model.indexes_texts:
        found["text_keys"] = {"states": store.states.keys, "actions": store.actions.keys}
    if factors:
        found["reward_scales"] = list(factors)
    return found


def _is_score(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))


def read_json(path: Path, missing: str) -> Any:
    """What a JSON file holds, or a sentence; `missing` is the one where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(missing) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
