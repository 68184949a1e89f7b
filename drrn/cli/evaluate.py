"""`drrn evaluate RUN`: how a trained agent plays."""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.terminal import POLICIES, positive, table
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import GameSpec, spec_for
from drrn.writing import counted, visible_json

if TYPE_CHECKING:
    from drrn.runs.agent import Agent

EXACT = ("softmax", "greedy")  # what best does depends on the pages shown before, so it is sampled
Figures = dict[str, list[dict[str, Any]]]  # by each policy, of each replica
MEASURES = ("final_reward", "return", "steps", "stopped_by_the_limit")


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate",
        help="evaluate a trained agent: scores and endings, by each policy",
        description="Play games with each replica of a run and print means and standard deviations over replicas.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--game", help="another game than the one it learned")
    command.add_argument(
        "--paraphrased", nargs="?", const=True, default=False, metavar="SET",
        help="show the actions paraphrased: by the story's own set, or by one of its sets by name",
    )  # fmt: skip
    command.add_argument(
        "--policy", choices=POLICIES, action="append",
        help="softmax plays as in training; greedy always takes the best action; best does so on a page that is new in "
             "the game, and on one that was shown before plays by softmax (default: each of them)",
    )  # fmt: skip
    command.add_argument(
        "--workers", type=positive, default=1, help="processes that step a slow game (default: 1)"
    )
    command.add_argument(
        "--episodes",
        type=positive,
        default=1000,
        help="games of each replica (default: %(default)s)",
    )
    command.add_argument(
        "--exact",
        action="store_true",
        help="exact expected scores instead of sampled games (not for the policy best)",
    )
    command.add_argument("--json", action="store_true", help="print each replica's figures as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.runs.agent import Agent
    from drrn.runs.config import read_config, spec_from

    policies = options.policy or POLICIES
    if options.exact and not set(policies) & set(EXACT):
        raise InputError(
            "what best scores can only be sampled, since it depends on the pages shown before: leave --exact out"
        )
    agent = Agent.load(options.agent)
    config = read_config(options.agent)
    if options.game:
        choices = {
            "paraphrased": options.paraphrased,
            "outside": config["game"].get("outside", True),
        }
        recipe = spec_for(options.game, lenient=config["game"]["lenient"], **choices)
    else:
        recipe = replace(spec_from(options.agent, config), paraphrased=options.paraphrased)
    game = recipe.open()
    figures = {policy: _figures(agent, game, recipe, policy, options) for policy in policies}
    if options.json:
        rows = [
            {"policy": policy, "exact": options.exact and policy in EXACT, **row}
            for policy, found in figures.items()
            for row in found
        ]
        print(visible_json(json.dumps({"game": game.name, "replicas": rows}, ensure_ascii=False)))
        return
    how = "exact" if options.exact else f"{options.episodes} games each"
    header = [f"{counted(len(next(iter(figures.values()))), 'replica')}, {how}"]
    for policy in figures:
        header += [f"{policy}, sampled" if options.exact and policy not in EXACT else policy, "sd"]
    print(table([_measured(name, figures) for name in MEASURES], header=header))
    print("\nendings\n" + table(_endings(figures), header=[*figures, ""]))


def _measured(name: str, figures: Figures) -> list[object]:
    """A measure's mean and standard deviation over replicas, by each policy."""
    line: list[object] = [name.replace("_", " ")]
    for rows in figures.values():
        values = [row[name] for row in rows]
        line += [statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0]
    return line


def _endings(figures: Figures) -> list[list[object]]:
    """How often each ending is reached by each policy, the first policy's most frequent first."""
    shares: list[Counter[str]] = [Counter() for _ in figures]
    for share, rows in zip(shares, figures.values(), strict=True):
        for row in rows:
            share.update({name: part / len(rows) for name, part in row["endings"].items()})
    names = sorted(
        {name for share in shares for name in share},
        key=lambda name: [-share[name] for share in shares],
    )
    return [
        [*(f"{share[name]:.1%}" for share in shares), name]
        for name in names
        if max(share[name] for share in shares) > 0.0005
    ]


def _figures(
    agent: Agent, game: Game, recipe: GameSpec, policy: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Each replica's, computed where that is asked for and possible, else sampled."""
    if options.exact and policy in EXACT:
        return _exact(agent, game, policy)
    rows = []
    choices = {"policies": [policy], "episodes": options.episodes, "workers": options.workers}
    for e in agent.evaluate(game, spec=recipe, **choices):
        s = e.summary
        values = (s.mean_final_reward, s.mean_return, s.mean_steps, e.stopped)
        shares = {name: count / s.episodes for name, count in s.endings.items()}
        rows.append(
            {"replica": e.replica, **dict(zip(MEASURES, values, strict=True)), "endings": shares}
        )
    return rows


def _exact(agent: Agent, game: Game, policy: str) -> list[dict[str, Any]]:
    compiled, scores = agent.exact(game, policy)
    rows = []
    for replica, s in enumerate(scores):
        shares: Counter[str] = Counter()
        for place, share in zip(compiled.endings, s.endings.tolist(), strict=True):
            shares[place.passage] += share
        values = (s.final_reward, s.total, s.steps, 1 - float(s.endings.sum()))
        rows.append(
            {
                "replica": replica,
                **dict(zip(MEASURES, values, strict=True)),
                "endings": dict(shares),
            }
        )
    return rows
