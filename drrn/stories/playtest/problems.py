"""Problems of a story: what is wrong, where it is, and the clicks that show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.twine.rules import PROBLEM_KINDS

Severity = Literal["error", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")


@dataclass(frozen=True)
class Problem:
    """A fault of the story, in one sentence for its author; an error makes the test fail."""

    kind: str  # one of PROBLEM_KINDS
    text: str  # without the place
    passage: str = ""
    line: int | None = None  # in the story's file; of an expectation, in the TOML
    path: ClickPath | None = None  # the clicks that show it
    severity: Severity = "error"

    def __str__(self) -> str:
        """Format the place and the text."""
        return f"{self.place}: {self.text}" if self.place else self.text

    @property
    def place(self) -> str:
        """The passage and the line, for the author."""
        line = f"line {self.line}" if self.line else ""
        return f"{self.passage} ({line})" if self.passage and line else self.passage or line


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return each problem once: errors first, then by kind and line."""
    once = dict.fromkeys(problems)

    def order(problem: Problem) -> tuple[int, int, int]:
        kind = PROBLEM_KINDS.index(problem.kind)
        return SEVERITIES.index(problem.severity), kind, problem.line or 0

    return tuple(sorted(once, key=order))


class HasPlace(Protocol):
    """A problem, or an issue of the findings."""

    @property
    def kind(self) -> str: ...

    @property
    def passage(self) -> str: ...


def is_allowed(problem: HasPlace, allow: Mapping[str, Sequence[str]]) -> bool:
    """Return whether the TOML's [allow] has the kind of a problem, for all or for its passage."""
    passages = allow.get(problem.kind)
    return passages is not None and (not passages or problem.passage in passages)
