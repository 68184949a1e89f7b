"""Processes that outlive the server: begun in a session of their own, with their output in a file."""

from __future__ import annotations

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
    threading.Thread(
        target=process.wait, daemon=True
    ).start()  # so that none is left behind as a zombie
    return process
