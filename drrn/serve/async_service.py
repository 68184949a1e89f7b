"""Services for the event loop: worker processes that answer the questions of requests."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException

from drrn.processes import Reply, Service, ServiceError
from drrn.serve.http import FAILURE, log

MAX_MEMORY = 1_500 * 2**20  # bytes of a worker process; a larger one is replaced
MAX_WAITING = 300  # questions to one process


class AsyncService:
    """A `Service` for the event loop, started with the first question and restarted if it died.

    Up to `ahead` questions are sent before the first is answered.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        *arguments: Any,
        ahead: int = 1,
        on_report: Callable[[Any], None] | None = None,
    ) -> None:
        self.waiting = 0
        self._create = create
        self._arguments = arguments
        self._on_report = on_report
        self._service: Service | None = None
        self._is_created = False
        self._turn = asyncio.Semaphore(ahead)
        self._answers: dict[int, asyncio.Future[Reply]] = {}
        self._is_closed = False

    def start(self) -> Service:
        """Start the process, so that the first answer comes sooner."""
        if self._service is None:
            service = Service(self._create, *self._arguments, memory=MAX_MEMORY)
            self._service = service
            self._is_created = False
            loop = asyncio.get_running_loop()
            try:
                loop.add_reader(service.fileno(), self._read, service)
            except NotImplementedError:  # Windows
                threading.Thread(target=self._pass_on, args=[service, loop], daemon=True).start()
        return self._service

    def _pass_on(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        """Pass replies to the event loop; runs in a thread where loops cannot read pipes."""
        with contextlib.suppress(RuntimeError):  # the loop was closed
            try:
                while True:
                    loop.call_soon_threadsafe(self._receive, service.connection.recv())
            except (EOFError, OSError, TypeError):  # TypeError: closed while it was read
                loop.call_soon_threadsafe(self._end_if, service)

    def _end_if(self, service: Service) -> None:
        if service is self._service:
            self.end()

    async def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Return what a method of the worker returns; see `Service.ask`.

        Exceptions of the worker are logged; users do not see them.
        """
        if self.waiting >= MAX_WAITING:
            raise HTTPException(429, "The server is busy. Try again in a moment.")
        self.waiting += 1
        try:
            async with self._turn:
                reply = await self._reply(method, arguments, timeout)
            return reply.result()
        except ServiceError as error:
            log.error("a worker process failed:\n%s", error.details)
            raise HTTPException(500, FAILURE) from error
        finally:
            self.waiting -= 1

    async def _reply(self, method: str, arguments: tuple[Any, ...], timeout: float) -> Reply:
        for _ in range(2):
            if self._is_closed:
                break
            is_new = self._service is None
            service = self.start()
            answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self._answers[service.send(method, *arguments)] = answer
            try:
                return await asyncio.wait_for(answer, timeout)
            except asyncio.TimeoutError:
                self.end()
                sentence = f"This took longer than {timeout:g} seconds and was stopped."
                raise HTTPException(503, sentence) from None
            except EOFError:
                if is_new:  # an old process may have exited because it was too large
                    break
        raise HTTPException(503, "The worker process died; it may have run out of memory.")

    def _read(self, service: Service) -> None:
        """Pass on the replies that have arrived."""
        try:
            while service.connection.poll():
                self._receive(service.connection.recv())
        except (EOFError, OSError):
            self._end_if(service)

    def _receive(self, reply: Reply) -> None:
        if reply.kind == "report":
            if self._on_report is not None:
                self._on_report(reply.value)
        elif reply.question == 0:
            self._is_created = reply.kind == "answer"
            if not self._is_created:
                self.end(reply)
        else:
            answer = self._answers.pop(reply.question, None)
            if answer is not None and not answer.done():
                answer.set_result(reply)

    def interrupt(self) -> None:
        """Interrupt the worker, if it exists and its method allows that; see `Service`."""
        if self._service is not None and self._is_created:
            self._service.interrupt()

    def end(self, reply: Reply | None = None) -> None:
        """End the process; all open questions get the reply, or EOFError."""
        service = self._service
        self._service = None
        if service is not None:
            # no event loop at the very end, and no readers on Windows
            with contextlib.suppress(RuntimeError, NotImplementedError):
                asyncio.get_running_loop().remove_reader(service.fileno())
            service.kill()
        for answer in self._answers.values():
            if answer.done():
                continue
            if reply is None:
                answer.set_exception(EOFError())
            else:
                answer.set_result(reply)
        self._answers = {}

    def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        self.end()
