"""`drrn ask RUN`: Q-values for any text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import table
from drrn.errors import InputError
from drrn.survey import last_words

if TYPE_CHECKING:
    from drrn.agent import Agent


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "ask",
        help="Q-values of a trained agent for any state and actions",
        description="Print what each action is worth in a state: the mean over the run's replicas, and how far they "
        "differ. The texts may be made up; words the agent never met count for nothing. With --examples, the states "
        "are pages of the run's own game, as the agent plays it.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--state", help="the text of the page")
    command.add_argument("--action", action="append", help="the text of an action (give several)")
    command.add_argument("--examples", type=int, metavar="N", help="N Q-values along a game that the agent plays")
    command.add_argument("--json", action="store_true", help="print each replica's Q-values as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.agent import load_agent

    if options.examples is None and not (options.state and options.action):
        raise InputError("give a --state and one or more --action, or --examples N")
    agent = load_agent(options.agent)
    if options.examples is not None:
        _examples(agent, options.agent, options.examples)
        return
    if options.json:
        q = agent.ask(options.state, options.action)
        print(json.dumps({action: q[:, i].tolist() for i, action in enumerate(options.action)}, ensure_ascii=False))
        return
    print(table(_rows(agent, options.state, options.action), header=["Q", "", "action"]))


def _rows(agent: Agent, state: str, actions: Sequence[str]) -> list[list[object]]:
    """Mean over replicas, how far they differ, and the action; best first."""
    q = agent.ask(state, actions)
    mean, spread = q.mean(axis=0), q.std(axis=0)
    best_first = sorted(range(len(mean)), key=lambda i: -mean[i])
    return [[float(mean[i]), f"± {spread[i]:.2f}", actions[i]] for i in best_first]


def _examples(agent: Agent, folder: Path, count: int) -> None:
    """Pages of a game played by the highest mean Q, until enough Q-values were shown."""
    from drrn.agent import game_of

    game = game_of(folder)
    observation = game.reset(0)
    while count > 0 and not observation.ended:
        rows = _rows(agent, observation.text, observation.actions)
        print(f"… {last_words(observation.text)}\n{table(rows)}\n")
        count -= len(rows)
        observation = game.step(observation.actions.index(str(rows[0][2])))
    if observation.ended:
        print(f"… {last_words(observation.text)}  (reward {observation.reward:g})")
