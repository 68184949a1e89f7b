"""The command `drrn`."""

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

from drrn import settings
from drrn.runs.config import CODE_SETTINGS
from textgames import command_line

PROGRAM = command_line.Program(
    "drrn",
    Path(__file__).with_name("commands.toml"),
    choices={name: getattr(settings, name) for name in ("AGENT_POLICIES", "PLAYERS", "POLICIES")},
    settings=settings.all_settings,
    default_text=settings.default_text,
    code_settings=CODE_SETTINGS,
)


parser = functools.partial(command_line.parser, PROGRAM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see `textgames.command_line.main`."""
    return command_line.main(PROGRAM, arguments)


def run_completion(options: argparse.Namespace) -> None:
    from textgames.completion import script

    print(script(PROGRAM, options.shell), end="")
