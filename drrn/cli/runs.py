"""`drrn runs [FOLDER]`: the runs in a folder, and how far each came."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import POLICIES, table
from drrn.writing import visible, visible_json

if TYPE_CHECKING:
    from drrn.runs.listing import ListedRun

DESCRIPTION = """List the runs in a folder and the folders in it, the last written first: the game, the model, rounds
done, mean final rewards after the last of them by each policy, when it was last written, and its state. running: a
process is at work on it; finished: all its rounds are done; cut: it can go on by drrn train --resume; agent: an agent
without its run; damaged: a file of it cannot be read."""


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "runs", help="list runs: scores, rounds, state", description=DESCRIPTION
    )
    command.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("runs"),
        metavar="FOLDER",
        help="(default: runs)",
    )
    command.add_argument("--json", action="store_true", help="print the list as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.runs.listing import runs_in

    found = runs_in(options.folder)
    if options.json:
        print(
            visible_json(
                json.dumps([dataclasses.asdict(each) for each in found], ensure_ascii=False)
            )
        )
        return
    if not found:
        print(f"{options.folder}: no run is here; drrn train makes one", file=sys.stderr)
        return
    header = ["run", "game", "model", "seeds", "rounds", *POLICIES, "when", "state"]
    print(table([_row(each) for each in found], header=header))
    for each in found:
        if each.fault:
            print(visible(each.fault), file=sys.stderr)


def _row(found: ListedRun) -> list[object]:
    scores = found.scores or {}
    rounds = None if found.rounds is None else f"{found.rounds_done}/{found.rounds}"
    shown = [found.run, found.game, found.model, found.replicas, rounds]
    return [*shown, *(scores.get(policy) for policy in POLICIES), found.when, found.state]
