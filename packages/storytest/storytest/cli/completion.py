"""`storytest completion SHELL`: a script that completes commands and options."""

import argparse

from storytest.cli import PROGRAM
from textgames.completion import script


def run(options: argparse.Namespace) -> None:
    print(script(PROGRAM, options.shell), end="")
