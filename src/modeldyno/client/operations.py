"""Each operation is one coroutine; ``Client`` blocks on it, ``AsyncClient`` awaits it."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from modeldyno.client.reading import read_value
from modeldyno.client.transport import Call, Transport, get

P = ParamSpec("P")
T = TypeVar("T")


class Sync:
    """Of operations that block."""


class Async:
    """Of operations to be awaited."""


Mode = TypeVar("Mode")  # one of the two


class Resource(Generic[Mode]):
    """Operations on one noun of a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._send = transport.send
        self._fetch = transport.fetch

    async def _iterate_pages(
        self, kind: type[T], path: str, limit: int = 200, **query: Any
    ) -> AsyncGenerator[T, None]:
        """Everything in a list; a page is fetched when its first item is needed."""
        cursor = None
        while True:
            page = (await self._send(get(path, limit=limit, cursor=cursor, **query))).json
            for document in page["items"]:
                yield read_value(kind, document)
            cursor = page.get("next")
            if cursor is None:
                return

    async def _fetch_text(self, call: Call, path: str | Path | None) -> str:
        """What the server answers; written to ``path`` as well, if given."""
        text = (await self._send(call)).text
        if path is not None:
            file = expand_path(path)
            await self._transport.io.run_in_thread(lambda: file.write_text(text, encoding="utf-8"))
        return text

    async def _download(self, source: str, path: str | Path) -> Path:
        target = expand_path(path)
        await self._send(Call("GET", source, into=target))
        return target

    async def _fetch_log(self, path: str) -> str:
        text, offset = "", 0
        while True:
            part, end = await self._fetch_log_from(path, offset)
            text += part
            if end <= offset:
                return text
            offset = end

    async def _fetch_log_from(self, path: str, offset: int) -> tuple[str, int]:
        answer = await self._send(get(path, offset=offset))
        return answer.text, int(answer.headers.get("x-next-offset", offset))


def expand_path(path: str | Path) -> Path:
    return Path(path).expanduser()


class operation(Generic[P, T]):
    """Makes a method of a coroutine function: one that blocks, or one to be awaited."""

    def __init__(self, call: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self.call = call
        functools.update_wrapper(self, call)  # type: ignore[arg-type]  # for help()

    @overload
    def __get__(self, instance: None, owner: type) -> operation[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, instance: Resource[Async], owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        return _bind_converted(self.call, instance, instance._transport.io.run)


class stream(Generic[P, T]):
    """The same for an async generator: iterated over with ``for``, or with ``async for``."""

    def __init__(self, call: Callable[Concatenate[Any, P], AsyncGenerator[T, None]]) -> None:
        self.call = call
        functools.update_wrapper(self, call)  # type: ignore[arg-type]  # for help()

    @overload
    def __get__(self, instance: None, owner: type) -> stream[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        return _bind_converted(self.call, instance, instance._transport.io.iterate)


def _bind_converted(call: Callable[..., Any], instance: Any, convert: Callable[[Any], Any]) -> Any:
    @functools.wraps(call)
    def method(*args: Any, **options: Any) -> Any:
        return convert(call(instance, *args, **options))

    return method
