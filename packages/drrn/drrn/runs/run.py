"""A training run, in a folder: settings, scores, weights, and a checkpoint to resume from.

    config.json             the game and its hash, the settings, versions
    evaluations.csv         one row for each replica and round
    progress.csv            interactions, episodes and seconds of each replica and round
    reference_scores.json   random play and the best possible score
    learning.json           what the pictures of its learning need (drrn.runs.records)
    model.safetensors       weights after the last round
    vocabulary.json         words of states and actions
    memory.json             pages of the training, if the agent recalls by meaning
    checkpoint.safetensors  the state of the trainer after the last round
    hashes.json             SHA-256 of the other files, written last
    curve.svg               the learning curve

Rows are written before the checkpoint that covers them, and each file is written atomically. So a
run that is killed at any moment resumes after its last finished round, and ends with the numbers of
a run that was never interrupted.
"""

import datetime
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from drrn.runs import scores, storage
from drrn.runs.config import missing_text, read_config, record_start, spec_from
from drrn.runs.storage import CHECKPOINT, CONFIG, HASHES, LEARNING, PROGRESS, ROWS, SCORES, WORDS
from drrn.settings import POLICIES, Settings
from textgames.errors import InputError, require
from textgames.files import json_bytes, make_folder, remove_leftovers
from textgames.game.contract import Game
from textgames.notebook import Picture
from textgames.openers import GameSpec, spec_for
from textgames.processes import is_locked, locked

if TYPE_CHECKING:
    from drrn.runs.records import LearningRecord
    from drrn.text import State
    from textgames.compiled.game import Compiled

LOCK = ".lock"
SUMMARY = (
    "run state game model recipe replicas seed interactions rounds_done rounds scores measure when "
    "fault"
).split()
# What restoring a foreign checkpoint may raise.
LOAD_ERRORS = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)


class Trainable(Protocol):
    """What a run needs of a trainer."""

    game: Game
    compiled: "Compiled | None"
    settings: Settings
    round: int  # the last finished one
    rows: list[scores.Row]  # of evaluations.csv
    progress: scores.Progress

    def train(self) -> Iterator[scores.Round]: ...
    def config(self) -> dict[str, Any]: ...
    def agent_files(self) -> dict[str, bytes]: ...
    def state(self) -> "State": ...
    def restore(self, state: "State", source: str) -> None: ...


class Run:
    """A training run in a folder. The folder of a run is never overwritten.

    Start a run, or resume one, and train it:

        trainer = Trainer(game, settings)            # or Trainer.resume(folder)
        run = Run.create(folder, trainer)            # or Run(folder)
        with run.locked():
            for finished in run.train(trainer):
                print(finished.number)

    Read one: `run.config`, `run.settings`, `run.rounds()`, `run.reference()`, `run.open_game()`,
    `run.summary()`, `run.compare(other)`. `Run.find(folder)` returns every run below a folder.
    `Agent.load(folder)` loads its agent. Reading does not need PyTorch.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @classmethod
    def create(cls, folder: str | Path, trainer: Trainable) -> "Run":
        """Start a run in a new folder. One that is not empty is refused."""
        run = cls(folder)
        config = trainer.config()
        record_start(config)
        make_folder(run.folder)
        with run.locked():
            if any(path.name != LOCK for path in run.folder.iterdir()):
                cure = f"resume it with --resume {folder}, or choose another name with --out"
                raise InputError(f"{folder}: already exists; {cure}")
            files = {CONFIG: config_bytes(config), ROWS: scores.csv_bytes([])}
            storage.replace_files(run.folder, files)
        return run

    @staticmethod
    def find(folder: str | Path, depth: int = 4) -> "list[Run]":
        """Every run in a folder and its subfolders, up to some depth, the last written first."""
        folder = Path(folder)
        if not folder.is_dir():
            cure = "drrn train writes its runs to runs/, or to --out"
            raise InputError(f"{folder}: no such folder; {cure}")
        runs = [Run(path) for path in _run_folders(folder, depth)]
        return sorted(runs, key=lambda run: (run.when(), str(run.folder)), reverse=True)

    # --- reading

    @property
    def config(self) -> dict[str, Any]:
        """The contents of config.json, checked."""
        return read_config(self.folder)

    @property
    def settings(self) -> Settings:
        return Settings.from_flat(self.config["settings"])

    @property
    def is_running(self) -> bool:
        """Whether a process is training it."""
        return is_locked(self.folder / LOCK)

    def has(self, name: str) -> bool:
        """Whether the run has a file."""
        return (self.folder / name).is_file()

    def game_spec(self, name: str | None = None, **options: Any) -> GameSpec:
        """The spec of its game, or of another by name, with other options of `make`."""
        config = self.config
        if name is None:
            return replace(spec_from(self.folder, config), **options)
        entry = config["game"]
        spec = spec_for(name, lenient=entry["lenient"], outside=entry.get("outside", False))
        return replace(spec, **options)

    def open_game(self, name: str | None = None, **options: Any) -> Game:
        """Open its game, or another by name, with other options of `make`."""
        return self.game_spec(name, **options).open()

    def rows(self) -> list[scores.Row]:
        """The rows of evaluations.csv."""
        return storage.read_rows(self.folder / ROWS, scores.COLUMNS)

    def rounds(self) -> list[scores.RoundScores]:
        """The scores of each finished round."""
        rows = self.rows() if self.has(ROWS) else []
        return scores.rounds_of(rows, self.settings, self.progress())

    def progress(self) -> list[scores.Row]:
        """The rows of progress.csv, if any."""
        path = self.folder / PROGRESS
        return storage.read_rows(path, scores.PROGRESS_COLUMNS) if path.exists() else []

    def round(self, number: int | None = None) -> scores.RoundScores:
        """The scores of a round, by default of the last."""
        rounds = self.rounds()
        if not rounds:
            raise InputError(f"{self.folder}: the run has not finished a round yet")
        last = rounds[-1].number
        if number is not None and number > last:
            raise InputError(f"{self.folder}: it has {last} rounds, so there is no round {number}")
        return rounds[(number or last) - 1]

    def learning(self) -> dict[str, Any] | None:
        """The contents of learning.json, or None if its learning was not recorded."""
        if not self.has(LEARNING):
            return None
        self.check(LEARNING)
        record: dict[str, Any] = storage.read_json(self.folder / LEARNING)
        return record

    @property
    def measure(self) -> str:
        """The measure of its scores: the return if it is a game of a suite, whose steps pay."""
        return "return" if self.config["game"].get("suite") else "final_reward"

    def reference(self) -> scores.ReferenceScores | None:
        """The reference scores, or None if the run has none."""
        path = self.folder / SCORES
        if not path.exists():
            return None
        self.check(SCORES)
        return scores.ReferenceScores(**storage.read_json(path))

    def frame(self) -> Any:
        """The rows of evaluations.csv as a pandas DataFrame (needs pandas)."""
        return require("pandas").DataFrame(self.rows())

    def plot(self) -> Picture:
        """The learning curve, with random play and the best possible score."""
        self.round()
        title = self.config["game"]["title"]
        svg = scores.rounds_svg(title, self.rounds(), self.reference())
        require("jinja2")
        return Picture(svg or "", f"learning curve of {self.folder}")

    def __repr__(self) -> str:
        return f"<Run {str(self.folder)!r}>"

    def _repr_html_(self) -> str | None:
        return self.plot().svg if self.has(ROWS) and self.rows() else None

    def compare(
        self, other: "Run", column: str = "softmax_final_reward", number: int | None = None
    ) -> dict[str, Any]:
        """How much higher this run scores than another after a round, as by `difference_of`.

        Raises:
            InputError: The runs learned different games, or a file is damaged.
        """
        from textgames.intervals import difference_of

        for run in (other, self):
            run.round(number)
            run.check(ROWS)
        if self.config["game"]["sha256"] != other.config["game"]["sha256"]:
            cause = f"{self.folder} and {other.folder} learned different games"
            raise InputError(f"{cause}; compare runs of one game")
        return difference_of(other.round(number).values(column), self.round(number).values(column))

    def check(self, *names: str) -> None:
        """Raise an `InputError` if a file differs from what the run wrote."""
        storage.check_files(self.folder, *names)

    def when(self) -> str:
        """When a file of the run was last written."""
        moments = [path.stat().st_mtime for path in self.folder.iterdir() if path.is_file()]
        moment = datetime.datetime.fromtimestamp(max(moments, default=0.0))
        return moment.isoformat(sep=" ", timespec="seconds")

    def summary(self) -> dict[str, Any]:
        """The run's entry in a list.

        Its state is running, finished, interrupted or damaged, for the reason in `fault`. Scores
        are means of `measure` after the last round, by policy.
        """
        entry = {**dict.fromkeys(SUMMARY), "run": str(self.folder), "when": self.when()}
        try:
            return {**entry, **self._summary()}
        except InputError as error:
            return {**entry, "state": "damaged", "fault": str(error)}

    def _summary(self) -> dict[str, Any]:
        config = self.config
        settings = config["settings"]
        is_running = self.is_running
        if not is_running:  # a running one may be writing
            self.check(ROWS)
        rounds = self.rounds()
        done = rounds[-1].number if rounds else 0
        is_complete = done >= settings["rounds"] and self.has(HASHES)
        state = "finished" if is_complete else "interrupted"
        if is_running:
            state = "running"
        means = {p: rounds[-1].mean(f"{p}_{self.measure}") for p in POLICIES if done}
        return {
            **{name: settings[name] for name in ("model", "replicas", "rounds", "seed")},
            "interactions": settings.get("interactions"),
            "measure": self.measure,
            "state": state,
            "game": config["game"]["title"],
            "recipe": config.get("recipe"),
            "rounds_done": done,
            "scores": {policy: round(mean, 6) for policy, mean in means.items()},
        }

    # --- writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let only this process write to the folder. What a killed process left is removed."""
        if not self.folder.is_dir():
            raise InputError(missing_text(self.folder))
        busy = f"{self.folder}: another process is using this run; wait, or choose another folder"
        with locked(self.folder / LOCK, busy):
            remove_leftovers(self.folder, storage.FILES)
            yield

    def train(
        self,
        trainer: Trainable,
        before_save: Callable[[scores.Round], None] | None = None,
        record: "LearningRecord | None" = None,
    ) -> Iterator[scores.Round]:
        """Train to the last round. Each finished round is saved, then yielded.

        `before_save` is called with a round before it is saved. If the process is killed there, the
        round is trained again, so what it writes is never behind the checkpoint. `record` observes
        each round, for the pictures of the page.
        """
        for finished in trainer.train():
            if before_save:
                before_save(finished)
            if record:
                record.add(trainer, finished.number)
            self.save(trainer, record)
            yield finished

    def save(self, trainer: Trainable, record: "LearningRecord | None" = None) -> None:
        """Save the last finished round: rows, checkpoint, and files computed from them."""
        from drrn.runs import tensors

        files = {**self._new_config(trainer), ROWS: scores.csv_bytes(trainer.rows)}
        files[PROGRESS] = storage.csv_bytes(scores.PROGRESS_COLUMNS, trainer.progress.rows)
        if record:
            files[LEARNING] = json_bytes(record.as_json())
        files[CHECKPOINT] = tensors.checkpoint_bytes(trainer.state())
        storage.replace_files(self.folder, {**files, **trainer.agent_files()})

    def save_settings(self, trainer: Trainable) -> None:
        """Save changed settings of a resumed run before its next round."""
        if config := self._new_config(trainer):
            storage.replace_files(self.folder, config)

    def ensure_reference(self, trainer: Trainable) -> scores.ReferenceScores:
        """The reference scores. They are computed and saved if the run has none."""
        reference = self.reference()
        if reference is None:
            episodes = trainer.settings.run.evaluation_episodes
            exact = asdict(scores.reference_scores(trainer.game, trainer.compiled, episodes))
            # The last digits of sums depend on the number of threads.
            rounded = {name: value and round(value, 9) for name, value in exact.items()}
            reference = scores.ReferenceScores(**rounded)
            storage.replace_files(self.folder, {SCORES: json_bytes(rounded, indent=2)})
        return reference

    def restore(self, trainer: Trainable) -> None:
        """Restore the trainer to the state after the last finished round."""
        from drrn.runs import tensors

        self.check(ROWS, CHECKPOINT, LEARNING)
        path = self.folder / CHECKPOINT
        if not path.exists():  # it was interrupted in its first round
            if self.has(WORDS):
                raise InputError(f"{path}: missing, so the run cannot be resumed; start a new run")
            if not self.has(ROWS):
                storage.replace_files(self.folder, {ROWS: scores.csv_bytes([])})
            return
        try:
            trainer.restore(tensors.load_checkpoint(path), str(path))
        except LOAD_ERRORS as error:
            cause = f"does not belong to this run: {error}"
            raise InputError(f"{path}: {cause}; {storage.remedy(path)}") from error
        done = trainer.round
        trainer.rows = [row for row in self.rows() if row["round"] <= done]
        trainer.progress.rows = [row for row in self.progress() if row["round"] <= done]
        # the process may have been killed between the checkpoint and what is computed from it
        storage.replace_files(self.folder, trainer.agent_files())

    def _new_config(self, trainer: Trainable) -> dict[str, bytes]:
        """config.json, if settings have changed or the deployed policy was chosen."""
        config = trainer.config()
        before = storage.read_json(self.folder / CONFIG)
        if all(before.get(name) == config.get(name) for name in ("settings", "deployment")):
            return {}
        return {CONFIG: config_bytes(config)}


def config_bytes(config: Mapping[str, Any]) -> bytes:
    """The contents of config.json."""
    return json_bytes(config, indent=2, ensure_ascii=True)  # a path may have half a character


def _run_folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that hold a run. Subfolders of a run are not searched."""
    for name, subfolders, files in os.walk(folder):
        path = Path(name)
        if HASHES in files or {CONFIG, ROWS} <= set(files):  # others write a config.json, too
            subfolders.clear()
            yield path
        elif len(path.relative_to(folder).parts) >= depth:
            subfolders.clear()
        subfolders[:] = sorted(each for each in subfolders if not each.startswith("."))
