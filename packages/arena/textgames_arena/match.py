"""A match: one episode of a player in a solved game, with the regret of every decision.

An answer is the index of an action, or a text that names one. If `read_answer` cannot read it, a
random action is taken, and the decision is marked.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from textgames.compiled.history import History
from textgames.compiled.oracle import SolvedGame
from textgames.compiled.solve import CLOSE
from textgames.game.contract import Observation, ending_of
from textgames.game.episodes import Episode, episode
from textgames.wording import words

THOUGHTS = re.compile(r"<think>.*?(</think>|$)", re.S | re.I)
NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w]|[.,]\d)")
LEADING = re.compile(r"[^\w-]*(\d+)(?=[.):\n*]|$)(?![.,]\d)")  # such as "2. Row."


@dataclass(frozen=True)
class Decision:
    """A choice on a page, and what it costs."""

    page: str  # a short name
    choice: str
    best: str  # an action with the highest Q*
    gaps: tuple[float, ...]  # max Q* - Q* of each action of the page, in no order
    regret: float  # the gap of the choice
    readable: bool = True


@dataclass(frozen=True)
class Result:
    """The outcome of a match: return = best - sum of regrets + luck."""

    seed: int
    episode: Episode
    luck: float
    decisions: tuple[Decision, ...]
    tokens: tuple[int, int] = (0, 0)  # of prompts and answers

    @property
    def regret(self) -> float:
        """The sum of regrets."""
        return sum(decision.regret for decision in self.decisions)


class Match:
    """An episode in progress.

    Example:
        >>> match = Match(solve_game(drrn.make("long-watch")))
        >>> match.start(seed=0)
        >>> while not match.over:
        ...     match.decide(0)
        >>> match.result().regret
    """

    def __init__(self, game: SolvedGame, history: int = 0) -> None:
        """`history` is the number of earlier pages that players see."""
        self.game = game
        self.memory = history

    def start(self, seed: int) -> Observation:
        """Start a new episode, and return its first page."""
        self.seed = seed
        self.history = History(self.memory)
        self.tokens: list[tuple[int, int]] = []  # of prompts and answers
        self.total = 0.0
        self.decisions: list[Decision] = []
        self._random = random.Random(f"unread {seed}")
        self._index = 0
        self._steps = episode(self.game, lambda page: self._index, seed)
        self.page = next(self._steps).page
        self.luck = self.game.value() - self.game.best
        return self.page

    @property
    def over(self) -> bool:
        """Whether the episode has ended or was truncated."""
        return self.page.ended or self.game.steps >= self.game.max_steps

    def decide(self, answer: int | str | None) -> Decision:
        """Take the action that an answer names, or else a random one."""
        page = self.page
        index = read_answer(answer, page.actions) if isinstance(answer, str) else answer
        readable = index is not None and 0 <= index < len(page.actions)
        if index is None or not readable:
            index = self._random.randrange(len(page.actions))
        q = self.game.q_star()
        gaps = tuple(0.0 if max(q) - each < CLOSE else max(q) - each for each in q)
        best = page.actions[gaps.index(0.0)]
        choice = page.actions[index]
        decision = Decision(self.game.label, choice, best, gaps, gaps[index], readable)
        self.decisions.append(decision)
        self.history = self.history.add(page.text, choice)
        self._index = index
        self.page = next(self._steps).page
        self.total += self.page.reward
        self.luck += self.page.reward + self.game.value() - q[index]
        return decision

    def reward(self, rewards: str) -> float:
        """The reward of the last decision: the game's, or the advantage A*."""
        return self.page.reward if rewards == "game" else -self.decisions[-1].regret

    def result(self) -> Result:
        """The outcome of an episode that is over."""
        final_reward = self.page.reward if self.page.ended else 0.0
        ending = ending_of(self.game.game, self.page)
        outcome = Episode(final_reward, self.total, len(self.decisions), ending)
        tokens = (sum(each[0] for each in self.tokens), sum(each[1] for each in self.tokens))
        return Result(self.seed, outcome, self.luck, tuple(self.decisions), tokens)


def read_answer(answer: str, actions: Sequence[str]) -> int | None:
    """The index of the one action that a text names, by number (from 1) or words, or None.

    >>> read_answer("I choose 2, since the sea is calm.", ["Wait.", "Row."])
    1
    >>> read_answer("Row!", ["Wait.", "Row."])
    1
    """
    text = THOUGHTS.sub(" ", answer).strip()
    spoken = words(text)
    exact = [i for i, action in enumerate(actions) if spoken and words(action) == spoken]
    if len(exact) == 1:
        return exact[0]
    leading = LEADING.match(text)
    digits = [leading[1]] if leading else NUMBER.findall(text)
    numbers = {int(number[:9]) for number in digits}  # longer ones name no action either
    if len(numbers) == 1:
        number = numbers.pop()
        return number - 1 if 1 <= number <= len(actions) else None
    phrase = f" {' '.join(spoken)} "
    phrases = [f" {' '.join(words(action))} " for action in actions]
    matches = {each for each in phrases if each.strip() and each in phrase}
    longest = max(matches, key=len, default="")
    if phrases.count(longest) != 1 or any(each not in longest for each in matches):
        return None
    return phrases.index(longest)
