"""`python -m textgames_arena GAME …`: the command `arena`, without drrn."""

import sys
from collections.abc import Sequence

from textgames import command_line
from textgames_arena import COMMANDS

PROGRAM = command_line.Program(
    "python -m textgames_arena", COMMANDS, default="arena", plugins=False
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; see `textgames.command_line.main`."""
    return command_line.main(PROGRAM, arguments)


if __name__ == "__main__":
    sys.exit(main())
