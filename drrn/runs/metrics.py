"""metrics.jsonl: one JSON object a round, for tools of others; made from the rows of evaluations.csv alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from drrn.runs.row_file import WHOLE

METRICS = "metrics.jsonl"

Metrics = dict[str, Any]


def metrics_text(rows: Sequence[dict[str, str]], episodes_per_round: int) -> str:
    """The file: a line for each round."""
    return "".join(f"{json.dumps(told, ensure_ascii=False)}\n" for told in metrics_of(rows, episodes_per_round))


def metrics_of(rows: Sequence[dict[str, str]], episodes_per_round: int) -> Iterator[Metrics]:
    """Of each round: each measure's mean and standard deviation over replicas, then the replicas one by one."""
    for number, group in groupby(rows, key=lambda row: int(row["round"])):
        replicas = [{name: _value(name, cell) for name, cell in row.items() if cell != ""} for row in group]
        told: Metrics = {"round": number, "episodes_played": number * episodes_per_round}
        for name in (name for name in replicas[0] if name not in (*WHOLE, "endings")):
            values = [replica[name] for replica in replicas]
            told[name] = round(statistics.fmean(values), 6)
            told[f"{name}_sd"] = round(statistics.stdev(values), 6) if len(values) > 1 else 0.0
        yield {**told, "replicas": [{k: v for k, v in one.items() if k != "round"} for one in replicas]}


def _value(name: str, cell: str) -> Any:
    if name == "endings":
        return json.loads(cell)
    return int(cell) if name in WHOLE else float(cell)
