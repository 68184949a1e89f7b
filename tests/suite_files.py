"""Files that the stand-ins of suites open, and what can be asked of processes."""

import contextlib
import os
from pathlib import Path

HEADER = (
    bytes([8, 1, 0, 0]) + b"\0\x40" * 11 + b"\0\0" + b"\0\x40" * 18
)  # it does not say how long it is


def game_file(folder, name="tale.z8", known=True):
    """Something like a story file of the Z-machine, with the JSON that TextWorld writes beside one."""
    path = folder / name
    path.write_bytes(HEADER[:1] + bytes([known]) + HEADER[2:] + bytes(64))
    path.with_suffix(".json").write_text("{}")
    return path


def is_running(pid):
    """Whether a process, or another of its group, is there."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def child_processes(of=None, leaders=True):
    """Processes that one (this one) has started: all, or leaders of groups of their own, as environments are."""
    found, of = [], of or os.getpid()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # one that has just ended
            parent = (entry / "status").read_text().split("PPid:\t")[1].split("\n")[0]
            if parent == str(of) and (
                not leaders or os.getpgid(int(entry.name)) == int(entry.name)
            ):
                found.append(int(entry.name))
    return found
