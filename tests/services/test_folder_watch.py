"""What happens in the workspace's folders appears in the database."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.runs import ListQuery
from modeldyno.services.event_feed import EventFeed
from modeldyno.services.folder_watch import FolderWatch
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.settings import Settings
from modeldyno.workbench import open_history, open_records, open_workbench
from tests import values
from tests.processes import until
from tests.scripts import script

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "workspace")


@pytest.fixture
def records(settings):
    records = open_records(settings)
    yield records
    records.close()


@pytest.fixture
def watch(settings, records):
    runs = settings.workspace / "runs"
    watch = FolderWatch(records, open_history(settings), runs, poll_s=0.02)
    watch.start()
    yield watch
    watch.close()


def bench(settings, model):
    spec = make_benchmark_spec(BenchmarkRequest(iterations=3), model)
    return open_workbench(settings).service.run(spec)


def states(records):
    return [run.state for run in records.runs.page().items]


def test_a_run_of_the_terminal_appears_and_its_end_too(settings, records, watch, tmp_path):
    seen = []
    feed = EventFeed(records.database, records.events)
    feed.on_event(lambda event: seen.append(event.kind))
    feed.start()
    result = bench(settings, script(tmp_path / "m.json"))
    until(lambda: states(records) == ["done"], "the run")
    assert values.typical_ms(records.runs.get(result.run_id).summary) is not None
    (benchmark,) = records.benchmarks.page(ListQuery()).items
    assert benchmark.name == "m.json"
    until(lambda: "runnable.created" in seen, "the event")
    feed.close()


def test_a_run_whose_terminal_was_killed_is_interrupted(settings, records, watch, tmp_path):
    model = script(tmp_path / "m.json", latency_us=60_000_000)
    command = [sys.executable, "-m", "modeldyno", "bench", str(model), "-q"]
    command += ["--workspace", str(settings.workspace)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: states(records) == ["running"], "the run")
        os.kill(process.pid, signal.SIGKILL)
    until(lambda: states(records) == ["interrupted"], "its end")


def test_folders_of_deleted_runs_go_and_do_not_come_back(settings, records, watch, tmp_path):
    kept, gone = (bench(settings, script(tmp_path / name)) for name in ("a.json", "b.json"))
    until(lambda: states(records) == ["done", "done"], "the runs")
    records.runs.delete(gone.run_id)
    folder: Path = settings.workspace / "runs" / gone.run_id
    until(lambda: not folder.exists(), "the folder's end")
    until(lambda: not records.runs.tombstones(), "the tombstone's end")
    assert [run.id for run in records.runs.page().items] == [kept.run_id]


def test_a_look_at_what_has_not_changed_asks_no_database(settings, records, tmp_path):
    bench(settings, script(tmp_path / "m.json"))
    watch = FolderWatch(records, open_history(settings), settings.workspace / "runs")
    watch._poll(full=False)
    records.close()  # whoever asks it now makes a new connection
    pool = records.database.engine.pool
    opened = pool.checkedin() + pool.checkedout()
    watch._poll(full=False)
    assert pool.checkedin() + pool.checkedout() == opened == 0
