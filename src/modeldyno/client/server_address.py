"""Which server to talk to, and with which token.

The workspace's token is sent only to the address that the workspace's own server has announced.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from modeldyno.core.errors import BadValue, ServerUnreachable
from modeldyno.server_file import running_server
from modeldyno.settings import Settings

TOKEN_FILE = "token"  # noqa: S105 - the name of the file
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Address:
    url: str
    token: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        return urlsplit(self.url).hostname in _LOOPBACK


def find_server(
    url: str | None = None,
    token: str | None = None,
    workspace: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Address:
    """The given address, else MODELDYNO_SERVER and MODELDYNO_TOKEN, else the workspace's server.

    Raises ServerUnreachable when there is none, BadValue for an invalid address.
    """
    folder = Settings.read(workspace, environment).workspace
    running = running_server(folder)
    url = url or environment.get("MODELDYNO_SERVER")
    if not url and running is None:
        raise ServerUnreachable(
            "No server runs for this workspace",
            why=f"none has announced itself in {folder}",
            fix="Start one with `modeldyno serve`, or give its address (or MODELDYNO_SERVER)",
        )
    url = _origin_of(url or (running.url if running else ""))
    token = token or environment.get("MODELDYNO_TOKEN") or None
    if token is None and running is not None and _is_same_server(url, running.url):
        return Address(running.url, _read_token(folder / TOKEN_FILE))
    return Address(url, token)


def _origin_of(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise BadValue(
            f"{url[:100]!r} is not the address of a server", fix="Write http://127.0.0.1:5000"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _is_same_server(url: str, running_url: str) -> bool:
    """``localhost`` counts as any loopback address; of two different ones, another user's server
    may listen at one, on the same port."""
    given, running = urlsplit(url), urlsplit(running_url)
    is_localhost = given.hostname == "localhost" and running.hostname in _LOOPBACK
    is_same_host = given.hostname == running.hostname or is_localhost
    return is_same_host and (given.scheme, given.port) == (running.scheme, running.port)


def _read_token(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:  # a server without a token has none
        return None
