"""Takes steps one after another, in the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from modeldyno.client import http
from modeldyno.client.finding import Address
from modeldyno.client.reading import check
from modeldyno.client.steps import (
    Answer,
    Ask,
    Cut,
    Listen,
    Receive,
    Say,
    Sleep,
    Step,
    Steps,
    Stream,
    Upload,
    Work,
)


class AsyncTransport:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._httpx = http.library("httpx2")
        self._client = self._httpx.AsyncClient(**http.options(address))

    async def close(self) -> None:
        await self._client.aclose()

    async def run(self, steps: Steps[Any]) -> Any:
        line = _Line(self._address)
        try:
            step = next(steps)
            while True:
                try:
                    answer = await self._take(step, line)
                except BaseException as error:  # noqa: BLE001 - a cancellation too
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value
        finally:
            await line.close()

    async def iterate(self, stream: Stream) -> AsyncIterator[Any]:
        line = _Line(self._address)
        try:
            step = next(stream)
            while True:
                if isinstance(step, Say):
                    yield step.value
                    step = next(stream)
                    continue
                try:
                    answer = await self._take(step, line)
                except Exception as error:  # noqa: BLE001 - the operation decides
                    step = stream.throw(error)
                else:
                    step = stream.send(answer)
        except StopIteration:
            return
        finally:
            stream.close()
            await line.close()

    async def _take(self, step: Step, line: _Line) -> Any:
        match step:
            case Ask():
                return check(await self._ask(step))
            case Listen():
                return await line.listen(step)
            case Receive(within_s=within_s):
                return await line.receive(within_s)
            case Sleep(seconds=seconds):
                return await asyncio.sleep(seconds)
            case Work(do=do):
                return await asyncio.to_thread(do)

    async def _ask(self, ask: Ask) -> Answer:
        for left in reversed(range(http.TRIES if ask.may_repeat else 1)):
            try:
                return await self._ask_once(ask)
            except self._httpx.TransportError as error:
                if not left or isinstance(error, self._httpx.ConnectError):
                    raise http.unreachable(self._address, error) from error
        raise AssertionError

    async def _ask_once(self, ask: Ask) -> Answer:
        content = None if ask.upload is None else _pieces(ask.upload)
        request = self._client.build_request(
            ask.method, ask.path, content=content, **http.prepared(ask)
        )
        reply = await self._client.send(request, stream=True)
        try:
            if ask.into is None or reply.status_code >= 400:
                return http.understood(reply, await reply.aread())
            temporary = http.half_written(ask.into)
            try:
                file = await asyncio.to_thread(temporary.open, "wb")
                with file:
                    async for piece in reply.aiter_bytes(http.PIECE):
                        await asyncio.to_thread(file.write, piece)
                temporary.replace(ask.into)
            finally:
                temporary.unlink(missing_ok=True)
            return http.understood(reply, b"")
        finally:
            await reply.aclose()


async def _pieces(upload: Upload) -> AsyncIterator[bytes]:
    size, sent = upload.path.stat().st_size, 0
    file = await asyncio.to_thread(upload.path.open, "rb")
    with file:
        while piece := await asyncio.to_thread(file.read, http.PIECE):
            yield piece
            sent += len(piece)
            if upload.tell is not None:
                upload.tell(sent, size)


class _Line:
    """To the server's events, when an operation wants to hear some."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: Any = None
        self._timeout: type[Exception] = TimeoutError

    async def listen(self, wish: Listen) -> dict[str, Any]:
        cancels = _cancels()
        await self.close()
        try:
            socketio = http.library("socketio")
            self._timeout = socketio.exceptions.TimeoutError
            self._client = socketio.AsyncSimpleClient(reconnection=False, handle_sigint=False)
            await self._client.connect(
                self._address.url,
                auth=http.auth(self._address, wish.after),
                namespace=http.NAMESPACE,
                wait_timeout=http.CONNECT_S,
            )
            said = {"project_id": wish.project_id, "after": wish.after}
            answer: dict[str, Any] = await self._client.call(
                "subscribe", said, timeout=http.CONNECT_S
            )
        except Exception as error:  # whatever it was, there is another way to know
            await self.close()
            raise Cut(str(error)) from error
        _expect_no_more_than(cancels)
        return answer

    async def receive(self, within_s: float) -> tuple[str, Any] | None:
        end, cancels = time.monotonic() + within_s, _cancels()
        while self._client is not None and self._client.connected:
            left_s = end - time.monotonic()
            if left_s <= 0:
                return None
            try:
                # In short pieces: it does not wake up when the line breaks.
                name, *said = await self._client.receive(timeout=min(left_s, http.PIECE_S))
            except self._timeout:
                continue
            except Exception as error:
                raise Cut(str(error)) from error
            _expect_no_more_than(cancels)
            return name, said[0] if said else None
        raise Cut("the line is broken")

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await client.disconnect()


def _cancels() -> int:
    """How often somebody asked the current task to end."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _expect_no_more_than(before: int) -> None:
    """``asyncio.wait_for`` of Python 3.11, which the library uses, forgets that it was cancelled
    when what it waits for comes in the same moment."""
    if _cancels() > before:
        raise asyncio.CancelledError
