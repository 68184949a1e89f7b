"""`drrn evaluate RUN`: how a trained agent plays."""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from drrn.cli.show import table
from drrn.errors import InputError


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate",
        help="how a trained agent plays",
        description="Play games with each replica of a run and print means and standard deviations over replicas.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--game", help="another game than the one it learned")
    command.add_argument("--paraphrased", action="store_true", help="show the actions in other words")
    command.add_argument("--policy", choices=["softmax", "greedy"], default="softmax", help="(default: softmax)")
    command.add_argument("--episodes", type=int, default=1000, help="of each replica (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print each replica's figures as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.agent import load_agent
    from drrn.games import make
    from drrn.record import Run

    if options.episodes < 1:
        raise InputError(f"--episodes is {options.episodes}; it must be at least 1")
    agent = load_agent(options.agent)
    kept = Run.config(options.agent)["game"]
    game = make(
        options.game or kept["source"],
        lenient=kept["lenient"],
        encoding=None if options.game else kept["encoding"],
        paraphrased=options.paraphrased,
    )
    found = agent.evaluate(game, policies=[options.policy], episodes=options.episodes)
    if options.json:
        rows = [{"replica": e.replica, "stopped": e.stopped, **dataclasses.asdict(e.summary)} for e in found]
        print(json.dumps({"game": game.name, "policy": options.policy, "replicas": rows}, ensure_ascii=False))
        return
    measures = {
        "final reward": [e.summary.mean_final_reward for e in found],
        "return": [e.summary.mean_return for e in found],
        "steps": [e.summary.mean_steps for e in found],
        "stopped by the limit": [e.stopped for e in found],
    }
    lines = [[name, statistics.fmean(v), statistics.stdev(v) if len(v) > 1 else 0.0] for name, v in measures.items()]
    print(table(lines, header=[f"{len(found)} replicas, {options.policy}", "mean", "sd"]))
    endings: Counter[str] = Counter()
    for e in found:
        endings.update(e.summary.endings)
    total = sum(e.summary.episodes for e in found)
    print("\nendings\n" + table([[f"{count / total:.1%}", name] for name, count in endings.most_common()]))
