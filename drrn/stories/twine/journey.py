"""The state of an episode: the cells of the story, and the way back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from drrn.stories.twine.teller import Move, Scene, Teller, key_of
from drrn.stories.twine.values import Value


@dataclass(slots=True)
class Journey:
    """The state of one episode: the cells, and for <<back>> the pages behind with the cells they had."""

    cells: dict[str, Value] = field(default_factory=dict)
    history: list[tuple[Move, dict[str, Value]]] = field(default_factory=list)

    def copy(self) -> Journey:
        return Journey(dict(self.cells), list(self.history))

    @property
    def identity(self) -> Hashable:
        """The cells as a key: a cell of 0 is as good as none, and true is not 1."""
        return _key(self.cells)

    @property
    def whole_identity(self) -> Hashable:
        """The cells and the way back as a key."""
        return (self.identity, tuple((move, _key(cells)) for move, cells in self.history))

    def follow(self, move: Move, teller: Teller) -> Move:
        """Before a page is told, keep what its functions may ask for; a move back becomes a move to that page."""
        if move.so_far is not None:  # it stays on the page
            return move
        tracked = teller.script.facts.tracked
        cells = self.cells
        if move.back is not None:
            move = self._go_back(move)
        elif "history" in tracked:
            if self.history:
                cells["moved"] = True
            self.history.append((move, dict(cells)))
        if move.mark:
            cells[move.mark] = True
        for cell in ("turns", f"visited {move.target}"):
            if cell.split(" ")[0] in tracked:
                count = cells.get(cell, 0)
                cells[cell] = count + 1 if isinstance(count, int) else 1
        if "last" in tracked or "previous" in tracked:
            here = cells.get("here")
            if here is not None:
                cells["last"] = here
            if here is not None and here != move.target:
                cells["previous"] = here
            cells["here"] = move.target
        return move

    def arrive(self, scene: Scene) -> None:
        """After a page was told, keep what it wrote; a passage that it went on to by itself is a step on the way."""
        for move, writes in scene.onward:
            self.history.append((move, {**self.cells, **writes}))
        self.cells.update(scene.writes)

    def after(self, scene: Scene) -> Journey:
        """Another journey that has arrived at the scene; one that writes nothing leaves this as it is."""
        if not scene.writes:
            return self
        journey = Journey({**self.cells, **scene.writes}, self.history)
        if scene.onward:
            journey = self.copy()
            journey.arrive(scene)
        return journey

    def _go_back(self, move: Move) -> Move:
        """Restore what was there before an earlier move, and make that move again, its setter and all."""
        steps = move.back or 1
        if move.target:
            places = [
                i for i, (name, _) in enumerate(self.history[:-1]) if name.target == move.target
            ]
            steps = len(self.history) - 1 - places[-1] if places else 1
        steps = min(steps, len(self.history) - 1)
        del self.history[len(self.history) - steps :]
        earlier, before = self.history[-1]
        self.cells.clear()
        self.cells.update(before)
        return earlier


def _key(cells: dict[str, Value]) -> Hashable:
    return frozenset(
        (cell, key_of(value))
        for cell, value in cells.items()
        if value.__class__ is bool or value != 0
    )
