"""People's scores: one row for each finished game, in a CSV that only grows."""

from __future__ import annotations

import csv
import datetime
import io
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import home, read_text


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A game that a person played to its end."""

    when: str
    game: str
    player: str
    seed: int
    undone: int  # steps taken back; a game with any is practice and counts in no average
    steps: int
    final_reward: float
    total: float
    ending: str


KINDS: dict[str, Any] = {
    "seed": int,
    "undone": int,
    "steps": int,
    "final_reward": float,
    "total": float,
}
KINDS = {f.name: KINDS.get(f.name, str) for f in fields(FinishedGame)}
COLUMNS = list(KINDS)


@dataclass(frozen=True, slots=True)
class Standing:
    """The paper's two kinds of people: novices (a player's first game) and experienced (all later ones)."""

    players: int
    novice_games: int
    novice: float | None
    experienced_games: int
    experienced: float | None


def scores_file() -> Path:
    """`scores.csv` in the folder DRRN_HOME names, or in ~/.drrn."""
    return home() / "scores.csv"


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def append(path: Path, score: FinishedGame) -> None:
    """Add a row; the header too where the file is new."""
    read(path)  # a file that is something else is left as it is
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    if not path.exists() or path.stat().st_size == 0:
        writer.writeheader()
    writer.writerow(asdict(score))
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())


def read(path: Path) -> list[FinishedGame]:
    """All rows, in the order they were played; a broken one is named by its line."""
    if not path.exists():
        return []
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    found = []
    try:
        if next(reader, None) != COLUMNS:
            raise InputError(f"{path}, line 1: the header must be {','.join(COLUMNS)}")
        for row in reader:
            values = zip(KINDS.items(), row, strict=True)
            found.append(FinishedGame(**{name: kind(value) for (name, kind), value in values}))
    except (ValueError, csv.Error) as error:
        raise InputError(
            f"{path}, line {reader.line_num}: not a row of scores: mend or remove it"
        ) from error
    return found


def standing(scores: list[FinishedGame], game: str) -> Standing:
    """First games apart from later ones, as the paper reports its eight people."""
    novice: list[float] = []
    experienced: list[float] = []
    known: set[str] = set()
    for score in scores:
        if score.game != game:
            continue
        first = score.player not in known
        known.add(score.player)
        if not score.undone:
            (novice if first else experienced).append(score.final_reward)
    return Standing(len(known), len(novice), _mean(novice), len(experienced), _mean(experienced))


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
