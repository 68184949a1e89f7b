"""`drrn completion SHELL`: a script that completes commands, options, their values and games."""

import argparse

from drrn.cli import parser
from textgames.diagnostics import DIAGNOSTICS
from textgames.errors import require
from textgames.openers import BUILT_IN, WORLDS

NAMES = {"GAME": (*BUILT_IN, *WORLDS), "DIAGNOSTIC": tuple(DIAGNOSTICS)}  # by metavar
GAMES = " ".join(NAMES["GAME"])
# Games are names or files.
PREAMBLE = {
    "bash": f'_drrn_games() {{ compgen -W "{GAMES}" -- $1; compgen -f -- $1; }}',
    "zsh": f"_drrn_games() {{ compadd {GAMES}; _files }}",
}


def run(options: argparse.Namespace) -> None:
    shtab = require("shtab")
    root = parser(full=True)
    for action in root._actions:
        if action.dest == "command":
            action.help = "command"  # shtab leaves out what has no help
    for command in root.commands.values():
        for action in command.all_actions():
            _describe(action, options.shell)
    preamble = {options.shell: PREAMBLE.get(options.shell, "")}
    print(shtab.complete(root, options.shell, preamble=preamble), end="")


def _describe(action: argparse.Action, shell: str) -> None:
    """Give an argument the values that its metavar stands for."""
    metavar = str(action.metavar or "")
    if metavar == "GAME" and shell in PREAMBLE:
        action.complete = {shell: "_drrn_games"}  # type: ignore[attr-defined]
    elif metavar.startswith("{"):
        action.choices = metavar.strip("{}").split(",")
    elif metavar in NAMES:
        action.choices = NAMES[metavar]
    elif metavar in ("PATH", "FILE", "FOLDER", "RUN"):
        files = {"bash": "_shtab_compgen_files", "zsh": "_files", "fish": "__fish_complete_path"}
        action.complete = files  # type: ignore[attr-defined]
