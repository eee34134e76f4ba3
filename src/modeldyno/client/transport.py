"""Requests to a server and its events, for either kind of client (``io.py``)."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from modeldyno.client.io import CHUNK_BYTES, Io, require_library
from modeldyno.client.reading import parse_error, read_value
from modeldyno.client.server_address import Address
from modeldyno.core.errors import ServerFailed, ServerUnreachable
from modeldyno.core.hosts import tool_version

NAMESPACE = "/v1"
TRIES = 3
CONNECT_S, ANSWER_S = 10.0, 300.0
POLL_S = 0.5  # python-socketio does not wake a receiver when the connection breaks

T = TypeVar("T")
ByteProgress = Callable[[int, int], None]  # bytes sent so far, and in total


class Disconnected(Exception):
    """The connection for events broke, or could not be made."""


@dataclass(frozen=True)
class Upload:
    """A file as the body of a call."""

    path: Path
    on_progress: ByteProgress | None = None

    async def chunks(self, io: Io) -> AsyncGenerator[bytes, None]:
        size, sent = self.path.stat().st_size, 0
        with await io.run_in_thread(lambda: self.path.open("rb")) as file:
            while chunk := await io.run_in_thread(lambda: file.read(CHUNK_BYTES)):
                yield chunk
                sent += len(chunk)
                if self.on_progress is not None:
                    self.on_progress(sent, size)


@dataclass(frozen=True)
class Call:
    """A request to ``/api/v1``."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)  # None: left out
    body: Any = None  # sent as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    upload: Upload | None = None
    into: Path | None = None  # where the answer's body goes
    is_idempotent: bool = False

    @property
    def may_repeat(self) -> bool:
        """Whether it can be sent again after a broken connection without doing anything twice."""
        has_key = "Idempotency-Key" in self.headers
        return self.method in ("GET", "PATCH") or has_key or self.is_idempotent


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # by their lower-case names
    body: bytes

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise ServerFailed(
                "The server's answer cannot be read",
                why="it is not JSON; a proxy may have answered instead",
                fix="Check that the address is that of a Modeldyno server",
            ) from error

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


class Transport:
    def __init__(self, address: Address, io_class: Callable[[dict[str, Any]], Io]) -> None:
        self._address = address
        self._httpx = require_library("httpx2")
        headers = {"User-Agent": f"modeldyno/{tool_version()}"}
        if address.token:
            headers["Authorization"] = f"Bearer {address.token}"
        self.io = io_class(
            {
                "base_url": f"{address.url}/api/v1",
                "headers": headers,
                "timeout": self._httpx.Timeout(ANSWER_S, connect=CONNECT_S),
                "trust_env": not address.is_loopback,  # no proxy between us and this machine
            }
        )

    async def close(self) -> None:
        await self.io.close(self.io.http)

    async def send(self, call: Call) -> Answer:
        """Raises what the server raised, by its code, and ServerUnreachable."""
        for tries_left in reversed(range(TRIES if call.may_repeat else 1)):
            try:
                answer = await self._send_once(call)
            except self._httpx.TransportError as error:
                if not tries_left or isinstance(error, self._httpx.ConnectError):
                    raise ServerUnreachable(
                        f"No server answers at {self._address.url}",
                        why=str(error) or type(error).__name__,
                        fix="Start one with `modeldyno serve`, or check the address",
                    ) from error
            else:
                if 200 <= answer.status < 300:
                    return answer
                raise parse_error(answer.status, answer.body)
        raise AssertionError

    async def fetch(self, kind: type[T], call: Call) -> T:
        return read_value(kind, (await self.send(call)).json)

    def events(self) -> EventConnection:
        return EventConnection(self._address, self.io)

    async def _send_once(self, call: Call) -> Answer:
        headers, content = dict(call.headers), None
        if call.upload is not None:
            headers["Content-Type"] = "application/octet-stream"
            headers["Content-Length"] = str(call.upload.path.stat().st_size)
            content = self.io.iterate(call.upload.chunks(self.io))
        request = self.io.http.build_request(
            call.method,
            call.path,
            params={
                name: _to_query_word(value)
                for name, value in call.query.items()
                if value is not None
            },
            headers=headers,
            content=content,
            **({} if call.body is None else {"json": call.body}),
        )
        response = await _await_if_needed(self.io.http.send(request, stream=True))
        try:
            if call.into is None or response.status_code >= 400:
                body = await self.io.read(response)
            else:
                body = b""
                await self._download(response, call.into)
        finally:
            await self.io.close(response)
        received = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, received, body)

    async def _download(self, response: Any, target: Path) -> None:
        """Into a file beside the target, so that it can be moved there in one step."""
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with await self.io.run_in_thread(lambda: temporary.open("wb")) as file:
                async for chunk in self.io.chunks(response):
                    await self.io.run_in_thread(lambda chunk=chunk: file.write(chunk))  # type: ignore[misc]
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


class EventConnection:
    """To the server's events; connected by ``subscribe``."""

    def __init__(self, address: Address, io: Io) -> None:
        self._address = address
        self._io = io
        self._client: Any = None
        self._timeout_error: type[Exception] = TimeoutError

    async def subscribe(self, project_id: int | None, after: int | None) -> dict[str, Any]:
        """Receive events after ``after`` (None: from now on). Returns what the server answers.

        Raises Disconnected.
        """
        cancellations = self._io.cancellations()
        await self.aclose()
        auth = {"token": self._address.token, "after": after}
        try:
            self._timeout_error = require_library("socketio").exceptions.TimeoutError
            self._client = self._io.event_client()
            await _await_if_needed(
                self._client.connect(
                    self._address.url,
                    auth={name: value for name, value in auth.items() if value is not None},
                    namespace=NAMESPACE,
                    wait_timeout=CONNECT_S,
                )
            )
            subscription = {"project_id": project_id, "after": after}
            answer: dict[str, Any] = await _await_if_needed(
                self._client.call("subscribe", subscription, timeout=CONNECT_S)
            )
        except Exception as error:  # whatever it was, asking for the job works without events
            await self.aclose()
            raise Disconnected(str(error)) from error
        self._require_not_cancelled_since(cancellations)
        return answer

    async def receive(self, within_s: float) -> tuple[str, Any] | None:
        """The next message, as its name and content; None when none came in time.

        Raises Disconnected.
        """
        end, cancellations = time.monotonic() + within_s, self._io.cancellations()
        while self._client is not None and self._client.connected:
            left_s = end - time.monotonic()
            if left_s <= 0:
                return None
            try:
                name, *content = await _await_if_needed(
                    self._client.receive(timeout=min(left_s, POLL_S))
                )
            except self._timeout_error:
                continue
            except Exception as error:
                raise Disconnected(str(error)) from error
            self._require_not_cancelled_since(cancellations)
            return name, content[0] if content else None
        raise Disconnected("the connection broke")

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await _await_if_needed(client.disconnect())

    def _require_not_cancelled_since(self, cancellations: int) -> None:
        """``asyncio.wait_for`` of Python 3.11, which the library uses, forgets that it was
        cancelled when what it waits for comes in the same moment."""
        if self._io.cancellations() > cancellations:
            raise asyncio.CancelledError


async def _await_if_needed(outcome: Any) -> Any:
    """httpx2 and python-socketio return from the same methods a value or an awaitable of it."""
    return await outcome if inspect.isawaitable(outcome) else outcome


def _to_query_word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


# ---------------------------------------------------------------- calls


def get(path: str, **query: Any) -> Call:
    return Call("GET", path, query)


def post(path: str, body: Any = None) -> Call:
    """A POST that creates something: once, even if the answer is lost and the call sent again."""
    return Call("POST", path, body=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def command(path: str, is_idempotent: bool = True) -> Call:
    """A POST that creates nothing."""
    return Call("POST", path, is_idempotent=is_idempotent)


def patch(path: str, body: Any) -> Call:
    return Call("PATCH", path, body=body)


def put(path: str, body: Any, **headers: str) -> Call:
    return Call(
        "PUT",
        path,
        body=body,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def delete(path: str, **query: Any) -> Call:
    return Call("DELETE", path, query)
