"""The command line. A command's module is imported when the command is chosen."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from drrn.errors import InputError, require
from drrn.version import __version__
from drrn.writing import visible

DESCRIPTION = """\
Reinforcement learning agents for text games: play games, test stories, train agents, reproduce
the paper (He et al., ACL 2016).

GAME is a name (see: drrn games), a published Twine page (.html), a Twee file (.twee, .tw) or a
folder of them, compiled Ink (.json), the .toml next to a story that says what its endings are
worth, a game of a suite (twx:coin; see: drrn games --suites), or your own game as module:factory.
"""
# The module in `drrn.cli`, and one line of help.
COMMANDS = {
    "games": ("games", "list the games that have a name, or add the paper's"),
    "formats": ("games", "list the installed story formats of Twine, or add some"),
    "play": ("play", "play a game in the terminal, or let a policy play it"),
    "train": ("train", "train an agent, and save the run to a folder"),
    "evaluate": ("evaluate", "evaluate a trained agent: scores and endings, by policy"),
    "ask": ("evaluate", "print the Q-values of a trained agent for any state and actions"),
    "sweep": ("sweep", "train with many settings, and compare them"),
    "runs": ("runs", "list runs: scores, rounds, state"),
    "compare": ("runs", "plot the learning curves of runs, and test how they differ"),
    "push": ("runs", "upload a run to the Hugging Face Hub"),
    "pull": ("runs", "download a run from the Hugging Face Hub"),
    "watch": ("watch", "watch a trained agent play"),
    "inspect": ("inspect", "show what a game contains: pages, endings, exact scores"),
    "test": ("test", "play-test a story: endings, dead ends, unreachable passages"),
    "annotate": ("annotate", "write a TOML file with the endings of a story"),
    "serve": ("serve", "open a local web page to play, test, train and explain"),
    "reproduce": ("reproduce", "run the paper's experiments"),
    "report": ("report", "write the report of the experiments"),
}
NEED_TORCH = ("train", "evaluate", "ask", "sweep", "watch", "reproduce")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are an `InputError`."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see: {self.prog} --help)")


def parser(*names: str) -> Parser:
    """Return the parser with the arguments of these commands; by default, of all.

    The other commands have a name and a line of help only.
    """
    root = Parser(
        prog="drrn", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root.add_argument("-V", "--version", action="version", version=f"drrn {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    modules = {COMMANDS[name][0] for name in names or COMMANDS if name in COMMANDS}
    for name, (module, explanation) in COMMANDS.items():
        if module not in modules:
            commands.add_parser(name, help=explanation)
    for module in sorted(modules):
        importlib.import_module(f"drrn.cli.{module}").add_command(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success; 1: a check found a difference; 2: an error that the user can fix, reported in one
    sentence; 130: interrupted by Ctrl-C; 141: the reader of our output closed it.
    """
    logging.getLogger("drrn").addFilter(_remove_control_characters)
    words = sys.argv[1:] if arguments is None else list(arguments)
    name = words[0] if words else ""
    root = parser(name if name in COMMANDS else "-")
    try:
        options = root.parse_args(words)
        if options.command is None:
            root.print_help()
            return 0
        if options.command in NEED_TORCH:
            require("torch", "torch")
        code: int = options.run(options) or 0
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except MemoryError as error:
        return _fail(f"not enough memory ({error}); choose smaller sizes, or fewer replicas")
    except OSError as error:
        return _fail(f"the system refused: {error}")
    except KeyboardInterrupt:
        print(file=sys.stderr)  # below the ^C
        return 130
    return code


def _fail(message: str) -> int:
    print(f"drrn: {visible(message)}", file=sys.stderr)
    return 2


def _remove_control_characters(record: logging.LogRecord) -> bool:
    """Remove what controls a terminal from a warning, which may quote a story."""
    record.msg = visible(record.getMessage())
    record.args = ()
    return True
