"""Where jobs stand: at most four times a second, the last word wins, nothing after the end."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from modeldyno.core.documents.runs import ProgressDocument
from modeldyno.core.ids import JobId, RunId
from modeldyno.core.jobs import Failed, Job, JobMessage, Progress, Started
from modeldyno.core.results import Failure
from modeldyno.services.progress import (
    INTERVAL_S,
    LONG_JOB_INTERVAL_S,
    LONG_JOB_S,
    JobProgress,
    LiveProgress,
)
from tests.processes import until

JOB = Job(
    id=JobId(1),
    run_id=RunId("20261115-095116-3fa9c1"),
    kind="benchmark",
    of_id=1,
    name="m.onnx",
    project_id=1,
    state="running",
    priority=0,
    position=1,
    reason="",
    attempts=1,
    owner=None,
    queued_at=datetime(2026, 11, 15, tzinfo=UTC),
)
END = Failed(Failure("CANCELLED", "Stopped on request"))


def progress(done):
    return Progress(done, 10, "measuring")


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def live(clock):
    return LiveProgress(clock)


@pytest.fixture
def told(live):
    heard: list[JobProgress] = []
    live.on_progress(lambda job, standing: heard.append(standing))
    return heard


def test_the_first_word_is_told_at_once_and_later_ones_wait_their_turn(live, told, clock):
    live.hear(JOB, Started("m.onnx", 10))
    for done in range(1, 6):
        live.hear(JOB, progress(done))
    assert told == [JobProgress("m.onnx", 10)]
    assert live.of(JOB.id) == JobProgress("m.onnx", 10, progress(5))  # who asks has the latest
    until(lambda: len(told) == 2, "the one that was owed")
    assert told[1] == JobProgress("m.onnx", 10, progress(5))
    clock.now += INTERVAL_S
    live.hear(JOB, progress(6))
    assert told[2].progress == progress(6)


def test_what_goes_on_for_long_is_told_less_often(live, told, clock):
    live.hear(JOB, Started("m.onnx", 10))
    clock.now += LONG_JOB_S + 0.1
    live.hear(JOB, progress(1))
    clock.now += INTERVAL_S
    live.hear(JOB, progress(2))
    assert [one.progress for one in told] == [None, progress(1)]
    (timer,) = live._timers.values()
    assert timer.interval == pytest.approx(LONG_JOB_INTERVAL_S - INTERVAL_S)
    live.hear(JOB, END)  # the next one begins anew
    live.hear(JOB, Started("m.onnx", 10))
    clock.now += INTERVAL_S
    live.hear(JOB, progress(1))
    assert [one.progress for one in told[2:]] == [None, progress(1)]


def test_nothing_is_told_after_the_end(live, told):
    live.hear(JOB, Started("m.onnx", 10))
    live.hear(JOB, progress(1))
    (timer,) = live._timers.values()
    live.hear(JOB, END)
    assert live.of(JOB.id) is None
    timer.join()
    assert told == [JobProgress("m.onnx", 10)]


def test_what_is_owed_from_before_an_end_is_not_told_after_a_new_beginning(live, told):
    live.hear(JOB, Started("m.onnx", 10))
    live.hear(JOB, progress(1))
    (timer,) = live._timers.values()
    timer.cancel()
    timer.join()
    live.hear(JOB, END)
    live.hear(JOB, Started("m.onnx", 10))
    live._publish_if_due(JOB)  # a timer that was cancelled too late
    assert told == [JobProgress("m.onnx", 10)] * 2


def test_who_waits_for_cores_does_not_forget_what_was_known(live):
    measured = Progress(3, 10, "1 core", estimate_s=0.1, remaining_s=4.0)
    live.hear(JOB, measured)
    live.hear(JOB, Progress(3, 12, "waiting for cores 0-1"))
    expected = replace(measured, units_planned=12, doing="waiting for cores 0-1", remaining_s=None)
    assert live.of(JOB.id) == JobProgress(progress=expected)


def test_notices_stay_until_the_end_each_once(live):
    for notice in ("", "slow", "", "fixed", "slow"):
        live.hear(JOB, replace(progress(1), notice=notice))
    standing = live.of(JOB.id)
    assert standing.notices == ("slow", "fixed")
    heard: list[JobMessage] = []
    before: ProgressDocument | None = None
    for count in (0, 1, 2, 2):
        now = ProgressDocument.of(standing.progress, 10, notices=standing.notices[:count])
        heard += now.messages(before)
        before = now
    assert [m.notice for m in heard if isinstance(m, Progress) and m.notice] == ["slow", "fixed"]
    assert [type(message) for message in heard].count(Started) == 1


def test_nobody_hears_an_older_word_after_a_newer_one(live, clock):
    """However slow a listener is, and whichever thread has the news."""
    heard: list[int] = []
    slow = threading.Event()

    def listen(job, standing):
        slow.wait(0.05)
        heard.append(standing.progress.units_done)

    def has_heard(count):
        return len(heard) >= count

    live.on_progress(listen)
    threads = []
    for done in range(5):
        clock.now += INTERVAL_S
        threads.append(threading.Thread(target=live.hear, args=(JOB, progress(done))))
        threads[-1].start()
        until(partial(has_heard, done), "the one before")
    for thread in threads:
        thread.join()
    assert heard == sorted(heard)


def test_a_listener_that_fails_costs_the_others_nothing(live, told):
    live._listeners.insert(0, lambda job, standing: 1 / 0)
    live.hear(JOB, Started("m.onnx", 10))
    assert told == [JobProgress("m.onnx", 10)]
