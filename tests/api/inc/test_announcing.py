"""Starts and ends are announced whatever happens to the run, its row or the server."""

import time
from datetime import UTC, datetime

import pytest

from modeldyno.api.inc.announcing import Announcer, RunEvents
from modeldyno.api.inc.broadcast import Broadcast
from modeldyno.core.errors import DatabaseBusy
from modeldyno.core.events import Event
from modeldyno.core.runs import RunOf
from tests.api.inc.events import PATIENCE_S, listening
from tests.api.inc.test_benchmarks import QUICK, add, execute
from tests.api.v1.server import serving

BEGIN = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.slow
def test_s_04_what_was_queued_runs_and_is_told_by_the_next_server(tmp_path):
    with serving(tmp_path) as first, listening(first) as ears:
        project = first.project()
        slow = add(first, project, first.model(project, latency_us=50_000), batch_size=1)
        execute(first, slow, "slow")
        execute(first, add(first, project, **QUICK), "waits")
        ears.until("benchmark_start", request_id="slow")
    with serving(tmp_path) as second, listening(second) as ears:
        ends: dict[str, tuple[str, str]] = {}
        while len(ends) < 2:
            status, data = ears.until("benchmark_finish")
            ends[data["request_id"]] = (status, data.get("message", ""))
        assert ends["waits"] == ("success", "")
        # It ended with its server, which could no longer announce it.
        assert ends["slow"][0] == "error"
        assert ends["slow"][1].startswith("The server was stopped")
    with serving(tmp_path) as third, listening(third) as ears:  # nothing is announced twice
        execute(third, add(third, project, **QUICK), "last")
        ears.until("benchmark_finish", request_id="last")
        assert ears.names() == ["benchmark_start", "benchmark_finish"]


@pytest.fixture
def events():
    return []


class RecordedBroadcast(Broadcast):
    def __init__(self, events):
        self._events = events

    def emit(self, *event):
        self._events.append(event)

    def on_first_client(self, _callback):
        pass


def moved(run_id, state, number=1):
    payload = {"run_id": run_id, "state": state, "kind": "benchmark", "id": number}
    return Event(number=1, kind="run.changed", project_id=1, payload=payload, created_at=BEGIN)


def test_a_bug_or_a_database_that_is_away_keeps_nobody_from_being_told(served, events):
    project = served.project()
    numbers = [add(served, project) for _ in range(3)]
    runs = [
        served.server.records.runs.add(RunOf("benchmark", number), {}, state="done").id
        for number in numbers
    ]
    calls = []

    def details(number):
        calls.append(number)
        if number == numbers[0]:
            raise KeyError("a bug of ours")
        if calls.count(number) == 1:
            raise DatabaseBusy("not now")
        return {"id": number}

    announcer = Announcer(served.server.records, served.server.feed, RecordedBroadcast(events))
    announcer.add_kind("benchmark", RunEvents("benchmark", details))
    with announcer.running():
        for run, number in zip(runs, numbers, strict=True):
            announcer.on_event(moved(run, "done", number))
        announcer.on_event(moved(runs[0], "running", numbers[0]))
        deadline = time.monotonic() + PATIENCE_S
        while len(events) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [(event, data.get("id")) for event, _, data in events] == [
        ("benchmark_finish", numbers[1]),
        ("benchmark_finish", numbers[2]),
        ("benchmark_start", None),
    ]


def test_defect_14_the_queue_is_told_by_kind_and_place(served):
    project = served.project()
    slow = served.model(project, latency_us=50_000)
    numbers = [add(served, project, slow, batch_size=1) for _ in range(3)]
    assert served.get("/api/jobs/queue").json == {}
    for number in numbers:
        execute(served, number)
    job = served.server.benchmarks.details(numbers[0]).latest.job_id
    served.until(job, lambda job: job["state"] == "running")
    assert served.get("/api/jobs/queue").json == {
        f"benchmark_{number}": str(place) for place, number in enumerate(numbers)
    }
    for number in reversed(numbers):
        served.post("/api/benchmark/delete", {"id": number, "name": "b"})
    assert served.get("/api/jobs/queue").json == {}
