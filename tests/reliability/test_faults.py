"""What can happen to a server at work: each ends truthfully, and the next job runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from modeldyno.core.errors import ServerRunning, StorageFailed, WorkspaceUnusable
from modeldyno.server import open_server
from modeldyno.settings import Settings
from tests.processes import until
from tests.queue_room import QueueRoom
from tests.terminal import modeldyno

pytestmark = pytest.mark.slow


@pytest.fixture
def room(tmp_path, starts_processes):
    return QueueRoom(tmp_path, Settings(tmp_path / "workspace"))


@contextmanager
def mounted(path: Path, options: str) -> Iterator[None]:
    """A disk of its own in memory; whoever may not mount skips the test."""
    path.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


# ---------------------------------------------------------------- the disk


def test_a_job_that_fills_the_disk_fails_with_what_it_had_and_goes_on_when_there_is_room(room):
    runs = room.settings.workspace / "runs"
    with mounted(runs, "size=100k"), room.opened() as server:
        job = room.start(room.endless())
        ended = room.until_state(job.id, "failed")
        kept = room.units(job)
        assert ended.reason == "The result could not be written"
        assert server.records.runs.get(job.run_id).failure["code"] == "STORAGE_FAILED"
        assert kept == len(list(server.folders.units(job.run_id))) > 0
        assert room.is_tidy(job)
        subprocess.run(["mount", "-o", "remount,size=30m", runs], check=True)
        server.jobs.resume(job.id)
        room.until_units(job, kept + 1)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")


def test_a_disk_that_is_full_for_the_database_too_delays_the_end_and_refuses_new_jobs(room):
    workspace = room.settings.workspace
    with mounted(workspace, "size=8m"), room.opened() as server:
        job, spec = room.start(room.endless()), room.short()
        of = room.add(spec)
        room.until_units(job, 2)
        ballast = workspace / "ballast"

        def add_many() -> None:
            """A page of the database may have room for some."""
            for _ in range(1000):
                _fill(ballast)
                server.records.projects.add("x" * 100)

        with pytest.raises(StorageFailed):
            add_many()
        until(lambda: not room.run_folder(job).scratch.exists(), "the job's end")
        assert room.job(job.id).state == "running"  # nobody could write that down
        ballast.unlink()
        ended = room.until_state(job.id, "failed")
        assert ended.reason == "The result could not be written"
        after = server.jobs.start(of, spec)
        room.until_state(after.id, "done")


def _fill(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def test_a_workspace_that_cannot_be_written_is_refused_at_the_start(room):
    with mounted(room.settings.workspace, "size=1m,ro"), pytest.raises(WorkspaceUnusable):
        open_server(room.settings, cores=room.cores)
    with room.opened():  # the control
        pass


def test_a_folder_of_runs_that_cannot_be_written_fails_the_job_and_not_the_server(room):
    with room.opened() as server:
        with mounted(room.settings.workspace / "runs", "size=1m,ro"):
            job = room.start(room.short())
            ended = room.until_state(job.id, "failed")
            assert ended.reason == "Cannot write to the workspace"
        server.jobs.resume(job.id)
        room.until_state(job.id, "done")


# ---------------------------------------------------------------- processes


def test_a_worker_that_somebody_kills_fails_its_job_with_what_it_had(room):
    with room.opened() as server:
        job, after = room.start(room.endless()), room.start(room.short())
        room.until_units(job, 4)
        home = f"HOME={room.run_folder(job).scratch}".encode()
        for pid in _with_environment(home):
            os.kill(pid, signal.SIGKILL)
        ended = room.until_state(job.id, "failed")
        assert ended.reason == "The engine crashed (SIGKILL)"
        assert server.records.runs.get(job.run_id).failure["why"] == "another process killed it"
        assert room.units(job) >= 4
        room.until_state(after.id, "done")
        assert room.is_tidy(job)


def _with_environment(mark: bytes) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_a_second_server_in_another_process_is_refused_clearly(room):
    with room.opened() as server:
        server.lock.announce("http://127.0.0.1:5000")
        ended = modeldyno("serve", "--port", 0, "--workspace", room.settings.workspace)
        assert ended.code != 0
        assert "Another server uses this workspace or database" in ended.err
        assert f"it is process {os.getpid()}, at http://127.0.0.1:5000" in ended.err
        job = room.start(room.short())
        room.until_state(job.id, "done")
    with pytest.raises(ServerRunning), room.opened():  # the control: it is the lock that refuses
        open_server(room.settings, cores=room.cores)


# ---------------------------------------------------------------- the clock


def test_a_clock_that_is_set_back_changes_neither_order_nor_ends(room):
    with room.opened() as server:
        first = room.start(room.endless())
        room.until_units(first)
        early = datetime.now(UTC) - timedelta(days=1)
        for repository in (server.records.jobs, server.records.runs):
            vars(repository)["_clock"] = lambda: early
        second, third = room.start(room.short()), room.start(room.short())
        server.jobs.cancel(first.id)
        room.until_state(third.id, "done")
        ended = [room.job(job.id) for job in (first, second, third)]
        assert [job.state for job in ended] == ["cancelled", "done", "done"]
        assert all(job.finished_at >= job.started_at for job in ended)


# ---------------------------------------------------------------- cores


RECORDED = """
import json, sys, time
from contextlib import contextmanager
from pathlib import Path
from modeldyno.jobs.leases import Leases

log, cores, *rest = sys.argv[1:]
take = Leases.take

@contextmanager
def recorded(self, *wanted):
    with take(self, *wanted) as lease:
        began = time.monotonic()
        try:
            yield lease
        finally:
            with open(log, "a") as file:
                file.write(json.dumps([lease.cpus, began, time.monotonic()]) + chr(10))

Leases.take = recorded
Leases.__init__.__defaults__ = (Path(cores), None)
"""
SERVER = (
    RECORDED
    + """
from modeldyno.settings import Settings
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.core.specs import CellSpec
from dataclasses import replace
from tests.queue_room import QueueRoom

room = QueueRoom(Path(rest[0]), Settings(Path(rest[1])))
room.cores = Path(cores)
with room.opened():
    spec = room.endless()
    everything = (CellSpec(engine="scripted", cores=len(allowed_cpus())),)
    job = room.start(replace(spec, cells=everything))
    sys.stdin.readline()
"""
)
TERMINAL = (
    RECORDED
    + """
sys.argv = ["modeldyno", *rest]
from modeldyno.cli.main import run
run()
"""
)


def test_terminal_and_server_never_measure_on_one_core_at_a_time(room, tmp_path):
    """Both want all cores, for one short session after the other."""
    logs = [tmp_path / name for name in ("server.log", "terminal.log")]
    root = Path(__file__).parents[2]
    shutil.rmtree(room.settings.workspace, ignore_errors=True)
    model = room.model()
    (tmp_path / "of-server").mkdir()
    serve = [sys.executable, "-c", SERVER, logs[0], room.cores, tmp_path / "of-server"]
    cores = str(len(os.sched_getaffinity(0)))
    bench = ["bench", model.path, "--cores", cores, "--budget", "2", "-q"]
    bench += ["--workspace", tmp_path / "other"]
    with subprocess.Popen(
        [*serve, room.settings.workspace], cwd=root, stdin=subprocess.PIPE
    ) as server:
        until(lambda: logs[0].exists(), "a lease of the server")
        subprocess.run(
            [sys.executable, "-c", TERMINAL, logs[1], room.cores, *bench],
            cwd=root,
            capture_output=True,
            check=True,
        )
        server.communicate(b"\n")
    both = [(name, *interval) for name in logs for interval in _intervals(name)]
    assert {name for name, *_ in both} == set(logs)
    turns = sorted(both, key=lambda one: one[2])
    overlaps = [(a, b) for a, b in pairwise(turns) if set(a[1]) & set(b[1]) and b[2] < a[3]]
    assert overlaps == []
    switches = sum(a[0] != b[0] for a, b in pairwise(turns))
    assert switches >= 2  # they really took turns


def _intervals(log: Path) -> list[tuple[tuple[int, ...], float, float]]:
    return [(tuple(cpus), a, b) for cpus, a, b in map(json.loads, log.read_text().splitlines())]
