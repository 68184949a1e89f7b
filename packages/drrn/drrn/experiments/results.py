"""Files of results: rows as CSV, JSON, the lock of a folder, and the commit of this package."""

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from drrn.settings import PAPER, RETIRED, all_settings
from textgames.errors import InputError
from textgames.files import make_folder, read_csv, read_text, write
from textgames.processes import locked

Row = dict[str, Any]
Columns = dict[str, Callable[[str], Any]]  # by name, the function that reads a cell

PACKAGE = Path(__file__).parents[1]
SWEEP = "sweep.json"  # marks the folder of a sweep
LEFTOVER = re.compile(r"\..+\.\d+")  # temporary file of `write_atomically`, after a kill
TYPES: Columns = {
    "text": str,
    "int": int,
    "float": float,
    "flag": lambda cell: bool(("no", "yes").index(cell)),
    "floats": lambda cell: [float(number) for number in cell.split(" ")],
}


def columns(names_and_types: str) -> Columns:
    """The columns of a table, from words such as "seed:int"."""
    pairs = (each.split(":") for each in names_and_types.split())
    return {name: partial(_value, kind) for name, kind in pairs}


def _value(kind: str, cell: str) -> Any:
    return TYPES[kind](cell) if cell else None


def to_csv(rows: Iterable[Row], names: Collection[str]) -> str:
    """Write rows as CSV. None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return " ".join(f"{number:.3f}" for number in value)
    return "" if value is None else value


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


# --- The rows of diagnostics

TRIALS_FILE = "diagnostics.csv"  # one row for each diagnostic, variant of it, agent and seed
TRIALS = columns(
    "game:text level:int variant:text agent:text seed:int episodes:int policy:text score:float "
    "random_score:float optimum:float share:float digest:text commit:text"
)


def read_trials(path: Path) -> list[Row]:
    """The rows of a diagnostics.csv. Without such a file there are none."""
    return read_csv(read_text(path), TRIALS, path) if path.exists() else []


# --- The folder


@contextmanager
def locked_folder(root: Path, command: str) -> Iterator[None]:
    """Let only this process write to a folder of results. Removes files of killed processes."""
    make_folder(root / "work")
    busy = f"{root}: another {command} is running here: wait, or give another --out"
    with locked(root / "work" / ".lock", busy):
        for path in list(root.rglob(".*")):
            if LEFTOVER.fullmatch(path.name):
                path.unlink(missing_ok=True)
        yield


def refuse_sweep(root: Path) -> None:
    """Raise an InputError if the folder belongs to `drrn sweep`."""
    if (root / SWEEP).exists():
        raise InputError(f"{root}: the folder of a `drrn sweep`; choose another --out")


def difference(record: Mapping[str, Any], plan: Mapping[str, Any]) -> str | None:
    """How recorded settings and hashes differ from the planned ones. None if they do not."""
    # A setting that is newer than the record had its default then. A retired one has no effect.
    recorded = {**PAPER.flat(), **record}
    ignored = {name for name, setting in all_settings().items() if setting.same_results}
    ignored |= {name for name, value in RETIRED.items() if recorded.get(name, value) == value}
    for name in {**plan, **record}:
        if name not in ignored and recorded.get(name) != plan.get(name):
            if name in ("sha256", "paraphrases", "reworded"):
                return "another version of the game, or of its paraphrases"
            return f"{name} is {recorded.get(name)} there, and {plan.get(name)} in the plan"
    return None


# --- Where results come from


def commit() -> str:
    """The commit of this package, with "-dirty" if it was changed since.

    Outside its own repository the commit is "unknown".
    """
    head = _git("rev-parse", "HEAD")
    if head is None or _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return "unknown"
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{head}-dirty" if changes else head


def _git(*arguments: str) -> str | None:
    """The output of Git in the package's folder. None if it fails."""
    command = ["git", *arguments]
    try:
        result = subprocess.run(
            command, cwd=PACKAGE, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
