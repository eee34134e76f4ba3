"""Background work goes on after a failure, and a failure is never silent."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from modeldyno.core.events import Event
from modeldyno.services.background import log_failure, repeat
from modeldyno.services.cleanup_thread import CleanupThread

SOON_S = 10.0
DELETED = Event(number=1, kind="model.deleted", project_id=None, created_at=datetime.now(UTC))


def test_a_step_that_fails_is_logged_and_tried_again(caplog):
    outcomes = [ValueError("first"), KeyError("second"), None]
    is_done = asyncio.Event()

    async def step():
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        is_done.set()
        await asyncio.Event().wait()

    async def run():
        task = asyncio.create_task(repeat(step, "the watch", pause_s=0))
        async with asyncio.timeout(SOON_S):
            await is_done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert caplog.text.count("the watch failed; trying again") == 2
    assert "ValueError: first" in caplog.text


def test_a_task_that_nobody_awaits_is_logged_when_it_fails(caplog):
    async def fail():
        raise ValueError("unseen")

    async def run():
        task = asyncio.create_task(fail())
        task.add_done_callback(log_failure)
        await asyncio.wait([task])

    asyncio.run(run())
    assert "ValueError: unseen" in caplog.text


def test_a_thread_that_nobody_waits_for_is_logged_when_it_fails(caplog):
    def fail():
        raise ValueError("unseen")

    with ThreadPoolExecutor(1) as threads:
        threads.submit(fail).add_done_callback(log_failure)
    assert "ValueError: unseen" in caplog.text


def test_a_sweep_that_fails_does_not_end_the_sweeping(caplog):
    swept = threading.Semaphore(0)

    def fail():
        raise ValueError("a bug")

    sweeping = CleanupThread(fail, swept.release)
    sweeping.start()
    try:
        assert swept.acquire(timeout=SOON_S)
        sweeping.hear(DELETED)
        assert swept.acquire(timeout=SOON_S)
    finally:
        sweeping.close()
    assert caplog.text.count("ValueError: a bug") == 2
