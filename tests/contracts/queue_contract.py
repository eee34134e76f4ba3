"""What the queue does on every database. A test class inherits this and provides ``room``."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from modeldyno.core.errors import ServerRunning, WrongState
from modeldyno.core.jobs import JobOwner
from modeldyno.core.specs import CellSpec
from modeldyno.jobs.leases import Leases
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.server import open_server
from modeldyno.store.database import Database, open_database
from modeldyno.store.owners import current_job_owner
from modeldyno.worker.launch import Stop
from tests import values
from tests.processes import is_running, until
from tests.queue_room import QueueRoom

GONE = JobOwner(current_job_owner().host, "an earlier boot", 4711, 99)


class QueueContract:
    @pytest.fixture
    def room(self) -> QueueRoom:
        raise NotImplementedError

    def hurry(self, database: Database) -> None:
        """Wait for locks for 50 ms only, so that a database that is away is noticed soon."""
        raise NotImplementedError

    # ------------------------------------------------------------ order

    def test_jobs_run_one_after_the_other_and_one_may_go_next(self, room):
        with room.opened() as server:
            first = room.start(room.endless())
            room.until_units(first)
            waiting = [room.start(room.short()) for _ in range(3)]
            assert [room.status(job.id).place for job in waiting] == [1, 2, 3]
            assert server.jobs.run_next(waiting[2].id).place == 1
            reasons = [room.status(waiting[n].id).reason for n in (2, 0, 1)]
            assert reasons[0].startswith(f"waiting for job {first.id} (about ")
            assert reasons[1].startswith(f"waiting behind 1 job and job {first.id} (about")
            assert reasons[2].startswith(f"waiting behind 2 jobs and job {first.id} (about")
            server.jobs.cancel(waiting.pop(1).id)
            server.jobs.cancel(first.id)
            for job in waiting:
                room.until_state(job.id, "done")
            first, second = (room.job(job.id) for job in reversed(waiting))
            assert first.finished_at <= second.started_at
            for job in (first, second):
                assert (job.reason, job.attempts, job.owner) == ("", 1, None)

    # ------------------------------------------------------------ cancel and resume

    def test_what_waits_is_cancelled_at_once_and_never_starts(self, room):
        with room.opened() as server:
            first, second = room.start(room.endless()), room.start(room.short())
            room.until_state(first.id, "running")
            cancelled = server.jobs.cancel(second.id)
            assert (cancelled.job.state, cancelled.place) == ("cancelled", None)
            assert cancelled.reason == "cancelled while it waited"
            server.jobs.cancel(first.id)
            room.until_state(first.id, "cancelled")
            third = room.start(room.short())
            room.until_state(third.id, "done")
            assert room.job(second.id).attempts == 0
            assert not room.run_folder(second).path.exists()

    def test_what_runs_is_cancelled_and_resumed_with_what_it_had(self, room):
        with room.opened() as server:
            job = room.start(room.endless())
            room.until_units(job, 5)
            server.jobs.cancel(job.id)
            ended = room.until_state(job.id, "cancelled")
            kept = room.units(job)
            assert kept >= 5
            assert ended.reason == f"cancelled; {kept} sessions kept"
            assert (room.run_folder(job).state(), room.is_tidy(job)) == ("cancelled", True)
            assert server.jobs.cancel(job.id).job == ended  # nothing happens to what is over
            before = server.records.runs.get(job.run_id)
            assert values.typical_ms(before.summary) > 0

            assert server.jobs.resume(job.id).job.state == "queued"
            room.until_units(job, kept + 2)
            with pytest.raises(WrongState, match="it is running"):
                server.jobs.resume(job.id)
            assert room.job(job.id).attempts == 2
            server.jobs.cancel(job.id)
            room.until_state(job.id, "cancelled")
            processes = [unit.process for unit in server.folders.units(job.run_id)]
            assert processes == sorted(processes)
            assert len(set(processes)) == 2

    # ------------------------------------------------------------ servers that end

    def test_what_ran_when_a_server_was_closed_goes_on_in_the_next_one(self, room):
        with room.opened():
            job, waits = room.start(room.endless()), room.start(room.short())
            room.until_units(job, 4)
        with room.opened() as server:
            stopped = room.job(job.id)
            kept = room.units(job)
            assert (stopped.state, stopped.owner) == ("interrupted", None)
            assert stopped.reason == f"the server was stopped; {kept} sessions kept"
            assert room.run_folder(job).state() == "interrupted"
            assert server.history.read(job.run_id).result.interrupted
            assert room.is_tidy(job)
            room.until_state(waits.id, "done")
            server.jobs.resume(job.id)
            room.until_units(job, kept + 1)
            server.jobs.cancel(job.id)
            room.until_state(job.id, "cancelled")

    def test_what_a_vanished_server_ran_is_interrupted_once(self, room):
        """Its folder has units, its worker left a helper, and its rows claim cores."""
        with room.opened():
            job = room.start(room.endless())
            room.until_units(job, 3)
        server = open_server(room.settings, cores=room.cores)  # not started
        room.server = server
        try:
            helper = self.vanish(room, job)
        finally:
            server.lifetime.close()
        with room.opened() as server:
            interrupted = room.job(job.id)
            kept = room.units(job)
            assert (interrupted.state, interrupted.attempts) == ("interrupted", 2)
            assert interrupted.reason == f"the server ended unexpectedly; {kept} sessions kept"
            until(lambda: not is_running(helper.pid), "the orphan's end")
            helper.wait()
            assert room.is_tidy(job)
            last = server.records.events.last_number()
        with room.opened() as server:  # looking again changes nothing
            assert room.job(job.id) == interrupted
            assert server.records.events.last_number() == last

    def vanish(self, room: QueueRoom, job) -> subprocess.Popen[bytes]:
        """As a server leaves things that was killed while it measured."""
        records, folder = room.server.records, room.run_folder(job)
        records.jobs.move(job.id, "queued")
        records.jobs.claim(job.id, GONE)
        records.leases.take(job.id, GONE, [0])
        room.server.folders.reopen(job.run_id)
        state = (folder.path / "state.json").read_text()
        (folder.path / "state.json").write_text(state.replace(f'"pid": {os.getpid()}', '"pid": 1'))
        return subprocess.Popen(
            ["/bin/sleep", "3600"],
            env={"HOME": str(folder.scratch)},
            start_new_session=True,
        )

    def test_an_end_that_only_the_folder_knows_is_adopted(self, room):
        with room.opened():
            job = room.start(room.short())
            room.until_state(job.id, "done")
            benchmark = room.server.records.runs.get(job.run_id).of.id
        room.server = open_server(room.settings, cores=room.cores)
        try:  # the folder was written, the database was not
            room.server.records.runs.move(job.run_id, "running")
        finally:
            room.server.lifetime.close()
        with room.opened() as server:
            assert (room.job(job.id).state, room.job(job.id).reason) == ("done", "")
            assert values.typical_ms(server.records.benchmarks.get(benchmark).summary) > 0

    def test_what_was_interrupted_goes_on_by_itself_twice_if_that_is_wanted(self, room):
        with room.opened():  # it is the next one that is asked to go on
            job, waits = room.start(room.endless()), room.start(room.endless())
            room.until_units(job)
        room.settings = replace(room.settings, resume=True)
        for attempts in (2, 3):
            with room.opened():
                room.until_state(job.id, "running")  # before what has only waited
                assert room.job(job.id).attempts == attempts
                assert room.job(waits.id).state == "queued"
                room.until_units(job, room.units(job) + 1)
        with room.opened():
            assert room.job(job.id).state == "interrupted"
            room.until_state(waits.id, "running")

    def test_a_second_server_is_refused_and_told_who_was_first(self, room):
        with room.opened() as server:
            server.lock.announce("http://127.0.0.1:5000")
            with pytest.raises(ServerRunning) as refused:
                open_server(room.settings, cores=room.cores)
            first_server = f"it is process {os.getpid()}, at http://127.0.0.1:5000"
            assert refused.value.why == first_server
            job = room.start(room.short())  # the first one goes on
            room.until_state(job.id, "done")
        with room.opened():
            pass

    # ------------------------------------------------------------ the database is away

    def test_a_database_that_is_away_for_a_while_costs_nothing(self, room):
        """When a job is to be claimed, while it measures, and when its end is to be written."""
        with room.opened() as server:
            self.hurry(server.records.database)
            waits = room.start(room.endless())
            room.until_units(waits)
            job = room.start(room.short())
            with locked(room):
                server.queue._stop(server.queue._current, _cancelled())  # the user's word came
                until(lambda: room.run_folder(waits).is_over(), "its end on the disk")
                time.sleep(0.3)  # its end cannot be written meanwhile, and nothing else begins
                assert room.job(waits.id).state == "running"
                assert room.job(job.id).state == "queued"
            assert room.until_state(waits.id, "cancelled").reason.startswith("cancelled; ")
            room.until_state(job.id, "done")
            assert room.is_tidy(job)

    # ------------------------------------------------------------ cores

    def test_leases_are_shown_while_they_are_held_and_so_is_who_else_has_the_cores(self, room):
        with room.opened() as server:
            cores = len(allowed_cpus())
            spec = room.endless()
            wide = replace(spec, cells=(CellSpec(engine="scripted", cores=cores),))
            with Leases(room.cores).take(1, Stop(), lambda _: None):
                job, behind = room.start(wide), room.start(room.short())
                until(lambda: room.job(job.id).reason, "the reason")
                waits = room.job(job.id).reason
                assert waits.startswith("waiting for core")
                assert waits.endswith(f", used by modeldyno pid {os.getpid()}")
                assert room.status(job.id).standing.progress.doing == waits
                assert room.status(behind.id).reason == f"waiting for job {job.id}, {waits}"
                assert server.jobs.leases() == ()
            until(server.jobs.leases, "the lease")
            until(lambda: not room.job(job.id).reason, "the reason to be gone")
            held = server.jobs.leases()
            assert {lease.core for lease in held} == set(allowed_cpus())
            assert {(lease.job_id, lease.owner) for lease in held} == {
                (job.id, current_job_owner())
            }
            server.jobs.cancel(job.id)
            room.until_state(job.id, "cancelled")
            assert not [lease for lease in server.jobs.leases() if lease.job_id == job.id]
            room.until_state(behind.id, "done")


def _cancelled():
    from modeldyno.jobs.supervisor import CANCELLED

    return CANCELLED


@contextmanager
def locked(room: QueueRoom) -> Iterator[None]:
    """Somebody else writes, and takes their time."""
    database = open_database(room.settings.workspace, room.settings.database_url)
    done, begun = threading.Event(), threading.Event()

    def write() -> None:
        with database.writing():
            begun.set()
            done.wait()

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()
        database.close()
