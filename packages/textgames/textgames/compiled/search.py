"""States of a game, and the breadth-first search that lists them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Protocol, runtime_checkable

from textgames.errors import InputError
from textgames.game.contract import Enumerable, Game, Outcomes, checked, story_of


class TooLargeError(Exception):
    """The search exceeded the limit that the message names."""


def refusal(game: Game, reason: str) -> InputError:
    """The error for a game that cannot be compiled."""
    return InputError(f"{game.name} cannot be compiled: {reason}")


@dataclass(frozen=True, slots=True)
class EndingId:
    """Identifies an ending of a game.

    `passage` is its name (in a story, its passage or the name in its rule) and `rule` the index of
    its rule. In games without rules, text and reward distinguish endings of the same name.
    """

    passage: str
    rule: int | None
    text: str = ""
    reward: float = 0.0


@dataclass(frozen=True, slots=True)
class Face:
    """What a state shows and pays. Several states may have the same face."""

    text: str
    actions: tuple[str, ...]
    reward: float
    passage: str = ""  # only in games that have passages
    ending: EndingId | None = None
    hypertext: bool = False

    @property
    def ended(self) -> bool:
        return not self.actions


@dataclass
class States:
    """The result of a search, as flat lists.

    The actions of state s are first[s] to first[s + 1]. The outcomes of row r are row_first[r] to
    row_first[r + 1]. Row 0 is the opening.
    """

    faces: list[Face] = field(default_factory=list)
    face: array[int] = field(default_factory=lambda: array("i"))  # of each state
    first: array[int] = field(default_factory=lambda: array("q", [0]))
    row: array[int] = field(default_factory=lambda: array("i"))  # of each action of each state
    row_first: array[int] = field(default_factory=lambda: array("q", [0]))
    successor: array[int] = field(default_factory=lambda: array("i"))
    probability: array[float] = field(default_factory=lambda: array("d"))
    raw_states: int = 0  # number of states before irrelevant variables were removed
    raw_complete: bool = True
    bytes: int = 0  # that the search took, approximately
    unreached: tuple[str, ...] = ()  # passages

    def __len__(self) -> int:
        return len(self.face)

    def add_row(self, outcomes: dict[int, float], cells: int = 0) -> None:
        """Append a row: the probability of each successor state.

        `cells` is the number of values in the row's key.
        """
        self.successor.extend(outcomes)
        self.probability.extend(outcomes.values())
        self.row_first.append(len(self.successor))
        # as measured in CPython, dictionaries included
        self.bytes += 250 + 8 * cells + 12 * len(outcomes)

    def count_state(self, size: int) -> None:
        """Count the bytes of a state, with `size` for its key and its text."""
        self.bytes += 250 + size


@runtime_checkable
class HasEffects(Protocol):
    """A game many of whose actions do the same: each effect of a state is searched once."""

    def effects(self, state: Any) -> Sequence[Hashable]:
        """The effect of each action. Actions of equal effect have equal outcomes."""


class BreadthFirst:
    """A search of a game's states."""

    def __init__(self, game: Game, limit: int, memory: int, tolerance: float = 1e-9) -> None:
        """Create a search.

        Args:
            game: The game.
            limit: The largest number of states.
            memory: The largest number of bytes, approximately.
            tolerance: How far the total probability of an action may be from 1.
        """
        assert isinstance(game, Enumerable)
        self.game = game
        self.effects = game.effects if isinstance(game, HasEffects) else None
        self.limit = limit
        self.memory = memory
        self.tolerance = tolerance
        self.states = States()
        self.keys: list[tuple[Hashable, int]] = []  # states in search order, and their faces
        self.numbers: dict[tuple[Hashable, bool], int] = {}
        self.faces: dict[Face, int] = {}

    def run(self, progress: Callable[[int], None] | None = None) -> States:
        """All states. Row 0 is the opening. Too many states raise a `TooLargeError`."""
        self._add_row(self.game.opening(), "the start", opening=True)
        for done, (state, face) in enumerate(self.keys, 1):  # the list grows during the loop
            self._expand(state, face)
            if progress and done % 20 == 0:
                progress(done)
        self.states.raw_states = len(self.states)
        return self.states

    def _expand(self, state: Hashable, face: int) -> None:
        """Add a row for each action of a state, or for each effect of its actions."""
        page = self.states.faces[face]
        effects: Sequence[Hashable] = range(len(page.actions))
        if self.effects and page.actions:
            effects = self.effects(state)
        rows: dict[Hashable, int] = {}
        for index, effect in enumerate(effects):
            if effect not in rows:
                rows[effect] = len(self.states.row_first) - 1
                what = f'"{page.actions[index]}" on the page "{first_words(page.text)}"'
                self._add_row(self.game.outcomes(state, index), what)
            self.states.row.append(rows[effect])
        self.states.bytes += 4 * len(effects)
        self.states.first.append(len(self.states.row))
        self.states.face.append(face)

    def _add_row(self, outcomes: Outcomes, what: str, opening: bool = False) -> None:
        """Add the outcomes of an action, whose probabilities must sum to 1."""
        row: dict[int, float] = {}
        for count, outcome in enumerate(outcomes, 1):
            if not (isinstance(outcome, tuple) and len(outcome) == 2):
                needed = "it must be a pair (probability, state)"
                raise refusal(self.game, f"{what} has the outcome {outcome!r:.60}; {needed}")
            chance, state = outcome
            if not (isinstance(chance, Real) and 0 <= chance <= 1 + self.tolerance):
                reason = f"has an outcome with the probability {chance!r}"
                raise refusal(self.game, f"{what} {reason}; it must be between 0 and 1")
            if chance > 0:
                number = self._number(state, opening)
                row[number] = row.get(number, 0.0) + float(chance)
            self._check_size(count, what)
        if abs(excess := math.fsum(row.values()) - 1) > self.tolerance:
            raise refusal(self.game, f"the probabilities of {what} sum to {excess + 1:g}, not to 1")
        self.states.add_row(row)

    def _number(self, state: Hashable, opening: bool) -> int:
        """The number of a state.

        The first page of an episode pays nothing, so an opening state that pays when it is reached
        again counts as two states.
        """
        face = self._face(state) if opening else None
        unpaid = face is not None and face.reward != 0
        try:
            number = self.numbers.get((state, unpaid))
        except TypeError as error:
            reason = f"a state must be hashable, and {type(state).__name__} is not; use a tuple"
            raise refusal(self.game, reason) from error
        if number is None:
            face = face or self._face(state)
            number = self.numbers[state, unpaid] = len(self.keys)
            face = replace(face, reward=0.0) if unpaid else face
            face_number = self.faces.setdefault(face, len(self.faces))
            if face_number == len(self.states.faces):
                self.states.faces.append(face)
            self.keys.append((state, face_number))
            self.states.count_state(len(face.text))
        return number

    def _face(self, state: Hashable) -> Face:
        page = checked(self.game, self.game.look(state))
        if page != checked(self.game, self.game.look(state)):
            reason = f'look() returned two different pages for "{first_words(page.text)}"'
            raise refusal(self.game, f"{reason}; a page must depend on the state alone")
        story = story_of(self.game)
        face: Face | None = story.face_at(state)
        if face is not None:
            return face
        ending = None
        if not page.actions:
            ending = EndingId(story.ending_at(state), None, page.text, page.reward)
        return Face(page.text, page.actions, page.reward, ending=ending)

    def _check_size(self, outcomes: int, what: str) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states")
        if self.states.bytes > self.memory:
            size = f"{self.memory / 2**20:,.0f} MB"
            raise TooLargeError(f"its {len(self.keys):,} states need more than {size}")
        if outcomes > self.limit:
            raise TooLargeError(f"{what} has more than {self.limit:,} outcomes")


def first_words(text: str, length: int = 40) -> str:
    """The start of a text, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0]}…"
