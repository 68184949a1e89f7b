"""Results as CSV: which columns there are, how they are written, and how they are read without half-trusting them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from drrn.errors import InputError

Row = dict[str, Any]
Columns = dict[str, Callable[[str], Any]]  # by name, what reads a cell


def _flag(cell: str) -> bool:
    return {"yes": True, "no": False}[cell]


def _numbers(cell: str) -> list[float]:
    return [float(number) for number in cell.split(" ")]


# One row for each seed, round and policy; `final` has the rows of the larger evaluation after the last round.
EVALUATIONS: Columns = {
    "game": str, "model": str, "layers": int, "hidden": int, "interaction": str, "action_hidden": int, "shared": _flag,
    "n_steps": int, "seed": int, "round": int, "episodes": int, "final": _flag, "policy": str, "paraphrased": _flag,
    "final_reward": float, "return": float, "steps": float, "stopped": float, "exact": float,
}  # fmt: skip
# What differs from file to file, by the end of its name. A text is known by its mark.
KINDS: dict[str, Columns] = {
    "": EVALUATIONS,
    ".reworded": EVALUATIONS,  # the actions said in other words altogether
    ".pairs": {
        "state": str,
        "action": str,
        "paraphrase": str,
        "q": _numbers,
        "q_paraphrased": _numbers,
    },  # by seed
    ".examples": {"seed": int, "state": str, "kind": str, "action": str, "q": float},
    ".embeddings": {
        "seed": int,
        "episodes": int,
        "state": str,
        "role": str,
        "x": float,
        "y": float,
        "q": float,
    },
}
KINDS[".quests"] = {  # the share of episodes that came to a good ending; steps that the seed had played by then
    "seed": int, "round": int, "final": _flag, "policy": str, "played": int, "done": float, "exact_done": float,
    "exact_return": float,
}  # fmt: skip
FACTS: Columns = {"measure": str, "value": str}
CURE = "put back the file that was there (git checkout), or make it anew: drrn reproduce --again"


def text_of(rows: Iterable[Row], columns: Columns) -> str:
    """The rows as CSV; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
    return text.getvalue()


def rows_of(text: str, columns: Columns, path: Path) -> list[Row]:
    """The other way; what is cut short or foreign is named by its line."""
    reader = csv.reader(io.StringIO(text, newline=""))
    found: list[Row] = []
    try:
        if next(reader, None) != list(columns):
            raise InputError(f"{path}, line 1: the header must be {','.join(columns)}: {CURE}")
        for cells in reader:
            pairs = zip(columns.items(), cells, strict=True)
            found.append({name: read(cell) if cell else None for (name, read), cell in pairs})
    except (ValueError, KeyError, csv.Error) as error:
        raise InputError(f"{path}, line {reader.line_num}: not a row of results: {CURE}") from error
    if not text.endswith("\n"):
        raise InputError(f"{path}, line {reader.line_num}: the file breaks off here: {CURE}")
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return " ".join(f"{number:.3f}" for number in value)
    return "" if value is None else value
