"""Threads that read for requests.

As anyio's do, which all other calls use, and counted among them: a hop into one of those takes as
long as a short query, one into these a quarter of that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from anyio import CapacityLimiter, WouldBlock
from anyio.to_thread import current_default_thread_limiter
from starlette.concurrency import run_in_threadpool

T = TypeVar("T")

_Call = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class ReadingThreads:
    """For one event loop; a thread that is idle for ``idle_s`` ends."""

    def __init__(self, idle_s: float = 10.0) -> None:
        self._idle_s = idle_s
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._threads = 0
        self._busy = 0
        self._lock = threading.Lock()
        self._limiter: CapacityLimiter | None = None

    async def run(self, call: Callable[[], T]) -> T:
        limiter = self._limiter = self._limiter or current_default_thread_limiter()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            limiter.acquire_on_behalf_of_nowait(future)
        except WouldBlock:
            return await run_in_threadpool(call)
        self._busy += 1
        try:
            self._start_if_needed()
            self._calls.put((call, future))
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])  # what it reads from is closed only after it
            raise
        finally:
            self._busy -= 1
            limiter.release_on_behalf_of(future)

    def _start_if_needed(self) -> None:
        with self._lock:
            if self._busy <= self._threads:
                return
            self._threads += 1
        threading.Thread(target=self._run_thread, name="reading", daemon=True).start()

    def _run_thread(self) -> None:
        while (next_call := self._wait_for_call()) is not None:
            call, future = next_call
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - it is raised where the call was made
                _set_if_pending(future, future.set_exception, error)
            else:
                _set_if_pending(future, future.set_result, result)
            del call, future, next_call  # nothing is kept while it waits for the next

    def _wait_for_call(self) -> _Call | None:
        while True:
            try:
                return self._calls.get(timeout=self._idle_s)
            except Empty:
                with self._lock:
                    if self._busy < self._threads:
                        self._threads -= 1
                        return None


def _set_if_pending(
    future: asyncio.Future[Any], method: Callable[[Any], None], outcome: Any
) -> None:
    try:
        future.get_loop().call_soon_threadsafe(method, outcome)
    except RuntimeError:  # the loop has ended, and with it whoever waited
        return
