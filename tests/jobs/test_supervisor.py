"""The queue at work: what happens to jobs that go wrong, take long, or are not welcome."""

import json
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from modeldyno.core.codec import encode
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.errors import QueueFull, WrongState
from modeldyno.core.results import BenchmarkResult, ComparisonResult
from modeldyno.core.runs import RunOf
from modeldyno.core.specs import CellSpec, InspectionSpec, ModelSpec
from modeldyno.jobs.server_leases import SHARED
from modeldyno.measure import host
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services import jobs as job_service
from modeldyno.settings import Settings
from modeldyno.store.database import FILE
from modeldyno.store.owners import current_process
from modeldyno.workbench import open_workbench
from tests import values
from tests.processes import until
from tests.queue_room import QueueRoom
from tests.scripts import fault


@pytest.fixture
def room(tmp_path, empty_sqlite, starts_processes):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    shutil.copy(empty_sqlite, workspace / FILE)
    return QueueRoom(tmp_path, Settings(workspace))


# ---------------------------------------------------------------- what a job leaves


def test_a_job_reports_progress_and_leaves_its_result(room):
    with room.opened() as server:
        heard = []
        server.progress.on_progress(lambda job, standing: heard.append((job.id, standing)))
        everything = CellSpec(engine="scripted", cores=len(allowed_cpus()))
        job = room.start(replace(room.short(), cells=(everything,)))
        room.until_state(job.id, "done")
        assert room.status(job.id).standing is None
        kept = server.history.read(job.run_id)
        assert (kept.state, kept.sessions) == ("done", (1,))
        assert SHARED in kept.result.cells[0].notes  # there is no other core for the server
        assert values.typical_ms(server.records.runs.get(job.run_id).summary) > 0
        assert {number for number, _ in heard} == {job.id}
        assert {standing.headline for _, standing in heard} == {Path(kept.spec.model.path).name}
        assert room.is_tidy(job)


def test_a_job_that_is_claimed_while_it_is_being_cancelled_ends_all_the_same(room, monkeypatch):
    with room.opened() as server:
        waiting = server.records.jobs.cancel_waiting
        looked, seen = threading.Event(), threading.Event()

        def too_late(number):
            """The queue is quicker than who cancels."""
            looked.set()
            seen.wait()
            room.until_state(number, "running")
            return waiting(number)

        monkeypatch.setattr(server.records.jobs, "cancel_waiting", too_late)
        with server.records.database.writing():  # the queue sees nothing of it before this ends
            job = room.start(room.endless())
            cancelling = threading.Thread(target=server.queue.cancel, args=(job.id,))
            cancelling.start()
            looked.wait()
        seen.set()
        cancelling.join()
        room.until_state(job.id, "cancelled")


@pytest.mark.slow
@pytest.mark.timing
def test_a_cancelled_job_is_over_within_two_seconds(room):
    """The best of three: others may use this machine."""
    took_s = []
    with room.opened() as server:
        for model in ({}, {"load_ms": 60_000}, {"latency_us": 30_000_000}):
            job = room.start(room.endless(**model))
            until(room.run_folder(job).scratch.exists, "a start")
            time.sleep(0.5)
            asked = time.monotonic()
            server.jobs.cancel(job.id)
            room.until_state(job.id, "cancelled")
            took_s.append(time.monotonic() - asked)
    assert min(took_s) < 2.0, took_s


def test_cancelling_at_any_moment_ends_a_job_once_and_for_all(room):
    """Before it is claimed, between claim and start, while it starts, while it measures."""
    with room.opened() as server:
        jobs = []
        for wait_s in (0.0, 0.002, 0.01, 0.05, 0.3):
            jobs.append(room.start(room.endless()))
            time.sleep(wait_s)
            server.jobs.cancel(jobs[-1].id)
        last = room.start(room.short())
        room.until_state(last.id, "done")
        assert {room.job(job.id).state for job in jobs} == {"cancelled"}
        assert all(room.is_tidy(job) for job in jobs)


def test_a_comparison_is_resumed_with_the_pairs_it_had(room):
    with room.opened() as server:
        job = room.start(room.comparison(pairs=10))
        room.until_units(job, 3)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")
        kept = room.units(job)
        assert room.job(job.id).reason == f"cancelled; {kept} pairs kept"
        server.jobs.resume(job.id)
        room.until_state(job.id, "done")
        result = server.history.read(job.run_id).result
        assert (result.pairs, room.units(job)) == (10, 10)
        processes = [unit.process for unit in server.folders.units(job.run_id)]
        assert processes[kept - 1] < processes[kept]


def test_a_resumed_comparison_does_not_mix_two_models(room):
    with room.opened() as server:
        spec = room.comparison(pairs=100)
        job = room.start(spec)
        room.until_units(job, 2)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")
        path = room.run_folder(job).path / "model.json"
        assert json.loads(path.read_text())["sha256"] == "+".join([spec.a.model.sha256] * 2)
        assert json.loads(path.read_text()).get("machine") == host.facts().machine
        path.write_text(json.dumps({"sha256": "of others"}))
        server.jobs.resume(job.id)
        ended = room.until_state(job.id, "failed")
        assert ended.reason == "The model has changed since this run began"


# ---------------------------------------------------------------- what goes wrong


def test_a_crashed_worker_fails_its_own_job_and_no_other(room):
    with room.opened() as server:
        crash = room.start(room.endless(faults=[fault("segfault", call=3, session=5)]))
        after = room.start(room.short())
        ended = room.until_state(crash.id, "failed")
        assert ended.reason == "The engine crashed (SIGSEGV)"
        run = server.records.runs.get(crash.run_id)
        assert (run.failure["code"], room.units(crash)) == ("ENGINE_CRASHED", 5)
        assert values.typical_ms(run.summary) > 0
        room.until_state(after.id, "done")
        assert room.is_tidy(crash)


def test_a_job_over_its_time_limit_has_failed_and_keeps_its_units(room):
    with room.opened(job_limit_s=1.5) as server:
        job = room.start(room.endless())
        ended = room.until_state(job.id, "failed")
        assert ended.reason == "The job took too long"
        assert server.records.runs.get(job.run_id).failure["code"] == "TIMED_OUT"
        folder = room.run_folder(job)
        assert (folder.state(), folder.failure().code) == ("failed", "TIMED_OUT")
        kept = room.units(job)
    with room.opened() as server:
        server.jobs.resume(job.id)
        room.until_units(job, kept + 1)


def test_a_job_whose_model_lost_its_trust_fails_without_starting(room):
    with room.opened() as server:
        spec = room.short()
        unknown = replace(spec, model=ModelSpec(spec.model.path))
        job, after = room.start(unknown), room.start(spec)
        ended = room.until_state(job.id, "failed")
        assert ended.reason == "This model is not known by its content"
        assert not room.run_folder(job).path.exists()
        room.until_state(after.id, "done")
        assert server.records.runs.get(job.run_id).failure["fix"]


def test_a_bug_of_ours_fails_one_job_and_the_queue_continues(room):
    with room.opened() as server:
        of = room.add(room.short())
        strange = server.records.jobs.add(server.records.runs.add(of, {"kind": "of tomorrow"}).id)
        assert room.until_state(strange.id, "failed").reason == "Something went wrong in the server"
        server.progress.on_progress(lambda job, standing: 1 / 0)
        job = room.start(room.short())
        room.until_state(job.id, "done")


def test_an_ending_that_the_database_cannot_take_is_a_bug_and_not_a_job_for_ever(room, monkeypatch):
    with room.opened():
        monkeypatch.setattr(
            BenchmarkResult, "summary", lambda _: SummaryDocument(engine="caf\udce9")
        )
        job = room.start(room.short())
        assert room.until_state(job.id, "failed").reason == "Something went wrong in the server"
        monkeypatch.undo()
        room.until_state(room.start(room.short()).id, "done")


def test_a_job_whose_end_cannot_be_written_keeps_no_server_from_starting(room, monkeypatch):
    with room.opened() as server:
        first, second = (room.start(room.short()) for _ in range(2))
        room.until_state(second.id, "done")
        server.records.runs.move(first.run_id, "running")  # the folder was written, the rows not
        server.records.runs.move(second.run_id, "running")
    odd = room.run_folder(first).path / "state.json"
    failure = {"code": "ENGINE_FAILED", "title": "caf\udce9", "why": "", "fix": ""}
    odd.write_text(json.dumps({"state": "failed", "failure": failure, "owner": None}))
    with room.opened():
        assert room.job(first.id).reason == "Something went wrong in the server"
        assert room.job(second.id).state == "done"


def test_a_queue_that_is_full_says_so(room, monkeypatch):
    monkeypatch.setattr(job_service, "MOST_WAITING_OF_PROJECT", 2)
    with room.opened() as server:
        running = room.start(room.endless())
        room.until_state(running.id, "running")
        project = server.records.projects.add("busy").id
        specs = [room.short() for _ in range(3)]
        things = [room.add(spec, project) for spec in specs]
        for of, spec in zip(things[:2], specs, strict=False):
            server.jobs.start(of, spec)
        with pytest.raises(QueueFull, match="2 jobs of this project wait already"):
            server.jobs.start(things[2], specs[2])
        assert server.records.benchmarks.get(things[2].id).state == "draft"  # nothing of it is left
        other = room.start(room.short())  # of another project
        assert room.status(other.id).place == 3


def test_runs_of_one_benchmark_follow_one_another(room):
    with room.opened() as server:
        spec = room.endless()
        of = room.add(spec)
        first = server.jobs.start(of, spec)
        room.until_units(first)
        with pytest.raises(WrongState, match="This benchmark is running already"):
            server.jobs.start(of, spec)
        server.jobs.cancel(first.id)
        room.until_state(first.id, "cancelled")
        second = server.jobs.start(of, spec)
        room.until_state(second.id, "running")
        with pytest.raises(WrongState, match="This benchmark is running already"):
            server.jobs.resume(first.id)


def test_a_rerun_is_a_new_benchmark_that_knows_what_it_repeats(room):
    with room.opened() as server:
        spec = room.short()
        of = room.add(spec)
        benchmark = server.records.benchmarks.get(of.id)
        facts = server.model_files._inspections.run(InspectionSpec(spec.model))
        server.records.models.set_facts(benchmark.model_id, facts)
        again, job = server.benchmarks.rerun(of.id)
        assert (again.rerun_of, again.id != of.id) == (of.id, True)
        room.until_state(job.id, "done")
        assert server.records.benchmarks.get(of.id).state == "draft"
        assert server.records.runs.get(job.run_id).of == RunOf("benchmark", again.id)


# ---------------------------------------------------------------- the terminal beside it


def test_a_run_that_was_resumed_in_a_terminal_is_done_here_too(room):
    with room.opened() as server:
        job = room.start(room.comparison(pairs=6))
        room.until_units(job, 2)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")
        result = open_workbench(room.settings).service.resume(job.run_id)
        assert isinstance(result, ComparisonResult)
        assert result.pairs == 6
        server.jobs.resume(job.id)
        room.until_state(job.id, "done")
        assert server.records.runs.get(job.run_id).summary.verdict is not None


def test_a_run_resumed_in_a_terminal_is_left_alone(room):
    with room.opened() as server:
        job = room.start(room.endless())
        room.until_units(job)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")
        folder = server.folders.reopen(job.run_id)  # as a terminal does; it is us, and alive
        server.jobs.resume(job.id)
        assert room.until_state(job.id, "failed").reason == "This run is being measured right now"
        assert room.run_folder(job).state() == "running"
        assert folder.scratch.is_dir()


@pytest.mark.parametrize("resume", [False, True])
def test_a_starting_server_leaves_runs_resumed_in_a_terminal_alone(room, resume):
    with room.opened() as server:
        job = room.start(room.short())
        room.until_state(job.id, "done")
        folder = room.run_folder(job)
        server.records.runs.move(job.run_id, "running")  # as if it had been killed
    room.settings = replace(room.settings, resume=resume)
    owner = {"owner": encode(current_process()), "state": "running", "failure": None}
    (folder.path / "state.json").write_text(json.dumps(owner))
    folder.scratch.mkdir()
    with living_in(folder.scratch) as worker, room.opened():
        found = room.job(job.id)
        assert found.state == "interrupted"
        assert found.reason.startswith("another process is continuing it")
        assert worker.poll() is None
        assert folder.scratch.is_dir()


@contextmanager
def living_in(home):
    """A process as a worker is one."""
    command = ["/bin/sleep", "3600"]
    with subprocess.Popen(command, env={"HOME": str(home)}, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()
