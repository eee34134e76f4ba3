"""States change by legal moves only, and every change is told in the same transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import get_args

import pytest

from modeldyno.core.errors import NotFound, WrongState
from modeldyno.core.ids import JobId
from modeldyno.core.jobs import CoreLease, JobOwner
from modeldyno.core.results import Failure
from modeldyno.core.runs import MOVES, RunOf, RunState, shortest_path
from modeldyno.store.owners import current_job_owner
from modeldyno.store.state_changes import move_run
from tests import values
from tests.contracts.store_examples import OWNER, Desk

STATES: tuple[RunState, ...] = get_args(RunState)
OTHER = JobOwner("here", "boot-1", 4712, 100)


class States:
    @pytest.mark.parametrize("after", STATES)
    @pytest.mark.parametrize("before", STATES)
    def test_only_legal_moves_are_made(self, desk, before, after):
        run = desk.run()
        for step in shortest_path("queued", before):
            desk.records.runs.move(run.id, step)
        seen = desk.records.events.last_number()
        if after in MOVES[before]:
            assert desk.records.runs.move(run.id, after).state == after
            assert desk.records.benchmarks.get(run.of.id).state == after
            assert desk.kinds(seen) == ["run.changed"]
        else:
            with pytest.raises(WrongState, match=f"it is {before}"):
                desk.records.runs.move(run.id, after)
            assert desk.records.runs.get(run.id).state == before
            assert desk.kinds(seen) == []

    @pytest.mark.parametrize("after", ["queued", "running"])
    def test_a_failure_is_kept_until_it_waits_or_runs_again(self, desk, after):
        run = desk.run()
        desk.records.runs.move(run.id, "running")
        failure = Failure("OUT_OF_MEMORY", "No room", "8 GB", "Less")
        failed = desk.records.runs.move(run.id, "failed", failure)
        assert failed.failure == vars(failure)
        assert failed.finished_at == desk.clock.now
        again = desk.records.runs.move(run.id, after)
        assert (again.failure, again.finished_at) == (None, None)

    def test_a_change_that_fails_tells_nothing(self, desk):
        """The event and the row are one: when the transaction ends badly, neither is there."""
        run = desk.run()
        seen = desk.records.events.last_number()

        def fail() -> None:
            with desk.database.writing() as connection:
                move_run(connection, run.id, "running", desk.clock())
                raise RuntimeError("the power went")

        with pytest.raises(RuntimeError, match="the power went"):
            fail()
        assert desk.records.events.last_number() == seen
        assert desk.records.runs.get(run.id) == run
        assert desk.records.benchmarks.get(run.of.id).state == "queued"

    # ------------------------------------------------------------ jobs

    def test_a_job_goes_with_its_run(self, desk):
        run = desk.run()
        job = desk.records.jobs.add(run.id)
        assert (job.state, job.kind, job.attempts, job.owner) == ("queued", "benchmark", 0, None)
        claimed = desk.records.jobs.claim(job.id, OWNER)
        assert (claimed.state, claimed.attempts, claimed.owner) == ("running", 1, OWNER)
        assert desk.records.runs.get(run.id).state == "running"
        ended = desk.records.jobs.move(job.id, "interrupted", "the server stopped")
        assert (ended.state, ended.reason, ended.owner) == (
            "interrupted",
            "the server stopped",
            None,
        )
        assert desk.records.jobs.move(job.id, "queued").position >= 1
        assert desk.records.jobs.claim(job.id, OTHER).attempts == 2
        assert desk.records.runs.move(run.id, "done").state == "done"
        assert desk.records.jobs.find_of_run(run.id) == replace(
            desk.records.jobs.get(job.id), state="done"
        )

    def test_a_job_is_claimed_once_however_many_want_it(self, desk):
        job = desk.records.jobs.add(desk.run().id)

        def claim(pid: int) -> bool:
            try:
                desk.records.jobs.claim(job.id, JobOwner("here", "boot-1", pid, 1))
            except WrongState:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(claim, range(8))) == 1

    def test_a_run_is_in_the_queue_once(self, desk):
        run = desk.run()
        desk.records.jobs.add(run.id)
        with pytest.raises(WrongState, match="already"):
            desk.records.jobs.add(run.id)
        done = desk.measured(desk.benchmark(), 1.0)
        with pytest.raises(WrongState, match="it is done"):
            desk.records.jobs.add(done.id)

    def test_jobs_wait_in_order_and_one_may_go_first(self, desk):
        jobs = [desk.records.jobs.add(desk.run().id) for _ in range(3)]
        urgent = desk.records.jobs.add(desk.run().id, priority=5)
        assert self.waiting(desk) == [urgent.id, *(job.id for job in jobs)]
        desk.records.jobs.run_next(jobs[2].id)
        assert self.waiting(desk) == [jobs[2].id, urgent.id, jobs[0].id, jobs[1].id]
        desk.records.jobs.claim(urgent.id, OWNER)
        assert [job.id for job in desk.records.jobs.running()] == [urgent.id]
        with pytest.raises(WrongState, match="does not wait"):
            desk.records.jobs.run_next(urgent.id)

    def test_a_request_is_known_until_its_end_was_told(self, desk):
        waits, ended = desk.run(), desk.run()
        for run in (waits, ended):
            desk.records.jobs.add(run.id, request_id="r")
        desk.records.jobs.add(desk.run().id)
        assert desk.records.jobs.list_with_unannounced_end() == ()
        job = desk.records.jobs.find_of_run(ended.id)
        desk.records.jobs.move(job.id, "cancelled")
        assert desk.records.jobs.list_with_unannounced_end() == (
            (desk.records.jobs.get(job.id), ended.of),
        )
        desk.records.jobs.forget_request(ended.id)
        assert desk.records.jobs.list_with_unannounced_end() == ()
        assert desk.records.jobs.find_of_run(waits.id).request_id == "r"

    def test_what_runs_and_what_waits_is_told_in_order(self, desk):
        runs = [desk.run() for _ in range(3)]
        jobs = [desk.records.jobs.add(run.id) for run in runs]
        desk.records.jobs.claim(jobs[0].id, OWNER)
        desk.records.jobs.run_next(jobs[2].id)
        assert desk.records.jobs.list_owners_in_order() == ([runs[0].of], [runs[2].of, runs[1].of])

    def waiting(self, desk: Desk) -> list[JobId]:
        return [job.id for job in desk.records.jobs.waiting()]

    def test_why_a_job_waits_is_told_once(self, desk):
        job = desk.records.jobs.add(desk.run().id)
        seen = desk.records.events.last_number()
        for _ in range(3):
            desk.records.jobs.set_reason(job.id, "waiting for cores 0-3")
        assert desk.records.jobs.get(job.id).reason == "waiting for cores 0-3"
        assert desk.kinds(seen) == ["job.changed"]

    def test_an_unknown_job_is_told(self, desk):
        for number in (0, 1, 2**40):
            with pytest.raises(NotFound, match="There is no job"):
                desk.records.jobs.get(JobId(number))

    # ------------------------------------------------------------ cores

    def test_a_core_belongs_to_one_job(self, desk):
        one, two = (desk.records.jobs.add(desk.run().id) for _ in range(2))
        assert desk.records.leases.take(one.id, OWNER, [0, 1]) == ()
        held = desk.records.leases.held("here")
        assert held == tuple(
            CoreLease("here", core, one.id, OWNER, held[0].taken_at) for core in (0, 1)
        )
        assert desk.records.leases.take(two.id, OTHER, [1, 2]) == (held[1],)
        assert desk.records.leases.held() == held  # all or none
        elsewhere = replace(OTHER, host="there")
        assert desk.records.leases.take(two.id, elsewhere, [1, 2]) == ()
        desk.records.leases.release(one.id)
        assert [(x.host, x.core) for x in desk.records.leases.held()] == [
            ("there", 1),
            ("there", 2),
        ]

    def test_a_job_that_ends_gives_its_cores_back(self, desk):
        job = desk.records.jobs.add(desk.run().id)
        desk.records.jobs.claim(job.id, OWNER)
        desk.records.leases.take(job.id, OWNER, [0])
        desk.records.jobs.move(job.id, "cancelled")
        assert desk.records.leases.held() == ()

    def test_a_run_that_is_finished_gives_the_cores_of_its_job_back(self, desk):
        job = desk.records.jobs.add(desk.run().id)
        desk.records.jobs.claim(job.id, OWNER)
        desk.records.leases.take(job.id, OWNER, [0, 1])
        desk.records.runs.finish(job.run_id, values.summary(0.1))
        ended = desk.records.jobs.get(job.id)
        assert (ended.state, ended.owner) == ("done", None)
        assert desk.records.leases.held() == ()

    def test_nothing_ends_before_it_began_though_the_clock_was_set_back(self, desk):
        job = desk.records.jobs.add(desk.run().id)
        claimed = desk.records.jobs.claim(job.id, OWNER)
        desk.clock.now -= timedelta(hours=1)
        ended = desk.records.jobs.move(job.id, "cancelled")
        assert ended.finished_at == claimed.started_at
        run = desk.records.runs.get(job.run_id)
        assert run.finished_at == run.started_at == claimed.started_at
        behind = desk.records.jobs.add(desk.run().id)
        desk.records.jobs.move(job.id, "queued")
        assert self.waiting(desk) == [behind.id, job.id]

    def test_leases_of_a_process_that_is_gone_give_way(self, desk):
        old, job = (desk.records.jobs.add(desk.run().id) for _ in range(2))
        alive = current_job_owner()
        desk.records.leases.take(old.id, replace(alive, boot_id="an earlier boot"), [0, 1])
        assert desk.records.leases.take(job.id, alive, [0]) == ()
        held = desk.records.leases.held()
        assert [(x.core, x.job_id) for x in held] == [(0, job.id), (1, old.id)]
        assert desk.records.leases.take(old.id, alive, [0]) == held[:1]  # we live, and keep it

    def test_leases_of_jobs_that_do_not_run_can_be_freed(self, desk):
        works, waits = (desk.records.jobs.add(desk.run().id) for _ in range(2))
        desk.records.jobs.claim(works.id, OWNER)
        desk.records.leases.take(works.id, OWNER, [0])
        desk.records.leases.take(waits.id, OWNER, [1])
        desk.records.leases.release_ended()
        assert [lease.core for lease in desk.records.leases.held()] == [0]

    def test_what_is_resumed_waits_behind_the_others(self, desk):
        first, second = (desk.records.jobs.add(desk.run().id) for _ in range(2))
        desk.records.jobs.move(first.id, "cancelled")
        desk.records.runs.move(first.run_id, "queued")
        assert self.waiting(desk) == [second.id, first.id]

    def test_two_who_take_a_core_at_once_do_not_both_get_it(self, desk):
        jobs = [desk.records.jobs.add(desk.run().id) for _ in range(8)]
        with ThreadPoolExecutor(4) as pool:
            taken = list(
                pool.map(lambda job: desk.records.leases.take(job.id, OWNER, [3]) == (), jobs)
            )
        assert sum(taken) == 1

    # ------------------------------------------------------------ events

    def test_events_are_numbered_in_the_order_in_which_they_can_be_seen(self, desk):
        """Who has seen number n has not missed a smaller one, however many write at once."""
        seen: list[int] = []

        def write(_: int) -> None:
            desk.project()
            numbers = [event.number for event in desk.records.events.since(0).events]
            assert numbers == sorted(numbers)
            seen.append(numbers[-1])
            missing = [n for n in range(1, numbers[-1] + 1) if n not in numbers]
            assert not missing

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(16)))
        assert max(seen) == 16

    def test_events_are_read_from_a_number_on_and_for_one_project(self, desk):
        one, two = desk.project(), desk.project()
        desk.model(two)
        all_of_them = desk.records.events.since(0)
        assert [event.number for event in all_of_them.events] == [1, 2, 3]
        assert all_of_them.is_complete
        assert all(a.number < b.number for a, b in pairwise(all_of_them.events))
        assert desk.records.events.since(2).events == all_of_them.events[2:]
        of_two = desk.records.events.since(0, project_id=two.id).events
        assert [event.kind for event in of_two] == ["project.created", "model.created"]
        assert desk.records.events.since(0, limit=1).events == all_of_them.events[:1]
        assert desk.records.events.since(0, project_id=one.id).events == all_of_them.events[:1]

    def test_who_missed_forgotten_events_is_told(self, desk):
        for _ in range(5):
            desk.project()
        assert desk.records.events.forget(keep=2) == 3
        since = desk.records.events.since(1)
        assert [event.number for event in since.events] == [4, 5]
        assert not since.is_complete
        assert desk.records.events.since(3).is_complete
        assert desk.records.events.since(5).is_complete
        assert desk.records.events.forget(keep=0) == 1
        assert desk.records.events.last_number() == 5

    def test_runs_that_have_not_ended_can_be_asked_for(self, desk):
        waits, works = desk.run(), desk.run()
        desk.records.runs.move(works.id, "running")
        desk.measured(desk.benchmark(), 1.0)
        assert {run.id for run in desk.records.runs.active()} == {waits.id, works.id}
        assert works.of == RunOf("benchmark", works.of.id)
