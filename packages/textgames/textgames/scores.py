"""Scores of people: a CSV with one row for each finished game."""

from __future__ import annotations

import csv
import datetime
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from textgames.files import home, read_csv, read_text


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A game that a person finished."""

    when: str
    game: str
    player: str
    seed: int
    undone: int  # steps taken back: such games are practice and not part of any average
    steps: int
    final_reward: float
    total: float
    ending: str


KINDS: dict[str, Any] = {"str": str, "int": int, "float": float}
READ = {field.name: KINDS[str(field.type)] for field in fields(FinishedGame)}


def scores_file() -> Path:
    """The path of scores.csv, in TEXTGAMES_HOME or ~/.textgames."""
    return home() / "scores.csv"


def now() -> str:
    """The time for a new row."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def append(path: Path, score: FinishedGame) -> None:
    """Add a row, and the header if the file is new."""
    read(path)  # raises an error instead of changing a file of another format
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, READ, lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(asdict(score))


def read(path: Path) -> list[FinishedGame]:
    """All rows, the oldest first.

    Raises:
        InputError: A line is damaged.
    """
    if not path.exists():
        return []
    rows = read_csv(read_text(path), READ, path)
    return [FinishedGame(**row) for row in rows]


def averages(rows: list[FinishedGame], game: str) -> dict[str, Any]:
    """Mean final rewards of a game by novices and by experienced players, as in the paper.

    The first game of each player is a novice's, later games are an experienced player's.
    """
    novice: list[float] = []
    experienced: list[float] = []
    players: set[str] = set()
    for row in rows:
        if row.game != game:
            continue
        is_first = row.player not in players
        players.add(row.player)
        if not row.undone:
            (novice if is_first else experienced).append(row.final_reward)
    return {
        "players": len(players),
        "novice_games": len(novice),
        "novice": fmean(novice) if novice else None,
        "experienced_games": len(experienced),
        "experienced": fmean(experienced) if experienced else None,
    }
