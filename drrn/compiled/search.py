"""Breadth-first search of every state that a game's listed outcomes can reach (see `enumerable`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from numbers import Real

from drrn.compiled.graph import EndingPlace, first_words
from drrn.compiled.reached import (
    OUTCOME_BYTES,
    ROW_BYTES,
    STATE_BYTES,
    Face,
    States,
    TooLargeError,
    refusal,
)
from drrn.errors import InputError
from drrn.game.contract import Game, Observation, checked
from drrn.game.enumerable import Enumerable, Outcomes
from drrn.game.optional import THE_END

CLOSE = 1e-9  # what the chances of an action may differ from 1, all added up


def breadth_first(
    game: Game, limit: int, memory: int, progress: Callable[[int], None] | None = None
) -> States:
    """All states, row 0 being the opening; `TooLargeError` past so many states or about so many bytes."""
    search = _BreadthFirst(game, limit, memory)
    search.add_row(search.game.opening(), "the opening", opening=True)
    for done, (state, face) in enumerate(search.keys, 1):  # keys grow as it goes
        search.expand(state, face)
        if progress and done % 20 == 0:
            progress(done)
    search.states.raw_states = len(search.states)
    return search.states


class _BreadthFirst:
    """A search under way: the states found so far, and the rows between them."""

    def __init__(self, game: Game, limit: int, memory: int) -> None:
        assert isinstance(game, Enumerable)
        self.game: Enumerable = game
        self.named: Game = game  # the same, as what a complaint names
        self.refusal: Callable[[str], InputError] = lambda why: refusal(game, why)
        self.limit = limit
        self.memory = memory
        self.bytes = 0
        self.states = States()
        self.keys: list[
            tuple[Hashable, int]
        ] = []  # states in the order they were found, with the number of their face
        self.numbers: dict[tuple[Hashable, bool], int] = {}
        self.faces: dict[Face, int] = {}
        self.rows = 0

    def expand(self, state: Hashable, face: int) -> None:
        """Add a row for each action of a state."""
        shown = self.states.faces[face]
        for index, action in enumerate(shown.actions):
            self.states.row.append(self.rows)
            self.add_row(
                self.game.outcomes(state, index),
                f'"{action}" on the page "{first_words(shown.text)}"',
            )
        self.states.first.append(len(self.states.row))
        self.states.face.append(face)

    def add_row(self, outcomes: Outcomes, what: str, opening: bool = False) -> None:
        """The states that an action leads to; their chances must add up to 1."""
        found: dict[int, float] = {}
        for count, outcome in enumerate(outcomes, 1):
            if not (isinstance(outcome, tuple) and len(outcome) == 2):
                raise self.refusal(
                    f"{what} has the outcome {outcome!r:.60}: it must be a pair of a chance and a state"
                )
            chance, state = outcome
            if not (isinstance(chance, Real) and 0 <= chance <= 1 + CLOSE):
                raise self.refusal(
                    f"{what} has an outcome with the chance {chance!r}: it must lie between 0 and 1"
                )
            if chance > 0:
                number = self._number(state, opening)
                found[number] = found.get(number, 0.0) + float(chance)
            self._check_size(count, what)
        if abs(total := math.fsum(found.values()) - 1) > CLOSE:
            raise self.refusal(f"the chances of {what} add up to {total + 1:g}, not to 1")
        self.states.add_row(found)
        self.rows += 1
        self.bytes += ROW_BYTES + OUTCOME_BYTES * len(found)

    def _number(self, state: Hashable, opening: bool) -> int:
        """The number of a state. The first page pays nothing, so one that pays when come back to is two states."""
        face = self._face(state) if opening else None
        unpaid = face is not None and face.reward != 0
        try:
            found = self.numbers.get((state, unpaid))
        except TypeError as error:
            raise self.refusal(
                f"a state must be hashable, and {type(state).__name__} is not: use a tuple"
            ) from error
        if found is None:
            face = face or self._face(state)
            found = self.numbers[state, unpaid] = len(self.keys)
            self.keys.append(
                (state, self._face_number(replace(face, reward=0.0) if unpaid else face))
            )
            self.bytes += STATE_BYTES + len(face.text)
        return found

    def _face(self, state: Hashable) -> Face:
        seen = checked(self.named, self.game.look(state))
        if seen != checked(self.named, self.game.look(state)):
            raise self.refusal(
                f'look() shows "{first_words(seen.text)}" in two ways: it must depend on the state alone'
            )
        told = getattr(
            self.game, "face_at", None
        )  # a game that has passages tells more than it shows
        if told is not None:
            face: Face = told(state)
            return face
        return Face(seen.text, seen.actions, seen.reward, ending=self._ending(state, seen))

    def _ending(self, state: Hashable, seen: Observation) -> EndingPlace | None:
        """Endings of one name, or without one, are told apart by their text and by what they pay."""
        if seen.actions:
            return None
        named = getattr(self.game, "ending_at", None)
        return EndingPlace(named(state) if named else THE_END, None, seen.text, seen.reward)

    def _face_number(self, face: Face) -> int:
        number = self.faces.setdefault(face, len(self.faces))
        if number == len(self.states.faces):
            self.states.faces.append(face)
        return number

    def _check_size(self, outcomes: int, what: str) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states")
        if self.bytes > self.memory:
            raise TooLargeError(
                f"its {len(self.keys):,} states take more than {self.memory / 2**20:,.0f} MB"
            )
        if outcomes > self.limit:
            raise TooLargeError(f"{what} comes out in more than {self.limit:,} ways")
