"""Game files for the stand-ins of suites, and the child processes of suites."""

import contextlib
import os
from pathlib import Path
from typing import Any

import textgames
from textsuites.game import SuiteGame

HEADER = bytes([8, 1, 0, 0]) + b"\0\x40" * 11 + b"\0\0" + b"\0\x40" * 18  # without a length


def game_file(folder, name="tale.z8", supported=True):
    """Write a file like a Z-machine story, with the JSON that TextWorld adds; return its path."""
    path = folder / name
    path.write_bytes(HEADER[:1] + bytes([supported]) + HEADER[2:] + bytes(64))
    path.with_suffix(".json").write_text("{}")
    return path


class LocalService:
    """The object of a `Service`, created in this process."""

    def __init__(self, create, *arguments, **_):
        self.create = lambda: create(*arguments)
        self.target: Any = None

    def open(self, timeout):
        self.target = self.create()

    def ask(self, method, *arguments, timeout):
        return getattr(self.target, method)(*arguments)

    def close(self):
        if self.target is not None:
            self.target.close()

    def kill(self):
        pass

    hang_up = kill


def open_suite(name) -> SuiteGame:
    """Open a game of a suite."""
    game = textgames.make(name)
    assert isinstance(game, SuiteGame)
    return game


def is_running(pid):
    """Whether a process, or another one of its group, exists."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def child_processes():
    """Return the children of this process that lead a group."""
    children = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has just ended
            pid = int(entry.name)
            status = (entry / "status").read_text()
            is_child = status.split("PPid:\t")[1].split("\n")[0] == str(os.getpid())
            if is_child and os.getpgid(pid) == pid:
                children.append(pid)
    return children
