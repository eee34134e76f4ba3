"""Start the server of ``guarded_app.py``, and ask it things that no browser would."""

from __future__ import annotations

import http.client
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0  # the machine may be busy with other tests


@dataclass
class Served:
    port: int
    token: str
    log: Path
    process: subprocess.Popen[str]

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self):
        return f"http://{self.host}"

    def ask(self, method="GET", path="/", headers=(), body=None, host=None, connection=None):
        """Headers as pairs, sent as they are: also twice, also none. ``host=()`` sends no Host."""
        if connection is None:
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            with closing(link):
                return self.ask(method, path, headers, body, host, link)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for one in (self.host,) if host is None else (host if isinstance(host, tuple) else (host,)):
            connection.putheader("Host", one)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply: Any = connection.getresponse()
        reply.text = reply.read().decode()
        return reply

    def with_token(self, *more):
        return (("Authorization", f"Bearer {self.token}"), *more)


@contextmanager
def serving(folder: Path, http_by="httptools", mode="guarded"):
    log = folder / "log.txt"
    token = folder / "token"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.api.guarded_app", str(token), http_by, mode],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout
    try:
        port = int(process.stdout.readline() or 0)
        assert port, log.read_text()
        served = Served(port, "", log, process)
        served.ask()  # the listener queues us until the server is there, and that made the token
        from modeldyno.store.tokens import TokenFile

        served.token = TokenFile(token).current()
        yield served
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
