"""`drrn play GAME`: play in the terminal with the advice of an agent, or let a policy play."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drrn.settings import AGENT_POLICIES, DEPLOYED
from textgames.errors import InputError, require
from textgames.game import episodes
from textgames.game.contract import Game, title_of
from textgames.play import Session, print_page
from textgames.progress import tracked
from textgames.terminal import open_game, print_json, table, warn
from textgames.wording import percent, visible

if TYPE_CHECKING:
    from drrn.runs.agent import Player


EPISODES = 1000  # of a policy


def run(options: argparse.Namespace) -> None:
    name = options.policy
    if name is None and (options.json or options.show or options.episodes):
        if not options.agent:
            _refuse(options, ("json", "show", "episodes"), "needs --policy or --agent")
        name = DEPLOYED
    if name in AGENT_POLICIES and not options.agent:
        raise InputError(f"--policy {name} needs an agent; name its run with --agent RUN")
    _refuse(options, () if options.agent else ("sentences",), "needs --agent")
    if name == "random":
        _refuse(options, ("agent",), "not used by --policy random; leave it out")
    # A person sees the actions in the author's order.
    shuffle = name is not None and not options.no_shuffle
    game = open_game(options, paraphrased=options.paraphrased, shuffle=shuffle)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    if name is None:
        require("rich")
        agent = _load_player(options, game, DEPLOYED, seed) if options.agent else None
        Session(game, seed, agent).play()
        return
    policy: episodes.Policy = episodes.random_policy(seed)
    if name != "random":
        policy = _load_player(options, game, name, seed)
    play = _show_episodes if options.show else episodes.play_episodes
    count = options.episodes or EPISODES
    outcomes = play(game, policy, count, seed)
    summary = episodes.summarise(tracked(outcomes, count, "playing"))
    if options.json:
        print_json(dataclasses.asdict(summary))
    else:
        print(_summary_text(summary))


def _refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raise InputError if an option was given that would be ignored."""
    for name in names:
        if getattr(options, name) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')}: {why}")


def _load_player(options: argparse.Namespace, game: Game, policy: str, seed: int) -> Player:
    require("torch")
    from drrn.runs.agent import Agent
    from drrn.runs.run import Run

    learned = Run(options.agent).config["game"]["title"]
    if learned != (title := title_of(game)):
        warn(f'the agent was trained on "{learned}", not on "{title}"; its advice may be poor')
    agent = Agent.load(options.agent, sentences=options.sentences)
    return agent.policy(policy, seed=seed)


def _show_episodes(
    game: Game, policy: episodes.Policy, count: int, seed: int
) -> Iterator[episodes.Episode]:
    """Play episodes like `play_episodes`, and print their pages."""
    for number in range(count):
        steps = list(episodes.episode(game, policy, seed if number == 0 else None))
        for step, following in itertools.pairwise(steps):
            print_page(step.page, following.index)
        last = steps[-1].page
        print(f"\n{visible(last.text)}\n\n  reward {last.reward:g}\n")
        yield episodes.outcome_of(game, steps)


def _summary_text(summary: episodes.Summary) -> str:
    rows = [
        ["games", summary.episodes],
        ["mean final reward", summary.mean_final_reward],
        ["mean return", summary.mean_return],
        ["mean steps", summary.mean_steps],
    ]
    shares = summary.shares
    if truncated := summary.episodes - sum(summary.endings.values()):
        shares["(stopped by the step limit)"] = truncated / summary.episodes
    endings = [[name, percent(share)] for name, share in shares.items()]
    return f"{table(rows)}\n\n{table(endings, header=['ending', 'share'])}"
