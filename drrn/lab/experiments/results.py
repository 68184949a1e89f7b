"""The folder of results: rows as CSV, records as JSON, and which of them can be trusted.

    rows/GAME/JOB.csv, JOB.pairs.csv …   rows
    rows/GAME/JOB.json                   the record: settings, versions, hashes of game and rows
    rows/GAME/game.csv, game.json        facts about the game itself
    arena/                               matches of the arena, see drrn.arena.tournament
    figures/, RESULTS.md                 computed from the rows
    work/GAME/JOB/                       the training run (not for the repository)

The record is written last: rows without a record belong to an interrupted job and are ignored.
"""

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from drrn.errors import InputError
from drrn.files import inside, make_folder, read_csv, read_text, write
from drrn.processes import locked
from drrn.settings import PAPER, RETIRED, all_settings
from drrn.writing import words

Row = dict[str, Any]
Columns = dict[str, Callable[[str], Any]]  # by name, the function that reads a cell

PACKAGE = Path(__file__).parents[2]
SWEEP = "sweep.json"  # marks the folder of a sweep
ARENA = "arena"  # the folder of the arena's rows
GAME = "game"  # takes the place of a job's name for the facts about a game
LEFTOVER = re.compile(r"\..+\.\d+")  # temporary file of `write_atomically`, after a kill
REMEDY = "restore the file (git checkout), or compute it again: drrn reproduce --again"
SETTINGS = """alpha discount learning_rate rounds episodes_per_round epochs batch_size model seed
replicas final_softmax final_greedy""".split()
NEEDED = {"wanted": SETTINGS, "seconds": ["whole", "learning"]}  # by a report, of a record

TYPES: Columns = {
    "text": str,
    "int": int,
    "float": float,
    "flag": lambda cell: bool(("no", "yes").index(cell)),
    "floats": lambda cell: [float(number) for number in cell.split(" ")],
}

# --- Rows


def _columns(names_and_types: str) -> Columns:
    pairs = (each.split(":") for each in names_and_types.split())
    return {name: partial(_value, kind) for name, kind in pairs}


def _value(kind: str, cell: str) -> Any:
    return TYPES[kind](cell) if cell else None


# One row for each seed, round and policy; `final` marks the evaluation after the last round.
EVALUATIONS = _columns(
    "game:text model:text layers:int hidden:int interaction:text action_hidden:int shared:flag "
    "n_steps:int seed:int round:int episodes:int final:flag policy:text paraphrased:flag "
    "final_reward:float return:float steps:float stopped:float exact:float"
)
# The share of episodes with a good ending, and the steps that the seed has played by then.
QUESTS = _columns(
    "seed:int round:int final:flag policy:text played:int done:float exact_done:float "
    "exact_return:float"
)
# The files of a job, by the end of their names. Texts are given by their `mark`; the Q-values of
# pairs have one number for each seed.
KINDS: dict[str, Columns] = {
    "": EVALUATIONS,
    ".reworded": EVALUATIONS,
    ".pairs": _columns("state:text action:text paraphrase:text q:floats q_paraphrased:floats"),
    ".examples": _columns("seed:int state:text kind:text action:text q:float"),
    ".embeddings": _columns("seed:int episodes:int state:text role:text x:float y:float q:float"),
    ".quests": QUESTS,
    ".progress": _columns(
        "seed:int round:int interactions:int episodes:int last_return:float seconds:float"
    ),
    ".wordings": _columns("seed:int wording:text recall:text final_reward:float return:float"),
}
FACTS = _columns("measure:text value:text")
TRIALS_FILE = "diagnostics.csv"  # one row for each diagnostic, variant of it, agent and seed
TRIALS = _columns(
    "game:text level:int variant:text agent:text seed:int episodes:int policy:text score:float "
    "random_score:float optimum:float share:float digest:text commit:text"
)


def to_csv(rows: Iterable[Row], columns: Collection[str]) -> str:
    """Return the rows as CSV; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return " ".join(f"{number:.3f}" for number in value)
    return "" if value is None else value


def from_csv(text: str, columns: Columns, path: Path) -> list[Row]:
    """Return the rows of a CSV file; an InputError names the line."""
    try:
        rows = read_csv(text, columns, path)
    except InputError as error:
        raise InputError(f"{error}; {REMEDY}") from error
    if not text.endswith("\n"):
        raise InputError(f"{path}, line {len(rows) + 1}: the file is truncated; {REMEDY}")
    return rows


def read_trials(path: Path) -> list[Row]:
    """Return the rows of a diagnostics.csv; none if the file does not exist."""
    return read_csv(read_text(path), TRIALS, path) if path.exists() else []


def mark(text: str) -> str:
    """Return a short hash of a text: results contain no sentence of other people's stories."""
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

    def refuse_sweep(self) -> None:
        """Raise an InputError if the folder belongs to `drrn sweep`."""
        if (self.root / SWEEP).exists():
            raise InputError(f"{self.root}: the folder of a `drrn sweep`; choose another --out")

    def work(self, game: str, name: str) -> Path:
        """Return the folder of a job's training run."""
        return self.root / "work" / game / name

    def path(self, game: str, file: str) -> Path:
        """Return the path of a file of rows, or of a record."""
        return self.root / "rows" / game / file

    def jobs(self) -> list[tuple[str, str]]:
        """Return the game and the name of each finished job."""
        records = (self.root / "rows").glob("*/*.json")
        return sorted((path.parent.name, path.stem) for path in records)

    def record(self, game: str, name: str) -> dict[str, Any] | None:
        """Return the record of a job; None if the job is not finished."""
        path = self.path(game, f"{name}.json")
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            parts = {key: dict(record[key]) for key in ("files", "wanted", "seconds", "versions")}
            needed = NEEDED if name != GAME else {}
            sound = [set(names) <= parts[key].keys() for key, names in needed.items()]
            sound.append({""} <= parts["files"].keys() <= KINDS.keys())
            sound.append((record["game"], record["job"]) == (game, name))
            if not all(sound):
                raise ValueError("a part is missing, or of another job")
            return {**record, **parts, "commit": str(record["commit"])}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not the record of a job; {REMEDY}") from error

    def load(self, game: str, name: str) -> Stored | None:
        """Return a finished job, with every file checked against its recorded hash."""
        record = self.record(game, name)
        if record is None:
            return None
        rows = {}
        for ending, sha256 in record["files"].items():
            path = self.path(game, f"{name}{ending}.csv")
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{path}, line 1: cannot be read; {REMEDY}") from error
            # before the hash, since it can name the line
            rows[ending] = from_csv(text, FACTS if name == GAME else KINDS[ending], path)
            if _sha256(text) != sha256:
                count = len(rows[ending])
                raise InputError(f"{path}: its {count} rows were changed by hand; {REMEDY}")
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

    def receive(self, game: str, name: str, files: Mapping[str, bytes]) -> None:
        """Write the files of a job that another machine has run, by their path in the folder.

        The training run is replaced as a whole; the record is written last.
        """
        run = self.work(game, name)
        prefix = f"{run.relative_to(self.root).as_posix()}/"
        run_files = {path: data for path, data in files.items() if path.startswith(prefix)}
        if run_files:
            new = run.with_name(f".{name}.new")
            shutil.rmtree(new, ignore_errors=True)  # left by a killed process
            for path, data in run_files.items():
                write(inside(new, path.removeprefix(prefix)), data)
            shutil.rmtree(run, ignore_errors=True)
            new.rename(run)
        others = sorted(files.keys() - run_files.keys(), key=lambda path: path.endswith(".json"))
        for path in others:
            write(inside(self.root, path), files[path])

    def move_aside(self, game: str, name: str) -> Path:
        """Move all files of a job to another folder, and return that folder."""
        number = 1
        while (aside := self.root / "work" / "aside" / str(number) / game / name).exists():
            number += 1
        make_folder(aside)
        for path in sorted((self.root / "rows" / game).glob(f"{name}.*")):
            path.rename(aside / path.name)
        if self.work(game, name).exists():
            shutil.move(self.work(game, name), aside / "work")
        return aside

    @contextmanager
    def locked(self, command: str = "reproduce") -> Iterator[None]:
        """Let only this process write to the folder; removes temporary files of killed ones."""
        make_folder(self.root / "work")
        busy = f"{self.root}: another `drrn {command}` is running here: wait, or give another --out"
        with locked(self.root / "work" / ".lock", busy):
            for path in list(self.root.rglob(".*")):
                if LEFTOVER.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            yield


def difference(record: Mapping[str, Any], plan: Mapping[str, Any]) -> str | None:
    """Return how recorded settings and hashes differ from the plan's; None if they do not."""
    # A setting that is newer than the record had its default then; a retired one has no effect.
    recorded = {**PAPER.flat(), **record}
    ignored = {name for name, setting in all_settings().items() if setting.same_results}
    ignored |= {name for name, value in RETIRED.items() if recorded.get(name, value) == value}
    for name in {**plan, **record}:
        if name not in ignored and recorded.get(name) != plan.get(name):
            if name in ("sha256", "paraphrases", "reworded"):
                return "another version of the game, or of its paraphrases"
            return f"{name} is {recorded.get(name)} there, and {plan.get(name)} in the plan"
    return None


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


# --- Where results come from


def commit() -> str:
    """Return the commit of this package, with "-dirty" if it was changed since.

    Outside its own repository the commit is "unknown".
    """
    head = _git("rev-parse", "HEAD")
    if head is None or _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return "unknown"
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{head}-dirty" if changes else head


def _git(*arguments: str) -> str | None:
    """Return the output of Git in the package's folder; None if it fails."""
    command = ["git", *arguments]
    try:
        result = subprocess.run(
            command, cwd=PACKAGE, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
