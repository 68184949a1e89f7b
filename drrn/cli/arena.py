"""`drrn arena GAME … --player PLAYER …`: what each decision of a player costs."""

import argparse
from pathlib import Path

from drrn.arena.llm import Prompt, Sampling
from drrn.arena.players import Options, Player, open_player
from drrn.arena.report import Report, write_report
from drrn.arena.tournament import Contest, contests_of, play, read_all
from drrn.cli.terminal import terminal_width
from drrn.document import Document, to_text
from drrn.errors import InputError
from drrn.progress import tracked

REFERENCES = ("random", "best")


def run(options: argparse.Namespace) -> None:
    folder: Path = options.out
    if not options.report:
        if not options.games:
            raise InputError("name at least one game (see: drrn arena --help)")
        players = [open_player(name, _options(options)) for name in options.player or REFERENCES]
        _check_names(players)
        contests = [
            each for game in options.games for each in contests_of(game, options.paraphrased)
        ]
        seeds = range(options.first_seed, options.first_seed + options.episodes)
        for contest in contests:
            _play(contest, players, seeds, folder)
    rows = read_all(folder)
    if not rows:
        raise InputError(f"{folder}: no matches; play some first (see: drrn arena --help)")
    report = Report(rows)
    page = write_report(report, folder)
    width = terminal_width()
    print(to_text(Document("", [report.table()]), width=width))
    print(f"\n{page}")


def _play(contest: Contest, players: list[Player], seeds: range, folder: Path) -> None:
    game = contest.solve()
    for player in players:
        label = f"{contest.label}, {player.name}"
        for _ in tracked(play(contest, game, player, seeds, folder), len(seeds), label):
            pass


def _options(options: argparse.Namespace) -> Options:
    sampling = Sampling(options.temperature, options.max_tokens, options.timeout, options.retries)
    return Options(
        folder=options.out,
        history=options.history,
        endpoint=options.endpoint,
        key_variable=options.key_variable,
        sampling=sampling,
        prompt=Prompt(options.prompt),
        concurrency=options.concurrency,
    )


def _check_names(players: list[Player]) -> None:
    names = [player.name for player in players]
    for name in names:
        if names.count(name) > 1:
            cure = "name them apart, as in first=agent:RUN second=agent:RUN"
            raise InputError(f'two players have the name "{name}"; {cure}')
