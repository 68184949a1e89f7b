"""Sightings: all that a play-test met in a story, and the shortest clicks by which it met each thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.optional import THE_END
from drrn.stories.authored import Position
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.twine.page import Page
from drrn.stories.twine.rules import Condition, Rules
from drrn.stories.twine.values import Value

MOST_VALUES = 1_000  # of one variable, kept

Way = Callable[[], ClickPath]


@dataclass(frozen=True)
class EndingKey:
    """What tells endings apart: the name, the number of the rule from 0, and the text in games without passages."""

    name: str
    rule: int | None
    text: str = ""


@dataclass(frozen=True)
class Arrival:
    """A page that was arrived at, and where the story then stands."""

    shown: Observation
    position: Position
    ending: EndingKey | None = None

    @property
    def key(self) -> Hashable:
        """What makes a page new to a search: the passage and its actions; the text where there are no passages."""
        return (self.position.passage or self.shown.text, self.shown.actions, self.ending)


@dataclass
class PageSeen:
    """A page, the shortest clicks to it, and what its actions were seen to lead to."""

    passage: str
    actions: tuple[str, ...]
    path: ClickPath
    tried: dict[int, set[Hashable]] = field(default_factory=dict)
    visits: int = 0
    ending: EndingKey | None = None

    @property
    def untried(self) -> list[int]:
        return [index for index in range(len(self.actions)) if index not in self.tried]


@dataclass
class EndingSeen:
    """An ending that was met."""

    path: ClickPath
    reward: float
    text: str


@dataclass
class Sightings:
    """What was met so far; `complete` once everything that can be met was."""

    forbidden: Mapping[str, Condition] = field(default_factory=dict)
    passages: dict[str, ClickPath] = field(default_factory=dict)
    links: set[tuple[str, str]] = field(
        default_factory=set
    )  # passages told on one page or on two in a row
    pages: dict[Hashable, PageSeen] = field(default_factory=dict)
    endings: dict[EndingKey, EndingSeen] = field(default_factory=dict)
    variables: dict[str, dict[str, Value]] = field(
        default_factory=dict
    )  # the values of each, by how they are written
    errors: dict[str, ClickPath] = field(
        default_factory=dict
    )  # "passage: message" → the clicks that lead there
    broken: dict[str, ClickPath] = field(default_factory=dict)  # forbidden conditions that held
    ended_by_error: dict[EndingKey, ClickPath] = field(default_factory=dict)
    gone: Counter[tuple[Hashable, int, Hashable]] = field(
        default_factory=Counter
    )  # steps of random games alone
    longest: ClickPath = field(default_factory=ClickPath)
    values: int = 0  # of all variables
    states: int = 0
    complete: bool = False

    def arrive(self, before: Arrival | None, index: int, now: Arrival, way: Way) -> bool:
        """Note a page that was arrived at from another by an action; whether the page is new."""
        passed = _passed(before, now)
        for name in passed:
            if name not in self.passages:
                self.passages[name] = way()
        come_from = before.position.shown if before else ()
        self.links.update((one, other) for one in (*come_from, *passed) for other in passed)
        self._note_values(now, way)
        for error in now.position.errors:
            self.throw(error, way)
        if now.ending:
            self._note_ending(now.ending, now, way)
            if now.position.errors:
                self.ended_by_error.setdefault(now.ending, way())
        return self._note_page(before, index, now, way)

    def throw(self, error: str, way: Way) -> None:
        """Note an error, if it is a new one."""
        if error not in self.errors:
            self.errors[error] = way()

    def _note_page(self, before: Arrival | None, index: int, now: Arrival, way: Way) -> bool:
        page = self.pages.get(now.key)
        new = page is None
        if page is None:
            path = way()
            page = self.pages[now.key] = PageSeen(
                now.position.passage, now.shown.actions, path, ending=now.ending
            )
        page.visits += 1
        if before is not None:
            self.pages[before.key].tried.setdefault(index, set()).add(now.key)
        return new

    def _note_ending(self, key: EndingKey, now: Arrival, way: Way) -> None:
        known = self.endings.get(key)
        path = way()
        if known is None or len(path) < len(known.path):
            self.endings[key] = EndingSeen(path, now.shown.reward, now.shown.text)

    def _note_values(self, now: Arrival, way: Way) -> None:
        for name, value in now.position.variables.items():
            values = self.variables.setdefault(name, {})
            written = repr(value)  # true is not 1, though Python holds them equal
            if written not in values and len(values) < MOST_VALUES:
                values[written] = value
                self.values += 1
        for said, condition in self.forbidden.items():
            if said not in self.broken and _holds(condition, now):
                self.broken[said] = way()


def _passed(before: Arrival | None, now: Arrival) -> tuple[str, ...]:
    """The passages told since the page before: those on the page, and those that an engine passed through."""
    history = now.position.history
    come = before.position.history if before else ()
    through = history[len(come) :] if history[: len(come)] == come else ()
    return tuple(dict.fromkeys((*through, *now.position.shown)))


def _holds(condition: Condition, now: Arrival) -> bool:
    page = Page(now.position.passage, {}, {}, now.position.cells, lambda _: 0)
    try:
        return condition.holds(page, now.shown.text)
    except InputError:  # such as a comparison of what is not yet a number
        return False


def position_of(game: Game) -> Position:
    """Where a game stands, if it says so."""
    position = getattr(game, "position", None)
    return position if isinstance(position, Position) else Position()


def arrival_of(game: Game, shown: Observation) -> Arrival:
    """What a game that is being played has come to."""
    position = position_of(game)
    return Arrival(
        shown,
        position,
        None if shown.actions else ending_key(getattr(game, "ending", None), position, shown),
    )


def ending_key(name: str | None, position: Position, shown: Observation) -> EndingKey:
    """The key of an ending; where there are no passages, its text belongs to it."""
    return EndingKey(name or THE_END, position.rule, "" if position.passage else shown.text)


def rules_of(game: Game) -> Rules:
    """The rules of a game's TOML; the default ones where it has none."""
    rules = getattr(game, "rules", None)
    return rules if isinstance(rules, Rules) else Rules()
