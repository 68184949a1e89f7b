"""Moments: the states of a hosted story that play has met, and what came of each action taken there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from drrn.stories.hosted.shown import Shown

LotOf = Callable[[int], int]  # so many outcomes that are equally likely → one of them


@dataclass(frozen=True, slots=True)
class Click:
    """A link that was pressed, its words, and the lots that fell."""

    link: int
    label: str
    lots: tuple[int, ...]


Clicks = tuple[Click, ...]


@dataclass(eq=False, slots=True)
class Way:
    """How a moment was first reached: from which one, by which link, and by which chance."""

    before: Moment
    link: int
    key: int | None  # None: lots alone
    lots: tuple[int, ...]


class _Referable:
    """Lets what has slots be the key of a dictionary that does not keep it alive."""

    __slots__ = ("__weakref__",)


@dataclass(eq=False, slots=True)
class Moment(_Referable):
    """A state of the story: what the page shows, and how to come back to it."""

    shown: Shown
    saved: str | None = None  # the engine's own state; None where it cannot give one
    way: Way | None = None  # None: nothing was shown yet
    clicks: Clicks = ()  # the one by which the passage was entered, and those made in it since
    onward: dict[int, Branch] = field(default_factory=dict)  # link → what came of it


@dataclass(eq=False, slots=True)
class Fork:
    """A lot that was drawn on the way, and where each outcome led."""

    outcomes: int
    answers: dict[int, Branch] = field(default_factory=dict)


Branch = Moment | Fork


def walk(branch: Branch | None, lot: LotOf) -> tuple[Moment | None, list[int]]:
    """The moment that lots lead to, None where nobody went that way yet; and the lots that were drawn."""
    drawn: list[int] = []
    while isinstance(branch, Fork):
        drawn.append(lot(branch.outcomes))
        branch = branch.answers.get(drawn[-1])
    return branch, drawn


def grown(branch: Branch | None, lots: Sequence[tuple[int, int]], moment: Moment) -> Branch:
    """The tree of lots with one more way in it, which ends in a moment."""
    if not lots:
        return moment
    (outcomes, outcome), *rest = lots
    fork = branch if isinstance(branch, Fork) else Fork(outcomes)
    fork.answers[outcome] = grown(fork.answers.get(outcome), rest, moment)
    return fork
