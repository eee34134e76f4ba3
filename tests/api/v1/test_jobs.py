"""The queue, over real HTTP: progress, waiting, stopping and going on."""

import pytest

from modeldyno.core.documents.runs import JobDocument, QueueDocument
from tests.api.v1.shapes import Page, fits, problem


@pytest.fixture
def long_job(served, project):
    """One that keeps the queue busy until it is cancelled."""
    made = served.benchmark(project, served.model(project, load_ms=600_000))
    job = made["latest_run"]["job_id"]
    yield job
    served.post(f"jobs/{job}/cancel")
    served.ended(job)


def has_units(job):
    return job["progress"] is not None and job["progress"]["units_done"] > 0


@pytest.mark.slow
def test_a_job_is_followed_stopped_and_resumed_and_loses_nothing(served, project):
    model = served.model(project, "slow.json", load_ms=250)
    made = served.benchmark(project, model, iterations=None, budget="thorough")  # 12 sessions
    job, run = made["latest_run"]["job_id"], made["latest_run"]["id"]

    progress = served.until(job, has_units)["progress"]
    assert fits(served.get(f"jobs/{job}"), JobDocument)["state"] == "running"
    assert progress["headline"].endswith(".json")
    assert "/" not in progress["headline"]
    assert progress["units_done"] <= progress["units_planned"]
    assert progress["estimate_ms"] >= 0.05
    assert progress["cells"][0]["state"] == "measuring"

    assert served.post(f"jobs/{job}/cancel").status == 200
    stopped = served.ended(job)
    assert (stopped["state"], stopped["progress"]) == ("cancelled", None)
    (kept,) = served.get(f"runs/{run}").json["units_kept"]
    assert kept >= progress["units_done"]

    resumed = fits(served.post(f"jobs/{job}/resume"), JobDocument)
    assert resumed["state"] in ("queued", "running")
    again = served.until(job, lambda job: has_units(job) and job["progress"]["units_done"] > kept)
    assert again["attempts"] == 2
    served.post(f"jobs/{job}/cancel")
    served.ended(job)
    (all_kept,) = served.get(f"runs/{run}").json["units_kept"]
    assert all_kept > kept


def test_what_is_done_is_neither_resumed_nor_cancelled(served, project):
    job = served.ended(served.benchmark(project)["latest_run"]["job_id"])
    problem(served.post(f"jobs/{job['id']}/resume"), 409, "WRONG_STATE")
    assert fits(served.post(f"jobs/{job['id']}/cancel"), JobDocument) == job


def test_what_waits_knows_its_place_and_why_and_may_go_first(served, project, long_job):
    served.until(long_job, lambda job: job["state"] == "running")
    jobs = [served.benchmark(project)["latest_run"]["job_id"] for _ in range(3)]
    shown = fits(served.get(f"jobs/{jobs[1]}"), JobDocument)
    assert (shown["state"], shown["place"], shown["progress"]) == ("queued", 2, None)
    assert f"behind 1 job and job {long_job}" in shown["reason"]
    assert fits(served.post(f"jobs/{jobs[2]}/next"), JobDocument)["place"] == 1
    down = fits(served.put(f"jobs/{jobs[2]}/place", {"place": 2}), JobDocument)
    assert down["place"] == 2
    shown = fits(served.get("queue"), QueueDocument)
    assert [job["id"] for job in shown["waiting"]][:3] == [jobs[0], jobs[2], jobs[1]]
    assert [job["id"] for job in shown["running"]] == [long_job]
    assert all(job["name"] and job["of_id"] for job in shown["waiting"])
    problem(served.put(f"jobs/{long_job}/place", {"place": 1}), 409, "WRONG_STATE")
    served.post(f"jobs/{jobs[2]}/next")
    assert [served.get(f"jobs/{job}").json["place"] for job in jobs] == [2, 3, 1]
    problem(served.post(f"jobs/{long_job}/next"), 409, "WRONG_STATE")

    waiting = fits(served.get(f"jobs?project_id={project}&state=queued"), Page[JobDocument])
    assert {job["id"] for job in waiting["items"]} == set(jobs)
    first = waiting["items"][0]
    assert first["name"] == served.get(f"benchmarks/{first['of_id']}").json["name"]
    run = waiting["items"][0]["run_id"]
    found = problem(served.get(f"runs/{run}/result"), 404, "NOT_FOUND")
    assert found["title"] == f"Run {run} has no result yet"
    assert served.get(f"jobs/{jobs[0]}/log").text == ""
    for job in jobs:
        assert fits(served.post(f"jobs/{job}/cancel"), JobDocument)["state"] == "cancelled"


def test_a_page_of_jobs_takes_as_many_queries_as_one_job(served, project, long_job):
    served.until(long_job, lambda job: job["state"] == "running")
    waits = served.benchmark(project)["latest_run"]["job_id"]
    with served.counting() as few:
        served.get(f"jobs/{waits}")
    with served.counting() as many:
        served.get("jobs?limit=200")
    count = [len([one for one in asked if one.startswith("SELECT")]) for asked in (few, many)]
    assert count == [3, 3]
    served.post(f"jobs/{waits}/cancel")


def test_no_such_job(served):
    for method, path in (
        ("GET", "jobs/1000000"),
        ("GET", "jobs/1000000/log"),
        ("POST", "jobs/1000000/cancel"),
        ("POST", "jobs/1000000/resume"),
        ("POST", "jobs/1000000/next"),
    ):
        problem(served.ask(method, path), 404, "NOT_FOUND")


def test_a_core_that_is_measured_on_shows_who_has_it_since_when(served, project):
    busy = served.benchmark(project, iterations=None, budget=60)["latest_run"]["job_id"]
    try:
        served.until(busy, lambda job: _held(served, busy))
        assert all(core["since"] for core in _held(served, busy))
    finally:
        served.post(f"jobs/{busy}/cancel")
        served.ended(busy)
    assert not _held(served, busy)


def _held(served, job_id):
    cores = fits(served.get("queue"), QueueDocument)["cores"]
    return [core for core in cores if core["job_id"] == job_id]


def test_nothing_begins_while_the_queue_is_paused(served, project):
    assert fits(served.post("queue/pause"), QueueDocument)["is_paused"]
    try:
        job = served.benchmark(project)["latest_run"]["job_id"]
        shown = served.get(f"jobs/{job}").json
        assert (shown["state"], shown["reason"]) == (
            "queued",
            "waiting for somebody to resume the queue",
        )
    finally:
        assert not served.post("queue/resume").json["is_paused"]
    assert served.ended(job)["state"] == "done"


def test_pausing_and_resuming_tell_of_every_job_that_waits(served, project, long_job):
    served.until(long_job, lambda job: job["state"] == "running")
    waiting = [served.benchmark(project)["latest_run"]["job_id"] for _ in range(2)]

    def told(operation):
        last = served.get("events").json["last"]
        assert served.post(f"queue/{operation}").status == 200
        events = served.get(f"events?after={last}&project_id={project}").json["events"]
        return [(event["kind"], event["data"]["id"]) for event in events]

    changes = [("job.changed", job) for job in waiting]
    try:
        assert told("pause") == changes
        assert told("pause") == []  # it was paused: nothing changed
    finally:
        assert told("resume") == changes
    assert told("resume") == []
    for job in waiting:
        served.post(f"jobs/{job}/cancel")
