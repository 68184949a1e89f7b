"""Breadth-first search of a parser game by the effects of its commands: 222 commands have a handful of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from drrn.compiled.graph import (
    OUTCOME_BYTES,
    ROW_BYTES,
    STATE_BYTES,
    EndingId,
    Face,
    States,
    TooLargeError,
)
from drrn.game.contract import Observation

SLOT_BYTES = 4  # of each command of each state


class World(Protocol):
    """What is searched: see `ParserWorld`."""

    def opening(self) -> Iterable[tuple[float, Any]]: ...
    def effects(self, state: Any) -> Sequence[Hashable]: ...
    def led_to(self, state: Any, effect: Any) -> Iterable[tuple[float, Any]]: ...
    def look(self, state: Any) -> Observation: ...
    def ending_at(self, state: Any) -> str: ...


def search_world(
    world: World, limit: int, memory: int, progress: Callable[[int], None] | None = None
) -> States:
    """All states, row 0 being the opening; `TooLargeError` past so many states or about so many bytes."""
    search = _EffectSearch(world)
    search.add_row(world.opening())
    for done, state in enumerate(search.keys, 1):  # keys grow as it goes
        search.expand(state)
        if len(search.keys) > limit:
            raise TooLargeError(f"it has more than {limit:,} states")
        if search.bytes > memory:
            raise TooLargeError(
                f"its {len(search.keys):,} states take more than {memory / 2**20:,.0f} MB"
            )
        if progress and done % 20 == 0:
            progress(done)
    search.states.raw_states = len(search.states)
    return search.states


class _EffectSearch:
    """A search under way: the states found so far, and a row for each effect in each of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.states = States()
        self.rows = 0
        self.keys: list[Hashable] = []
        self.numbers: dict[Hashable, int] = {}
        self.faces: dict[Face, int] = {}

    @property
    def bytes(self) -> int:
        slots = len(self.states.row)
        outcomes = len(self.states.successor)
        return (
            STATE_BYTES * len(self.keys)
            + ROW_BYTES * self.rows
            + OUTCOME_BYTES * outcomes
            + SLOT_BYTES * slots
        )

    def expand(self, state: Hashable) -> None:
        """A row for each effect that the commands of a state have."""
        seen = self.world.look(state)
        if seen.actions:
            effects = self.world.effects(state)
            row = {
                effect: self.add_row(self.world.led_to(state, effect))
                for effect in dict.fromkeys(effects)
            }
            self.states.row.extend(row[effect] for effect in effects)
        self.states.first.append(len(self.states.row))
        self.states.face.append(self._face(state, seen))

    def add_row(self, outcomes: Iterable[tuple[float, Hashable]]) -> int:
        """The states that an effect leads to; the row's number."""
        found: dict[int, float] = {}
        for chance, state in outcomes:
            number = self.numbers.setdefault(state, len(self.keys))
            if number == len(self.keys):
                self.keys.append(state)
            found[number] = found.get(number, 0.0) + chance
        self.states.add_row(found)
        self.rows += 1
        return self.rows - 1

    def _face(self, state: Hashable, seen: Observation) -> int:
        ending = None
        if not seen.actions:
            ending = EndingId(self.world.ending_at(state), None, seen.text, seen.reward)
        face = Face(seen.text, seen.actions, seen.reward, ending=ending)
        number = self.faces.setdefault(face, len(self.faces))
        if number == len(self.states.faces):
            self.states.faces.append(face)
        return number
