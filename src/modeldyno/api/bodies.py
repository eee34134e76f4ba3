"""JSON from strangers, checked before values are built from it.

What different programs would read differently is refused (two keys of one name, NaN, numbers that
lose digits), and so is what no database keeps and what is only there to cost memory.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import MutableMapping
from typing import Any

from modeldyno.api.access import SAFE_METHODS
from modeldyno.api.errors import MEDIA_TYPE, Refusal, body_of, unreadable_json_refusal
from modeldyno.api.guard import App, Message, Receive, Send
from modeldyno.api.request_head import surface_of
from modeldyno.api.v1.shape import MOST_EXACT

DEEPEST = 32
# In all lists and objects together. A comparison has a few hundred; to say what is wrong with one,
# each is looked at where everybody else waits, a hundred or two in a millisecond.
MOST_VALUES = 5_000
_QUICK = 16 << 10  # bytes; more is checked in a thread, so that other requests do not wait

_NO_TEXT = re.compile(r"[\0\ud800-\udfff]").search  # NUL, and halves of a character


class JsonBodies:
    """Around the routes of ``/api/v1``; ``uploads`` are those that take bytes as they come."""

    def __init__(self, app: App, uploads: re.Pattern[str]) -> None:
        self._app = app
        self._uploads = uploads

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS or not _is_ours(scope):
            await self._app(scope, receive, send)
            return
        kind = _content_type(scope)
        if self._uploads.fullmatch(f"{scope['method']} {scope['path']}"):
            if kind == b"application/octet-stream":
                await self._app(scope, receive, send)
            else:
                await _refuse(send, MEDIA_TYPE)
            return
        body = await _receive_whole(receive)
        if body is None:  # the client left, or the guard has answered
            return
        if body and kind != b"application/json":
            await _refuse(send, MEDIA_TYPE)
            return
        why = (
            await asyncio.to_thread(why_unreadable, body)
            if len(body) > _QUICK
            else why_unreadable(body)
        )
        if why:
            await _refuse(send, unreadable_json_refusal(why))
            return
        await self._app(scope, _replay_body(body, receive), send)


def why_unreadable(body: bytes) -> str:
    """Why this is no JSON that we take; empty: it is, or there is nothing."""
    return read_json(body)[1] if body else ""


def read_json(body: bytes) -> tuple[Any, str]:
    """The value, or why we do not take it."""
    try:
        parsed = json.loads(
            body.decode(),
            object_pairs_hook=_parse_object,
            parse_int=_parse_integer,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError:
        return None, "it is not UTF-8"
    except json.JSONDecodeError as error:
        return None, f"it cannot be read: {error.msg} at character {error.pos}"
    except RecursionError:
        return None, _TOO_DEEP
    except ValueError as error:
        return None, str(error)
    return parsed, _why_unacceptable(parsed)


_TOO_DEEP = f"it is nested more than {DEEPEST} deep"


def _why_unacceptable(parsed: Any) -> str:
    waiting = [(parsed, 1)]
    values = 0
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, str):
            if _NO_TEXT(part):
                return "a text in it holds an invalid character"
            continue
        if not isinstance(part, dict | list):
            continue
        if depth > DEEPEST:
            return _TOO_DEEP
        values += len(part)
        if values > MOST_VALUES:
            return f"it has more than {MOST_VALUES} values"
        inside = (*part, *part.values()) if isinstance(part, dict) else part
        waiting += [(child, depth + 1) for child in inside]
    return ""


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has two keys of one name")
    return members


def _parse_integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MOST_EXACT:
        raise ValueError("a whole number in it has more than 53 bits")
    return int(text)


def _parse_float(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError("a number in it is too large")
    return float(text)


def _refuse_constant(text: str) -> float:
    raise ValueError("it has a number that is none")


def _is_ours(scope: MutableMapping[str, Any]) -> bool:
    return surface_of(scope["path"]) == "v1"


def _content_type(scope: MutableMapping[str, Any]) -> bytes:
    said: bytes = dict(scope["headers"]).get(b"content-type", b"")
    return said.partition(b";")[0].strip().lower()


async def _receive_whole(receive: Receive) -> bytes | None:
    """The guard counts, and does not wait for ever."""
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
    return None


def _replay_body(body: bytes, receive: Receive) -> Receive:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return waiting.pop() if waiting else await receive()

    return give


async def _refuse(send: Send, refusal: Refusal) -> None:
    status, headers, body = body_of(refusal, "v1")
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
