"""Scripts that complete the commands of a program in a shell: options, values, files."""

import argparse

from textgames import command_line
from textgames.errors import require

FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "fish": "__fish_complete_path"}


def script(program: command_line.Program, shell: str) -> str:
    """Return the script that completes a program's commands in bash, zsh or fish."""
    shtab = require("shtab")
    root = command_line.parser(program, full=True)
    for action in root._actions:
        if action.dest == "command":
            action.help = "command"  # shtab leaves out what has no help
    for command in root.commands.values():
        for action in command.all_actions():
            _describe(action)
    text: str = shtab.complete(root, shell)
    return text


def _describe(action: argparse.Action) -> None:
    """Give an argument the values that its metavar stands for."""
    metavar = str(action.metavar or "")
    if metavar.startswith("{"):
        action.choices = metavar.strip("{}").split(",")
    elif metavar in ("GAME", "STORY", "PATH", "FILE", "FOLDER", "RUN"):
        action.complete = FILES  # type: ignore[attr-defined]
