"""The folder of results: rows as CSV, records as JSON, and which of them can be trusted.

    rows/GAME/JOB.csv, JOB.pairs.csv …   rows
    rows/GAME/JOB.json                   the record: settings, versions, hashes of game and rows
    rows/GAME/game.csv, game.json        facts about the game itself
    arena/                               matches of the arena, see textgames_arena.tournament
    figures/, RESULTS.md                 computed from the rows
    work/GAME/JOB/                       the training run (not for the repository)

The record is written last: rows without a record belong to an interrupted job and are ignored.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from drrn.experiments.results import Columns, Row, columns, locked_folder, write_json
from textgames.errors import InputError
from textgames.files import read_csv, read_text, write
from textgames.wording import words

ARENA = "arena"  # the folder of the arena's rows
GAME = "game"  # takes the place of a job's name for the facts about a game
REMEDY = "restore the file (git checkout), or compute it again: python -m lab reproduce --again"

# --- Rows

# One row for each seed, round and policy; `final` marks the evaluation after the last round.
EVALUATIONS = columns(
    "game:text model:text layers:int hidden:int interaction:text action_hidden:int shared:flag "
    "n_steps:int seed:int round:int episodes:int final:flag policy:text paraphrased:flag "
    "final_reward:float return:float steps:float stopped:float exact:float"
)
# The share of episodes with a good ending, and the steps that the seed has played by then.
QUESTS = columns(
    "seed:int round:int final:flag policy:text played:int done:float exact_done:float "
    "exact_return:float"
)
# The files of a job, by the end of their names. Texts are given by their `mark`; the Q-values of
# pairs have one number for each seed.
KINDS: dict[str, Columns] = {
    "": EVALUATIONS,
    ".reworded": EVALUATIONS,
    ".pairs": columns("state:text action:text paraphrase:text q:floats q_paraphrased:floats"),
    ".examples": columns("seed:int state:text kind:text action:text q:float"),
    ".embeddings": columns("seed:int episodes:int state:text role:text x:float y:float q:float"),
    ".quests": QUESTS,
    ".progress": columns(
        "seed:int round:int interactions:int episodes:int last_return:float seconds:float"
    ),
    ".wordings": columns("seed:int wording:text recall:text final_reward:float return:float"),
}
FACTS = columns("measure:text value:text")


def from_csv(text: str, columns: Columns, path: Path) -> list[Row]:
    """The rows of a CSV file. An InputError names the line."""
    try:
        return read_csv(text, columns, path)
    except InputError as error:
        raise InputError(f"{error}; {REMEDY}") from error


def mark(text: str) -> str:
    """A short hash of a text: results contain no sentence of other people's stories."""
    return _sha256(" ".join(words(text)))[:12]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- The folder


class Stored(NamedTuple):
    """A job's record, and its rows by the end of the file's name."""

    record: dict[str, Any]
    rows: dict[str, list[Row]]


@dataclass(frozen=True)
class Results:
    """A folder of results: rows and records by game and job, and unfinished training runs."""

    root: Path

    def work(self, game: str, name: str) -> Path:
        """The folder of a job's training run."""
        return self.root / "work" / game / name

    def path(self, game: str, file: str) -> Path:
        """The path of a file of rows, or of a record."""
        return self.root / "rows" / game / file

    def jobs(self) -> list[tuple[str, str]]:
        """The game and the name of each finished job."""
        records = (self.root / "rows").glob("*/*.json")
        return sorted((path.parent.name, path.stem) for path in records)

    def load(self, game: str, name: str) -> Stored | None:
        """A finished job, with every file checked against its recorded hash."""
        path = self.path(game, f"{name}.json")
        if not path.exists():
            return None
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            kinds = {"": FACTS} if name == GAME else KINDS
            columns = {ending: kinds[ending] for ending in record["files"]}
            whole = {"wanted", "seconds", "versions", "commit"} <= record.keys() and "" in columns
            if not whole or (record["game"], record["job"]) != (game, name):
                raise ValueError("a part is missing, or of another job")
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not the record of a job; {REMEDY}") from error
        rows = {}
        for ending, types in columns.items():
            path = self.path(game, f"{name}{ending}.csv")
            text = read_text(path)
            rows[ending] = from_csv(text, types, path)  # before the hash, since it names the line
            if _sha256(text) != record["files"][ending]:
                raise InputError(f"{path}: its rows were changed; {REMEDY}")
        return Stored(record, rows)

    def store(
        self, game: str, name: str, files: Mapping[str, str], record: Mapping[str, Any]
    ) -> None:
        """Write rows, by the end of their file's name, and then the record with their hashes."""
        for ending, text in files.items():
            write(self.path(game, f"{name}{ending}.csv"), text)
        hashes = {ending: _sha256(text) for ending, text in files.items()}
        whole = {"game": game, "job": name, **record, "files": hashes}
        write_json(self.path(game, f"{name}.json"), whole)

    def remove(self, game: str, name: str) -> None:
        """Remove the rows and the training run of a job."""
        for path in (self.root / "rows" / game).glob(f"{name}.*"):
            path.unlink()
        shutil.rmtree(self.work(game, name), ignore_errors=True)

    def locked(self, command: str = "reproduce") -> AbstractContextManager[None]:
        """Let only this process write to the folder."""
        return locked_folder(self.root, command)
