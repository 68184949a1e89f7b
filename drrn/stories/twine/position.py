"""Where a story stands behind its page: passage, variables, errors. Tools for authors read it; agents never see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drrn.stories.twine.values import Value


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a story, as its author knows it."""

    passage: str = ""  # "" in games that have none
    shown: tuple[str, ...] = ()  # passages told on the page, displayed ones among them
    cells: Mapping[str, Value] = field(
        default_factory=dict
    )  # `$name` a variable, other names the engine's own
    rule: int | None = None  # the [[ending]] that matched, from 0
    errors: tuple[str, ...] = ()  # "passage: message" of what was thrown on the way here
    history: tuple[str, ...] = ()  # passages entered so far, where an engine keeps them

    @property
    def variables(self) -> dict[str, Value]:
        return {name: value for name, value in self.cells.items() if name.startswith("$")}
