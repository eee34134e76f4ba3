"""What is shown of a running job is written beside it."""

import os
import threading

import pytest

from modeldyno.core.errors import DatabaseBusy
from modeldyno.jobs import aside as module
from modeldyno.jobs.aside import Aside
from modeldyno.jobs.elsewhere import SHARED, Elsewhere
from modeldyno.measure.cpus import allowed_cpus, core_siblings
from tests.processes import until


@pytest.fixture
def aside(monkeypatch):
    monkeypatch.setattr(module, "TRY_AGAIN_S", 0.01)
    aside = Aside()
    aside.start()
    yield aside
    aside.close()


def test_only_the_latest_wish_about_a_thing_is_done(aside):
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go_on.wait()

    aside.wish("cores", slow)
    begun.wait()
    for word in ("a", "b", "c"):
        aside.wish("reason", lambda word=word: done.append(word))
    go_on.set()
    until(lambda: done, "the wish")
    assert done == ["c"]


def test_a_wish_is_tried_until_the_database_is_back(aside):
    tries: list[int] = []

    def write():
        tries.append(1)
        if len(tries) < 3:
            raise DatabaseBusy("not now")

    aside.wish("cores", write)
    until(lambda: len(tries) == 3, "the third try")


def test_nothing_is_done_after_it_was_settled(aside):
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def fail():
        begun.set()
        go_on.wait()
        done.append("tried")
        raise DatabaseBusy("not now")

    aside.wish("cores", fail)
    begun.wait()
    aside.wish("reason", lambda: done.append("too late"))
    settled = threading.Thread(target=aside.settle)
    settled.start()
    until(lambda: not aside._wishes, "the settling")
    assert settled.is_alive()  # what is being written is written before it returns
    go_on.set()
    settled.join()
    aside.wish("reason", lambda: done.append("later"))
    until(lambda: len(done) > 1, "a later wish")
    assert done == ["tried", "later"]


# ---------------------------------------------------------------- staying off measured cores


def affinities() -> set[frozenset[int]]:
    """Of the other threads of this process."""
    mine = threading.get_native_id()
    others = [int(name) for name in os.listdir("/proc/self/task") if int(name) != mine]  # noqa: PTH208
    return {frozenset(os.sched_getaffinity(tid)) for tid in others}


def test_threads_move_off_measured_cores_and_come_back():
    ours = frozenset(allowed_cpus())
    rest = ours - set(core_siblings(min(ours)))
    if not rest:
        pytest.skip("needs two cores")
    stay, asked = threading.Event(), threading.Event()
    seen: list[tuple[int, ...]] = []

    def work() -> None:
        asked.wait()
        seen.append(allowed_cpus())
        stay.wait()

    other = threading.Thread(target=work)
    other.start()
    elsewhere = Elsewhere(fewest_cpus=2)
    try:
        assert elsewhere.move([min(ours)]) == ""
        assert affinities() == {rest}
        assert os.sched_getaffinity(0) == ours  # who starts workers stays where it is
        asked.set()
        until(lambda: seen, "what the moved thread sees")
        assert set(seen[0]) == ours  # of the process, whatever its own are
        elsewhere.back()
        assert affinities() == {ours}
    finally:
        elsewhere.back()
        asked.set()
        stay.set()
        other.join()


def test_where_there_is_nowhere_to_go_the_result_says_so():
    few, everything = Elsewhere(fewest_cpus=1000), Elsewhere(fewest_cpus=1)
    assert few.move([allowed_cpus()[0]]) == SHARED
    assert everything.move(allowed_cpus()) == SHARED
