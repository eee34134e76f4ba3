"""What both kinds of client do with HTTP and Socket.IO: prepare, and understand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from modeldyno.client.finding import Address
from modeldyno.client.steps import Answer, Ask
from modeldyno.core.errors import ModeldynoError, PackageMissing, ServerUnreachable
from modeldyno.core.versions import tool_version

NAMESPACE = "/v1"
PIECE = 1 << 20
TRIES = 3
CONNECT_S, ANSWER_S = 10.0, 300.0
PIECE_S = 0.5  # of waiting for a message


def library(name: str) -> Any:
    """httpx2 or socketio, which only a client needs."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PackageMissing(
            "The client of a server needs packages that are not installed",
            why=f"there is no Python package {error.name!r}",
            fix="Run `pip install 'modeldyno[client]'`",
        ) from error


def options(address: Address) -> dict[str, Any]:
    """For either of httpx's clients."""
    httpx = library("httpx2")
    headers = {"User-Agent": f"modeldyno/{tool_version()}"}
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    return {
        "base_url": f"{address.url}/api/v1",
        "headers": headers,
        "timeout": httpx.Timeout(ANSWER_S, connect=CONNECT_S),
        "trust_env": not address.is_here,  # no proxy between us and this machine
    }


def prepared(ask: Ask) -> dict[str, Any]:
    """For ``build_request``, except for an upload's content."""
    query = {name: _word(value) for name, value in ask.query.items() if value is not None}
    headers = dict(ask.headers)
    if ask.upload is not None:
        headers["Content-Type"] = "application/octet-stream"
        headers["Content-Length"] = str(ask.upload.path.stat().st_size)
    more = {} if ask.body is None else {"json": ask.body}
    return {"params": query, "headers": headers} | more


def understood(reply: Any, body: bytes) -> Answer:
    return Answer(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, body)


def auth(address: Address, after: int | None) -> dict[str, Any]:
    said = {"token": address.token, "after": after}
    return {name: value for name, value in said.items() if value is not None}


def unreachable(address: Address, error: Exception) -> ModeldynoError:
    return ServerUnreachable(
        f"No server answers at {address.url}",
        why=str(error) or type(error).__name__,
        fix="Start one with `modeldyno serve`, or check the address",
    )


def half_written(target: Path) -> Path:
    """Beside the target, so that it can be moved there in one step."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
