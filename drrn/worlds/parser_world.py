"""Base class of parser games: fixed commands of a verb and an object, and listed outcomes."""

from __future__ import annotations

import copy
import operator
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from drrn.compiled.search import BreadthFirst, States
from drrn.game.contract import Observation, check_index

SLOT_BYTES = 4  # of each command of each state

Outcomes = Iterator[tuple[float, Any]]  # probabilities and states


class ParserWorld(ABC):
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
        self.name = name
        self.title: str = table["title"]
        self.training: Mapping[str, Any] = table["training"]
        self.shuffle = shuffle
        self._random = random.Random()
        self._state: Any = None
        self._order: Sequence[int] = ()  # of the commands on the page; empty outside an episode

    @abstractmethod
    def opening(self) -> Outcomes:
        """Yield the states that an episode can start in."""

    @abstractmethod
    def effects(self, state: Any) -> Sequence[Hashable]:
        """Return the effect of each command in a state."""

    @abstractmethod
    def led_to(self, state: Any, effect: Any) -> Outcomes:
        """Yield the states that an effect can lead to."""

    @abstractmethod
    def look(self, state: Any) -> Observation:
        """Return the page of a state, with the commands in their fixed order."""

    @abstractmethod
    def ending_at(self, state: Any) -> str:
        """Return the name of an ending."""

    @property
    def ending(self) -> str | None:
        """The name of the ending that the episode reached; None before the end."""
        if self._state is None or self._order:
            return None
        return self.ending_at(self._state)

    def another(self) -> ParserWorld:
        """Return a copy with a separate episode and random generator."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._state = None
        twin._order = ()
        return twin

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """Return the states that a command can lead to."""
        return self.led_to(state, self.effects(state)[index])

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        """Return all states; called by the compiler."""
        return _EffectSearch(self, limit, memory).run(progress)

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted: a player who seeds its generator with the same number is independent.
            self._random = random.Random(f"game {operator.index(seed)}")
        return self._arrive(self.opening())

    def step(self, index: int) -> Observation:
        check_index(index, len(self._order))
        return self._arrive(self.outcomes(self._state, self._order[index]))

    def _arrive(self, outcomes: Outcomes) -> Observation:
        probabilities, states = zip(*outcomes, strict=True)
        self._state = state = self._random.choices(states, probabilities)[0]
        page = self.look(state)
        self._order = range(len(page.actions))
        if self.shuffle:
            self._order = self._random.sample(self._order, len(self._order))
        actions = tuple(page.actions[index] for index in self._order)
        return Observation(page.text, actions, page.reward)


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


def with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with its lists as tuples."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
