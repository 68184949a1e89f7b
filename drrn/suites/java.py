"""Environments that run on Java: called in this process, with a time limit on their Java machine.

A suite's Python code only passes messages to a Java process, so that nothing else can hang or
crash. Another Python process in between would double the time of a step of TextWorldExpress.
"""

import logging
import math
import os
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from drrn.errors import InputError, require
from drrn.processes import ServiceError, describe_exit, describe_failure, group_options, kill_group

CHECK_SECONDS = 0.25  # between two checks of the time limits
_lock = threading.Lock()  # one Java machine is started at a time
_running: "weakref.WeakSet[JavaService]" = weakref.WeakSet()


class JavaService:
    """An environment in this process whose Java machine is killed when a call takes too long.

    It has the methods of `drrn.processes.Service` that environments need.
    """

    def __init__(self, create: Callable[..., Any], *arguments: Any, options: str) -> None:
        """Prepare; `open` starts Java with these options and creates the environment."""
        self._create = create
        self._arguments = arguments
        self._options = options
        self._environment: Any = None
        self._machines: list[subprocess.Popen[bytes]] = []
        self.deadline = math.inf  # of the call that is being answered
        self.close = weakref.finalize(self, _kill, self._machines)
        _watch(self)

    def open(self, timeout: float) -> None:
        """Start Java and create the environment."""
        with _lock, _launches(self._options, self._machines):
            self._environment = self._call(self._create, *self._arguments, timeout=timeout)

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Call a method of the environment; raise ServiceError if it fails or is too slow."""
        return self._call(getattr(self._environment, method), *arguments, timeout=timeout)

    def kill(self) -> None:
        """Kill the Java machine and release the connections to it."""
        self.close()
        with suppress(Exception):  # it waits for a machine that is dead
            self._environment.close()

    hang_up = kill

    def _call(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        self.deadline = time.monotonic() + timeout
        try:
            return function(*arguments)
        except InputError:
            raise
        except Exception as error:
            if time.monotonic() > self.deadline:
                raise ServiceError("timeout", f"no answer within {timeout:g} seconds") from error
            for machine in self._machines:
                with suppress(subprocess.TimeoutExpired):
                    how = describe_exit(machine.wait(CHECK_SECONDS))
                    raise ServiceError("died", f"Java {how}") from error
            raise ServiceError("raised", describe_failure(error)) from error
        finally:
            self.deadline = math.inf


def _kill(machines: list[subprocess.Popen[bytes]]) -> None:
    for machine in machines:
        kill_group(machine)
        machine.wait()
        if machine.stdin:
            with suppress(OSError):
                machine.stdin.close()


@contextmanager
def _launches(options: str, machines: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Start Java with options, in a separate process group, which Ctrl-C does not reach."""
    gateway: Any = require("py4j.java_gateway", "suites")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # failures are reported once, by us
    variables = {**os.environ, "JAVA_TOOL_OPTIONS": options}
    start = gateway.Popen

    def launch(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        machine: subprocess.Popen[bytes]
        machine = start(*arguments, **keywords, env=variables, **group_options())
        machines.append(machine)
        return machine

    gateway.Popen = launch
    try:
        yield
    finally:
        gateway.Popen = start


def _watch(service: JavaService) -> None:
    """Let a thread, the first time a new one, check the time limits of a service."""
    if not any(thread.name == _check.__name__ for thread in threading.enumerate()):
        threading.Thread(target=_check, name=_check.__name__, daemon=True).start()
    _running.add(service)


def _check() -> None:
    """Kill each Java machine whose call has exceeded its limit: the call then raises an error."""
    while True:
        time.sleep(CHECK_SECONDS)
        for service in list(_running):
            if time.monotonic() > service.deadline:
                service.close()
