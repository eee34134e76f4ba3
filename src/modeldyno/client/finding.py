"""Which server to talk to, and with which token.

A token goes only where it belongs: the workspace's own is sent to the address that the workspace's
own server has announced, and to no other.
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
    def is_here(self) -> bool:
        return urlsplit(self.url).hostname in _LOOPBACK


def find_server(
    url: str | None = None,
    token: str | None = None,
    workspace: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Address:
    """What is given, else MODELDYNO_SERVER and MODELDYNO_TOKEN, else the workspace's server.

    Raises ServerUnreachable when there is none, BadValue for what is no address.
    """
    folder = Settings.read(workspace, environment).workspace
    running = running_server(folder)
    said = url or environment.get("MODELDYNO_SERVER") or None
    if said is None and running is None:
        raise ServerUnreachable(
            "No server runs for this workspace",
            why=f"nobody has announced one in {folder}",
            fix="Start one with `modeldyno serve`, or give its address (or MODELDYNO_SERVER)",
        )
    place = _checked(said or (running.url if running else ""))
    known = token or environment.get("MODELDYNO_TOKEN") or None
    if known is None and running is not None and _is_meant(place, running.url):
        return Address(running.url, _token_in(folder / TOKEN_FILE))
    return Address(place, known)


def _checked(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise BadValue(
            f"{url[:100]!r} is no address of a server", fix="Write http://127.0.0.1:5000"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _is_meant(url: str, running: str) -> bool:
    """``localhost`` may be any of this machine's addresses; somebody else may listen at another
    one of them, on the same port."""
    said, known = urlsplit(url), urlsplit(running)
    is_near = said.hostname == "localhost" and known.hostname in _LOOPBACK
    same_host = said.hostname == known.hostname or is_near
    return same_host and (said.scheme, said.port) == (known.scheme, known.port)


def _token_in(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:  # a server without a token has none
        return None
