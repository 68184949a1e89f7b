"""Worker processes, which leave Ctrl-C to their parent and die with it; locks, which die with their process; temporary
folders, which outlive a kill only until the next one is made."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from drrn.errors import InputError

SPAWN = multiprocessing.get_context("spawn")

LOCK = ".lock"
MADE_WITHIN = 60.0  # seconds that a process has to lock the temporary folder that it made

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
        if (
            threading.current_thread() is not threading.main_thread()
        ):  # only the main one may set what signals do
            self.process.start()
            return
        before = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # the child inherits it, from its first moment on
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


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock that a file stands for; where another process holds it, `busy` is the sentence that says so.

    The lock dies with the process that holds it, however that ends; the file goes when the lock is let go.
    """
    file = _take(path, busy)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock that a file stands for; the file of one that was killed is no lock."""
    import fcntl

    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none
        return False
    return False


def _take(path: Path, busy: str) -> IO[str]:
    import fcntl

    tries = 3
    while True:
        try:
            file = path.open("w")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            if (tries := tries - 1) == 0:
                raise InputError(busy) from error
            time.sleep(0.02)  # it may be somebody who only looks whether it is locked
            continue
        except OSError as error:
            raise InputError(f"{path}: cannot be locked: {error.strerror}") from error
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()  # who held it has removed it meanwhile: the lock of a file without a name keeps nobody out


@contextmanager
def temporary_folder(
    kind: str, place: Path | None = None, *, hidden: bool = False
) -> Iterator[Path]:
    """A folder of this process's own. Those of its kind that killed processes have left are removed first: each is
    locked as long as its process lives."""
    short = (
        Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())
    )  # as names of sockets must be
    place = place or short
    prefix = f"{'.' if hidden else ''}drrn-{kind}-"
    for left in place.glob(f"{prefix}*"):
        with contextlib.suppress(InputError, OSError):
            if time.time() > left.stat().st_mtime + MADE_WITHIN:
                with locked(left / LOCK, "its process is alive"):
                    shutil.rmtree(left)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    try:
        with locked(folder / LOCK, f"{folder}: another process took it"):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
