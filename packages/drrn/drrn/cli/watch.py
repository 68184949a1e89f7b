"""`drrn watch RUN`: a trained agent plays, at reading speed."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import select
import sys
import time
from typing import TYPE_CHECKING, Any

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


class Quit(Exception):  # noqa: N818
    """The person pressed q."""


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
    with Keys() as keys:
        Watching(game, player, keys, seconds).play(seed, games)
    close(game)


class Watching:
    """Shows game after game, until the last or until the person quits."""

    def __init__(self, game: Game, player: Player, keys: Keys, seconds: float | None) -> None:
        self.game = game
        self.player = player
        self.keys = keys
        self.seconds = seconds
        self.view = PageView()

    def play(self, seed: int, games: int | None) -> None:
        """Show a number of games, or go on until the person quits."""
        self.view.title(self.game)
        self.view.note("after each action: the agent's Q-value, and how likely it is to be chosen")
        try:
            for number in itertools.islice(itertools.count(), games):
                self._play_game(seed + number)
        except Quit:
            return

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
        key = self.keys.wait(seconds_to_read(text) if self.seconds is None else self.seconds)
        if key == "p":
            key = self.keys.wait(None)
        if key == "q":
            raise Quit


class Keys:
    """Reads single keys without Enter. Restores the terminal afterwards."""

    def __init__(self) -> None:
        self.before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if sys.platform != "win32" and sys.stdin is not None and sys.stdin.isatty():
            import termios
            import tty

            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSADRAIN)  # keeps what was typed already
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32" and self.before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    def wait(self, seconds: float | None) -> str:
        """Return the key pressed within these seconds, or ""; None waits for a key."""
        if self.before is None:
            time.sleep(seconds or 0.0)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        data = os.read(sys.stdin.fileno(), 64) if ready else b""  # an arrow is several bytes
        return data.decode(errors="replace")[:1].lower()


def seconds_to_read(text: str) -> float:
    """How long a person reads a page."""
    return max(SHORTEST, len(text.split()) / WORDS_PER_SECOND)
