"""`drrn completion SHELL`: a script that completes commands, options, their values and games.

The script is static, so that completing starts no Python. Other words are completed as files.
"""

import argparse
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from drrn.cli import Parser, parser
from drrn.game.make import BUILT_IN, WORLDS

GAMES = (*BUILT_IN, *WORLDS)
ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def run(options: argparse.Namespace) -> None:
    commands = parser().commands
    if options.shell == "fish":
        print("\n".join(_fish_lines(commands)))
    else:
        print((ZSH if options.shell == "zsh" else "") + _bash(commands, options.shell), end="")


def _bash(commands: dict[str, Parser], shell: str) -> str:
    values = []
    options = []
    for name, command in commands.items():
        for each in command.all_actions():
            if each.option_strings and (words := _values(each)):
                patterns = "|".join(f'"{name} {option}"' for option in each.option_strings)
                values.append(f"        {patterns}) words={_quote(words)} ;;")
        words = [*command.option_names(), *_first_words(command)]
        options.append(f"            {name}) words={_quote(words)} ;;")
    names = _quote([*commands, "--help", "--version"])
    texts = {"values": "\n".join(values), "options": "\n".join(options), "commands": names}
    return Path(__file__).with_suffix(".bash").read_text("utf-8").format(shell=shell, **texts)


def _fish_lines(commands: dict[str, Parser]) -> Iterator[str]:
    yield "# Completion of drrn for fish; made by: drrn completion fish"
    for name, command in commands.items():
        help_text = shlex.quote((command.description or "").split(". ")[0].replace("\n", " "))
        yield f"complete -c drrn -n __fish_use_subcommand -f -a {name} -d {help_text}"
        here = f"complete -c drrn -n '__fish_seen_subcommand_from {name}'"
        if words := _first_words(command):
            yield f"{here} -a {_quote(words)}"
        for each in command.all_actions():
            words = _values(each)
            values = f" -x -a {_quote(words)}" if words else " -r"
            for option in each.option_strings[-1:]:  # the long name
                yield f"{here} -l {option[2:]}{values if each.nargs != 0 else ''}"


def _first_words(command: Parser) -> list[str]:
    """Return the words that may follow a command: subcommands, choices or names of games."""
    words: list[str] = []
    for each in command.all_actions():
        if not each.option_strings:
            words += GAMES if each.metavar == "GAME" else _values(each)
    return words


def _values(action: argparse.Action) -> list[str]:
    """Return the values of an argument; a setting that may be your own has them as its metavar."""
    metavar = str(action.metavar or "")
    return list(action.choices or metavar.strip("{}").split(",") * metavar.startswith("{"))


def _quote(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))
