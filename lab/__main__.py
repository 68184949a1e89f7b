"""`python -m lab`: run the experiments of the paper, and write the report."""

import sys
from pathlib import Path

from drrn.cli import PROGRAM as DRRN
from textgames import command_line

PROGRAM = command_line.Program(
    "python -m lab",
    Path(__file__).with_name("commands.toml"),
    choices=DRRN.choices,
    settings=DRRN.settings,
    default_text=DRRN.default_text,
    code_settings=DRRN.code_settings,
    plugins=False,
)


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; see `textgames.command_line.main`."""
    return command_line.main(PROGRAM, arguments)


if __name__ == "__main__":
    sys.exit(main())
