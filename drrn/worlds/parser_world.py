"""What parser games share: fixed commands of a verb and an object, chance by listed outcomes, an order of commands."""

from __future__ import annotations

import copy
import operator
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from drrn.compiled.graph import States
from drrn.game.contract import Observation
from drrn.worlds.search import search_world

State = TypeVar("State", bound=Hashable)


class ParserWorld(Generic[State]):
    """A game that shows the same commands on every page. A subclass says what each command does in a state; most do the
    same (nothing), so effects are few, and it is compiled by effects instead of by commands."""

    name: str
    title: str
    max_steps: int
    fingerprint: str
    commands: tuple[str, ...]
    training: Mapping[str, Any]
    kind = "parser"
    most_copies = 10**9  # a copy is a state and a generator: all else is shared

    def __init__(self, *, shuffle: bool = True) -> None:
        self.shuffle = shuffle
        self._random = random.Random()  # by chance, until a seed is given
        self._state: State | None = None
        self._order: Sequence[
            int
        ] = ()  # of the commands as they are shown; none: there is no episode

    # --- what a subclass says

    def opening(self) -> Iterable[tuple[float, State]]:
        """The states that an episode can begin in, each with its chance."""
        raise NotImplementedError

    def effects(self, state: State) -> Sequence[Hashable]:
        """What each command does in a state, in the commands' own order."""
        raise NotImplementedError

    def led_to(self, state: State, effect: Any) -> Iterable[tuple[float, State]]:
        """What an effect can lead to, each with its chance."""
        raise NotImplementedError

    def look(self, state: State) -> Observation:
        """What a player sees there, with the commands in their own order."""
        raise NotImplementedError

    def ending_at(self, state: State) -> str:
        """The name of an ending."""
        raise NotImplementedError

    # --- what all have

    @property
    def ending(self) -> str | None:
        """The name of the ending it stands on; None while it goes on."""
        if self._state is None or self._order:
            return None
        return self.ending_at(self._state)

    def another(self) -> ParserWorld[State]:
        """The same world once more, with a state and a generator of its own."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._state = None
        twin._order = ()
        return twin

    def outcomes(self, state: State, index: int) -> Iterable[tuple[float, State]]:
        """What a command can lead to, each with its chance."""
        return self.led_to(state, self.effects(state)[index])

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        """Every state, for the compiler."""
        return search_world(self, limit, memory, progress)

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(f"game {operator.index(seed)}")  # salted, as every game's
        return self._arrive(self.opening())

    def step(self, index: int) -> Observation:
        if self._state is None or not self._order:
            raise RuntimeError("the episode has ended, or has not begun: call reset()")
        if not 0 <= index < len(self._order):
            raise IndexError(
                f"command {index} of {len(self._order)}: choose one from 0 to {len(self._order) - 1}"
            )
        return self._arrive(self.outcomes(self._state, self._order[index]))

    def _arrive(self, outcomes: Iterable[tuple[float, State]]) -> Observation:
        chances, states = zip(*outcomes, strict=True)
        self._state = state = self._random.choices(states, chances)[0]
        seen = self.look(state)
        self._order = range(len(seen.actions))
        if self.shuffle:
            self._order = self._random.sample(self._order, len(self._order))
        return Observation(
            seen.text, tuple(seen.actions[place] for place in self._order), seen.reward
        )


def crossed(verbs: Iterable[str], objects: Sequence[str]) -> tuple[str, ...]:
    """Every verb with every object."""
    return tuple(f"{verb} {thing}" for verb in verbs for thing in objects)
