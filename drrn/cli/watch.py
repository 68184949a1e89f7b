"""`drrn watch RUN`: a trained agent plays in the terminal, at a speed that one can read."""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.keys import Keys
from drrn.cli.terminal import POLICIES, positive
from drrn.cli.typed import LONG_MENU
from drrn.errors import require
from drrn.game.contract import Game, Observation
from drrn.game.make import spec_for
from drrn.game.optional import close, fingerprint_of, is_stopped, step_limit_of
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.runs.agent import Player

DESCRIPTION = """A trained agent plays its game in the terminal: each page, what the agent thinks each action is worth
(Q, the mean over its replicas) and with what chance it takes it, then what it took. q or Ctrl-C leaves, p waits until a
key is pressed, any other key goes on at once."""
# as people read; seconds of a page with few words
WORDS_A_SECOND = 4.0
SHORTEST = 2.0
BEST_SHOWN = 5  # of a long menu, the actions that it thinks best


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "watch", help="watch a trained agent play", description=DESCRIPTION
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument(
        "--game", help="another game than the one it learned, or where it lies now"
    )
    command.add_argument(
        "--policy", choices=POLICIES, default="best", help="how it chooses (default: best)"
    )
    command.add_argument(
        "--seconds",
        type=_seconds,
        metavar="X",
        help="for each page (default: as long as reading it takes)",
    )
    command.add_argument(
        "--episodes",
        type=positive,
        metavar="N",
        help="how many games (default: until you leave; 1 without a terminal)",
    )
    command.add_argument(
        "--seed", type=int, help="of chance and of the agent's draws (default: by chance)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    require("rich", "cli")
    from drrn.runs.agent import Agent
    from drrn.runs.config import read_config, spec_from

    agent = Agent.load(options.agent)
    config = read_config(options.agent)
    if options.game:
        recipe = spec_for(
            options.game,
            lenient=config["game"]["lenient"],
            outside=config["game"].get("outside", True),
        )
    else:
        recipe = replace(
            spec_from(options.agent, config), history=0
        )  # the player remembers for itself
    game = recipe.open()
    if fingerprint_of(game) != config["game"]["sha256"]:
        learned = visible(
            f'the agent learned "{config["game"]["title"]}", and not this version of this game'
        )
        print(f"{learned}: its play is a guess", file=sys.stderr)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    games = options.episodes or (None if sys.stdin is not None and sys.stdin.isatty() else 1)
    with Keys() as keys:
        Watching(game, agent.policy(options.policy, seed=seed), keys, options.seconds).begin(
            seed, games
        )
    close(game)


class Watching:
    """Game after game, until the last or until the person leaves."""

    def __init__(self, game: Game, player: Player, keys: Keys, seconds: float | None) -> None:
        from drrn.cli.page_view import PageView

        self.game = game
        self.player = player
        self.keys = keys
        self.seconds = seconds
        self.view = PageView()

    def begin(self, seed: int, games: int | None) -> None:
        self.view.title(self.game)
        number = 0
        while (games is None or number < games) and self._one_game(seed + number):
            number += 1

    def _one_game(self, seed: int) -> bool:
        """Play to the end; whether the person stays."""
        self.player.begin()
        observation = self.game.reset(seed)
        total = 0.0
        steps = 0
        while (
            observation.actions
            and steps < step_limit_of(self.game)
            and not (steps and is_stopped(self.game))
        ):
            self._page(observation)
            chosen = self.player(observation)
            if not self._stays(observation.text):
                return False
            self.view.console.print(f"[bold yellow]→ {_escaped(observation.actions[chosen])}[/]")
            observation = self.game.step(chosen)
            total = total + observation.reward
            steps = steps + 1
        if observation.ended:
            self.view.ending(observation, total, steps)
        else:
            self.view.console.print("The game stops here, before an end.", style="dim")
        return self._stays(observation.text)

    def _page(self, observation: Observation) -> None:
        """The page, and what the agent thinks of each action before it takes one."""
        self.view.text(observation)
        seen = self.player.has_seen(observation)
        q, shares = self.player.thinks(observation, seen=seen)
        places = list(range(len(q)))
        if len(places) > LONG_MENU:
            places = sorted(places, key=lambda place: -q[place])[:BEST_SHOWN]
            self.view.console.print(f"the best of {len(q)} actions:", style="dim")
        for place in places:
            self.view.action(
                place + 1,
                observation.actions[place],
                f" [dim]{q[place]:.2f}, {shares[place]:.0%}[/]",
            )

    def _stays(self, text: str) -> bool:
        """Wait as long as the page takes to read; whether the person stays."""
        key = self.keys.wait(self.seconds if self.seconds is not None else seconds_to_read(text))
        return (self.keys.wait(None) if key == "p" else key) != "q"


def seconds_to_read(text: str) -> float:
    """How long a person takes for a page."""
    return max(SHORTEST, len(text.split()) / WORDS_A_SECOND)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text[:20]} is not a number of seconds from 0 to 3600")
    return seconds


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(visible(text))
