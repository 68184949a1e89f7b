"""States of a game: as a search collects them (`States`), and as arrays (`StateGraph`)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.text import ranges

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# approximate sizes in CPython, dictionaries included
ROW_BYTES = 250
STATE_BYTES = 250
CELL_BYTES = 8
OUTCOME_BYTES = 12


class TooLargeError(Exception):
    """The search exceeded a limit; the message names it."""


def refusal(game: Game, reason: str) -> InputError:
    """Return the error for a game that cannot be compiled."""
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
    """What a state shows and pays; several states may have the same face."""

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

    The actions of state s are first[s] to first[s + 1]; the outcomes of row r are row_first[r] to
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
    unreached: tuple[str, ...] = ()  # passages

    def __len__(self) -> int:
        return len(self.face)

    def add_row(self, outcomes: dict[int, float]) -> None:
        """Append a row: the probability of each successor state."""
        self.successor.extend(outcomes)
        self.probability.extend(outcomes.values())
        self.row_first.append(len(self.successor))


@dataclass(eq=False)
class StateGraph:
    """All states of a game, and the outcomes of their actions, as arrays.

    An action of a state is a slot; its possible outcomes are a row; row 0 is the opening. An
    array named `…first` delimits the arrays after it: the entries of i are first[i] to
    first[i + 1]. A page is what a player sees: a text and its actions. All states of a page list
    its actions in the same order.
    """

    name: str
    title: str
    max_steps: int  # step limit for episodes; not part of the game
    texts: tuple[str, ...]
    actions: tuple[str, ...]
    passages: tuple[str, ...]  # "" in games without passages
    endings: tuple[EndingId, ...]

    page_text: Ints  # [P] into texts
    page_hypertext: Flags  # [P]
    page_first: Ints  # [P + 1]
    page_action: Ints  # into actions

    page: Ints  # [S]
    passage: Ints  # [S] into passages
    reward: Floats  # [S] for arriving
    ending_at: Ints  # [S] into endings; -1 where the game continues
    first: Ints  # [S + 1]
    row: Ints  # [slots]

    row_first: Ints  # [R + 1]
    successor: Ints  # [outcomes] a state
    probability: Floats  # [outcomes]

    raw_states: int  # (page, all variables); a lower bound unless `raw_complete`
    raw_complete: bool
    live_states: int  # (page, variables that may still matter), before merging
    unreached: tuple[str, ...]  # passages

    def __len__(self) -> int:
        return len(self.page)

    @cached_property
    def text(self) -> Ints:
        """Text of each state."""
        return self.page_text[self.page]

    @cached_property
    def action(self) -> Ints:
        """Action of each slot."""
        return self.by_state(self.page_action)

    @cached_property
    def count(self) -> Ints:
        """Number of actions of each state."""
        return np.diff(self.first)

    @cached_property
    def ended(self) -> Flags:
        ended: Flags = self.count == 0
        return ended

    @cached_property
    def start(self) -> Floats:
        """Probability that an episode starts in each state."""
        opening = slice(0, int(self.row_first[1]))
        return totals(self.successor[opening], self.probability[opening], len(self))

    @cached_property
    def slot_state(self) -> Ints:
        """State of each slot."""
        return np.repeat(np.arange(len(self)), self.count)

    @cached_property
    def slot_groups(self) -> tuple[Ints, Ints, Ints] | None:
        """Groups of slots with the same state and row: (group of slots, states, rows).

        None unless there are less than half as many groups as slots. In parser games most commands
        do the same.
        """
        rows = len(self.row_first)
        pairs, group = np.unique(self.slot_state * rows + self.row, return_inverse=True)
        if 2 * len(pairs) >= len(self.row):
            return None
        return group, pairs // rows, pairs % rows

    @cached_property
    def page_actions(self) -> Ints:
        """Actions of each page, padded with -1: [P, most actions]."""
        counts = np.diff(self.page_first)
        padded = np.full((len(counts), max(int(counts.max()), 1)), -1)
        padded[np.arange(padded.shape[1]) < counts[:, None]] = self.page_action
        return padded

    def outcomes(self, slot: int) -> slice:
        """Return the range of a slot's outcomes in `successor` and `probability`."""
        return self.row_outcomes(int(self.row[slot]))

    def row_outcomes(self, row: int) -> slice:
        return slice(int(self.row_first[row]), int(self.row_first[row + 1]))

    def label(self, state: int) -> str:
        """Return the passage of a state, or the first words of its text if it has none."""
        return self.passages[self.passage[state]] or first_words(self.texts[self.text[state]])

    def by_state(self, of_page_action: NDArray[Any]) -> NDArray[Any]:
        """Expand values of page actions (in the order of `page_action`) to slots."""
        return of_page_action[ranges(self.page_first[self.page], self.count)]


def first_words(text: str, length: int = 40) -> str:
    """Return the start of a text, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0]}…"


def totals(index: Ints, amount: Floats | Flags, size: int) -> Floats:
    """Sum the amounts of each index from 0 to size - 1."""
    sums: Floats = np.bincount(index, amount, size).astype(np.float64, copy=False)
    return sums
