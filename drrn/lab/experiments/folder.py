"""The folder of results: where the files of each job stand, and which of them can be trusted.

    rows/GAME/JOB.csv, JOB.pairs.csv …   the rows
    rows/GAME/JOB.json                   settings, the game's hash, commit, versions, the rows' own hashes
    rows/GAME/game.csv, game.json        what the game itself is
    figures/, RESULTS.md, report.html    made from the rows
    work/GAME/JOB/                       the training run (not for the repository)

The JSON is written last: rows without one are of a job that was cut, and count for nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.lab.experiments.rows import CURE, FACTS, KINDS, Columns, Row, rows_of
from drrn.processes import locked
from drrn.settings import PAPER, RETIRED, all_settings

SWEEP = "sweep.json"  # what is swept, in a folder of `drrn sweep`
LEFT = re.compile(r"\..+\.\d+")  # half-written by a process that was killed (`write_atomically`)
GAME = "game"  # the name that a game's own facts bear in place of a job's
NEEDED = {  # of a job's record, that a report asks for
    "wanted": {
        "alpha",
        "discount",
        "learning_rate",
        "rounds",
        "episodes_per_round",
        "epochs",
        "batch_size",
        "model",
    }
    | {"seed", "replicas", "final_softmax", "final_greedy"},
    "seconds": {"whole", "learning"},
}


@dataclass(frozen=True)
class Stored:
    """A job's record, and its rows by the end of the file's name."""

    record: dict[str, Any]
    rows: dict[str, list[Row]]


@dataclass(frozen=True)
class Results:
    """The folder of results: rows and records by game and job, and the work that is not yet done."""

    root: Path

    def refuse_sweep(self) -> None:
        """Refuse a sweep's folder, whose jobs are none of the experiments'."""
        if (self.root / SWEEP).exists():
            raise InputError(f"{self.root}: the folder of a sweep (drrn sweep): give another --out")

    def work(self, game: str, name: str) -> Path:
        return self.root / "work" / game / name

    def stem(self, game: str, name: str) -> Path:
        return self.root / "rows" / game / name

    def games(self) -> list[str]:
        rows = self.root / "rows"
        return (
            sorted(path.name for path in rows.iterdir() if path.is_dir()) if rows.is_dir() else []
        )

    def names(self, game: str) -> list[str]:
        """The jobs of a game that are done."""
        return sorted(path.stem for path in (self.root / "rows" / game).glob("*.json"))

    def record(self, game: str, name: str) -> dict[str, Any] | None:
        """What a finished job says of itself; None where it is not finished."""
        path = self.stem(game, name).with_name(f"{name}.json")
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            parts = {part: dict(found[part]) for part in ("files", "wanted", "seconds", "versions")}
            if not {""} <= set(parts["files"]) <= set(KINDS) or (found["game"], found["job"]) != (
                game,
                name,
            ):
                raise ValueError("other files, or another job's")
            for part, needed in {} if name == GAME else NEEDED.items():
                if not needed <= set(parts[part]):
                    raise KeyError(part)
            return {**found, **parts, "commit": str(found["commit"])}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not the record of a job: {CURE}") from error

    def load(self, game: str, name: str) -> Stored | None:
        """A finished job, every file of it checked against the hash it was written with."""
        record = self.record(game, name)
        if record is None:
            return None
        rows = {}
        for ending, written in record["files"].items():
            path = self.stem(game, name).with_name(f"{name}{ending}.csv")
            rows[ending] = _checked(path, FACTS if name == GAME else KINDS[ending], written)
        return Stored(record, rows)

    def store(
        self, game: str, name: str, files: Mapping[str, str], record: Mapping[str, Any]
    ) -> None:
        """The rows, by the end of their file's name, then the record that vouches for them."""
        stem = self.stem(game, name)
        make_folder(stem.parent)
        for ending, text in files.items():
            write_atomically(stem.with_name(f"{name}{ending}.csv"), [text.encode()])
        hashes = {ending: _sha256(text) for ending, text in files.items()}
        whole = {"game": game, "job": name, **record, "files": hashes}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        write_atomically(stem.with_name(f"{name}.json"), [text.encode()])

    def receive(self, game: str, name: str, files: Mapping[str, bytes]) -> None:
        """Take in what a job left that was done elsewhere, by its path in the folder: its run as a whole, then the
        rows, then the record that vouches for them."""
        run = self.work(game, name)
        of_run = {
            path: data
            for path, data in files.items()
            if Path(path).is_relative_to(run.relative_to(self.root))
        }
        if of_run:
            fresh = run.with_name(f".{name}.new")
            shutil.rmtree(fresh, ignore_errors=True)  # of a process that was killed
            for path, data in of_run.items():
                place = fresh / (self.root / path).relative_to(run)
                make_folder(place.parent)
                write_atomically(place, [data])
            shutil.rmtree(run, ignore_errors=True)
            fresh.rename(run)
        for path in sorted(files.keys() - of_run.keys(), key=lambda path: path.endswith(".json")):
            make_folder((self.root / path).parent)
            write_atomically(self.root / path, [files[path]])

    def set_aside(self, game: str, name: str) -> Path:
        """Move all that a job left out of the way, and say where to."""
        number = 1
        while (aside := self.root / "work" / "aside" / str(number) / game / name).exists():
            number += 1
        make_folder(aside)
        for path in sorted(self.stem(game, name).parent.glob(f"{name}.*")):
            path.rename(aside / path.name)
        if self.work(game, name).exists():
            shutil.move(self.work(game, name), aside / "work")
        return aside

    @contextmanager
    def locked(self, command: str = "reproduce") -> Iterator[None]:
        """One at a time in a folder; the lock dies with the process that holds it."""
        make_folder(self.root / "work")
        busy = f"{self.root}: another `drrn {command}` is at work here: wait for it, or give another --out"
        with locked(self.root / "work" / ".lock", busy):
            written = itertools.chain(
                *((self.root / part).rglob("*") for part in ("rows", "work")), self.root.iterdir()
            )
            for left in list(written):
                if LEFT.fullmatch(left.name):
                    left.unlink(missing_ok=True)
            yield


def difference(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """In what a finished or begun job differs from the plan, in words; None: it is the same."""
    # A setting that is younger than the rows had its default then; a retired one has no effect.
    found = {**PAPER.flat(), **record}
    without_effect = {name for name, setting in all_settings().items() if setting.same_results}
    without_effect |= {name for name, value in RETIRED.items() if found.get(name, value) == value}
    for name in {**wanted, **record}:
        if name not in without_effect and found.get(name) != wanted.get(name):
            if name in ("sha256", "paraphrases", "reworded"):
                return "another version of the game, or of its paraphrases"
            return f"{name} is {found.get(name)} there, and {wanted.get(name)} in the plan"
    return None


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {error.strerror}") from error


def _checked(path: Path, columns: Columns, written: str) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}, line 1: cannot be read: {CURE}") from error
    rows = rows_of(text, columns, path)  # first, since it can name the line
    if _sha256(text) != written:
        raise InputError(
            f"{path}: its {len(rows)} rows were altered since they were written: {CURE}"
        )
    return rows


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
