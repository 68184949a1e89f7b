"""`arena GAME … --player PLAYER …`: what each decision of a player costs."""

import argparse
from collections import Counter
from dataclasses import fields
from pathlib import Path

from textgames.compiled.oracle import solve_game
from textgames.document import Document, to_text
from textgames.errors import InputError
from textgames.files import write
from textgames.terminal import terminal_width
from textgames_arena.llm import Options
from textgames_arena.players import REFERENCES, Player, open_player
from textgames_arena.report import Report, report_files
from textgames_arena.tournament import play, read_all, specs_of


def run(options: argparse.Namespace) -> None:
    folder: Path = options.out
    if not options.report:
        if not options.games:
            raise InputError("name at least one game, such as long-watch")
        players = _players(options)
        specs = [spec for game in options.games for spec in specs_of(game, options.paraphrased)]
        seeds = range(options.first_seed, options.first_seed + options.episodes)
        for spec in specs:
            game = solve_game(spec.open())
            for player in players:
                play(spec, game, player, seeds, folder)
    rows = read_all(folder)
    if not rows:
        raise InputError(f"{folder}: no matches; play some first, without --report")
    report = Report(rows)
    for name, content in report_files(report).items():
        write(folder / name, content)
    print(to_text(Document("", [report.table()]), width=terminal_width()))
    print(f"\n{folder / 'arena.html'}")


def _players(options: argparse.Namespace) -> list[Player]:
    names = {field.name for field in fields(Options)} & vars(options).keys()
    common = Options(folder=options.out, **{name: getattr(options, name) for name in names})
    players = [open_player(name, common) for name in options.player or REFERENCES]
    name, count = Counter(player.name for player in players).most_common(1)[0]
    if count > 1:
        cure = "name them apart, as in first=agent:RUN second=agent:RUN"
        raise InputError(f'two players have the name "{name}"; {cure}')
    return players
