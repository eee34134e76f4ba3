"""The part of a request that identifies the caller: read once, and unambiguous or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modeldyno.api.errors import MALFORMED, TOO_MANY_HEADERS, Refusal, Surface

MOST_HEADERS = 100
MOST_HEADER_BYTES = 32 << 10

# Two of these, and two programs could each believe another one.
_ONCE = frozenset(
    b"host origin content-length transfer-encoding content-type authorization cookie "
    b"sec-fetch-site sec-fetch-mode sec-fetch-dest x-modeldyno-csrf range".split()
)
# What a proxy adds; from others it is a lie about who calls, or for what.
_FORWARDED = frozenset(
    b"forwarded x-real-ip x-original-url x-original-host x-rewrite-url x-host "
    b"x-http-method-override x-http-method x-method-override".split()
)
_ODD_PATH = re.compile(r"[\\\x00-\x1f\x7f]|//|/\.\.?(?:/|$)").search


@dataclass(slots=True)
class Head:
    is_websocket: bool
    method: str
    path: str
    surface: Surface
    query: bytes
    client: str
    once: Mapping[bytes, bytes]  # each header that may come once, by its lower-case name
    headers: list[tuple[bytes, bytes]]  # what the application will see
    body_bytes: int | None  # as announced


NAMED = "/api/v1/benchmark/"


def surface_of(path: str) -> Surface:
    if path.startswith(NAMED):
        return "named"
    if path.startswith("/api/v1/") or path == "/api/v1":
        return "v1"
    if path.startswith("/api/") or path == "/api":
        return "inc"
    if path.startswith("/socket.io/") or path == "/socket.io":
        return "socket"
    return "page"


def read_head(
    scope: Mapping[str, Any], surface: Surface, trusts_proxy: bool = False
) -> Head | Refusal:
    path: str = scope["path"]
    if not path.startswith("/") or _ODD_PATH(path) or b"%00" in scope["query_string"]:
        return MALFORMED
    headers: list[tuple[bytes, bytes]] = []
    once: dict[bytes, bytes] = {}
    size = 0
    for header in scope["headers"]:
        name, value = header
        size += len(name) + len(value)
        if name in _ONCE:
            if name in once:
                return MALFORMED
            once[name] = value
            if name == b"range" and b"," in value:  # many ranges are work for nothing: send it all
                continue
        elif not trusts_proxy and (name in _FORWARDED or name.startswith(b"x-forwarded-")):
            continue
        headers.append(header)
    if len(scope["headers"]) > MOST_HEADERS or size > MOST_HEADER_BYTES:
        return TOO_MANY_HEADERS
    announced = once.get(b"content-length")
    if announced is not None and (
        not announced.isdigit() or len(announced) > 15 or b"transfer-encoding" in once
    ):
        return MALFORMED
    client = scope.get("client")
    return Head(
        scope["type"] == "websocket",
        scope.get("method", "GET"),
        path,
        surface,
        scope["query_string"],
        client[0] if client else "",
        once,
        headers,
        None if announced is None else int(announced),
    )
