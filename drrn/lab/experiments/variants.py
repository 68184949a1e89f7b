"""Variants: what a job learns with, as data. Those of the paper differ in the model and its size; those beyond it in
what they take out of the strong recipe; those added to it in the encoder, or in the games; those of a sweep in
whatever settings it varies."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True)
class Variant:
    """A model and its size: a row of a table, learned by all seeds at once. Linear and table have no layers."""

    model: str
    layers: int | None = None
    hidden: int | None = None
    interaction: str = "inner"
    action_hidden: int | None = None
    shared: bool = False
    n_steps: int = 1

    @property
    def name(self) -> str:
        parts = [self.model]
        if self.layers:
            parts.append(f"{self.layers}x{self.hidden}")
        if self.interaction != "inner":
            parts.append(self.interaction)
        if self.action_hidden:
            parts.append(str(self.action_hidden))
        if self.n_steps > 1:
            parts.append(f"{self.n_steps}-steps")
        return "-".join(parts + ["shared"] * self.shared)

    @property
    def settings(self) -> dict[str, Any]:
        """As a training run names them."""
        named = {
            "model": self.model, "layers": self.layers, "hidden": self.hidden, "interaction": self.interaction,
            "action_hidden": self.action_hidden, "shared": self.shared, "n_steps": self.n_steps,
        }  # fmt: skip
        return {name: value for name, value in named.items() if value is not None}


def drrn(layers: int = 2, hidden: int = 100, **options: Any) -> Variant:
    return Variant("drrn", layers, hidden, **options)


@dataclass(frozen=True)
class Named(Variant):
    """A job that is none of the paper's: named by what it changes, and run on some games only."""

    changes: tuple[tuple[str, Any], ...] = ()  # of the settings that it begins with
    games: tuple[str, ...] = ()  # that it is run on, as patterns; none: all of them
    vectors: bool = False  # whether texts are read by word vectors, too
    says: str = ""  # the change in words, as a table has it

    def suits(self, game: str, *, vectors: bool) -> bool:
        """Whether it is run on a game, with word vectors at hand or without."""
        named = not self.games or any(fnmatchcase(game, pattern) for pattern in self.games)
        return named and (vectors or not self.vectors)


@dataclass(frozen=True)
class Beyond(Named):
    """The strong recipe on DRRN, or the same with a part taken out or changed."""

    part: str = ""  # of the job's name: what was changed
    rounds: int | None = None  # where they are not those of all jobs

    @property
    def name(self) -> str:
        return f"strong-{self.part}" if self.part else "strong"

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.changes)


@dataclass(frozen=True)
class Added(Named):
    """A comparison that was added to the paper's: its recipe with another encoder or model, or on other games. What it
    leaves open (None) the game's own settings may say."""

    job: str = ""

    @property
    def name(self) -> str:
        return self.job

    @property
    def settings(self) -> dict[str, Any]:
        shape = {"model": self.model, "layers": self.layers, "hidden": self.hidden}
        return {
            **{name: value for name, value in shape.items() if value is not None},
            **dict(self.changes),
        }


@dataclass(frozen=True)
class Swept(Variant):
    """One combination of the settings that a sweep varies: to choose by, or to report."""

    changes: tuple[tuple[str, Any], ...] = ()
    part: str = "tuning"
    strong: bool = False  # whether it learns by the strong recipe's learner

    @property
    def name(self) -> str:
        """Its settings as far as a file's name can say them, and a hash where it cannot."""
        said = self.said(",")
        plain = re.sub(r"[^\w=,+-]", "_", said)
        unlike = re.sub(r"(?<=\d)\.(?=\d)", "_", said) != plain
        if unlike or len(plain) > 100:
            plain = f"{plain[:100]}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"
        return f"{self.part}-{plain}"

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.changes)

    def said(self, between: str = " ") -> str:
        """Its settings as a person would write them."""
        return (
            between.join(f"{name}={in_words(value)}" for name, value in self.changes) or "as-it-is"
        )


def in_words(value: Any) -> str:
    """A setting's value as a person would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
