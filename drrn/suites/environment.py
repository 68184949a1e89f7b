"""What an adaptor of a suite is: an environment that is reset by a seed, stepped by words, and shows pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

NO_LIMIT = 10**9  # steps: a suite's own limit would look like an ending, so the loop has its own

# the endings that suites tell apart
WON = "won"
LOST = "lost"
BLANKS = re.compile(r"[ \t]*\n\s*\n[ \t]*")


@dataclass(frozen=True)
class SuitePage:
    """What an environment shows: a text, the actions, the score so far; the ending's name where the game is over."""

    text: str
    actions: tuple[str, ...]
    score: float
    ending: str | None = None
    stopped: bool = False  # the suite cut the episode short, though the game is not over


class SuiteEnvironment(Protocol):
    """A game of a suite. It is made of the game's name and the options, and lives in a process of its own."""

    def reset(self, seed: int) -> SuitePage:
        """The first page of a new episode, which the seed makes as far as the suite lets it."""
        ...

    def step(self, action: str) -> SuitePage:
        """The page that an action, in words, leads to."""
        ...

    def close(self) -> None:
        """Let go of what the environment holds."""
        ...


def text_of_parts(parts: Mapping[str, Any], wanted: Sequence[str]) -> str:
    """The wanted parts of a page as one text; one that repeats another (a look after a move) is left out."""
    told = (BLANKS.sub("\n", str(parts.get(part) or "")).strip() for part in wanted)
    return "\n".join(dict.fromkeys(part for part in told if part))


def listed_actions(actions: Sequence[Any] | None) -> tuple[str, ...]:
    """Distinct actions in an order that depends on nothing but their words."""
    return tuple(sorted({str(action).strip() for action in actions or ()} - {""}))
