"""V8 in a separate process, which is killed if a script does not stop or needs too much memory.

V8 ends a loop of JavaScript in time, but not a native one, such as `indexOf` in a huge array, and
its memory limit does not cover everything that a script can allocate.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
import weakref
from contextlib import AbstractContextManager
from typing import Any

from textgames.errors import require
from textgames.processes import Service, ServiceError, add_work, limit_memory

CALL_SECONDS = 20.0  # default time limit of a script
MEGABYTES = 256  # default memory of a page
# Space for new objects (MB): a page of SugarCube makes many, and V8 would often clean up.
V8_FLAGS = ("--single-threaded", "--min-semi-space-size=16")
SCRIPT_LINE = re.compile(r"^<anonymous>:\d+: ")


class IsolateError(Exception):
    """A call into an isolate failed: the script threw."""


class TimedOutError(IsolateError):
    """The script did not finish in time."""


class OutOfMemoryError(IsolateError):
    """The script needs more memory than the isolate may have."""


class Isolate(AbstractContextManager["Isolate"]):
    """A separate JavaScript world. Close it, or use it in a `with` statement.

    Args:
        megabytes: Memory of a page. The engine itself may take 64 MB more.
        grace: Seconds after the time limit of V8 until the process is killed.
    """

    # Set here as well, so that an isolate whose creation was interrupted can be collected.
    _service: Service | None = None

    def __init__(self, *, megabytes: int = MEGABYTES, grace: float = 5.0) -> None:
        require("py_mini_racer", "mini-racer")
        self.grace = grace
        self._error: IsolateError | None = None  # after which it cannot be used
        self._is_busy = False  # a script was not answered, or did not end: it may still run
        self._service = _idle_process() or Service(Engine, quiet=True)
        OPEN_ISOLATES.add(self)
        self._ask("open", megabytes, seconds=CALL_SECONDS)

    def evaluate(self, *scripts: str, seconds: float = CALL_SECONDS) -> Any:
        """Run scripts and return the last value if that is plain.

        Each script has `seconds`. Timers and promises run between two of them.

        Raises:
            IsolateError: A script threw, did not end, or needs too much memory.
        """
        kind, value = self._ask("evaluate", scripts, seconds, seconds=seconds * len(scripts))
        if kind == "value":
            return value
        error = _error(kind, value, seconds)
        self._is_busy |= kind == "timeout"
        self._error = error if kind == "memory" else None
        raise error

    def _ask(self, method: str, *arguments: Any, seconds: float) -> Any:
        if self._error:
            raise self._error
        if self._service is None:
            raise IsolateError("the isolate is closed")
        was_busy = self._is_busy
        self._is_busy = True
        try:
            value, work = self._service.ask(method, *arguments, timeout=seconds + self.grace)
        except ServiceError as error:
            if error.reason == "timeout":
                add_work(seconds + self.grace)
            self._error = _error(error.reason, f"the engine failed: {error}", seconds)
            self._service = None
            raise self._error from error
        self._is_busy = was_busy
        add_work(work)
        return value

    def close(self) -> None:
        """Free the isolate. A second call does nothing."""
        service = self._service
        self._service = None
        OPEN_ISOLATES.discard(self)
        if service is None:
            return
        if self._is_busy or len(_IDLE) > 1:
            service.kill()
        else:
            service.send("free")
            _IDLE.append((os.getpid(), service))

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _error(kind: str, message: str, seconds: float) -> IsolateError:
    if kind == "timeout":
        return TimedOutError(f"the script did not finish in {seconds:g} seconds")
    if kind == "memory":
        return OutOfMemoryError("the script exceeds its memory limit")
    return IsolateError(message)


OPEN_ISOLATES: weakref.WeakSet[Isolate] = weakref.WeakSet()
_IDLE: list[tuple[int, Service]] = []  # with the process that started it; a fork cannot use it


def _idle_process() -> Service | None:
    with contextlib.suppress(IndexError):
        while True:
            owner, service = _IDLE.pop()
            if owner == os.getpid() and service.process.poll() is None:
                return service
    return None


class Engine:
    """One isolate at a time. It runs in the separate process.

    Args:
        longest: Characters of a text that a script may return.
    """

    def __init__(self, longest: int = 2**26) -> None:
        self.longest = longest
        self.library: Any = require("py_mini_racer", "mini-racer")
        self.library.init_mini_racer(flags=V8_FLAGS, ignore_duplicate_init=True)
        self.context: AbstractContextManager[Any] | None = None
        self.racer: Any = None
        self.work = time.process_time()
        self.loop = asyncio.new_event_loop()  # mini-racer waits for V8 with it
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def open(self, megabytes: int) -> tuple[None, float]:
        self.free()
        self.context = self.library.mini_racer(self.loop)
        self.racer = self.context.__enter__()
        self.racer.set_hard_memory_limit(megabytes * 2**20)
        limit_memory((megabytes + 64) * 2**20)
        return None, self._new_work()

    def evaluate(self, scripts: tuple[str, ...], seconds: float) -> tuple[Any, float]:
        """The last value as ("value", value), or the failure as (kind, message); and the work.

        The work is the CPU time of this process since the last answer.
        """
        return self._evaluate(scripts, seconds), self._new_work()

    def _new_work(self) -> float:
        before = self.work
        self.work = time.process_time()
        return self.work - before

    async def _run(self, scripts: tuple[str, ...], seconds: float) -> Any:
        value = None
        for script in scripts:
            value = await asyncio.wait_for(self.racer.eval_cancelable(script), seconds)
        return value

    def _evaluate(self, scripts: tuple[str, ...], seconds: float) -> tuple[str, Any]:
        try:
            # Together, since each change between threads takes half a millisecond.
            value = asyncio.run_coroutine_threadsafe(
                self._run(scripts, seconds), self.loop
            ).result()
        except asyncio.TimeoutError:
            return "timeout", None
        except self.library.JSOOMException:
            return "memory", None
        except self.library.JSEvalException as error:
            return "error", first_line(str(error))
        if value is self.library.JSUndefined:
            return "value", None
        if isinstance(value, str) and len(value) > self.longest:
            return "error", f"a text of {len(value):,} characters"
        is_plain = value is None or isinstance(value, (str, int, float, bool))
        return "value", value if is_plain else str(type(value))

    def free(self) -> None:
        """Free the isolate."""
        limit_memory(None)
        context = self.context
        self.context = None
        if context is not None:
            self.racer.close()
            context.__exit__(None, None, None)

    close = free


def first_line(message: str) -> str:
    """The error itself, from a message that also has source and stack."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("Uncaught")]
    return SCRIPT_LINE.sub("", (errors or lines or ["the script threw"])[0])
