"""`drrn evaluate RUN`: how a trained agent plays."""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import positive, table
from drrn.games import Game, Recipe, recipe_for

if TYPE_CHECKING:
    from drrn.training.agent import Agent

MEASURES = ("final_reward", "return", "steps", "stopped_by_the_limit")


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate",
        help="how a trained agent plays",
        description="Play games with each replica of a run and print means and standard deviations over replicas.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--game", help="another game than the one it learned")
    command.add_argument(
        "--paraphrased", nargs="?", const=True, default=False, metavar="SET",
        help="show the actions in other words: those of the story, or one of its sets by name",
    )  # fmt: skip
    command.add_argument(
        "--policy", choices=["softmax", "greedy"], default="softmax",
        help="softmax plays as in training, greedy always takes the best action (default: softmax)",
    )  # fmt: skip
    command.add_argument("--workers", type=positive, default=1, help="processes that step a slow game (default: 1)")
    command.add_argument("--episodes", type=positive, default=1000, help="of each replica (default: %(default)s)")
    command.add_argument("--exact", action="store_true", help="expected scores, computed instead of sampled")
    command.add_argument("--json", action="store_true", help="print each replica's figures as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.training.loading import load_agent, read_config, recipe_of_run

    agent, config = load_agent(options.agent), read_config(options.agent)
    if options.game:
        recipe = recipe_for(options.game, lenient=config["game"]["lenient"], paraphrased=options.paraphrased)
    else:
        recipe = replace(recipe_of_run(options.agent, config), paraphrased=options.paraphrased)
    game = recipe.open()
    figures = _exact(agent, game, options) if options.exact else _sampled(agent, game, recipe, options)
    if options.json:
        print(json.dumps({"game": game.name, "policy": options.policy, "replicas": figures}, ensure_ascii=False))
        return
    lines = []
    for name in MEASURES:
        values = [row[name] for row in figures]
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        lines.append([name.replace("_", " "), statistics.fmean(values), deviation])
    how = "exact" if options.exact else f"{options.episodes} games each"
    print(table(lines, header=[f"{len(figures)} replicas, {options.policy}, {how}", "mean", "sd"]))
    shares: Counter[str] = Counter()
    for row in figures:
        shares.update({name: share / len(figures) for name, share in row["endings"].items()})
    print("\nendings\n" + table([[f"{share:.1%}", name] for name, share in shares.most_common() if share > 0.0005]))


def _sampled(agent: Agent, game: Game, recipe: Recipe, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    choices = {"policies": [options.policy], "episodes": options.episodes, "workers": options.workers}
    for e in agent.evaluate(game, recipe=recipe, **choices):
        s = e.summary
        values = (s.mean_final_reward, s.mean_return, s.mean_steps, e.stopped)
        shares = {name: count / s.episodes for name, count in s.endings.items()}
        rows.append({"replica": e.replica, **dict(zip(MEASURES, values, strict=True)), "endings": shares})
    return rows


def _exact(agent: Agent, game: Game, options: argparse.Namespace) -> list[dict[str, Any]]:
    compiled, scores = agent.exact(game, options.policy)
    rows = []
    for replica, s in enumerate(scores):
        shares: Counter[str] = Counter()
        for place, share in zip(compiled.endings, s.endings.tolist(), strict=True):
            shares[place.passage] += share
        values = (s.final_reward, s.total, s.steps, 1 - float(s.endings.sum()))
        rows.append({"replica": replica, **dict(zip(MEASURES, values, strict=True)), "endings": dict(shares)})
    return rows
