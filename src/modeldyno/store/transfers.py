"""One file from one of the known hosts, in pieces, over https to an address that was checked.

A name is looked up once, and we connect to what was found and found harmless: a second look-up, as
libraries do it inside, might say something else. Proxies, cookies and passwords of the environment
are not used; Python's ``http.client`` knows none of them by itself.
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
from modeldyno.store.web_addresses import PORT, WebAddress, refused, web_address, why_not_public

MOST_REDIRECTS = 3
PIECE = 256 << 10
PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.1  # how soon somebody who waits notices that they should stop
_REDIRECTS = (301, 302, 303, 307, 308)
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")

Stop = Callable[[], bool]


def heed(stop: Stop) -> None:
    """Raises Cancelled when somebody wants us to stop."""
    if stop():
        raise Cancelled("The download was stopped", fix="What has come is kept for the next time")


def look_up(host: str) -> list[tuple[str, int]]:
    """Every address of a host, with the port to use, the preferred one first."""
    found = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    return [(str(place[0]), PORT) for *_, place in found]


@dataclass(frozen=True)
class Ways:
    """How to get to a host. Tests look names up elsewhere and trust other certificates."""

    hosts: frozenset[str]
    look_up: Callable[[str], Sequence[tuple[str, int]]] = look_up
    why_not: Callable[[str], str | None] = why_not_public
    certificates: Callable[[], ssl.SSLContext] = field(default=ssl.create_default_context)
    patience_s: float = PATIENCE_S

    def addresses(self, host: str) -> Sequence[tuple[str, int]]:
        """Checked, all of them: a host that has one bad address may have two faces."""
        found = self.look_up(host)
        for address, _ in found:
            if why_not := self.why_not(address):
                raise refused(f"{host} leads to an address we do not connect to: {why_not}")
        return found


@dataclass(frozen=True)
class Reply:
    status: int
    first: int  # the place of its first byte in the file
    total: int | None  # bytes of the whole file; None: it does not say
    validator: str | None  # what to say to get the rest of the very same file
    has_end: bool  # whether one can tell a whole body from one that was cut


class Broken(Exception):
    """The connection failed or ended early; what came before it is good."""


class Transfer:
    """A request, its reply and its body, read by a thread: who waits here can stop waiting.

    Nothing can interrupt a thread that looks up a name, so it is left behind then; it holds
    nothing but itself. A socket is closed under the thread that reads it.
    """

    def __init__(self, ways: Ways, url: str, headers: Mapping[str, str], stop: Stop) -> None:
        self._ways = ways
        self._stop = stop
        self._headers = headers
        self._handed: queue.Queue[Reply | bytes | Exception | None] = queue.Queue(maxsize=8)
        self._is_over = threading.Event()
        self._socket: socket.socket | None = None
        at = web_address(url, ways.hosts)
        self._host = at.host
        threading.Thread(target=self._run, args=(at,), daemon=True, name="transfer").start()

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

    def reply(self) -> Reply:
        """Raises Broken, Cancelled, DownloadRefused or DownloadFailed."""
        found = self._next()
        assert isinstance(found, Reply)
        return found

    def pieces(self) -> Iterator[bytes]:
        """The body, after the reply; raises as that does."""
        while (piece := self._next()) is not None:
            assert isinstance(piece, bytes)
            yield piece

    # ------------------------------------------------------------ whoever waits

    def _next(self) -> Reply | bytes | None:
        deadline = time.monotonic() + self._ways.patience_s
        while True:
            heed(self._stop)
            try:
                handed = self._handed.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise self._silence() from None
                continue
            if isinstance(handed, Exception):
                raise self._told(handed)
            return handed

    def _silence(self) -> Broken:
        return Broken(f"{self._host} sent nothing for {self._ways.patience_s:g} s")

    def _told(self, error: Exception) -> Exception:
        match error:
            case TimeoutError():
                return self._silence()
            case socket.gaierror():
                return DownloadFailed(
                    f"The host {self._host} was not found",
                    why="this machine is offline, or its name server does not know the host",
                    fix="Check the network and try again; what has come is kept",
                )
            case ssl.SSLCertVerificationError():
                return refused(f"the certificate does not vouch for it: {error.verify_message}")
            case OSError():
                why = error.strerror or str(error) or type(error).__name__
                return Broken(f"{self._host} cannot be reached: {why}")
            case HTTPException():
                return Broken(f"{self._host} broke off, or speaks no HTTP ({type(error).__name__})")
            case _:
                return error

    # ------------------------------------------------------------ the thread

    def _run(self, at: WebAddress) -> None:
        try:
            with contextlib.closing(self._arrive(at)) as response:
                self._hand(_reply(response))
                while piece := response.read1(PIECE):
                    self._hand(piece)
                self._hand(None)
        except Exception as error:  # noqa: BLE001 - told to whoever waits, who raises it again
            self._hand(error)
        finally:
            self._use(None)

    def _hand(self, what: Reply | bytes | Exception | None) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(queue.Full):
                self._handed.put(what, timeout=_LOOK_EVERY_S)
                return

    def _arrive(self, at: WebAddress) -> HTTPResponse:
        for _ in range(MOST_REDIRECTS + 1):
            response = self._ask(at)
            if response.status not in _REDIRECTS:
                return response
            response.close()
            at = at.join(response.getheader("Location", ""), self._ways.hosts)
            self._host = at.host
        raise refused(f"it sends us on more than {MOST_REDIRECTS} times")

    def _ask(self, at: WebAddress) -> HTTPResponse:
        context = self._ways.certificates()
        connection = HTTPSConnection(at.host, context=context)
        plain = self._connected(at.host)
        # The handshake comes apart, so that the socket can be closed under it, too.
        secure = context.wrap_socket(plain, server_hostname=at.host, do_handshake_on_connect=False)
        self._use(secure)
        secure.do_handshake()
        connection.sock = secure
        connection.putrequest("GET", at.target, skip_accept_encoding=True)
        for name, value in ({"Accept-Encoding": "identity"} | dict(self._headers)).items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse()

    def _connected(self, host: str) -> socket.socket:
        trouble: OSError = ConnectionRefusedError("it has no address")
        for place in self._ways.addresses(host):
            try:
                return socket.create_connection(place, timeout=self._ways.patience_s)
            except OSError as error:
                trouble = error
        raise trouble

    def _use(self, connected: socket.socket | None) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = connected
        if connected is not None and self._is_over.is_set():
            raise Broken("nobody waits any more")


def _reply(response: HTTPResponse) -> Reply:
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise refused("it comes packed in a way that nobody asked for")
    first, total = 0, response.length
    if response.status == 206:
        found = _RANGE.fullmatch(response.getheader("Content-Range", ""))
        if not found:
            raise refused("the host sends a part, and does not say which")
        first, total = int(found[1]), int(found[2])
    has_end = response.chunked or response.length is not None
    return Reply(response.status, first, total, _validator(response), has_end)


def _validator(response: HTTPResponse) -> str | None:
    """A weak one would do for a page that looks the same, not for a file that is."""
    tag = response.getheader("ETag", "")
    if tag.startswith('"') and tag.isascii() and tag.isprintable():
        return tag
    date = response.getheader("Last-Modified", "")
    return date if date.isascii() and date.isprintable() and date else None
