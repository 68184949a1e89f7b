"""Worker processes that answer questions one at a time: each within a time limit, and begun anew where one dies."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.processes import Serve, Worker
from drrn.serve.answers import Refusal, log

MOST_WAITING = 300  # questions to one process
MOST_MEMORY = 1_500 * 2**20  # bytes; a process that has grown larger ends, and is begun anew
UNITS = 1 if sys.platform == "darwin" else 2**10  # of what the system says of a process's memory


class AskedProcess:
    """A process that answers questions, in the order in which they were asked; it is begun with the first of them."""

    def __init__(self, serve: Serve, *arguments: Any, ahead: int = 1) -> None:
        """`ahead`: how many questions are sent before the first is answered; together they must fit into a pipe."""
        self._serve = serve
        self._arguments = arguments
        self.worker: Worker | None = None
        self._beginning = asyncio.Lock()
        self._turn = asyncio.Semaphore(ahead)
        self._answers: deque[asyncio.Future[tuple[str, Any]]] = (
            deque()
        )  # that have been asked for, the oldest first
        self._preparing: asyncio.Task[Worker] | None = None
        self._stopped = False
        self.waiting = 0

    def prepare(self) -> None:
        """Begin the process before anything is asked, so that the first answer comes sooner."""
        self._preparing = asyncio.get_running_loop().create_task(self._begun())

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
            fresh = self.worker is None
            if self._stopped:
                break
            try:
                return await self._exchange(question, seconds)
            except asyncio.TimeoutError:
                self._end()
                return "gone", f"This took longer than {seconds:g} seconds and was given up."
            except (EOFError, OSError):
                self._end()
            if (
                fresh
            ):  # one that was not may have ended since it had grown large: a new one is asked once
                break
        return "gone", "The process that worked on this died: it may have needed too much memory."

    async def _exchange(self, question: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        worker = await self._begun()
        answer: asyncio.Future[tuple[str, Any]] = asyncio.get_running_loop().create_future()
        worker.connection.send(question)
        self._answers.append(answer)
        return await asyncio.wait_for(answer, seconds)

    async def _begun(self) -> Worker:
        async with self._beginning:
            if self.worker is None:
                self.worker = await asyncio.to_thread(quiet_worker, self._serve, *self._arguments)
                asyncio.get_running_loop().add_reader(
                    self.worker.connection.fileno(), self._read, self.worker
                )
        return self.worker

    def _read(self, worker: Worker) -> None:
        """Give each answer that has come to who asked; no thread waits for them."""
        try:
            while worker.connection.poll():
                told = worker.connection.recv()
                answer = self._answers.popleft()
                if not answer.done():  # else whoever asked has gone away
                    answer.set_result(told)
        except (EOFError, OSError):
            if worker is self.worker:
                self._end()

    def _end(self) -> None:
        """End the process; who waits for an answer is told of it."""
        worker = self.worker
        self.worker = None
        if worker is not None:
            with contextlib.suppress(RuntimeError):  # after the last event there is no loop
                asyncio.get_running_loop().remove_reader(worker.connection.fileno())
            worker.process.kill()
            worker.stop()
        while self._answers:
            answer = self._answers.popleft()
            if not answer.done():
                answer.set_exception(EOFError())

    def stop(self) -> None:
        """End the process for good."""
        self._stopped = True
        if self._preparing is not None:
            self._preparing.cancel()
        self._end()


def quiet_worker(serve: Serve, *arguments: Any) -> Worker:
    """A worker, begun in a thread, that Ctrl-C does not reach from its first moment on: it inherits what is blocked."""
    resource_tracker.ensure_running()  # which the first worker would begin, and unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # of this thread alone
    try:
        return Worker(serve, *arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def answer_questions(connection: Connection[Any, Any], respond: Callable[..., Any]) -> None:
    """The other side: answer until the connection is closed, or the process has grown too large."""
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
