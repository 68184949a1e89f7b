"""`drrn play GAME`: a person plays in the terminal, or a policy plays many games."""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn import load
from drrn.cli.terminal import POLICIES, add_game_options, open_game, positive, table, tracked
from drrn.cli.typed import LONG_MENU
from drrn.compiled.history import PageHistory
from drrn.errors import InputError, require
from drrn.game.contract import Game, Observation
from drrn.game.episodes import Episode, Policy, Summary, play_episodes, random_policy, summarise
from drrn.game.optional import close, title_of
from drrn.serve.scores import scores_file
from drrn.stories.playtest.clicks import read_path, replay
from drrn.writing import visible, visible_json

if TYPE_CHECKING:
    from drrn.runs.agent import Player


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "play",
        help="play a game in the terminal, or let a policy play it",
        description="Play in the terminal: type the number of an action, or its words or their beginnings; u takes the "
        "last step back, r starts again, q leaves. Each finished game is added to the scores file. With --policy, no "
        "person is asked.",
    )
    add_game_options(command)
    command.add_argument(
        "--seed",
        type=int,
        help="random seed of the game and of the actions' order (default: random)",
    )
    command.add_argument(
        "--paraphrased", nargs="?", const=True, default=False, metavar="SET",
        help="show the actions paraphrased: by the story's own set, or by one of its sets by name",
    )  # fmt: skip
    command.add_argument(
        "--no-shuffle", action="store_true", help="keep the actions in the story's order"
    )
    person = command.add_argument_group("a person plays")
    person.add_argument(
        "--player", metavar="NAME", help="your name in the scores file (default: your login name)"
    )
    person.add_argument(
        "--agent", type=Path, metavar="RUN",
        help="show a trained agent's Q and probability of each action; with --policy, the agent plays",
    )  # fmt: skip
    person.add_argument(
        "--scores", type=Path, metavar="FILE", help="the scores file (default: ~/.drrn/scores.csv)"
    )
    command.add_argument(
        "--path", type=Path, metavar="FILE",
        help="play the clicks in a file that drrn test --paths wrote (or one action on each line), and print each page",
    )  # fmt: skip
    policy = command.add_argument_group("a policy plays")
    policy.add_argument(
        "--policy", choices=["random", *POLICIES],
        help="who plays instead of you: random, or the agent by one of its policies (with --json or --show: best)",
    )  # fmt: skip
    policy.add_argument(
        "--episodes",
        type=positive,
        default=1000,
        metavar="N",
        help="how many games (default: 1000)",
    )
    policy.add_argument("--json", action="store_true", help="print the summary as JSON")
    policy.add_argument("--show", action="store_true", help="print each page and each choice")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if options.path:
        _play_path(options)
        return
    name = options.policy or ("best" if options.agent and (options.json or options.show) else None)
    if name is None and (options.json or options.show):
        raise InputError(
            "--json and --show go with --policy or with --agent: a person sees the pages anyway"
        )
    if name in POLICIES and not options.agent:
        raise InputError(f"--policy {name} is an agent's: name its run by --agent RUN")
    game = open_game(options, paraphrased=options.paraphrased, shuffle=not options.no_shuffle)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    if name is None:
        require("rich", "cli")
        from drrn.cli.person import Sitting

        player = _player(options.agent, game, "best", seed) if options.agent else None
        played = _Told(game, player.history) if player and player.history.length else game
        adviser = player.thinks if player else None
        Sitting(played, seed, options.player, options.scores or scores_file(), adviser).begin()
        return
    policy = random_policy(seed) if name == "random" else _player(options.agent, game, name, seed)
    if options.show:
        shown = _Remembering(game)
        episodes = _endings_aloud(
            shown, play_episodes(shown, _Aloud(policy), options.episodes, seed)
        )
    else:
        episodes = play_episodes(game, policy, options.episodes, seed)
    summary = summarise(tracked(episodes, options.episodes, "playing"))
    print(
        visible_json(json.dumps(dataclasses.asdict(summary)))
        if options.json
        else told_summary(summary)
    )


def _play_path(options: argparse.Namespace) -> None:
    """Print the pages of a kept path, with the action taken on each."""
    if options.policy or options.agent:
        raise InputError("--path plays the clicks of a file: leave out --policy and --agent")
    path = read_path(options.path)
    game = open_game(options, lenient=True, shuffle=False)
    for shown, chosen in replay(game, path):
        _say_page(shown, chosen)
    close(game)


def _player(run: Path, game: Game, policy: str, seed: int) -> Player:
    """A trained agent that plays or advises, by the mean of its replicas' Q-values."""
    from drrn.runs.config import read_config

    agent = load(run)
    learned = read_config(run)["game"]["title"]
    if learned != (title := title_of(game)):
        told = visible(f'the agent learned "{learned}", and this is "{title}"')
        print(f"{told}: its advice is a guess", file=sys.stderr)
    return agent.policy(policy, seed=seed)


def told_summary(summary: Summary) -> str:
    rows = [
        ["games", summary.episodes],
        ["mean final reward", summary.mean_final_reward],
        ["mean return", summary.mean_return],
        ["mean steps", summary.mean_steps],
    ]
    stopped = summary.episodes - sum(summary.endings.values())
    shares = [[f"{count / summary.episodes:.1%}", name] for name, count in summary.endings.items()]
    if stopped:
        shares.append([f"{stopped / summary.episodes:.1%}", "(stopped by the step limit)"])
    return f"{table(rows)}\n\nendings\n{table(shares)}"


class _Aloud:
    """The policy, printing what it sees and takes."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.begin: Callable[[], None] | None = getattr(policy, "begin", None)

    def __call__(self, observation: Observation) -> int:
        chosen = self.policy(observation)
        _say_page(observation, chosen)
        return chosen


def _say_page(observation: Observation, chosen: int | None) -> None:
    """Print a page, with an arrow at the action that is taken; of a long menu that action alone."""
    print(f"\n{visible(observation.text)}\n")
    long = len(observation.actions) > LONG_MENU
    for index, action in enumerate(observation.actions):
        if index == chosen or not long:
            print(f"  {'→' if index == chosen else ' '} {visible(action)}")


class _Remembering:
    """A game that keeps the page it stands on; all else it may say is the game's own."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.name = game.name
        self.page = Observation("")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)

    def reset(self, seed: int | None = None) -> Observation:
        self.page = self.game.reset(seed)
        return self.page

    def step(self, index: int) -> Observation:
        self.page = self.game.step(index)
        return self.page


class _Told(_Remembering):
    """A game whose pages and the actions taken on them an adviser is told of."""

    def __init__(self, game: Game, history: PageHistory) -> None:
        super().__init__(game)
        self.history = history

    def reset(self, seed: int | None = None) -> Observation:
        self.history.begin()
        return super().reset(seed)

    def step(self, index: int) -> Observation:
        before = self.page
        arrived = super().step(index)
        self.history.add(before.text, before.actions[index])
        return arrived


def _endings_aloud(game: _Remembering, episodes: Iterable[Episode]) -> Iterator[Episode]:
    """The episodes, printing the page that each comes to."""
    for episode in episodes:
        print(f"\n{visible(game.page.text)}\n\n  reward {game.page.reward:g}\n")
        yield episode
