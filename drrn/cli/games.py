"""`drrn games`: what can be played by name."""

from __future__ import annotations

import argparse
from typing import Any

from drrn.cli.show import table
from drrn.games import BUILT_IN, make
from drrn.survey import survey


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "games",
        help="list the games that can be played by name",
        description="List the built-in games: name, title, kind, transitions, pages, endings. Any story file can be "
        "played by its path as well.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    rows = []
    for name in BUILT_IN:
        found = survey(make(name))
        rewards = [ending.reward for ending in found.endings]
        span = f"{len(rewards)} from {min(rewards):g} to {max(rewards):g}"
        rows.append([name, found.title, found.kind, found.transitions, found.pages, span])
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
