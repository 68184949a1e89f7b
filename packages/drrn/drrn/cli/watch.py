"""`drrn watch RUN`: a trained agent plays, at reading speed."""

from __future__ import annotations

import argparse
import itertools
import random
import select
import sys
import time
from typing import TYPE_CHECKING

from textgames.errors import require
from textgames.game import contract, episodes
from textgames.game.contract import Game, Observation, close
from textgames.play import LONG_MENU, PageView, escaped
from textgames.terminal import warn

if TYPE_CHECKING:
    from drrn.runs.agent import Player


WORDS_PER_SECOND = 4.0
SHORTEST = 2.0  # seconds of a page with few words
BEST_SHOWN = 5  # actions of a long menu


def run(options: argparse.Namespace) -> None:
    require("rich")
    from drrn.runs.agent import Agent
    from drrn.runs.run import Run

    run = Run(options.agent)
    agent = Agent.load(options.agent, sentences=options.sentences)
    game = run.open_game(options.game, history=0)  # the player remembers the pages itself
    entry = run.config["game"]
    if contract.fingerprint_of(game) != entry["sha256"]:
        learned = f'another version or game ("{entry["title"]}")'
        warn(f"the agent was trained on {learned}, so it may play poorly")
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    has_person = sys.stdin is not None and sys.stdin.isatty()
    games = options.episodes or (None if has_person else 1)
    seconds = 0.0 if options.seconds is None and not has_person else options.seconds
    player = agent.policy(options.policy, seed=seed)
    Watching(game, player, has_person, seconds).play(seed, games)
    close(game)


class Watching:
    """Shows game after game, until the last or until Ctrl-C."""

    def __init__(self, game: Game, player: Player, has_person: bool, seconds: float | None) -> None:
        self.game = game
        self.player = player
        self.has_person = has_person
        self.seconds = seconds
        self.view = PageView()

    def play(self, seed: int, games: int | None) -> None:
        """Show a number of games, or go on until Ctrl-C."""
        self.view.title(self.game)
        self.view.note("after each action: the agent's Q-value, and how likely it is to be chosen")
        for number in itertools.islice(itertools.count(), games):
            self._play_game(seed + number)

    def _play_game(self, seed: int) -> None:
        self.player.begin()
        pages = [step.page for step in episodes.episode(self.game, self._choose, seed)]
        last = pages[-1]
        if last.ended:
            self.view.ending(last, sum(page.reward for page in pages[1:]), len(pages) - 1)
        else:
            self.view.note("The game stopped before an ending.")
        self._wait(last.text)

    def _choose(self, page: Observation) -> int:
        """Show a page, wait, and return the agent's choice."""
        self.view.text(page)
        q, probabilities = self.player.thinks(page)
        indices = list(range(len(q)))
        if len(indices) > LONG_MENU:
            indices = sorted(indices, key=lambda index: -q[index])[:BEST_SHOWN]
            self.view.note(f"the best of {len(q)} actions:")
        for index in indices:
            remark = f" [dim]{q[index]:.2f}, {probabilities[index]:.0%}[/]"
            self.view.action(index + 1, page.actions[index], remark)
        choice = self.player(page)
        self._wait(page.text)
        self.view.console.print(f"[bold yellow]→ {escaped(page.actions[choice])}[/]")
        return choice

    def _wait(self, text: str) -> None:
        """Wait until the page is read, or until the person presses Enter."""
        seconds = seconds_to_read(text) if self.seconds is None else self.seconds
        if self.has_person and sys.platform != "win32":
            if select.select([sys.stdin], [], [], seconds)[0]:
                sys.stdin.readline()
        else:
            time.sleep(seconds)


def seconds_to_read(text: str) -> float:
    """How long a person reads a page."""
    return max(SHORTEST, len(text.split()) / WORDS_PER_SECOND)
