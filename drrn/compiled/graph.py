"""The state graph of a compiled game as arrays: states, their actions, and the chances of what those lead to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.text import ranges

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EndingPlace:
    """Where a game ends: the ending's name (in a story its passage, or that which its rule names), the number of its
    rule from 0, and in games that have no rules the text and the reward that tell endings of one name apart."""

    passage: str
    rule: int | None
    text: str = ""
    reward: float = 0.0


@dataclass(eq=False)
class StateGraph:
    """States, and what leads where. Arrays named `…first` cut those that follow them: those of i are first[i] to
    first[i + 1]. An action of a state is a slot; what it leads to, by chance, is a row. Row 0 is the opening.

    A page is what a player sees: a text and its actions. All states of a page have its actions in the same order.
    """

    name: str
    title: str
    max_steps: int  # where a loop should stop reading; no part of the game
    texts: tuple[str, ...]
    actions: tuple[str, ...]
    passages: tuple[str, ...]  # "" in games that have none
    endings: tuple[EndingPlace, ...]

    page_text: Ints  # [P] into texts
    page_hypertext: Flags  # [P]
    page_first: Ints  # [P + 1]
    page_action: Ints  # into actions

    page: Ints  # [S]
    passage: Ints  # [S] into passages
    reward: Floats  # [S] for arriving
    ending_at: Ints  # [S] into endings, -1 where the story goes on
    first: Ints  # [S + 1]
    row: Ints  # [slots]

    row_first: Ints  # [R + 1]
    successor: Ints  # [outcomes] a state
    probability: Floats  # [outcomes]

    raw_states: int  # of (page, all variables); where `raw_complete` is false, there are more
    raw_complete: bool
    live_states: int  # of (page, variables that may yet matter), before those alike were merged
    unreached: tuple[str, ...]  # passages

    def __len__(self) -> int:
        return len(self.page)

    @cached_property
    def text(self) -> Ints:
        """The text of each state."""
        return self.page_text[self.page]

    @cached_property
    def action(self) -> Ints:
        """The action of each slot."""
        return self.by_state(self.page_action)

    @cached_property
    def count(self) -> Ints:
        """How many actions each state has."""
        return np.diff(self.first)

    @cached_property
    def ended(self) -> Flags:
        ended: Flags = self.count == 0
        return ended

    @cached_property
    def start(self) -> Floats:
        """The chance of each state to be the first."""
        opening = slice(0, int(self.row_first[1]))
        return totals(self.successor[opening], self.probability[opening], len(self))

    @cached_property
    def slot_state(self) -> Ints:
        """The state of each slot."""
        return np.repeat(np.arange(len(self)), self.count)

    @cached_property
    def deeds(self) -> tuple[Ints, Ints, Ints] | None:
        """Slots of one state that lead to one row, taken together: the deed of each slot, and of each deed its state
        and row. None unless they are less than half as many: in parser games most commands do the same."""
        rows = len(self.row_first)
        pairs, deed = np.unique(self.slot_state * rows + self.row, return_inverse=True)
        return (deed, pairs // rows, pairs % rows) if 2 * len(pairs) < len(self.row) else None

    @cached_property
    def page_actions(self) -> Ints:
        """The actions of each page side by side, -1 where it has no more: [P, most actions]."""
        counts = np.diff(self.page_first)
        side_by_side = np.full((len(counts), max(int(counts.max()), 1)), -1)
        places = np.arange(side_by_side.shape[1]) < counts[:, None]
        side_by_side[places] = self.page_action
        return side_by_side

    def outcomes(self, slot: int) -> slice:
        """Where the outcomes of a slot stand in `successor` and `probability`."""
        row = self.row[slot]
        return slice(int(self.row_first[row]), int(self.row_first[row + 1]))

    def place_of(self, state: int) -> str:
        """Where a player is: the passage, or the first words of the text in games that have no passages."""
        return self.passages[self.passage[state]] or first_words(self.texts[self.text[state]])

    def by_state(self, of_page_action: NDArray[Any]) -> NDArray[Any]:
        """What is given for each action of each page (as `page_action` lists them), for each slot."""
        return of_page_action[ranges(self.page_first[self.page], self.count)]


def first_words(text: str, length: int = 40) -> str:
    """The beginning of a text, to know it by, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0]}…"


def totals(place: Ints, amount: Floats | Flags, size: int) -> Floats:
    """What falls to each place from 0 up to the size, added up."""
    added: Floats = np.bincount(place, amount, size).astype(np.float64, copy=False)
    return added
