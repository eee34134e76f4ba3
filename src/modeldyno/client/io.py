"""What ``Client`` and ``AsyncClient`` differ in: one blocks, the other awaits.

Operations are written once, as coroutines. ``BlockingIo`` never suspends one: it blocks instead, so
each runs to its end at the first step, without an event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Protocol, TypeVar

from modeldyno.core.errors import PackageMissing

CHUNK_BYTES = 1 << 20
T = TypeVar("T")


class Io(Protocol):
    http: Any  # httpx2's Client or AsyncClient

    def run(self, operation: Coroutine[Any, Any, T]) -> Any:
        """What a caller of ``operation`` gets: its value, or an awaitable of it."""

    def iterate(self, items: AsyncGenerator[T, None]) -> Any:
        """The same for what is iterated over."""

    def event_client(self) -> Any:
        """A python-socketio client that hands over messages in the order they were sent."""

    def cancellations(self) -> int:
        """How often the current task has been asked to end."""

    async def sleep(self, seconds: float) -> None: ...
    async def run_in_thread(self, function: Callable[[], T]) -> T:
        """Call what takes its time on this machine, without holding up an event loop."""

    async def read(self, response: Any) -> bytes: ...
    def chunks(self, response: Any) -> AsyncIterator[bytes]: ...
    async def close(self, closable: Any) -> None:
        """Close a response or the HTTP client."""


class BlockingIo:
    def __init__(self, http_options: dict[str, Any]) -> None:
        self.http = require_library("httpx2").Client(**http_options)

    @staticmethod
    def run(operation: Coroutine[Any, Any, T]) -> T:
        try:
            operation.send(None)
        except StopIteration as end:
            value: T = end.value
            return value
        raise AssertionError("a blocking operation was suspended")

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        async def advance() -> T:
            return await anext(items)

        try:
            while True:
                try:
                    item = self.run(advance())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self.run(items.aclose())

    def event_client(self) -> Any:
        return make_ordered_client(require_library("socketio"))(
            reconnection=False, handle_sigint=False
        )

    def cancellations(self) -> int:
        return 0

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - it is to block

    async def run_in_thread(self, function: Callable[[], T]) -> T:
        return function()

    async def read(self, response: Any) -> bytes:
        content: bytes = response.read()
        return content

    async def chunks(self, response: Any) -> AsyncIterator[bytes]:
        for chunk in response.iter_bytes(CHUNK_BYTES):
            yield chunk

    async def close(self, closable: Any) -> None:
        closable.close()


class AsyncIo:
    def __init__(self, http_options: dict[str, Any]) -> None:
        self.http = require_library("httpx2").AsyncClient(**http_options)

    def run(self, operation: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        return operation

    def iterate(self, items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        return items

    def event_client(self) -> Any:
        return require_library("socketio").AsyncSimpleClient(
            reconnection=False, handle_sigint=False
        )

    def cancellations(self) -> int:
        task = asyncio.current_task()
        return task.cancelling() if task else 0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run_in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def read(self, response: Any) -> bytes:
        content: bytes = await response.aread()
        return content

    def chunks(self, response: Any) -> AsyncIterator[bytes]:
        chunks: AsyncIterator[bytes] = response.aiter_bytes(CHUNK_BYTES)
        return chunks

    async def close(self, closable: Any) -> None:
        await closable.aclose()


def require_library(name: str) -> Any:
    """httpx2 or socketio, which only a client needs."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PackageMissing(
            "The client of a server needs packages that are not installed",
            why=f"there is no Python package {error.name!r}",
            fix="Run `pip install 'modeldyno[client]'`",
        ) from error


def make_ordered_client(socketio: Any) -> Any:
    """python-socketio's ``SimpleClient`` handles each message in a thread of its own, so messages
    may overtake each other; but we resume after the last one received, so their order matters."""
    engineio = require_library("engineio")

    class InOrderEngine(engineio.Client):  # type: ignore[misc, name-defined]  # it ships no types
        def _trigger_event(self, event: str, *arguments: Any, **options: Any) -> Any:
            return super()._trigger_event(event, *arguments, **options | {"run_async": False})

    class InOrderClient(socketio.Client):  # type: ignore[misc]  # it ships no types
        def _engineio_client_class(self) -> Any:
            return InOrderEngine

    class OrderedClient(socketio.SimpleClient):  # type: ignore[misc]  # it ships no types
        client_class = InOrderClient

    return OrderedClient
