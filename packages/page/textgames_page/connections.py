"""The HTTP connections of the server, which end if a client is idle or sends headers too slowly."""

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0  # for the headers of a request, and for the next request of a connection
OF_VISITOR = 200  # connections of one address, which a class may share


class Connection(H11Protocol):
    """A connection. One that has no request for `SECONDS` is closed, as is one of too many.

    The size of headers is limited by h11, see `server.toml`.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.timer = self.loop.call_later(SECONDS, self._check, None)
        visitor = self.client[0] if self.client else ""
        connections: Any = self.connections
        if sum(each.client and each.client[0] == visitor for each in connections) > OF_VISITOR:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.timer.cancel()
        super().connection_lost(exc)

    def _check(self, earlier: Any) -> None:
        """Close the connection if it has had no request since the earlier one."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is earlier:
            self.transport.abort()
        else:
            self.timer = self.loop.call_later(SECONDS, self._check, self.cycle)
