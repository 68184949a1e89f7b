"""The states whose Q-values are reported, from examples.toml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from drrn.files import read_toml

MADE_UP = ("positive", "negative", "irrelevant")


@dataclass(frozen=True)
class Glossed:
    """A text of a game: its mark, and its meaning in our own words."""

    mark: str
    gloss: str


@dataclass(frozen=True)
class Example:
    """A state with a good and a poor action, and actions that we made up."""

    game: str
    state: Glossed
    good: Glossed
    poor: Glossed
    made_up: dict[str, tuple[str, ...]]  # by kind
    embedding: bool  # whether its embeddings are recorded during training


@cache
def examples() -> tuple[Example, ...]:
    """Return all examples, in the order of the file."""
    table = read_toml(Path(str(resources.files("drrn.lab.experiments") / "examples.toml")))
    return tuple(
        Example(
            game=entry["game"],
            state=Glossed(entry["mark"], entry["gloss"]),
            good=Glossed(**entry["good"]),
            poor=Glossed(**entry["poor"]),
            made_up={kind: tuple(entry[kind]) for kind in MADE_UP},
            embedding=entry.get("embedding", False),
        )
        for entry in table["state"]
    )


def examples_of(game: str) -> list[Example]:
    return [example for example in examples() if example.game == game]
