"""Base class of parser games: fixed commands of a verb and an object, and listed outcomes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from drrn.compiled.search import BreadthFirst, States
from drrn.game.contract import Observation, SeededGame

SLOT_BYTES = 4  # of each command of each state

Outcomes = Iterator[tuple[float, Any]]  # probabilities and states


class ParserWorld(SeededGame):
    """A game that offers the same commands on every page.

    A subclass lists the effect of each command in a state. Most commands of a state have the same
    effect (nothing happens), so the search visits each effect once instead of each command.
    """

    max_steps: int
    fingerprint: str
    commands: tuple[str, ...]
    kind = "parser"
    most_copies = 10**9  # a copy is a state and a generator

    def __init__(self, name: str, table: Mapping[str, Any], *, shuffle: bool = True) -> None:
        """`table` is that of the world's TOML file."""
        super().__init__(name, shuffle=shuffle)
        self.title: str = table["title"]
        self.training: Mapping[str, Any] = table["training"]

    @abstractmethod
    def opening(self) -> Outcomes:
        """Yield the states that an episode can start in."""

    @abstractmethod
    def effects(self, state: Any) -> Sequence[Hashable]:
        """Return the effect of each command in a state."""

    @abstractmethod
    def led_to(self, state: Any, effect: Any) -> Outcomes:
        """Yield the states that an effect can lead to."""

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """Return the states that a command can lead to."""
        return self.led_to(state, self.effects(state)[index])

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        """Return all states; called by the compiler."""
        return _EffectSearch(self, limit, memory).run(progress)

    def _open(self) -> Observation:
        return self._arrive(self.opening())

    def _take(self, option: int) -> Observation:
        return self._arrive(self.outcomes(self._state, option))

    def _arrive(self, outcomes: Outcomes) -> Observation:
        probabilities, states = zip(*outcomes, strict=True)
        return self._show(self._random.choices(states, probabilities)[0])


class _EffectSearch(BreadthFirst):
    """Search that adds one row for each effect of a state instead of each command."""

    def __init__(self, world: ParserWorld, limit: int, memory: int) -> None:
        super().__init__(world, limit, memory)
        self.world = world

    def expand(self, state: Hashable, face: int) -> None:
        if not self.states.faces[face].ended:
            effects = self.world.effects(state)
            row = {}
            for effect in dict.fromkeys(effects):
                row[effect] = self.rows
                self.add_row(self.world.led_to(state, effect), f"the effect {effect}")
            self.states.row.extend(row[effect] for effect in effects)
            self.bytes += SLOT_BYTES * len(effects)
        self.states.first.append(len(self.states.row))
        self.states.face.append(face)


def all_commands(verbs: Iterable[str], objects: Sequence[str]) -> tuple[str, ...]:
    """Return every verb with every object."""
    return tuple(f"{verb} {thing}" for verb in verbs for thing in objects)
