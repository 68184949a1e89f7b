"""Processes that outlive the server: begun in a session of their own, with their output in a file."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from pathlib import Path


def start_detached(module: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    """Run a module of this package with arguments, apart from this process and its terminal."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that neither Ctrl-C nor a closed terminal reaches it
        )
    threading.Thread(target=process.wait, daemon=True).start()  # so that none is left behind as a zombie
    return process


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock that a file stands for."""
    try:
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
