"""Processes: services that answer questions, and locks on files."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from textgames.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
    from resource import RUSAGE_SELF, getrusage

START = "import sys; sys.path[:] = sys.argv[4:]; from textgames.processes import _serve; _serve()"
OUT_OF_MEMORY = 75  # exit code of a process that exceeded its memory limit
INTERRUPT = b"interrupt"  # a message that is no question


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_WORK = [0.0]  # CPU seconds of processes that work for this one


def add_work(seconds: float) -> None:
    """Count the CPU time that another process took for this one."""
    _WORK[0] += seconds


def work() -> float:
    """The CPU time of this process, and of those that were counted by `add_work`."""
    return time.process_time() + _WORK[0]


class ServiceError(Exception):
    """A service failed: its code raised an exception, or its process ended.

    Attributes:
        reason: "raised" if the process continues. If it has ended: "died", "timeout" or "memory".
        details: The traceback if an exception was raised, otherwise empty.
    """

    def __init__(self, reason: str, message: str, details: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.details = details


class Reply(NamedTuple):
    """A message from a service."""

    question: int  # its number; 0 stands for creating the object
    kind: str  # "report" (more replies follow), "answer", "refused" or "failed"
    value: Any

    def result(self) -> Any:
        """Return the answer, or raise InputError (refused) or ServiceError (failed)."""
        if self.kind == "refused":
            raise InputError(self.value)
        if self.kind == "failed":
            message, details = self.value
            raise ServiceError("raised", message, details)
        return self.value


class Service(contextlib.AbstractContextManager["Service"]):
    """An object in a separate process, whose methods are called by `ask`.

    The process has its own session, so Ctrl-C does not reach it and `kill` also ends the processes
    that it started. It exits when the service is closed or garbage-collected, and when its parent
    dies. Scripts that use services need no `if __name__ == "__main__":`.

    Args:
        create: A class or function of an importable module. It is called in the process and
            returns the object. If the object has a method `close`, it is called at the end.
        *arguments: Arguments of `create`.
        memory: The process ends as soon as it needs more than this number of bytes. It has no
            limit on Windows.
        environment: Additional environment variables of the process.
        quiet: Discard what the process prints.

    Example:
        >>> from collections import Counter
        >>> with Service(Counter, "hello") as service:
        ...     service.ask("most_common", 1, timeout=10)
        [('l', 2)]
    """

    def __init__(
        self,
        create: Callable[..., Any],
        *arguments: Any,
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
        quiet: bool = False,
    ) -> None:
        ours, theirs = multiprocessing.Pipe()
        output = subprocess.DEVNULL if quiet else None
        handle = theirs.fileno()
        numbers = map(str, (handle, os.getpid(), memory or sys.maxsize))
        path = [entry or str(Path.cwd()) for entry in sys.path]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *numbers, *path],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            **_new_group(handle),
        )
        theirs.close()
        self.connection: Connection[Any, Any] = ours
        self.questions = 0
        self.close = weakref.finalize(self, _close, self.process, ours)
        with contextlib.suppress(OSError):  # the process died; `receive` reports it
            ours.send((create, arguments))

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """The file descriptor to wait on with `select` or an event loop."""
        return self.connection.fileno()

    def ask(
        self,
        method: str,
        *arguments: Any,
        timeout: float | None = None,
        on_report: Callable[[Any], None] | None = None,
    ) -> Any:
        """Call a method and return what it returns.

        Args:
            method: The name of the method.
            *arguments: Its arguments. They and the result must be picklable.
            timeout: Seconds after which the process is killed.
            on_report: Called with each value that the method passes to `report`.

        Raises:
            InputError: `create` or the method raised it.
            ServiceError: Another exception was raised, or the process ended.
        """
        return self.answer(self.send(method, *arguments), timeout, on_report)

    def send(self, method: str, *arguments: Any) -> int:
        """Send a question without waiting, and return its number."""
        self.questions += 1
        with contextlib.suppress(OSError):
            self.connection.send_bytes(pickle.dumps((method, arguments)))
        return self.questions

    def answer(
        self,
        question: int,
        timeout: float | None = None,
        on_report: Callable[[Any], None] | None = None,
    ) -> Any:
        """Return the answer to a question, see `ask`. Question 0 is the creation of the object.

        Answers to earlier questions are dropped.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
            reply = self.receive(seconds)
            if reply.kind == "report":
                if on_report is not None:
                    on_report(reply.value)
            elif reply.question == question or (reply.question == 0 and reply.kind != "answer"):
                return reply.result()

    def receive(self, timeout: float | None = None) -> Reply:
        """Return the next reply. A process that does not send one in time is killed."""
        try:
            if self.connection.poll(timeout):
                reply: Reply = self.connection.recv()
                return reply
        except (EOFError, OSError) as error:
            self.close()
            raise _error_of(self.process.wait()) from error
        self.kill()
        raise ServiceError("timeout", f"no answer within {round(timeout or 0, 2):g} seconds")

    def open(self, timeout: float | None = None) -> None:
        """Wait until the object is created; called before the first answer is waited for."""
        self.answer(0, timeout)

    def hang_up(self) -> None:
        """Let the process exit without waiting for it; `close` waits."""
        with contextlib.suppress(OSError):
            self.connection.close()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt where the process calls `report` next."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(INTERRUPT)

    def kill(self) -> None:
        """Kill the process and everything that it started.

        If another thread waits for an answer, it gets a ServiceError.
        """
        if self.close.alive:
            _kill_group(self.process.pid)
            self.process.wait()


def _error_of(code: int) -> ServiceError:
    """The error for a process that ended with an exit code, or by a signal if it is negative."""
    if code == OUT_OF_MEMORY:
        return ServiceError("memory", "the process exceeded its memory limit")
    how = (
        f"was killed by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit code {code}"
    )
    return ServiceError("died", f"the process {how}")


def _new_group(handle: int) -> dict[str, Any]:
    """The options of `Popen` for a process in a new group that inherits a handle."""
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        start = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return {"startupinfo": start, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": [handle], "start_new_session": True}


def _close(process: subprocess.Popen[bytes], connection: Connection[Any, Any]) -> None:
    """Let the process exit, and kill what is left of its group after a few seconds."""
    with contextlib.suppress(OSError):
        connection.close()
    if process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        _kill_group(process.pid)
        process.wait()


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(leader, signal.SIGTERM)  # ends it at once
        else:
            os.killpg(leader, signal.SIGKILL)


# --- in the process of a service


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


class _Child:
    """The state of a process that a `Service` started."""

    connection: Connection[Any, Any]
    question = 0
    waiting: ClassVar[list[bytes]] = []  # questions that arrived during another one
    memory_limit = sys.maxsize


def report(value: Any) -> None:
    """Send a value to the parent while a question is being answered; called in the process."""
    _Child.connection.send(Reply(_Child.question, "report", value))
    while _Child.connection.poll():
        message = _Child.connection.recv_bytes()
        if message == INTERRUPT:
            raise KeyboardInterrupt
        _Child.waiting.append(message)


def refuse(sentence: str) -> None:
    """Answer the present question with an InputError, from another thread."""
    with contextlib.suppress(OSError):
        _Child.connection.send(Reply(_Child.question, "refused", sentence))


def limit_memory(more: int | None) -> None:
    """Let the process end when it needs this number of bytes more than now; called in it."""
    _Child.memory_limit = sys.maxsize if more is None else memory() + more


def memory() -> int:
    """The memory of this process in bytes; the largest so far on macOS, and 0 on Windows."""
    if sys.platform == "win32":
        return 0
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return getrusage(RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf("SC_PAGE_SIZE")


def _serve() -> None:
    """Create the object and answer questions until the connection is closed."""
    handle, parent, _Child.memory_limit = (int(number) for number in sys.argv[1:4])
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if sys.platform == "win32":
        connection: Any = multiprocessing.connection.PipeConnection(handle)
    else:
        connection = Connection(handle)
    _Child.connection = connection
    target: Any = None

    def create(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        nonlocal target
        target = function(*arguments)

    def answer(method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(target, method)(*arguments)

    with contextlib.suppress(EOFError, OSError):  # the connection was closed
        connection.send_bytes(_reply(create, connection.recv_bytes()))
        while target is not None:
            question = _Child.waiting.pop(0) if _Child.waiting else connection.recv_bytes()
            if question != INTERRUPT:  # otherwise it came too late
                _Child.question += 1
                connection.send_bytes(_reply(answer, question))
    if isinstance(target, _Closable):
        target.close()


def _reply(function: Callable[..., Any], question: bytes) -> bytes:
    number = _Child.question
    try:
        value = function(*pickle.loads(question))
        return pickle.dumps(Reply(number, "answer", value))
    except InputError as error:
        reply = Reply(number, "refused", str(error))
    except BaseException as error:  # including SystemExit: a game may call sys.exit
        message = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        reply = Reply(number, "failed", (message, traceback.format_exc()))
    return pickle.dumps(reply)


def _watch(parent: int) -> None:
    """End this process when its parent has ended, or when it needs too much memory."""
    while os.getppid() == parent:
        if memory() > _Child.memory_limit:
            os._exit(OUT_OF_MEMORY)
        time.sleep(0.05)
    _kill_group(os.getpid())


# --- locks


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created and removed with it.

    The operating system releases it when the process ends, however it ends.

    Raises:
        InputError: Another process holds it. The message is `busy`.
    """
    file = lock_file(path, busy)
    try:
        yield
    finally:
        if sys.platform == "win32":  # where an open file cannot be removed
            file.close()
        with contextlib.suppress(PermissionError):  # another process has opened it
            path.unlink(missing_ok=True)
        file.close()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock. The file of a killed process does not count."""
    try:
        if not path.is_file():
            return False
        with path.open() as file:
            _lock(file, shared=True)
    except OSError as error:
        return isinstance(error, BlockingIOError)  # otherwise it was removed
    return False


def _lock(file: IO[str], *, shared: bool = False) -> None:
    """Lock an open file, or raise BlockingIOError. Windows has exclusive locks only."""
    if sys.platform == "win32":
        os.lseek(file.fileno(), 2**30, os.SEEK_SET)  # far behind its end: it stays readable
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError from error
        finally:
            os.lseek(file.fileno(), 0, os.SEEK_SET)
    else:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def lock_file(path: Path, busy: str) -> IO[str]:
    """Open a file with an exclusive lock, which ends when the file is closed. See `locked`."""
    # A link is not followed: the folder may be from others.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    tries = 3
    while True:
        try:
            file = os.fdopen(os.open(path, flags, 0o666), "r+")
            _lock(file)
            file.truncate()
        except BlockingIOError as error:
            file.close()
            tries -= 1
            if tries == 0:
                raise InputError(busy) from error
            time.sleep(0.02)  # `is_locked` of another process holds it for an instant
            continue
        except OSError as error:
            raise InputError(f"{path}: cannot be locked: {error.strerror or error}") from error
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()  # the previous holder removed the file: a lock on it excludes nobody
