"""V8 in a separate process, which is killed if a script does not stop or needs too much memory.

V8 ends a loop of JavaScript in time, but not a native one, such as `indexOf` in a huge array, and
its memory limit does not cover everything that a script can allocate.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import threading
import time
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from drrn.errors import require
from drrn.processes import Service, ServiceError, add_work, most_memory

CALL_SECONDS = 20.0
GRACE_SECONDS = 5.0  # after the time limit of V8, until the process is killed
MEGABYTES = 256  # of one page
OWN_MEGABYTES = 64  # that the engine needs beyond what it had when the page was opened
WATCH_SECONDS = 0.05
# Space for new objects (MB): a page of SugarCube makes many, and V8 would often clean up.
V8_FLAGS = ("--single-threaded", "--min-semi-space-size=16")
MAX_RESULT = 2**26  # characters of a text that a script returns
MAX_IDLE = 2  # processes that wait for the next isolate
OUT_OF_MEMORY = "the script exceeds its memory limit"
MEMORY_CODE = 75  # exit code of a process that needs too much
SCRIPT_LINE = re.compile(r"^<anonymous>:\d+: ")


class IsolateError(Exception):
    """A call into an isolate failed: the script threw."""


class TimedOutError(IsolateError):
    """The script did not finish in time."""


class OutOfMemoryError(IsolateError):
    """The script needs more memory than the isolate may have."""


class Isolate(AbstractContextManager["Isolate"]):
    """A separate JavaScript world; close it, or use it in a `with` statement."""

    # Set here as well, so that an isolate whose creation was interrupted can be collected.
    _service: Service | None = None

    def __init__(self, *, megabytes: int = MEGABYTES) -> None:
        require("py_mini_racer", "twine")
        self._error: IsolateError | None = None  # after which it cannot be used
        self._is_busy = False  # a script was not answered, or did not end: it may still run
        self._service = _idle_process() or Service(Engine, quiet=True)
        OPEN_ISOLATES.add(self)
        self._ask("open", megabytes, seconds=CALL_SECONDS)

    def evaluate(self, *scripts: str, seconds: float = CALL_SECONDS) -> Any:
        """Run scripts and return the last value, if that is plain, or raise `IsolateError`.

        Each script has `seconds`; timers and promises run between two of them.
        """
        kind, value = self._ask("evaluate", scripts, seconds, seconds=seconds * len(scripts))
        if kind == "timeout":
            self._is_busy = True
            raise TimedOutError(f"the script did not finish in {seconds:g} seconds")
        if kind == "memory":
            self._error = OutOfMemoryError(OUT_OF_MEMORY)
            raise self._error
        if kind == "error":
            raise IsolateError(value)
        return value

    def _ask(self, method: str, *arguments: Any, seconds: float) -> Any:
        if self._error:
            raise self._error
        if self._service is None:
            raise IsolateError("the isolate is closed")
        was_busy = self._is_busy
        self._is_busy = True
        try:
            answer = self._service.ask(method, *arguments, timeout=seconds + GRACE_SECONDS)
        except ServiceError as error:
            code = self._service.process.returncode
            if error.reason == "timeout":
                add_work(seconds + GRACE_SECONDS)
                self._error = TimedOutError(f"the script did not finish in {seconds:g} seconds")
            elif code == MEMORY_CODE:
                self._error = OutOfMemoryError(OUT_OF_MEMORY)
            else:
                self._error = IsolateError(f"the engine failed: {error}")
            self._service = None
            raise self._error from error
        self._is_busy = was_busy
        value, work = answer
        add_work(work)
        return value

    def close(self) -> None:
        """Free the isolate; a second call does nothing."""
        service = self._service
        self._service = None
        OPEN_ISOLATES.discard(self)
        if service is None:
            return
        if self._is_busy:
            service.kill()
        elif len(_IDLE) < MAX_IDLE and service.process.poll() is None:
            service.send("free")
            _IDLE.append((os.getpid(), service))
        else:
            service.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


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
    """One isolate at a time; runs in the separate process."""

    def __init__(self) -> None:
        self.library: Any = require("py_mini_racer", "twine")
        self.library.init_mini_racer(flags=V8_FLAGS, ignore_duplicate_init=True)
        self.context: AbstractContextManager[Any] | None = None
        self.racer: Any = None
        self.most_memory = sys.maxsize
        self.work = time.process_time()
        self.loop = asyncio.new_event_loop()  # mini-racer waits for V8 with it
        for run in (self.loop.run_forever, self._watch_memory):
            threading.Thread(target=run, daemon=True).start()

    def open(self, megabytes: int) -> tuple[None, float]:
        self.free()
        self.context = self.library.mini_racer(self.loop)
        self.racer = self.context.__enter__()
        self.racer.set_hard_memory_limit(megabytes * 2**20)
        self.most_memory = memory() + (megabytes + OWN_MEGABYTES) * 2**20
        return None, self._new_work()

    def evaluate(self, scripts: tuple[str, ...], seconds: float) -> tuple[Any, float]:
        """Return ("value", the last value), or the kind of the failure and its message; and work.

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
        if isinstance(value, str) and len(value) > MAX_RESULT:
            return "error", f"a text of {len(value):,} characters"
        is_plain = value is None or isinstance(value, (str, int, float, bool))
        return "value", value if is_plain else str(type(value))

    def free(self) -> None:
        """Free the isolate."""
        self.most_memory = sys.maxsize
        context = self.context
        self.context = None
        if context is not None:
            self.racer.close()
            context.__exit__(None, None, None)

    close = free

    def _watch_memory(self) -> None:
        while memory() < self.most_memory:
            time.sleep(WATCH_SECONDS)
        os._exit(MEMORY_CODE)


def memory() -> int:
    """Return the memory of this process in bytes; where that is unknown, `most_memory`."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return most_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


def first_line(message: str) -> str:
    """Return the error itself, from a message that also has source and stack."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("Uncaught")]
    return SCRIPT_LINE.sub("", (errors or lines or ["the script threw"])[0])
