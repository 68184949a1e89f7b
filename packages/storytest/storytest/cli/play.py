"""`storytest play STORY`: play a story in the terminal, from its start or from a path of clicks."""

import argparse
import random
import sys

from storytest.playtest.clicks import read_path, replay_episode
from textgames.errors import require
from textgames.game.contract import close
from textgames.play import Session, print_page
from textgames.terminal import open_game


def run(options: argparse.Namespace) -> None:
    require("rich")
    if options.path:
        _replay_path(options)
        return
    game = open_game(options, paraphrased=options.paraphrased, shuffle=False)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    Session(game, seed).play()
    close(game)


def _replay_path(options: argparse.Namespace) -> None:
    path = read_path(options.path)
    game = open_game(options, lenient=True, shuffle=False)
    is_terminal = sys.stdin.isatty()
    seed, clicks = replay_episode(game, path)
    for page, index in clicks:
        if index is not None or not is_terminal:
            print_page(page, index)
    if is_terminal:
        Session(game, seed, start=[i for _, i in clicks if i is not None]).play()
    close(game)
