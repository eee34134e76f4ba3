"""A connection whose request does not come is closed: uvicorn itself would wait for ever.

And so is a stranger's that was idle for longest, when there are too many: whoever connects next may
be the owner. What cannot be read is refused in our words, with our headers.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modeldyno.api.errors import MALFORMED, body_of
from modeldyno.api.guard import ALWAYS, RECOGNISE

logger = logging.getLogger(__name__)

HEADERS_WITHIN_S = 10.0
# Three times the backlog: so many can come between a connection and the first look at its request.
MOST_STRANGERS = 400
MOST_CONNECTIONS = 800  # a process usually may have 1024 open files


class ImpatientHttp(HttpToolsProtocol):
    """From the first byte of a request (of the first one: from the connection) to the end of its
    headers; bodies are the guard's business, the time in between that of ``timeout_keep_alive``."""

    _turns = itertools.count()
    _overdue: asyncio.TimerHandle | None = None
    _turn = 0  # grows with each connection, and each request: the lowest was idle for longest
    _is_known = False  # a request on it came from a known caller

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._turn = next(self._turns)
        self._start_request_timer()
        self._close_idle_connections()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_request_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        if self._overdue is None:
            self._start_request_timer()
        super().on_message_begin()
        self._turn = next(self._turns)
        self.scope[RECOGNISE] = self._mark_as_recognised  # type: ignore[literal-required]  # ours

    def on_headers_complete(self) -> None:
        self._stop_request_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has an address beyond all limits, never reaches the guard."""
        status, headers, body = body_of(MALFORMED, "v1")
        lines = [f"HTTP/1.1 {status} Bad Request".encode()]
        lines += [name + b": " + value for name, value in (*headers, *ALWAYS)]
        self.transport.write(b"\r\n".join((*lines, b"connection: close", b"", body)))
        self.transport.close()

    def _mark_as_recognised(self) -> None:
        self._is_known = True

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_idle_connections(self) -> None:
        """For this connection, if need be at the cost of the stranger that was idle for longest."""
        if len(self.connections) <= MOST_STRANGERS:
            return
        opened = [
            connection for connection in self.connections if not connection.transport.is_closing()
        ]
        strangers = [
            connection
            for connection in opened
            if isinstance(connection, ImpatientHttp) and not connection._is_known
        ]
        if len(strangers) <= MOST_STRANGERS and len(opened) <= MOST_CONNECTIONS:
            return
        idle = [
            connection for connection in strangers if connection is not self and connection._is_idle
        ]
        if idle:
            min(idle, key=lambda connection: connection._turn).transport.close()
        elif len(opened) > MOST_CONNECTIONS:
            logger.warning("a connection was refused: %s are open and busy", len(opened))
            self.transport.close()

    def _start_request_timer(self) -> None:
        self._overdue = self.loop.call_later(HEADERS_WITHIN_S, self.transport.close)

    def _stop_request_timer(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
