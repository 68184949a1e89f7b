"""Environments that run on Java: called in this process, with a time limit on their Java machine.

A suite's Python code only passes messages to a Java process, so that nothing else can hang or
crash. Another Python process in between would double the time of a step of TextWorldExpress.
"""

import logging
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
EXIT_SECONDS = 0.25  # in which a machine that broke off a call has ended
Machines = list[subprocess.Popen[bytes]]


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
        self._machines: Machines = []
        self._limit = _Limit(self._machines)
        self.close = weakref.finalize(self, _end, self._machines)

    def open(self, timeout: float) -> None:
        """Start Java and create the environment."""
        try:
            with _java_launcher(self._options, self._machines):
                self._environment = self._call(timeout, self._create, *self._arguments)
        except BaseException:
            self.kill()
            raise

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Call a method of the environment; raise ServiceError if it fails or is too slow."""
        return self._call(timeout, getattr(self._environment, method), *arguments)

    def kill(self) -> None:
        """Kill the Java machine and release the connections to it."""
        _kill(self._machines)  # first, since an interrupted finalizer does not run again
        self.close()
        with suppress(Exception):  # it asks a machine that is dead
            self._environment.close()

    hang_up = kill

    def _call(self, timeout: float, function: Callable[..., Any], *arguments: Any) -> Any:
        self._limit.start(timeout)
        try:
            return function(*arguments)
        except InputError:
            raise
        except Exception as error:
            raise self._failure(error, timeout) from error
        finally:
            self._limit.stop()

    def _failure(self, error: Exception, timeout: float) -> ServiceError:
        if self._limit.exceeded:
            return ServiceError("timeout", f"no answer within {timeout:g} seconds")
        for machine in self._machines:
            with suppress(subprocess.TimeoutExpired):
                code = machine.wait(EXIT_SECONDS)
                return ServiceError("died", f"Java {describe_exit(code)}")
        return ServiceError("raised", describe_failure(error))


class _Limit:
    """The time limit of a call."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.deadline = 0.0
        self.exceeded = False

    def start(self, seconds: float) -> None:
        self.exceeded = False
        self.deadline = time.monotonic() + seconds
        WATCHDOG.add(self)

    def stop(self) -> None:
        WATCHDOG.remove(self)


class _Watchdog:
    """A thread that kills the machines of each call that exceeds its limit: the call then fails."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.limits: set[_Limit] = set()  # of the calls that are not answered yet
        self.thread: threading.Thread | None = None
        self.never = threading.Event()

    def add(self, limit: _Limit) -> None:
        with self.lock:
            self.limits.add(limit)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._watch, daemon=True)
                self.thread.start()

    def remove(self, limit: _Limit) -> None:
        with self.lock:
            self.limits.discard(limit)

    def _watch(self) -> None:
        while not self.never.wait(CHECK_SECONDS):
            with self.lock:
                for limit in self.limits:
                    if time.monotonic() > limit.deadline:
                        limit.exceeded = True
                        _kill(limit.machines)


WATCHDOG = _Watchdog()


def _kill(machines: Machines) -> None:
    for machine in machines:
        if machine.returncode is None:
            kill_group(machine)


def _end(machines: Machines) -> None:
    _kill(machines)
    for machine in machines:
        machine.wait()
        if machine.stdin:
            with suppress(OSError):
                machine.stdin.close()


def _repair(gateway: Any) -> None:
    """Change two things in py4j, for the whole process.

    It no longer writes to the root logger: failures are reported once, by us. And it no longer
    fails when it handles Ctrl-C: GatewayConnection lacks the method that it calls.
    """
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
    gateway.logging = logger
    if not hasattr(gateway.GatewayConnection, "shutdown_socket"):
        gateway.GatewayConnection.shutdown_socket = lambda connection, *_: connection.close()


_opening = threading.Lock()  # one Java machine is started at a time


@contextmanager
def _java_launcher(options: str, machines: Machines) -> Iterator[None]:
    """Let py4j start Java in a separate process group, which Ctrl-C does not reach.

    The options are added to those that the user has set in the environment.
    Machines that this thread starts are added to the list.
    """
    gateway: Any = require("py4j.java_gateway", "suites")
    _repair(gateway)
    options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {options}".strip()
    variables = {**os.environ, "JAVA_TOOL_OPTIONS": options}
    thread = threading.get_ident()

    def launch(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        machine: subprocess.Popen[bytes]
        if threading.get_ident() != thread:  # not ours
            machine = start(*arguments, **keywords)
            return machine
        machine = start(*arguments, **keywords, env=variables, **group_options())
        machines.append(machine)
        return machine

    with _opening:
        start = gateway.Popen
        gateway.Popen = launch
        try:
            yield
        finally:
            gateway.Popen = start
