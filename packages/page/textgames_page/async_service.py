"""Services for the event loop: worker processes that answer the questions of requests."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.exceptions import HTTPException

from textgames.processes import Service, ServiceError
from textgames_page.http import FAILURE, log


class AsyncService:
    """A `Service` for the event loop, started with the first question and restarted if it died.

    A thread asks one question after another.

    Args:
        create: The class of the worker. See `Service`.
        *arguments: Its arguments.
        on_report: Called, in the thread, with what the worker reports.
        memory: The process ends when it needs more bytes.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        *arguments: Any,
        on_report: Callable[[Any], None] | None = None,
        memory: int = 3 * 2**30,
    ) -> None:
        self.waiting = 0
        self._create = create
        self._arguments = arguments
        self._on_report = on_report
        self._memory = memory
        self._service: Service | None = None
        self._is_closed = False
        self._lock = threading.Lock()  # held while the process is started
        self._thread = ThreadPoolExecutor(1)

    def start(self) -> None:
        """Start the process, so that the first answer comes sooner."""
        self._thread.submit(self._started)

    async def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Call a method of the worker and return what it returns. See `Service.ask`.

        Exceptions of the worker are logged. Users do not see them.
        """
        self.waiting += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._ask, method, arguments, timeout)
        except ServiceError as error:
            if error.reason == "timeout":
                sentence = f"This took longer than {timeout:g} seconds and was stopped."
                raise HTTPException(503, sentence) from error
            if error.reason != "raised":
                sentence = "The worker process died; it may have run out of memory."
                raise HTTPException(503, sentence) from error
            log.error("a worker process failed:\n%s", error.details)
            raise HTTPException(500, FAILURE) from error
        finally:
            self.waiting -= 1

    def _ask(self, method: str, arguments: tuple[Any, ...], timeout: float) -> Any:
        is_new = self._service is None
        service = self._started()
        try:
            return service.ask(method, *arguments, timeout=timeout, on_report=self._on_report)
        except ServiceError as error:
            if error.reason == "raised":
                raise
            self._service = None
            if is_new or error.reason == "timeout":
                raise
        return self._ask(method, arguments, timeout)  # it may have died before the question

    def _started(self) -> Service:
        with self._lock:
            if self._is_closed:
                raise ServiceError("died", "the service was closed")
            if self._service is None:
                self._service = Service(self._create, *self._arguments, memory=self._memory)
            return self._service

    def interrupt(self) -> None:
        """Interrupt the worker if its method allows that. See `Service.interrupt`."""
        if self._service is not None:
            self._service.interrupt()

    def end(self) -> None:
        """End the process. The next question starts another one."""
        with self._lock:
            if self._service is not None:
                self._service.kill()

    def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        self.end()
