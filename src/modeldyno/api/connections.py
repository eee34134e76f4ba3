"""A connection whose request does not come is closed: uvicorn itself would wait for ever.

And what it cannot read is refused in our words, with our headers.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modeldyno.api.errors import MALFORMED, body_of
from modeldyno.api.guard import ALWAYS

HEADERS_WITHIN_S = 10.0


class ImpatientHttp(HttpToolsProtocol):
    """From the first byte of a request (of the first one: from the connection) to the end of its
    headers; bodies are the guard's business, the time in between that of ``timeout_keep_alive``."""

    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        if self._overdue is None:
            self._expect()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._arrived()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has an address beyond all limits, never reaches the guard."""
        status, headers, body = body_of(MALFORMED, "v1")
        lines = [f"HTTP/1.1 {status} Bad Request".encode()]
        lines += [name + b": " + value for name, value in (*headers, *ALWAYS)]
        self.transport.write(b"\r\n".join((*lines, b"connection: close", b"", body)))
        self.transport.close()

    def _expect(self) -> None:
        self._overdue = self.loop.call_later(HEADERS_WITHIN_S, self.transport.close)

    def _arrived(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
