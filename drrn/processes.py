"""Worker processes: each ignores Ctrl-C, which is for its parent, and dies with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

SPAWN = multiprocessing.get_context("spawn")

Serve = Callable[..., None]  # a function of a module: (connection, *arguments)


class Worker:
    """A process that serves at the other end of a connection until that is closed."""

    def __init__(self, serve: Serve, *arguments: Any) -> None:
        here, there = SPAWN.Pipe()
        self.connection: Connection[Any, Any] = here
        self.process = SPAWN.Process(target=_serve, args=(serve, there, *arguments), daemon=True)
        self._start()
        there.close()

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()

    def _start(self) -> None:
        if threading.current_thread() is not threading.main_thread():  # only the main one may set what signals do
            self.process.start()
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child inherits it, from its first moment on
        try:
            self.process.start()
        finally:
            signal.signal(signal.SIGINT, before)


def _serve(serve: Serve, connection: Connection[Any, Any], *arguments: Any) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    serve(connection, *arguments)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
