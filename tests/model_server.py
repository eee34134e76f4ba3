"""A host of model files on this machine, over https, which misbehaves when it is told to.

Its certificate is made when it is first needed, for ``models.test`` and ``other.test``, which no
name server knows.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

from modeldyno.core.examples import Example
from modeldyno.store.transfers import Network

PEM = Path(__file__).parents[1] / ".cache" / "model_server.pem"
HOST, OTHER_HOST = "models.test", "other.test"
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def certificate() -> Path:
    """Key, certificate and who issued it, in a file that processes of a test share."""
    if not PEM.exists():
        issuer = trustme.CA()
        issued = issuer.issue_cert(HOST, OTHER_HOST)
        PEM.parent.mkdir(exist_ok=True)
        new = PEM.with_suffix(f".{os.getpid()}")
        parts = (issued.private_key_and_cert_chain_pem, issuer.cert_pem)
        new.write_bytes(b"".join(part.bytes() for part in parts))
        # The first one stays: tests in another process may have read it already.
        with contextlib.suppress(FileExistsError):
            PEM.hardlink_to(new)
        new.unlink()
    return PEM


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]

    @property
    def range(self) -> str | None:
        return self.headers.get("Range")


@dataclass
class File:
    """What lies at a path, and how it is sent."""

    content: bytes
    tag: str | None = '"one"'
    modified: str | None = None
    has_ranges: bool = True
    is_chunked: bool = False
    has_length: bool = True
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None  # a length that is not the content's
    # For the first requests, one each: cut the connection after so many bytes, or stall there.
    cuts: list[int] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)


Answer = File | Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_GET(self) -> None:
        self.server.asked.append(Asked(self.path, dict(self.headers.items())))
        answer = self.server.files.get(self.path, File(b"nothing here", status=404))
        if isinstance(answer, File):
            self._send(answer)
        else:
            answer(self)
        self.close_connection = True

    def _send(self, file: File) -> None:
        first = self._first(file)
        body = file.content[first:]
        self.send_response(206 if first else file.status)
        if first:
            whole = len(file.content)
            self.send_header("Content-Range", f"bytes {first}-{whole - 1}/{whole}")
        if file.is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif file.has_length:
            self.send_header("Content-Length", str(file.announced or len(body)))
        for name, value in (("ETag", file.tag), ("Last-Modified", file.modified)):
            if value is not None:
                self.send_header(name, value)
        for name, value in file.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._send_body(file, body)

    def _send_body(self, file: File, body: bytes) -> None:
        cut = file.cuts.pop(0) if file.cuts else None
        stall = file.stalls.pop(0) if file.stalls else None
        until = cut if cut is not None else stall if stall is not None else len(body)
        for start in range(0, until, 10_000):
            piece = body[start : min(start + 10_000, until)]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if file.is_chunked else piece)
        self.wfile.flush()
        if stall is not None:
            self.server.stalled.set()
            self.server.over.wait(60)
        elif file.is_chunked and cut is None:
            self.wfile.write(b"0\r\n\r\n")

    def _first(self, file: File) -> int:
        wanted, same = self.headers.get("Range"), self.headers.get("If-Range")
        if not wanted or not file.has_ranges or same not in (file.tag, file.modified):
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    def log_message(self, *words: object) -> None:
        pass


class ModelServer(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Answer] = {}
        self.asked: list[Asked] = []
        self.looked_up: list[str] = []
        self.stalled, self.over = threading.Event(), threading.Event()
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate())

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def look_up(self, host: str) -> list[tuple[str, int]]:
        self.looked_up.append(host)
        return [("127.0.0.1", self.port)]

    def network(self, **other: object) -> Network:
        return network(self.port, **({"look_up": self.look_up} | other))

    def finish_request(self, request: object, client_address: object) -> None:
        with self._tls.wrap_socket(request, server_side=True) as secure:  # type: ignore[arg-type]
            Handler(secure, client_address, self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Who is hung up on does not complain."""


@contextlib.contextmanager
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def network(port: int, **other: object) -> Network:
    """To a server here, whatever the host's name; loopback is no obstacle."""
    usual: dict[str, object] = {
        "hosts": frozenset({HOST, OTHER_HOST}),
        "look_up": lambda host: [("127.0.0.1", port)],
        "why_not": lambda address: None,
        "certificates": lambda: ssl.create_default_context(cafile=certificate()),
        "patience_s": 20.0,
    }
    return Network(**(usual | other))  # type: ignore[arg-type]  # as the tests give them


def redirect(location: str, **headers: str) -> File:
    return File(b"", status=302, tag=None, headers={"Location": location} | headers)


def example(path: str = "/net.pb", **other: object) -> Example:
    usual: dict[str, object] = {
        "slug": "net",
        "name": "Net",
        "kind": "download",
        "domain": "Image Recognition",
        "framework": "TensorFlow",
        "format": "tensorflow-graph",
        "file": "net.pb",
        "note": "",
        "url": f"https://{HOST}{path}",
    }
    return Example(**(usual | other))  # type: ignore[arg-type]  # as the tests give them
