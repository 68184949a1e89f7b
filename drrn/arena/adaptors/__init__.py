"""Solved games in other frameworks. Each module imports one of them; `TextMatch` is common."""

import copy
from typing import Any

from drrn.arena.llm import Prompt
from drrn.arena.match import Match
from drrn.compiled.oracle import check_rewards, solve_game
from drrn.game.make import make


class TextMatch(Match):
    """A match of texts: a prompt for each page, and answers in words."""

    def __init__(
        self, game: str = "night-market", rewards: str = "game", history: int = 2, **options: Any
    ) -> None:
        """`options` are those of `drrn.make`; `rewards` is "game" or "advantage"."""
        super().__init__(solve_game(make(game, **options)), history)
        self.rewards = check_rewards(rewards)
        self.prompt = Prompt()

    def another(self) -> "TextMatch":
        """Return a new match in the same game, which is not solved again."""
        match = copy.copy(self)
        match.game = self.game.another()
        return match

    @property
    def text(self) -> str:
        """The prompt of the current page, or the text of the last one."""
        return self.page.text if self.over else self.prompt.fill(self)

    def answer(self, text: str) -> float:
        """Take the action that a text names; return its reward."""
        self.decide(text)
        return self.reward(self.rewards)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the match so far."""
        regrets = [decision.regret for decision in self.decisions]
        return {
            "regret": regrets[-1] if regrets else 0.0,
            "total_regret": sum(regrets),
            "score": self.total,
            "readable": sum(decision.readable for decision in self.decisions),
            "decisions": len(regrets),
        }
