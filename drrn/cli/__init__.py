"""The command line. Nothing imports it."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import drrn
from drrn.cli import (
    annotate,
    ask,
    compare,
    evaluate,
    formats,
    games,
    inspect,
    play,
    report,
    reproduce,
    runs,
    scores,
    serve,
    sharing,
    sweep,
    test,
    train,
    watch,
)
from drrn.errors import InputError
from drrn.writing import visible

DESCRIPTION = """\
Reinforcement learning agents for text games: play games, test stories, train agents, reproduce the paper
(He et al., ACL 2016).

GAME is a name (see: drrn games), a published Twine page (.html), a Twee file (.twee, .tw) or a folder of them, compiled
Ink (.json), the .toml that stands beside a story and says what its endings are worth, a game of a suite (twx:coin; see:
drrn games --suites), or a game of your own as module:factory."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, an `InputError` like any other."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see: {self.prog} --help)")


def parser() -> Parser:
    root = Parser(
        prog="drrn", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root.add_argument("-V", "--version", action="version", version=f"drrn {drrn.__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    playing = (games, formats, play, scores)
    runs_kept = (runs, compare, watch, sharing)
    agents = (train, evaluate, ask, sweep)
    authors = (inspect, test, annotate, serve)
    for room in (*playing, *agents, *runs_kept, *authors, reproduce, report):
        room.add_command(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Exit code 0: done; 1: a check found a difference; 2: what a person can mend, in one sentence;
    130: stopped by Ctrl-C; 141: the reader of our output went away."""
    logging.getLogger("drrn").addFilter(_visible_message)
    root = parser()
    try:
        options = root.parse_args(arguments)
        if options.command is None:
            root.print_help()
            return 0
        code: int = options.run(options) or 0
        sys.stdout.flush()
    except InputError as error:
        print(f"drrn: {visible(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except MemoryError as error:
        print(
            f"drrn: not enough memory: choose smaller sizes, or fewer episodes or replicas ({error})",
            file=sys.stderr,
        )
        return 2
    except OSError as error:
        print(f"drrn: cannot go on: {visible(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)  # below the ^C
        return 130
    return code


def _visible_message(record: logging.LogRecord) -> bool:
    """A warning may quote a story: it is shown without what steers a terminal."""
    record.msg = visible(record.getMessage())
    record.args = ()
    return True
