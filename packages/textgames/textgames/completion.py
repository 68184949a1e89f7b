"""Scripts that complete the commands of a program in a shell: options, values, games, files."""

import argparse

from textgames import command_line
from textgames.diagnostics import DIAGNOSTICS
from textgames.errors import require
from textgames.openers import BUILT_IN, WORLDS

GAMES = (*BUILT_IN, *WORLDS)
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "fish": "__fish_complete_path"}
# Games are names or files.
PREAMBLE = {
    "bash": f'_textgames_games() {{ compgen -W "{" ".join(GAMES)}" -- $1; compgen -f -- $1; }}',
    "zsh": f"_textgames_games() {{ compadd {' '.join(GAMES)}; _files }}",
}


def script(program: command_line.Program, shell: str) -> str:
    """Return the script that completes a program's commands in bash, zsh or fish."""
    shtab = require("shtab")
    root = command_line.parser(program, full=True)
    for action in root._actions:
        if action.dest == "command":
            action.help = "command"  # shtab leaves out what has no help
    for command in root.commands.values():
        for action in command.all_actions():
            _describe(action, shell)
    text: str = shtab.complete(root, shell, preamble={shell: PREAMBLE.get(shell, "")})
    return text


def _describe(action: argparse.Action, shell: str) -> None:
    """Give an argument the values that its metavar stands for."""
    metavar = str(action.metavar or "")
    if metavar in ("GAME", "STORY") and shell in PREAMBLE:
        action.complete = {shell: "_textgames_games"}  # type: ignore[attr-defined]
    elif metavar.startswith("{"):
        action.choices = metavar.strip("{}").split(",")
    elif metavar in ("GAME", "STORY"):
        action.choices = GAMES
    elif metavar == "DIAGNOSTIC":
        action.choices = list(DIAGNOSTICS)
    elif metavar in ("PATH", "FILE", "FOLDER", "RUN"):
        action.complete = FILES  # type: ignore[attr-defined]
