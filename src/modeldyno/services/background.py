"""Background work that nobody awaits: failures are always logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from modeldyno.core.results import Failure

logger = logging.getLogger(__name__)

PAUSE_S = 1.0  # after a failure, so that one which repeats does not fill the log


def log_failure(ended: asyncio.Task[Any] | Future[Any]) -> None:
    """A done callback. Without one, the exception of a task that nobody awaits is lost."""
    if ended.cancelled():
        return
    error = ended.exception()
    if error is not None:
        logger.error("background work failed", exc_info=error)


def unexpected_failure(error: Exception) -> Failure:
    """Of an error that is our bug; its text stays in the log."""
    return Failure("BUG", f"Something went wrong: {type(error).__name__}")


async def repeat(step: Callable[[], Awaitable[None]], name: str, pause_s: float = PAUSE_S) -> None:
    """``step`` over and over until this is cancelled; a step that fails is logged and tried again.

    The step itself waits for what it needs: there is no pause after one that succeeded.
    """
    while True:
        try:
            await step()
        except Exception:
            logger.exception("%s failed; trying again", name)
            await asyncio.sleep(pause_s)


class BackgroundPool:
    """Threads for work that ends soon after the server closes, or is left to the process's end."""

    def __init__(self, threads: int, name: str, close_timeout_s: float = 5.0) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._close_timeout_s = close_timeout_s
        self._pending: dict[Future[None], None] = {}

    @property
    def pending(self) -> int:
        """How many are waiting or at work."""
        return len(self._pending)

    def submit(self, work: Callable[..., None], *arguments: object) -> Future[None]:
        future = self._threads.submit(work, *arguments)
        self._pending[future] = None
        future.add_done_callback(lambda ended: self._pending.pop(ended, None))
        future.add_done_callback(log_failure)
        return future

    def close(self) -> bool:
        """Drop what has not begun, and wait a little for the rest. False: some is still at work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        return not wait((*self._pending,), self._close_timeout_s).not_done
