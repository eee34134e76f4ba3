"""Where the server listens, which names it answers to, and how uvicorn must be started for that."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any

from modeldyno.core.errors import BadValue

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORTS = {"http": 80, "https": 443}

# The guard counts on these. A server that believes forwarded headers has changed the client and the
# scheme before the guard sees them; one that logs requests writes down queries, and so tokens.
UVICORN: dict[str, Any] = {
    "proxy_headers": False,
    "server_header": False,
    "access_log": False,
    # No limit_concurrency: it counts idle strangers against the owner, and answers without our
    # headers. Connections are bounded by api/connections.py, requests by api/guard.py.
    "backlog": 128,
    "timeout_keep_alive": 60,
    "timeout_graceful_shutdown": 3,  # a slow download does not keep a stopped server alive
    "h11_max_incomplete_event_size": 32 << 10,
    "ws_max_size": 64 << 10,
    "ws_per_message_deflate": False,
}


@dataclass(frozen=True)
class Listening:
    """Raises BadValue when anybody on the network could use the server without a token."""

    address: str = "127.0.0.1"
    port: int = 5000
    needs_token: bool = True
    names: tuple[str, ...] = ()  # more names it is reached by, for addresses that stand for all
    scheme: str = "http"

    def __post_init__(self) -> None:
        if not self.needs_token and not self.is_loopback:
            raise BadValue(
                f"A server at {self.address} needs its token",
                why="other machines reach that address, and --no-token would let all of them in",
                fix="Leave out --no-token, or listen on 127.0.0.1",
            )

    @property
    def is_loopback(self) -> bool:
        if self.address == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> frozenset[bytes]:
        """What may stand in a Host header."""
        return frozenset(name.encode() for name in self._list_authorities())

    @property
    def origins(self) -> frozenset[bytes]:
        return frozenset(f"{self.scheme}://{name}".encode() for name in self._list_authorities())

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        is_all = self.address in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        name = "127.0.0.1" if is_all else self.address
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}:{self.port}"

    @property
    def cookie(self) -> str:
        """Cookies do not tell ports apart, so the name does."""
        return f"modeldyno-{self.port}"

    def _list_authorities(self) -> set[str]:
        is_all = self.address in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        names = {*self.names} | (set() if is_all else {self.address})
        names |= {*LOOPBACK_NAMES} if is_all or self.is_loopback else set()
        written = {f"[{name}]" if ":" in name else name for name in names}
        bare = written if self.port == _DEFAULT_PORTS.get(self.scheme) else set()
        return {f"{name}:{self.port}" for name in written} | bare


def cookie_header(
    name: str, secret: str, lifetime_s: int, path: str = "/", secure: bool = False
) -> str:
    """The value of a Set-Cookie header; without a secret, one that ends the cookie."""
    age = lifetime_s if secret else 0
    rest = f"Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict"
    return f"{name}={secret}; {rest}" + ("; Secure" if secure else "")


def safe_landing_path(wanted: str) -> str:
    """Where to go after signing in: a page of ours, or the first one (no open redirect)."""
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\", "/%"))
    odd = any(ord(c) <= 32 or ord(c) >= 127 or c in '\\@:"<>' for c in wanted)
    return wanted if is_ours and not odd and "%5c" not in wanted.lower() else "/"
