"""An environment in a process of its own, which can be ended when a step hangs, and which takes no other with it.

The process has a group of its own, so that ending it ends the Java machine that a suite started as well. Its hash seed
is fixed: what a suite lists in the order of a set comes in one order. It is started without `multiprocessing`, so that
scripts need no `if __name__ == "__main__":`, and worker processes may have environments, too.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import weakref
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.suites.environment import SuitePage
from drrn.suites.naming import SuiteChoice
from drrn.suites.served import FAILED, REFUSED
from drrn.suites.suite import Suite

OPENING = 180  # seconds, at the least, for starting a process, a Java machine, and loading a game
BEGINNING = 60  # seconds, at the least, for beginning an episode
PATIENCE = 3.0  # seconds for a process to end by itself
# The packages above the adaptors as empty ones: without all that `import drrn` brings, a process starts far sooner.
START = """
import os, sys, types
place = sys.argv[1]
for name in ("drrn", "drrn.suites"):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [os.path.join(place, *name.split("."))]
from drrn.suites.served import serve_environment
serve_environment()
"""
PLACE = str(Path(__file__).parents[2])  # where the package lies


class EnvironmentFailedError(Exception):
    """An environment hung, died or failed: its episode is lost, and another one must be opened."""


class EnvironmentProcess:
    """One environment; it answers one question at a time."""

    def __init__(self, choice: SuiteChoice) -> None:
        self.choice = choice
        here, there = multiprocessing.Pipe()
        self.connection: Connection[Any, Any] = here
        self.pid = _spawned(there.fileno(), choice.suite)
        there.close()
        self.end = weakref.finalize(self, _end, self.pid, here)
        self.seconds = float(choice.options["seconds"])
        self._ask(
            (choice.suite.adaptor, choice.game, dict(choice.options)),
            "opening",
            max(self.seconds, OPENING),
        )

    def reset(self, seed: int) -> SuitePage:
        page: SuitePage = self._ask(
            ("reset", seed), "the beginning of an episode", max(self.seconds, BEGINNING)
        )
        return page

    def step(self, action: str) -> SuitePage:
        page: SuitePage = self._ask(("step", action), f'the step "{action}"', self.seconds)
        return page

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        if self.end.alive:
            _kill(self.pid)
            self.end()

    def _ask(self, question: Any, what: str, seconds: float) -> Any:
        try:
            self.connection.send(question)
            if not self.connection.poll(seconds):
                raise EnvironmentFailedError(
                    f"{what} did not end within {seconds:g} seconds (more: seconds={2 * seconds:g} in the game's name)"
                )
            kind, answer = self.connection.recv()
        except (EOFError, OSError) as error:
            raise EnvironmentFailedError(f"its process {_death(self.end())}, at {what}") from error
        except (
            BaseException
        ):  # also Ctrl-C: an answer that comes too late must not be taken for another's
            self.kill()
            raise
        if kind == REFUSED:
            raise InputError(answer)
        if kind == FAILED:
            self.kill()
            raise EnvironmentFailedError(f"{what} failed: {answer}")
        return answer


def _spawned(socket: int, suite: Suite) -> int:
    """Start the process with the socket as its standard input; what it prints is nobody's."""
    surroundings = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    if suite.java:
        surroundings["JAVA_TOOL_OPTIONS"] = (
            f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {suite.java_options}".strip()
        )
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    command = [sys.executable, "-c", START, PLACE]
    actions = [(os.POSIX_SPAWN_DUP2, socket, 0), *nowhere]
    return os.posix_spawn(sys.executable, command, surroundings, file_actions=actions, setpgroup=0)


def _end(pid: int, connection: Connection[Any, Any]) -> int:
    """Let the process close its environment, end it and all that it started; its exit status."""
    with contextlib.suppress(OSError):
        connection.close()
    before = time.monotonic()
    while (found := _reaped(pid)) is None:
        if time.monotonic() - before > PATIENCE:
            _kill(pid)
            before = float("inf")
        time.sleep(0.01)
    _kill(pid)  # what it started and left
    return found


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _reaped(pid: int) -> int | None:
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # somebody else has waited for it
        return 0
    return os.waitstatus_to_exitcode(status) if found else None


def _death(status: int | None) -> str:
    if status is None:
        return "had been ended"
    return (
        f"was killed by {signal.Signals(-status).name}"
        if status < 0
        else f"ended (exit code {status})"
    )
