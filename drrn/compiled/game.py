"""A compiled game: a state graph that is played like any game, or many episodes at once."""

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

NOT_PLAYED = ("name", "title", "raw_states", "raw_complete", "live_states", "unreached")


@dataclass(eq=False)
class Compiled(StateGraph):
    """A compiled game: all states as arrays.

    It is a game like any other; `play` runs thousands of episodes at once.
    """

    play = lockstep.play_in_lockstep

    most_copies: ClassVar[int] = 10**9  # copies share the arrays
    shuffle: bool = True
    _random: random.Random = field(default_factory=random.Random, init=False, repr=False)
    _state: int = field(default=-1, init=False, repr=False)
    _slots: list[int] = field(default_factory=list, init=False, repr=False)

    @property
    def training(self) -> Mapping[str, Any]:
        """Recommended settings: none."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the texts and arrays."""
        digest = hashlib.sha256()
        for part in fields(StateGraph):
            if part.name not in NOT_PLAYED:
                value = getattr(self, part.name)
                is_array = isinstance(value, np.ndarray)
                content = value.tobytes() if is_array else repr(value).encode()
                digest.update(part.name.encode() + content)
        return digest.hexdigest()

    def another(self) -> Compiled:
        """Return a copy with its own state and random generator; the arrays are shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._state = -1
        twin._slots = []
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(f"game {operator.index(seed)}")  # salted, as in all games
        return self._arrive(0)

    def step(self, index: int) -> Observation:
        slots = self._slots
        if not slots:
            raise RuntimeError("the episode has ended or has not started: call reset()")
        if not 0 <= index < len(slots):
            raise IndexError(f"action {index} of {len(slots)}: choose from 0 to {len(slots) - 1}")
        return self._arrive(int(self.row[slots[index]]))

    @property
    def ending(self) -> str | None:
        """Name of the ending that was reached (in a story, the passage); None before that."""
        number = int(self.ending_at[self._state]) if self._state >= 0 else -1
        return self.endings[number].passage if number >= 0 else None

    def _arrive(self, row: int) -> Observation:
        outcomes = self.row_outcomes(row)
        outcome = 0
        if outcomes.stop - outcomes.start > 1:
            cumulative = np.cumsum(self.probability[outcomes])[:-1]
            outcome = int(np.searchsorted(cumulative, self._random.random(), side="right"))
        state = int(self.successor[outcomes.start + outcome])
        self._state = state
        self._slots = list(range(int(self.first[state]), int(self.first[state + 1])))
        if self.shuffle:
            self._random.shuffle(self._slots)
        words = tuple(self.actions[self.action[slot]] for slot in self._slots)
        return Observation(self.texts[self.text[state]], words, float(self.reward[state]))
