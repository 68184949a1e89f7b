"""The command `storytest`."""

import functools
from collections.abc import Sequence
from pathlib import Path

from textgames import command_line

COMMANDS = Path(__file__).with_name("commands.toml")
PROGRAM = command_line.Program("storytest", COMMANDS, default="test")


parser = functools.partial(command_line.parser, PROGRAM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see `textgames.command_line.main`."""
    return command_line.main(PROGRAM, arguments)
