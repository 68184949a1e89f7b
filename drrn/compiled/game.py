"""A compiled game: a state graph that is played like any game, or thousands of episodes at once in lock step."""

from __future__ import annotations

import copy
import hashlib
import operator
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from drrn.compiled import lockstep
from drrn.compiled.graph import StateGraph
from drrn.game.contract import Observation

NO_PART_OF_PLAY = ("name", "title", "raw_states", "raw_complete", "live_states", "unreached")


@dataclass(eq=False)
class Compiled(StateGraph):
    """A compiled game: all its states as arrays. It is a game like any other, and `play` runs thousands of episodes at
    once."""

    play = lockstep.play_in_lockstep  # so many episodes, thousands at once

    most_copies: ClassVar[int] = 10**9  # a copy is a number: the arrays are shared
    shuffle: bool = True
    _random: random.Random = field(default_factory=random.Random, init=False, repr=False)
    _state: int = field(default=-1, init=False, repr=False)
    _slots: list[int] = field(default_factory=list, init=False, repr=False)

    @property
    def training(self) -> Mapping[str, Any]:
        """No settings of its own: a compiled game knows its states and nothing of how it is learned."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of its texts and arrays."""
        digest = hashlib.sha256()
        for part in fields(StateGraph):
            if part.name not in NO_PART_OF_PLAY:
                value = getattr(self, part.name)
                is_array = isinstance(value, np.ndarray)
                digest.update(
                    part.name.encode() + (value.tobytes() if is_array else repr(value).encode())
                )
        return digest.hexdigest()

    def another(self) -> Compiled:
        """The same game once more, with a state and a generator of its own; the arrays are shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._state = -1
        twin._slots = []
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(f"game {operator.index(seed)}")  # salted, as every game's
        return self._arrive(0)

    def step(self, index: int) -> Observation:
        slots = self._slots
        if not slots:
            raise RuntimeError("the episode has ended, or has not begun: call reset()")
        if not 0 <= index < len(slots):
            raise IndexError(
                f"action {index} of {len(slots)}: choose one from 0 to {len(slots) - 1}"
            )
        return self._arrive(int(self.row[slots[index]]))

    @property
    def ending(self) -> str | None:
        """The name of the ending it stands on (in a story, the passage); None while it goes on."""
        number = int(self.ending_at[self._state]) if self._state >= 0 else -1
        return self.endings[number].passage if number >= 0 else None

    def _arrive(self, row: int) -> Observation:
        outcomes = slice(int(self.row_first[row]), int(self.row_first[row + 1]))
        chosen = 0
        if outcomes.stop - outcomes.start > 1:
            reached = np.cumsum(self.probability[outcomes])[:-1]
            chosen = int(np.searchsorted(reached, self._random.random(), side="right"))
        self._state = state = int(self.successor[outcomes.start + chosen])
        self._slots = list(range(int(self.first[state]), int(self.first[state + 1])))
        if self.shuffle:
            self._random.shuffle(self._slots)
        words = tuple(self.actions[self.action[slot]] for slot in self._slots)
        return Observation(self.texts[self.text[state]], words, float(self.reward[state]))
