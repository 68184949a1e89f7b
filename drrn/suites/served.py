"""The process that an environment lives in: it opens one, and answers resets and steps until its parent goes."""

from __future__ import annotations

import importlib
import os
import signal
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.suites.environment import SuiteEnvironment

# kinds of answers: a page, a sentence, what was raised
TOLD = "told"
REFUSED = "refused"
FAILED = "failed"


def serve_environment() -> None:
    """Serve at the socket that stands where standard input does."""
    connection: Connection[Any, Any] = Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what the suite starts must not read ours
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    environment: SuiteEnvironment | None = None
    try:
        adaptor, game, options = connection.recv()
        kind, answer = _answered(lambda: _class_of_adaptor(adaptor)(game, options))
        environment = answer if kind == TOLD else None
        connection.send((kind, None if kind == TOLD else answer))
        while environment is not None:
            what, argument = connection.recv()
            connection.send(_answered(lambda: getattr(environment, what)(argument)))  # noqa: B023
    except (EOFError, OSError):  # the parent let go
        if environment is not None:
            environment.close()


def _class_of_adaptor(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _answered(call: Any) -> tuple[str, Any]:
    try:
        return TOLD, call()
    except InputError as error:
        return REFUSED, str(error)
    except (
        Exception,
        SystemExit,
    ) as error:  # whatever it may be: it is the suite's, and its parent tells it
        return FAILED, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _end_with_parent(parent: int) -> None:
    """End this process and what it started once the parent is gone, whatever the suite is doing."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)
