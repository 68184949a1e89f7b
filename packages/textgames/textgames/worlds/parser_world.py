"""Base class of parser games: fixed commands of a verb and an object, and listed outcomes."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from textgames.game.contract import Observation, Outcomes, SeededGame


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
        """The effect of each command in a state."""

    @abstractmethod
    def led_to(self, state: Any, effect: Any) -> Outcomes:
        """Yield the states that an effect can lead to."""

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """The states that a command can lead to."""
        return self.led_to(state, self.effects(state)[index])

    def _open(self) -> Observation:
        return self._arrive(self.opening())

    def _take(self, option: int) -> Observation:
        return self._arrive(self.outcomes(self._state, option))

    def _arrive(self, outcomes: Outcomes) -> Observation:
        probabilities, states = zip(*outcomes, strict=True)
        return self._show(self._random.choices(states, probabilities)[0])


def all_commands(verbs: Iterable[str], objects: Sequence[str]) -> tuple[str, ...]:
    """Every verb with every object."""
    return tuple(f"{verb} {thing}" for verb in verbs for thing in objects)
