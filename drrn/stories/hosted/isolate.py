"""A V8 isolate: JavaScript without files, network or environment, with limits on time and memory."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import threading
import weakref
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from drrn.errors import require

SECONDS = 20.0  # for one call
MEGABYTES = 512  # for one isolate
PLACE = re.compile(r"^<anonymous>:\d+: ")  # a line of a script that nobody has seen as a file


class IsolateError(Exception):
    """A call into an isolate failed: the script threw."""


class TimedOutError(IsolateError):
    """The script did not end within its time."""


class OutOfMemoryError(IsolateError):
    """The script asked for more memory than the isolate may have."""


class Isolate:
    """One JavaScript world of its own; close it, or use it in a `with`."""

    def __init__(self, *, megabytes: int = MEGABYTES) -> None:
        self._library: Any = require("py_mini_racer", "twine")
        self._maker: AbstractContextManager[Any] | None = (
            None  # until it is made: Ctrl-C may come in between
        )
        maker = self._library.mini_racer(_event_loop())
        self._racer = maker.__enter__()
        self._maker = maker
        self._racer.set_hard_memory_limit(megabytes * 2**20)
        self._broken = ""
        OPEN_ISOLATES.add(self)

    def evaluate(self, script: str, *, seconds: float = SECONDS) -> Any:
        """Run a script; its last value, if that is a string, a number, a truth value or nothing."""
        if self._maker is None:
            raise IsolateError("the isolate is closed")
        if self._broken:
            raise OutOfMemoryError(self._broken)
        try:
            value = self._racer.eval(script, timeout_sec=seconds)
        except self._library.JSTimeoutException as error:
            raise TimedOutError(f"the script did not end within {seconds:g} seconds") from error
        except self._library.JSOOMException as error:
            self._broken = "the script asked for more memory than it may have"
            raise OutOfMemoryError(self._broken) from error
        except self._library.JSEvalException as error:
            raise IsolateError(_first_line(str(error))) from error
        return None if value is self._library.JSUndefined else value

    def call(self, function: str, *arguments: Any, seconds: float = SECONDS) -> Any:
        """Call a JavaScript function, named by an expression, with plain data."""
        given = ", ".join(json.dumps(argument) for argument in arguments)
        return self.evaluate(f"{function}({given})", seconds=seconds)

    @property
    def heap(self) -> Mapping[str, int]:
        """V8's own statistics of this isolate's memory, in bytes."""
        statistics: Mapping[str, int] = self._racer.heap_stats()
        return statistics

    def close(self) -> None:
        """Give everything back; a second time does nothing."""
        maker = self._maker
        self._maker = None
        if maker is not None:
            self._racer.close()
            maker.__exit__(None, None, None)
            OPEN_ISOLATES.discard(self)

    def __enter__(self) -> Isolate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_maker", None) is not None:
            self.close()


OPEN_ISOLATES: weakref.WeakSet[Isolate] = weakref.WeakSet()
_LOOPS: dict[
    int, asyncio.AbstractEventLoop
] = {}  # by process: a fork has none of its parent's threads
_LOCK = threading.Lock()


def _event_loop() -> asyncio.AbstractEventLoop:
    """One event loop in a thread of its own for all isolates: mini-racer waits for V8 by one."""
    with _LOCK:
        loop = _LOOPS.get(os.getpid())
        if loop is None:
            loop = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="isolates").start()
        return loop


@atexit.register
def _close_all() -> None:
    """An isolate left open would keep the interpreter from ending."""
    for isolate in list(OPEN_ISOLATES):
        isolate.close()


def _first_line(message: str) -> str:
    """What was thrown, out of a message that also shows source and stack."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    thrown = [line for line in lines if "Error" in line or line.startswith("Uncaught")]
    return PLACE.sub("", (thrown or lines or ["the script threw"])[0])
