"""Threads that read for requests: results, errors, how many, and that they end."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from anyio.to_thread import current_default_thread_limiter

from modeldyno.api.threads import ReadingThreads


def test_what_a_call_returns_comes_back():
    async def ask():
        readers = ReadingThreads()
        return await asyncio.gather(*(readers.run(partial(pow, n, 2)) for n in range(100)))

    assert asyncio.run(ask()) == [n * n for n in range(100)]


def test_what_a_call_raises_is_raised_where_it_was_made():
    async def ask():
        await ReadingThreads().run(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask())


def test_no_more_run_at_a_time_than_anyio_allows():
    lock, running, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3)

    def call():
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait(10)
        with lock:
            running[0] -= 1

    async def ask():
        current_default_thread_limiter().total_tokens = 3
        readers = ReadingThreads()
        await asyncio.gather(*(readers.run(call) for _ in range(12)))

    asyncio.run(ask())
    assert most == [3]


def test_a_cancelled_request_waits_for_its_call():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def call():
        begun.set()
        may_end.wait(10)
        ended.set()

    async def ask():
        request = asyncio.create_task(ReadingThreads().run(call))
        await asyncio.to_thread(begun.wait, 10)
        request.cancel()
        await asyncio.sleep(0)
        assert not request.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert ended.is_set()

    asyncio.run(ask())


def test_idle_threads_end():
    async def ask():
        readers = ReadingThreads(idle_s=0.01)
        mine = await readers.run(threading.current_thread)
        await asyncio.to_thread(mine.join, 10)
        assert not mine.is_alive()
        assert await readers.run(threading.current_thread) is not mine

    asyncio.run(ask())
