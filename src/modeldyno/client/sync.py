"""Takes steps one after another, in the caller's thread."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
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


class SyncTransport:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._httpx = http.library("httpx2")
        self._client = self._httpx.Client(**http.options(address))

    def close(self) -> None:
        self._client.close()

    def run(self, steps: Steps[Any]) -> Any:
        line = _Line(self._address)
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._take(step, line)
                except BaseException as error:  # noqa: BLE001 - Ctrl-C too: the operation decides
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value
        finally:
            line.close()

    def iterate(self, stream: Stream) -> Iterator[Any]:
        line = _Line(self._address)
        try:
            step = next(stream)
            while True:
                if isinstance(step, Say):
                    yield step.value
                    step = next(stream)
                    continue
                try:
                    answer = self._take(step, line)
                except Exception as error:  # noqa: BLE001 - the operation decides
                    step = stream.throw(error)
                else:
                    step = stream.send(answer)
        except StopIteration:
            return
        finally:
            stream.close()
            line.close()

    def _take(self, step: Step, line: _Line) -> Any:
        match step:
            case Ask():
                return check(self._ask(step))
            case Listen():
                return line.listen(step)
            case Receive(within_s=within_s):
                return line.receive(within_s)
            case Sleep(seconds=seconds):
                time.sleep(seconds)
                return None
            case Work(do=do):
                return do()

    def _ask(self, ask: Ask) -> Answer:
        for left in reversed(range(http.TRIES if ask.may_repeat else 1)):
            try:
                return self._ask_once(ask)
            except self._httpx.TransportError as error:
                if not left or isinstance(error, self._httpx.ConnectError):
                    raise http.unreachable(self._address, error) from error
        raise AssertionError

    def _ask_once(self, ask: Ask) -> Answer:
        content = None if ask.upload is None else _pieces(ask.upload)
        request = self._client.build_request(
            ask.method, ask.path, content=content, **http.prepared(ask)
        )
        reply = self._client.send(request, stream=True)
        try:
            if ask.into is None or reply.status_code >= 400:
                return http.understood(reply, reply.read())
            temporary = http.half_written(ask.into)
            try:
                with temporary.open("wb") as file:
                    for piece in reply.iter_bytes(http.PIECE):
                        file.write(piece)
                temporary.replace(ask.into)
            finally:
                temporary.unlink(missing_ok=True)
            return http.understood(reply, b"")
        finally:
            reply.close()


def _pieces(upload: Upload) -> Iterator[bytes]:
    size, sent = upload.path.stat().st_size, 0
    with upload.path.open("rb") as file:
        while piece := file.read(http.PIECE):
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

    def listen(self, wish: Listen) -> dict[str, Any]:
        self.close()
        try:
            socketio = http.library("socketio")
            self._timeout = socketio.exceptions.TimeoutError
            self._client = in_order(socketio)(reconnection=False, handle_sigint=False)
            self._client.connect(
                self._address.url,
                auth=http.auth(self._address, wish.after),
                namespace=http.NAMESPACE,
                wait_timeout=http.CONNECT_S,
            )
            said = {"project_id": wish.project_id, "after": wish.after}
            answer: dict[str, Any] = self._client.call("subscribe", said, timeout=http.CONNECT_S)
        except Exception as error:  # whatever it was, there is another way to know
            self.close()
            raise Cut(str(error)) from error
        return answer

    def receive(self, within_s: float) -> tuple[str, Any] | None:
        end = time.monotonic() + within_s
        while self._client is not None and self._client.connected:
            left_s = end - time.monotonic()
            if left_s <= 0:
                return None
            try:
                # In short pieces: it does not wake up when the line breaks.
                name, *said = self._client.receive(timeout=min(left_s, http.PIECE_S))
            except self._timeout:
                continue
            except Exception as error:
                raise Cut(str(error)) from error
            return name, said[0] if said else None
        raise Cut("the line is broken")

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.disconnect()


def in_order(socketio: Any) -> Any:
    """python-socketio's ``SimpleClient``, which has a thread for each message and may so hand them
    over in another order than they came; but the order is what we resume by."""
    engineio = http.library("engineio")

    class Engine(engineio.Client):  # type: ignore[misc, name-defined]  # it ships no types
        def _trigger_event(self, event: str, *said: Any, **how: Any) -> Any:
            return super()._trigger_event(event, *said, **how | {"run_async": False})

    class Client(socketio.Client):  # type: ignore[misc]  # it ships no types
        def _engineio_client_class(self) -> Any:
            return Engine

    class InOrder(socketio.SimpleClient):  # type: ignore[misc]  # it ships no types
        client_class = Client

    return InOrder
