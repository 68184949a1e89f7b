"""Breadth-first search of the states that a game's listed outcomes reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from numbers import Real

from drrn.compiled.graph import (
    OUTCOME_BYTES,
    ROW_BYTES,
    STATE_BYTES,
    EndingId,
    Face,
    States,
    TooLargeError,
    first_words,
    refusal,
)
from drrn.errors import InputError
from drrn.game.contract import Game, Observation, checked
from drrn.game.enumerable import Enumerable, Outcomes
from drrn.game.optional import THE_END

TOLERANCE = 1e-9  # allowed difference of an action's total probability from 1


def breadth_first(
    game: Game, limit: int, memory: int, progress: Callable[[int], None] | None = None
) -> States:
    """Return all states of a game; row 0 is the opening.

    Raises:
        TooLargeError: There are more than `limit` states, or they need more than about `memory`
            bytes.
    """
    return BreadthFirst(game, limit, memory).run(progress)


class BreadthFirst:
    """A search of a game's states, in which a subclass may expand states differently."""

    def __init__(self, game: Game, limit: int, memory: int) -> None:
        assert isinstance(game, Enumerable)
        self.game: Enumerable = game
        self.checked_game: Game = game
        self.limit = limit
        self.memory = memory
        self.bytes = 0
        self.states = States()
        self.keys: list[tuple[Hashable, int]] = []  # states in search order, and their faces
        self.numbers: dict[tuple[Hashable, bool], int] = {}
        self.faces: dict[Face, int] = {}
        self.rows = 0

    def run(self, progress: Callable[[int], None] | None = None) -> States:
        self.add_row(self.game.opening(), "the opening", opening=True)
        for done, (state, face) in enumerate(self.keys, 1):  # the list grows during the loop
            self.expand(state, face)
            if progress and done % 20 == 0:
                progress(done)
        self.states.raw_states = len(self.states)
        return self.states

    def expand(self, state: Hashable, face: int) -> None:
        """Add a row for each action of a state."""
        page = self.states.faces[face]
        for index, action in enumerate(page.actions):
            self.states.row.append(self.rows)
            what = f'"{action}" on the page "{first_words(page.text)}"'
            self.add_row(self.game.outcomes(state, index), what)
        self.states.first.append(len(self.states.row))
        self.states.face.append(face)

    def add_row(self, outcomes: Outcomes, what: str, opening: bool = False) -> None:
        """Add the outcomes of an action; their probabilities must sum to 1."""
        row: dict[int, float] = {}
        for count, outcome in enumerate(outcomes, 1):
            if not (isinstance(outcome, tuple) and len(outcome) == 2):
                raise self._refusal(
                    f"{what} has the outcome {outcome!r:.60}; "
                    "it must be a pair (probability, state)"
                )
            chance, state = outcome
            if not (isinstance(chance, Real) and 0 <= chance <= 1 + TOLERANCE):
                raise self._refusal(
                    f"{what} has an outcome with the probability {chance!r}; "
                    "it must be between 0 and 1"
                )
            if chance > 0:
                number = self._number(state, opening)
                row[number] = row.get(number, 0.0) + float(chance)
            self._check_size(count, what)
        if abs(excess := math.fsum(row.values()) - 1) > TOLERANCE:
            raise self._refusal(f"the probabilities of {what} sum to {excess + 1:g}, not to 1")
        self.states.add_row(row)
        self.rows += 1
        self.bytes += ROW_BYTES + OUTCOME_BYTES * len(row)

    def _refusal(self, reason: str) -> InputError:
        return refusal(self.checked_game, reason)

    def _number(self, state: Hashable, opening: bool) -> int:
        """Return the number of a state.

        The first page of an episode pays nothing, so an opening state that pays when it is reached
        again counts as two states.
        """
        face = self._face(state) if opening else None
        unpaid = face is not None and face.reward != 0
        try:
            number = self.numbers.get((state, unpaid))
        except TypeError as error:
            raise self._refusal(
                f"a state must be hashable, and {type(state).__name__} is not; use a tuple"
            ) from error
        if number is None:
            face = face or self._face(state)
            number = len(self.keys)
            self.numbers[state, unpaid] = number
            self.keys.append(
                (state, self._face_number(replace(face, reward=0.0) if unpaid else face))
            )
            self.bytes += STATE_BYTES + len(face.text)
        return number

    def _face(self, state: Hashable) -> Face:
        page = checked(self.checked_game, self.game.look(state))
        if page != checked(self.checked_game, self.game.look(state)):
            raise self._refusal(
                f'look() returned two different pages for "{first_words(page.text)}"; '
                "a page must depend on the state alone"
            )
        face_at = getattr(self.game, "face_at", None)  # of games that have passages
        if face_at is not None:
            face: Face = face_at(state)
            return face
        return Face(page.text, page.actions, page.reward, ending=self._ending(state, page))

    def _ending(self, state: Hashable, page: Observation) -> EndingId | None:
        if page.actions:
            return None
        ending_at = getattr(self.game, "ending_at", None)
        name = ending_at(state) if ending_at else THE_END
        return EndingId(name, None, page.text, page.reward)

    def _face_number(self, face: Face) -> int:
        number = self.faces.setdefault(face, len(self.faces))
        if number == len(self.states.faces):
            self.states.faces.append(face)
        return number

    def _check_size(self, outcomes: int, what: str) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states")
        if self.bytes > self.memory:
            size = f"{self.memory / 2**20:,.0f} MB"
            raise TooLargeError(f"its {len(self.keys):,} states need more than {size}")
        if outcomes > self.limit:
            raise TooLargeError(f"{what} has more than {self.limit:,} outcomes")
