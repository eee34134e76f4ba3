"""Work that nobody awaits: it never ends without a word in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

logger = logging.getLogger(__name__)

PAUSE_S = 1.0  # after a failure, so that one which repeats does not fill the log


def log_failure(ended: asyncio.Task[Any] | Future[Any]) -> None:
    """A done callback. Without one, an exception waits for somebody to ask, and nobody does."""
    if ended.cancelled():
        return
    error = ended.exception()
    if error is not None:
        logger.error("background work failed", exc_info=error)


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
