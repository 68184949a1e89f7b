"""Connections: no more than the process has files for, and one host for each request."""

import asyncio
import logging
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from drrn.writing import counted

if sys.platform != "win32":
    import resource

BACKLOG = 128  # connections that are accepted at once, before the limit is checked

log = logging.getLogger("drrn")


def most_connections(most: int = 1_000, files: int = 4_096, own_files: int = 128) -> int:
    """The number of connections that fit the files the process may open.

    Args:
        most: The largest number.
        files: Open files that the server asks the system for.
        own_files: Those of them for worker processes, stories and runs.
    """
    if sys.platform == "win32":  # where connections are not files
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        soft = limit
    if soft == resource.RLIM_INFINITY:
        return most
    return max(8, min(most, soft - own_files - BACKLOG))


class Refusals:
    """Logs refused connections, at most once in some seconds."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self.count = 0
        self.last = -seconds

    def add(self, reason: str) -> None:
        self.count += 1
        if time.monotonic() >= self.last + self.seconds:
            log.warning("refused %s: %s", counted(self.count, "connection"), reason)
            self.last = time.monotonic()
            self.count = 0

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle errors of the event loop: a connection that cannot be accepted is counted."""
        error = context.get("exception")
        if "socket" in context and isinstance(error, OSError):
            self.add(str(error.strerror))
        elif not isinstance(error, ConnectionError):  # a client went away
            loop.default_exception_handler(context)


def limited_protocol(most: int, refusals: Refusals) -> type[HttpToolsProtocol]:
    """The HTTP protocol that closes connections above a limit as soon as they are made."""

    class LimitedProtocol(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= most:
                self.transport = transport
                transport.abort()
                refusals.add(f"{most} are open")
            else:
                super().connection_made(transport)

        def on_headers_complete(self) -> None:
            """Add the host of an absolute address to the headers, if it is another one."""
            if not self.url.startswith(b"/"):
                host = urlsplit(self.url).netloc
                if (b"host", host) not in self.headers:
                    self.headers.append((b"host", host))
            super().on_headers_complete()

    return LimitedProtocol
