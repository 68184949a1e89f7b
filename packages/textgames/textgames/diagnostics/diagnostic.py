"""Base classes of the diagnostics: small text games whose best and random scores are exact.

A game lists the outcomes of each action as (probability, state, reward). Playing draws one of them.
The text of a page may be random: it has no influence on what follows.
"""

import random
import re
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cache, cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from textgames.compiled.oracle import solve_game
from textgames.game.contract import THE_END, Observation, Outcomes, SeededGame

END = "end"  # the state after the last page
LEVELS = (1, 2, 3)  # easier, as in the published table, harder

Result = tuple[float, Hashable, float]  # probability, state, reward
Page = tuple[str, Sequence[str]]  # text and actions


class Diagnostic(SeededGame):
    """A game that tests one capability, at one of three levels."""

    capability: ClassVar[str]  # label in figures
    levels: ClassVar[tuple[Any, Any, Any]]  # the game's size at each level
    episodes: ClassVar[int] = 4_000  # of training
    has_held_out: ClassVar[bool] = False
    last_page: ClassVar[str] = "That was all for today."
    most_copies = 10**9  # a copy is a state and a generator
    max_steps = 500

    def __init__(self, level: int = 2, *, held_out: bool = False, shuffle: bool = True) -> None:
        variant = "/held-out" if held_out else ""
        super().__init__(f"diagnostic:{self.key()}/{level}{variant}", shuffle=shuffle)
        self.title = f"Diagnostic: {self.capability}, level {level}{variant.replace('/', ', ')}"
        self.level = level
        self.held_out = held_out
        self.size = self.levels[level - 1]

    @classmethod
    def key(cls) -> str:
        """The name between the colon and the level: the class name with hyphens."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def starts(self) -> Iterable[Result]:
        """The states in which an episode may start. Their rewards are 0."""
        return [(1.0, 0, 0.0)]

    @abstractmethod
    def results(self, state: Any, index: int) -> Iterable[Result]:
        """The results of the action at `index` of the state's page."""

    @abstractmethod
    def page(self, state: Any) -> Page:
        """The text and the actions of a state."""

    def look(self, state: tuple[Any, float]) -> Observation:
        """The page of a state, which is paired with the reward for reaching it."""
        position, reward = state
        if position == END:
            return Observation(self.last_page, (), reward)
        text, actions = self.page(position)
        return Observation(text, tuple(actions), reward)

    def ending_at(self, state: Any) -> str:
        return THE_END

    @property
    def optimum(self) -> float:
        """Expected return of an episode of the best player that knows the state."""
        return self._scores[0]

    @property
    def random_score(self) -> float:
        """Expected return of an episode of random play."""
        return self._scores[1]

    @property
    @abstractmethod
    def _scores(self) -> tuple[float, float]:
        """The expected returns of the best and of random play, within the step limit."""

    def _open(self) -> Observation:
        return self._show(self._draw(self.starts()))

    def _take(self, option: int) -> Observation:
        return self._show(self._draw(self.results(self._state[0], option)))

    def _draw(self, results: Iterable[Result]) -> tuple[Hashable, float]:
        options = list(results)
        _, state, reward = self._random.choices(options, [each[0] for each in options])[0]
        return state, reward


class FiniteDiagnostic(Diagnostic):
    """A game whose state determines the text, so that it can be compiled."""

    def opening(self) -> Outcomes:
        return [(p, (state, reward)) for p, state, reward in self.starts()]

    def outcomes(self, state: tuple[Any, float], index: int) -> Outcomes:
        results = self.results(state[0], index)
        return [(p, (successor, reward)) for p, successor, reward in results]

    @cached_property
    def _scores(self) -> tuple[float, float]:
        solved = solve_game(self.another())
        return solved.best, solved.random


class Questions(Diagnostic):
    """Some pages with one question each. The first action is right, unless `pays` differs.

    The next question is drawn, not listed, since there may be thousands. Actions are always
    shuffled: their order would be the answer.
    """

    pages: ClassVar[int] = 5

    def __init__(self, level: int = 2, *, held_out: bool = False, shuffle: bool = True) -> None:
        super().__init__(level, held_out=held_out, shuffle=True)
        self._questions = [q for q in self.questions() if self.is_held_out(q) == held_out]
        count = len(self.ask(self._questions[0])[1])
        self._pays = (1.0, *[0.0] * (count - 1))

    @abstractmethod
    def questions(self) -> Iterable[Any]:
        """The questions, which are equally likely."""

    @abstractmethod
    def ask(self, question: Any) -> Page:
        """The text and the actions of a question."""

    def pays(self, question: Any) -> Sequence[float]:
        """The expected reward of each action. By default 1 for the first."""
        return self._pays

    def is_held_out(self, question: Any) -> bool:
        """Whether the question is of the held-out variant. By default all are of both."""
        return self.held_out

    def page(self, state: tuple[int, Any]) -> Page:
        return self.ask(state[1])

    def starts(self) -> Iterable[Result]:
        yield 1.0, (1, self._random.choice(self._questions)), 0.0

    def results(self, state: tuple[int, Any], index: int) -> Iterable[Result]:
        number, question = state
        successor = (number + 1, self._random.choice(self._questions))
        yield 1.0, END if number == self.pages else successor, float(self.pays(question)[index])

    def q_star(self) -> Sequence[float]:
        """Q* of each action of the current page."""
        number, question = self._state[0]
        later = self.optimum * (self.pages - number) / self.pages
        pays = self.pays(question)
        return [pays[option] + later for option in self._options]

    @cached_property
    def _scores(self) -> tuple[float, float]:
        pays = [self.pays(question) for question in self._questions]
        best = np.mean([max(each) for each in pays])
        mean = np.mean([np.mean(each) for each in pays])
        return self.pages * float(best), self.pages * float(mean)


@cache
def coined_words(count: int) -> tuple[str, ...]:
    """Return words of three syllables that mean nothing, the same each time."""
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    draw = random.Random("coined words")
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(draw.choices(syllables, k=3))] = None
    return tuple(words)
