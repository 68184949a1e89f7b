"""Worker processes that answer questions one at a time: each within a time limit, and begun anew where one dies."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.processes import Serve, Worker
from drrn.serve.answers import Refusal, log

MOST_WAITING = 300  # questions to one process
MOST_MEMORY = 1_500 * 2**20  # bytes; a process that has grown larger ends, and is begun anew
UNITS = 1 if sys.platform == "darwin" else 2**10  # of what the system says of a process's memory


class AskedProcess:
    """A process that answers questions; it is begun with the first of them."""

    def __init__(self, serve: Serve, *arguments: Any) -> None:
        self._serve, self._arguments = serve, arguments
        self._worker: Worker | None = None
        self._turn = asyncio.Lock()  # one question at a time
        self._preparing: asyncio.Task[Worker] | None = None
        self.waiting = 0

    def prepare(self) -> None:
        """Begin the process before anything is asked, so that the first answer comes sooner."""
        self._preparing = asyncio.get_running_loop().create_task(self._prepared())

    async def ask(self, *question: Any, seconds: float) -> Any:
        """What the process answers; it is ended where it takes longer than so many seconds."""
        if self.waiting >= MOST_WAITING:
            raise Refusal(429, "Too many ask at once: try again in a moment.")
        self.waiting += 1
        try:
            async with self._turn:
                kind, told = await self._asked(question, seconds)
        finally:
            self.waiting -= 1
        if kind == "told":
            return told
        if kind == "refused":
            raise InputError(told)
        if kind == "failed":
            log.error("a worker process failed:\n%s", told)
            raise Refusal(500, "This failed; what it was stands in the terminal.")
        raise Refusal(503, told)

    async def _asked(self, question: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        for _ in range(2):
            fresh = self._worker is None
            try:
                return await self._exchange(question, seconds)
            except (EOFError, OSError):
                self._end()
            except asyncio.CancelledError:  # its answer must not be taken for the next one's
                self._end()
                raise
            if fresh:  # one that was not may have ended since it had grown large: a new one is asked once
                break
        return "gone", "The process that worked on this died: it may have needed too much memory."

    async def _exchange(self, question: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        connection = (await self._begun()).connection
        connection.send(question)
        if not await _readable(connection, seconds):
            self._end()
            return "gone", f"This took longer than {seconds:g} seconds and was given up."
        kind, told = connection.recv()
        return str(kind), told

    async def _prepared(self) -> Worker:
        async with self._turn:
            return await self._begun()

    async def _begun(self) -> Worker:
        if self._worker is None:
            self._worker = await asyncio.to_thread(Worker, self._serve, *self._arguments)
        return self._worker

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.process.kill()
            worker.stop()

    def stop(self) -> None:
        """End the process; what it was asked is answered with its death."""
        if self._preparing is not None:
            self._preparing.cancel()
        if self.waiting and self._worker is not None:
            self._worker.process.kill()  # whoever waits notices, and clears up
        else:
            self._end()


async def _readable(connection: Connection[Any, Any], seconds: float) -> bool:
    """Whether something comes within so many seconds; no thread waits for it."""
    loop, file = asyncio.get_running_loop(), connection.fileno()
    arrived: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not arrived.done():
            arrived.set_result(None)

    loop.add_reader(file, note)
    try:
        await asyncio.wait_for(arrived, seconds)
        return True
    except asyncio.TimeoutError:
        return False
    finally:
        loop.remove_reader(file)


def answer_questions(connection: Connection[Any, Any], respond: Callable[..., Any]) -> None:
    """The other side: answer until the connection is closed, or the process has grown too large."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which ends this process
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNITS < MOST_MEMORY:
        try:
            question = connection.recv()
        except (EOFError, OSError):
            return
        try:
            reply: tuple[str, Any] = ("told", respond(*question))
        except InputError as error:
            reply = ("refused", str(error))
        except Exception:
            reply = ("failed", traceback.format_exc())
        with contextlib.suppress(OSError):
            connection.send(reply)
