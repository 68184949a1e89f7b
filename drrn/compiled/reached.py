"""The states that a search reached, flat: what a game hands over to be assembled into arrays."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from drrn.compiled.graph import EndingPlace
from drrn.errors import InputError
from drrn.game.contract import Game

# about what CPython takes, dictionaries included
ROW_BYTES = 250
STATE_BYTES = 250
CELL_BYTES = 8
OUTCOME_BYTES = 12


class TooLargeError(Exception):
    """The search met its limit; the message says which, and what grew."""


@dataclass(frozen=True, slots=True)
class Face:
    """What a state shows and pays; several states may have one face."""

    text: str
    actions: tuple[str, ...]
    reward: float
    passage: str = ""  # the passage behind it, in games that have passages
    ending: EndingPlace | None = None
    hypertext: bool = False

    @property
    def ended(self) -> bool:
        return not self.actions


@dataclass
class States:
    """What was reached, flat: the actions of state s are first[s] to first[s + 1], the outcomes of row r likewise.

    Row 0 is the opening.
    """

    faces: list[Face] = field(default_factory=list)
    face: array[int] = field(default_factory=lambda: array("i"))  # of each state
    first: array[int] = field(default_factory=lambda: array("q", [0]))
    row: array[int] = field(default_factory=lambda: array("i"))  # of each action of each state
    row_first: array[int] = field(default_factory=lambda: array("q", [0]))
    successor: array[int] = field(default_factory=lambda: array("i"))
    probability: array[float] = field(default_factory=lambda: array("d"))
    raw_states: int = 0  # before anything that no longer matters was left out
    raw_complete: bool = True
    unreached: tuple[str, ...] = ()  # passages

    def __len__(self) -> int:
        return len(self.face)

    def add_row(self, outcomes: dict[int, float]) -> None:
        """The outcomes of the next row: states and their chances."""
        self.successor.extend(outcomes)
        self.probability.extend(outcomes.values())
        self.row_first.append(len(self.successor))


def refusal(game: Game, why: str) -> InputError:
    """The sentence that says why a game cannot be compiled."""
    return InputError(f"{game.name} cannot be compiled: {why}")
