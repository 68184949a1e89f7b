"""`drrn ask RUN`: Q-values for any text."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from drrn.cli.show import table


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "ask",
        help="Q-values of a trained agent for any state and actions",
        description="Print what each action is worth in a state: the mean over the run's replicas, and how far they "
        "differ. The texts may be made up; words the agent never met count for nothing.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--state", required=True, help="the text of the page")
    command.add_argument("--action", action="append", required=True, help="the text of an action (give several)")
    command.add_argument("--json", action="store_true", help="print each replica's Q-values as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.agent import load_agent

    q = load_agent(options.agent).ask(options.state, options.action)
    if options.json:
        print(json.dumps({action: q[:, i].tolist() for i, action in enumerate(options.action)}, ensure_ascii=False))
        return
    spread = q.std(axis=0)
    mean = q.mean(axis=0)
    best_first = sorted(range(len(mean)), key=lambda i: -mean[i])
    rows = [[float(mean[i]), f"± {spread[i]:.2f}", options.action[i]] for i in best_first]
    print(table(rows, header=["Q", "", "action"]))
