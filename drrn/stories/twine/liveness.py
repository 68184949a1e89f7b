"""Liveness of cells: a cell may yet matter if some way onward may read it before it writes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drrn.stories.twine.teller import Move
from drrn.stories.twine.values import Value


class UnknownCellError(Exception):
    """A cell was asked for that was not known to matter, so its value was not kept."""


class KnownCells(dict[str, Value]):
    """The cells whose values were kept."""

    def get(self, cell: str, default: Value = 0) -> Value:  # type: ignore[override]
        try:
            return self[cell]
        except KeyError:
            raise UnknownCellError(cell) from None


@dataclass
class Ahead:
    """What is known of a move: the cells it reads, and the faces it leads to with the cells written on the way."""

    reads: set[str] = field(default_factory=set)
    leads: set[tuple[int, frozenset[str]]] = field(default_factory=set)
    matters: tuple[str, ...] = ()  # before the move


class LiveCells:
    """The live cells before each move and on each face: the least that fits all that was seen."""

    def __init__(self, tracked: set[str]) -> None:
        self.tracked = tracked
        self.ahead: dict[Move, Ahead] = {}
        self.moves: list[tuple[Move, ...]] = []  # of each face
        self.on_face: list[tuple[str, ...]] = []

    def add_face(self, moves: tuple[Move, ...]) -> None:
        self.moves.append(moves)
        for move in moves:
            self.ahead.setdefault(move, Ahead())
        known = [set(self.ahead[move].matters) for move in moves]
        self.on_face.append(tuple(sorted(set().union(*known))))

    def see(
        self, move: Move, reads: Iterable[str], leads: Iterable[tuple[int, frozenset[str]]]
    ) -> None:
        self.ahead.setdefault(move, Ahead()).reads.update(reads)
        self.ahead[move].leads.update(leads)

    def learn(self) -> None:
        """Go round until nothing more is found to matter."""
        faces = [set(cells) for cells in self.on_face]
        moves = {move: set(ahead.matters) for move, ahead in self.ahead.items()}
        grown = True
        while grown:
            grown = False
            for move, ahead in self.ahead.items():
                passed_on = (faces[face] - written for face, written in ahead.leads)
                matters = self._before(move, ahead.reads.union(*passed_on))
                grown |= not matters <= moves[move]
                moves[move] |= matters
            for face, onward in enumerate(self.moves):
                faces[face].update(*(moves[move] for move in onward))
        for move, ahead in self.ahead.items():
            ahead.matters = tuple(sorted(moves[move]))
        self.on_face = [tuple(sorted(cells)) for cells in faces]

    def _before(self, move: Move, matters: set[str]) -> set[str]:
        """What matters before a journey follows a move, given what matters once it did (see `Journey.follow`)."""
        if move.so_far is not None:
            return matters
        before = matters - {move.mark or ""}
        if "last" in self.tracked or "previous" in self.tracked:
            before.discard("here")
            if not before.isdisjoint(("last", "previous")):
                before.add("here")
        return before
