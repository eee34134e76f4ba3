"""Answers that are true until the database changes are given again without asking it.

The database counts its commits, of this process and of others, and the count is looked at for every
request: what is given again is what the database would say. (PostgreSQL has no such count, so there
every request asks.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from modeldyno.api.guard import App, Message, Receive, Send
from modeldyno.store.database import Database

# What is below these is made from the database alone: no progress, no files, no clock.
FROM_DATABASE = (
    "/api/v1/projects",
    "/api/v1/benchmarks",
    "/api/v1/comparisons",
    "/api/v1/profiles",
)
LARGEST = 256 << 10
MOST_BYTES = 16 << 20


@dataclass
class _CachedAnswer:
    version: int
    messages: list[Message] = field(default_factory=list)
    size: int = 1 << 10  # in bytes, with what it takes beside its body


class Answers:
    def __init__(self, app: App, database: Database) -> None:
        self._app = app
        self._database = database
        self._kept: OrderedDict[tuple[str, bytes], _CachedAnswer] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        version = self._cache_version(scope)
        if version is None:
            await self._app(scope, receive, send)
            return
        key = (scope["path"], scope["query_string"])
        known = self._kept.get(key)
        if known is not None and known.version == version:
            for message in known.messages:
                await send(message)
            return
        # The count was read before the answer is made: what changes meanwhile makes it old at once.
        answer = _CachedAnswer(version)

        async def keep(message: Message) -> None:
            answer.messages.append(message)
            answer.size += len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, keep)
        self._cache_answer(key, answer)

    def _cache_version(self, scope: MutableMapping[str, Any]) -> int | None:
        is_one = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and scope["path"].startswith(FROM_DATABASE)
            # Who vouched for a model is not in the database, nor what is installed, nor the
            # machine's peaks, nor results.
            and not scope["path"].endswith(("/models", "/standing", "/rows", "/diff"))
        )
        return self._database.change_counter() if is_one else None

    def _cache_answer(self, key: tuple[str, bytes], answer: _CachedAnswer) -> None:
        before = self._kept.pop(key, None)
        self._size -= before.size if before else 0
        first, *rest = answer.messages or [{}]
        is_whole = bool(rest) and not rest[-1].get("more_body", False)
        if first.get("status") != 200 or not is_whole or answer.size > LARGEST:
            return
        self._kept[key] = answer
        self._size += answer.size
        while self._size > MOST_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size
