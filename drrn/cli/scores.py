"""`drrn scores GAME`: how people did."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from drrn.cli.show import counted, table
from drrn.errors import InputError
from drrn.game.make import make
from drrn.serve import scores


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "scores",
        help="scores of people who played: averages of first and of later games",
        description="Averages of the final rewards of the games that people finished: novice (each player's first "
        "game) and experienced (all later ones), as the paper reports. Games with an undo count in neither.",
    )
    command.add_argument(
        "game", metavar="GAME", help="a name, the path of a story or its .toml, or module:factory"
    )
    command.add_argument(
        "--scores", type=Path, metavar="FILE", help="the file (default: ~/.drrn/scores.csv)"
    )
    command.add_argument("--json", action="store_true", help="print it as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    path = options.scores or scores.scores_file()
    name = make(options.game, lenient=True).name
    kept = scores.read(path)
    found = scores.standing(kept, name)
    if options.json:
        print(json.dumps(dataclasses.asdict(found)))
        return
    if not found.novice_games + found.experienced_games:
        practice = sum(score.game == name for score in kept)
        only = f"only practice of {name} yet, {counted(practice, 'game')} with a step taken back"
        what = only if practice else f"no finished game of {name} yet"
        raise InputError(f"{path}: {what}: play one with: drrn play {options.game}")
    rows = [
        ["novice", found.novice_games, found.novice],
        ["experienced", found.experienced_games, found.experienced],
    ]
    print(table(rows, header=["people", "games", "mean final reward"]))
