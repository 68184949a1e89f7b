"""The report's sentences, from prose.toml, and the paper's numbers, from paper.toml."""

from pathlib import Path
from typing import Any

from drrn.files import read_toml

_TEXTS: dict[str, dict[str, Any]] = read_toml(Path(__file__).with_name("prose.toml"))
_NUMBERS = read_toml(Path(__file__).with_name("paper.toml"))

PROSE: dict[str, str] = _TEXTS["prose"]
TITLES = _TEXTS["titles"]  # of sections
SETTINGS = _TEXTS["settings"]  # that are listed for every section
FACTS = _TEXTS["facts"]  # of games
MODELS: dict[str, str] = _TEXTS["models"]
PARAPHRASES = _TEXTS["paraphrases"]  # facts: text, digits, factor
REFERENCES = _TEXTS["references"]  # facts that scores are compared with


def published(table: str, game: str) -> dict[str, Any]:
    """Return the paper's numbers of a game; empty if it has none."""
    numbers: dict[str, Any] = _NUMBERS[table].get(game, {})
    return numbers
