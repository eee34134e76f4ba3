"""The supervisor: one long-lived thread that runs jobs and outlives whoever submits them."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from modeldyno.core.ids import RunId
from modeldyno.core.jobs import Failed, Finished, JobMessage
from modeldyno.core.results import BenchmarkResult
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.jobs.local import LocalJobs
from modeldyno.store.runs import RunFolders
from modeldyno.worker.launch import PACKAGE_ROOT, WorkerSetup, launch
from tests.processes import is_running, living, until
from tests.scripts import fault, script

pytestmark = pytest.mark.usefixtures("starts_processes")

STOP_S = 5.0  # two seconds is the promise, the rest is for a machine that others use too


class Room:
    def __init__(self, folder: Path) -> None:
        self.runs = RunFolders(folder / "runs")
        self.jobs = LocalJobs(folders=self.runs)
        self.said: list[JobMessage] = []

    def submit(self, model: Path, **said):
        spec = BenchmarkSpec(
            ModelSpec(str(model)), (CellSpec(),), **{"iterations": 5, "warmup_calls": 1} | said
        )
        folder = self.runs.create(spec)
        self.jobs.submit(folder.id, spec, lambda _, message: self.said.append(message))
        return folder

    @property
    def last(self) -> JobMessage:
        return self.said[-1]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_a_job_outlives_the_thread_that_submitted_it(room, tmp_path):
    """The kernel ends a worker with the *thread* that started it."""
    model = script(tmp_path / "m.json", load_ms=300)
    folders = []
    submitting = threading.Thread(target=lambda: folders.append(room.submit(model)))
    submitting.start()
    submitting.join()
    room.jobs.wait(folders[0].id)
    assert isinstance(room.last, Finished)
    assert isinstance(room.last.result, BenchmarkResult)
    assert [cell.status for cell in room.last.result.cells] == ["done"]


def test_cancelling_a_job_that_just_ended_is_not_an_error():
    class Waited(dict[RunId, Any]):  # somebody's wait ends between two looks
        def __contains__(self, run_id):
            return True

    jobs = LocalJobs()
    jobs._jobs = Waited()
    jobs.cancel(RunId("20261115-000000-abcdef"))


def test_a_worker_started_from_a_short_lived_thread_would_not_live(tmp_path):
    """Why there is a supervisor: this is what happens without one."""
    setup = WorkerSetup(tmp_path / "scratch", tmp_path / "log.txt")
    started = []
    ready = threading.Event()

    def start() -> None:
        started.append(launch(setup))
        until(lambda: asks_to_die_with_us(started[0].pid), "the worker's first steps")
        ready.set()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    until(lambda: not is_running(started[0].pid), "the worker's end")
    started[0].close()


def asks_to_die_with_us(pid: int) -> bool:
    """A worker waits for its first command only after it has tied itself to its parent."""
    return "pipe" in Path(f"/proc/{pid}/wchan").read_text()


@pytest.mark.alone
@pytest.mark.parametrize("what", ["hang", "endless-loop"])
def test_cancelling_stops_a_job_soon_whatever_it_does(what, room, tmp_path):
    faults = [fault("chatter", call=-1), fault(what, call=-1)]
    folder = room.submit(script(tmp_path / "m.json", faults=faults))
    until(lambda: b"and on stderr" in folder.log.read_bytes(), "the engine to misbehave")
    asked = time.monotonic()
    room.jobs.cancel(folder.id)
    room.jobs.wait(folder.id)
    assert time.monotonic() - asked < STOP_S
    assert isinstance(room.last, Failed)
    assert room.last.failure.code == "CANCELLED"
    assert living(tmp_path) == []


def test_a_job_that_waits_can_be_cancelled_before_it_starts(room, tmp_path):
    first = room.submit(script(tmp_path / "first.json", load_ms=500))
    second = room.submit(script(tmp_path / "second.json"))
    room.jobs.cancel(second.id)
    room.jobs.wait(first.id)
    room.jobs.wait(second.id)
    ends = [message for message in room.said if isinstance(message, (Finished, Failed))]
    assert isinstance(ends[0], Finished)
    assert isinstance(ends[1], Failed)
    assert ends[1].failure.title == "Stopped before it started"


def test_a_job_that_is_over_may_be_cancelled_and_waited_for_again(room, tmp_path):
    folder = room.submit(script(tmp_path / "m.json"))
    room.jobs.wait(folder.id)
    room.jobs.cancel(folder.id)
    room.jobs.wait(folder.id)


FORKED = """
import os, sys
from pathlib import Path
import modeldyno
def measure():
    return modeldyno.bench({model!r}, iterations=5, workspace={workspace!r}).cells[0].status
print(measure(), flush=True)
pid = os.fork()
if pid == 0:
    print(measure(), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_forked_process_gets_a_supervisor_of_its_own(tmp_path):
    """As with multiprocessing: the thread stays behind, what remembers it does not."""
    model = script(tmp_path / "m.json")
    code = FORKED.format(model=str(model), workspace=str(tmp_path / "workspace"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=PACKAGE_ROOT,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["done", "done", "0"]
