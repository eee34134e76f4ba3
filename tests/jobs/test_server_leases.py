"""The server's threads keep off the cores that are being measured on."""

import os
import threading

import pytest

from modeldyno.jobs.server_leases import SHARED, ServerAffinity
from modeldyno.measure.cpus import allowed_cpus, core_siblings
from tests.processes import until


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
    affinity = ServerAffinity(fewest_cpus=2)
    try:
        assert affinity.keep_off([min(ours)]) == ""
        assert affinities() == {rest}
        assert os.sched_getaffinity(0) == ours  # who starts workers stays where it is
        asked.set()
        until(lambda: seen, "what the moved thread sees")
        assert set(seen[0]) == ours  # of the process, whatever its own are
        affinity.restore()
        assert affinities() == {ours}
    finally:
        affinity.restore()
        asked.set()
        stay.set()
        other.join()


def test_if_there_are_no_other_cores_the_result_says_so():
    few, everything = ServerAffinity(fewest_cpus=1000), ServerAffinity(fewest_cpus=1)
    assert few.keep_off([allowed_cpus()[0]]) == SHARED
    assert everything.keep_off(allowed_cpus()) == SHARED
