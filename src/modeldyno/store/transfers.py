"""One file from a known host, in pieces, over https to an address that was checked.

A host name is resolved once, and we connect to the addresses that were checked: libraries resolve
it again, perhaps to others. Proxies, cookies and passwords of the environment are not used;
Python's ``http.client`` uses none of them by itself.
"""

from __future__ import annotations

import contextlib
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Self

from modeldyno.core.errors import Cancelled, DownloadFailed
from modeldyno.store.web_addresses import (
    PORT,
    WebAddress,
    download_refused_error,
    parse_web_address,
    why_not_public,
)

MOST_REDIRECTS = 3
PIECE = 256 << 10
PATIENCE_S = 30.0
_POLL_S = 0.1  # between checks whether to stop
_REDIRECTS = (301, 302, 303, 307, 308)
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")

Stop = Callable[[], bool]


def check_stop(stop: Stop) -> None:
    """Raises Cancelled if a stop was requested."""
    if stop():
        raise Cancelled(
            "The download was stopped", fix="The part already downloaded is kept for the next time"
        )


def look_up_addresses(host: str) -> list[tuple[str, int]]:
    """Every address of a host, with the port to use, the preferred one first."""
    infos = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    return [(str(address[0]), PORT) for *_, address in infos]


@dataclass(frozen=True)
class Network:
    """How to connect to a host. Tests resolve names and trust certificates in their own way."""

    hosts: frozenset[str]
    look_up: Callable[[str], Sequence[tuple[str, int]]] = look_up_addresses
    why_not: Callable[[str], str | None] = why_not_public
    certificates: Callable[[], ssl.SSLContext] = field(default=ssl.create_default_context)
    patience_s: float = PATIENCE_S

    def addresses(self, host: str) -> Sequence[tuple[str, int]]:
        """All of them are checked; raises DownloadRefused if one is not public."""
        addresses = self.look_up(host)
        for address, _ in addresses:
            if why_not := self.why_not(address):
                raise download_refused_error(
                    f"{host} leads to an address we do not connect to: {why_not}"
                )
        return addresses


@dataclass(frozen=True)
class Reply:
    status: int
    first: int  # offset of its first byte in the file
    total: int | None  # bytes of the whole file; None: unknown
    validator: str | None  # identifies this version of the file, to resume it
    has_end: bool  # whether a complete body can be told from one that was cut


class Broken(Exception):
    """The connection failed or ended early; what was received before is valid."""


class Transfer:
    """A request, its reply and its body, read by a thread, so that the caller can stop waiting.

    A thread that resolves a name cannot be interrupted, so it is abandoned then; it holds no other
    resources. A thread that reads is ended by closing its socket.
    """

    def __init__(self, network: Network, url: str, headers: Mapping[str, str], stop: Stop) -> None:
        self._network = network
        self._stop = stop
        self._headers = headers
        self._results: queue.Queue[Reply | bytes | Exception | None] = queue.Queue(maxsize=8)
        self._is_over = threading.Event()
        self._socket: socket.socket | None = None
        at = parse_web_address(url, network.hosts)
        self._host = at.host
        threading.Thread(target=self._run_thread, args=(at,), daemon=True, name="transfer").start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it was not connected, or is no longer
                self._socket.shutdown(socket.SHUT_RDWR)

    def wait_for_reply(self) -> Reply:
        """Raises Broken, Cancelled, DownloadRefused or DownloadFailed."""
        reply = self._wait_for_result()
        assert isinstance(reply, Reply)
        return reply

    def pieces(self) -> Iterator[bytes]:
        """The body, after the reply; raises as ``wait_for_reply`` does."""
        while (piece := self._wait_for_result()) is not None:
            assert isinstance(piece, bytes)
            yield piece

    # ------------------------------------------------------------ the caller

    def _wait_for_result(self) -> Reply | bytes | None:
        deadline = time.monotonic() + self._network.patience_s
        while True:
            check_stop(self._stop)
            try:
                result = self._results.get(timeout=_POLL_S)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise self._silence_error() from None
                continue
            if isinstance(result, Exception):
                raise self._translate_error(result)
            return result

    def _silence_error(self) -> Broken:
        return Broken(f"{self._host} sent nothing for {self._network.patience_s:g} s")

    def _translate_error(self, error: Exception) -> Exception:
        match error:
            case TimeoutError():
                return self._silence_error()
            case socket.gaierror():
                return DownloadFailed(
                    f"The host {self._host} was not found",
                    why="this machine is offline, or its name server cannot resolve the host",
                    fix="Check the network and try again; the part already downloaded is kept",
                )
            case ssl.SSLCertVerificationError():
                return download_refused_error(
                    f"its certificate is not valid for it: {error.verify_message}"
                )
            case OSError():
                why = error.strerror or str(error) or type(error).__name__
                return Broken(f"{self._host} cannot be reached: {why}")
            case HTTPException():
                return Broken(
                    f"{self._host} closed the connection, or does not speak HTTP"
                    f" ({type(error).__name__})"
                )
            case _:
                return error

    # ------------------------------------------------------------ the thread

    def _run_thread(self, at: WebAddress) -> None:
        try:
            with contextlib.closing(self._follow_redirects(at)) as response:
                self._put_result(_parse_reply(response))
                while piece := response.read1(PIECE):
                    self._put_result(piece)
                self._put_result(None)
        except Exception as error:  # noqa: BLE001 - the caller raises it again
            self._put_result(error)
        finally:
            self._replace_socket(None)

    def _put_result(self, result: Reply | bytes | Exception | None) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(queue.Full):
                self._results.put(result, timeout=_POLL_S)
                return

    def _follow_redirects(self, at: WebAddress) -> HTTPResponse:
        for _ in range(MOST_REDIRECTS + 1):
            response = self._request_once(at)
            if response.status not in _REDIRECTS:
                return response
            response.close()
            at = at.join(response.getheader("Location", ""), self._network.hosts)
            self._host = at.host
        raise download_refused_error(f"it redirects more than {MOST_REDIRECTS} times")

    def _request_once(self, at: WebAddress) -> HTTPResponse:
        context = self._network.certificates()
        connection = HTTPSConnection(at.host, context=context)
        plain = self._connect(at.host)
        # The handshake is separate, so the socket can be closed during it.
        secure = context.wrap_socket(plain, server_hostname=at.host, do_handshake_on_connect=False)
        self._replace_socket(secure)
        secure.do_handshake()
        connection.sock = secure
        connection.putrequest("GET", at.target, skip_accept_encoding=True)
        for name, value in ({"Accept-Encoding": "identity"} | dict(self._headers)).items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse()

    def _connect(self, host: str) -> socket.socket:
        failure: OSError = ConnectionRefusedError("it has no address")
        for address in self._network.addresses(host):
            try:
                return socket.create_connection(address, timeout=self._network.patience_s)
            except OSError as error:
                failure = error
        raise failure

    def _replace_socket(self, connected: socket.socket | None) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = connected
        if connected is not None and self._is_over.is_set():
            raise Broken("it was stopped")


def _parse_reply(response: HTTPResponse) -> Reply:
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise download_refused_error("it is compressed, which was not requested")
    first, total = 0, response.length
    if response.status == 206:
        parts = _RANGE.fullmatch(response.getheader("Content-Range", ""))
        if not parts:
            raise download_refused_error("the host sends a part, and does not say which")
        first, total = int(parts[1]), int(parts[2])
    has_end = response.chunked or response.length is not None
    return Reply(response.status, first, total, _strong_validator(response), has_end)


def _strong_validator(response: HTTPResponse) -> str | None:
    """A strong ETag, else the date: a weak ETag does not promise equal bytes."""
    tag = response.getheader("ETag", "")
    if tag.startswith('"') and tag.isascii() and tag.isprintable():
        return tag
    date = response.getheader("Last-Modified", "")
    return date if date.isascii() and date.isprintable() and date else None
