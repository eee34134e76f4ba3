"""Writes about a running job happen in a thread, and only the latest for each key counts."""

import threading

import pytest

from modeldyno.core.errors import DatabaseBusy
from modeldyno.jobs.latest_writes import LatestWrites
from tests.processes import until


@pytest.fixture
def writes():
    writes = LatestWrites(retry_s=0.01)
    writes.start()
    yield writes
    writes.close()


def test_only_the_latest_write_for_a_key_is_made(writes):
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go_on.wait()

    writes.put("cores", slow)
    begun.wait()
    for word in ("a", "b", "c"):
        writes.put("reason", lambda word=word: done.append(word))
    go_on.set()
    until(lambda: done, "the write")
    assert done == ["c"]


def test_a_write_is_retried_until_the_database_is_back(writes):
    tries: list[int] = []

    def write():
        tries.append(1)
        if len(tries) < 3:
            raise DatabaseBusy("not now")

    writes.put("cores", write)
    until(lambda: len(tries) == 3, "the third try")


def test_nothing_is_written_after_clear(writes):
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def fail():
        begun.set()
        go_on.wait()
        done.append("tried")
        raise DatabaseBusy("not now")

    writes.put("cores", fail)
    begun.wait()
    writes.put("reason", lambda: done.append("too late"))
    clearing = threading.Thread(target=writes.clear)
    clearing.start()
    until(lambda: not writes._pending, "clear")
    assert clearing.is_alive()  # what is being written is written before it returns
    go_on.set()
    clearing.join()
    writes.put("reason", lambda: done.append("later"))
    until(lambda: len(done) > 1, "a later write")
    assert done == ["tried", "later"]
