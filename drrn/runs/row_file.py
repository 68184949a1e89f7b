"""evaluations.csv: one row for each replica and round, made from evaluations and read back with every cell checked."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.playing.evaluation import Evaluation
from drrn.playing.policies import POLICIES
from drrn.settings import Settings

MEASURES = ("final_reward", "return", "steps", "stopped")
COLUMNS = ["replica", "seed", "round", "episodes", *(f"{p}_{m}" for p in POLICIES for m in MEASURES), "endings"]
BEFORE_BEST = [name for name in COLUMNS if not name.startswith("best_")]  # of runs older than that policy
WHOLE = ("replica", "seed", "round", "episodes")  # columns of whole numbers


def evaluation_rows(evaluations: Sequence[Evaluation], settings: Settings) -> list[dict[str, str]]:
    """One row for each replica: the policies side by side, and the shares of endings by softmax."""
    rows = []
    for replica, seed in enumerate(settings.run.seeds):
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


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of evaluations.csv; a line with other cells than a run writes is an `InputError` that names it."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, None)
            rows = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as CSV in UTF-8: {error}") from error
    if header is None or header not in (COLUMNS, BEFORE_BEST):
        raise InputError(f"{path}, line 1: the header must be {','.join(COLUMNS)}")
    for number, row in rows:
        if why := _fault(header, row):
            raise InputError(f"{path}, line {number}: {why}")
    return [dict(zip(header, row, strict=True)) for _, row in rows]


def check_rounds(path: Path, rows: Sequence[dict[str, str]], rounds: int, replicas: int) -> None:
    """Refuse rows that are not one for each replica of each finished round."""
    wanted = [(str(replica), str(number)) for number in range(1, rounds + 1) for replica in range(replicas)]
    if [(row["replica"], row["round"]) for row in rows] != wanted:
        wanted_rows = f"one for each of {replicas} replicas and the {rounds} rounds of checkpoint.safetensors"
        cure = "put back both files as the run wrote them, or begin a new run"
        raise InputError(f"{path}: its {len(rows)} rows are not {wanted_rows}: {cure}")


def _fault(header: list[str], row: list[str]) -> str | None:
    """What is wrong with a row, in words."""
    if len(row) != len(header):
        return f"it has {len(row)} cells, and the header {len(header)}"
    for name, cell in zip(header, row, strict=True):
        if name in WHOLE and not (cell.isascii() and cell.isdecimal()):
            return f"the {name} must be a whole number"
        if name not in (*WHOLE, "endings") and not _is_number(cell) and (cell or not name.startswith("best_")):
            return f"{name} must be a number"
        if name == "endings" and not _is_table(cell):
            return "endings must be their shares, by name, as JSON"
    return None


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _is_table(cell: str) -> bool:
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(isinstance(share, (int, float)) for share in found.values())
