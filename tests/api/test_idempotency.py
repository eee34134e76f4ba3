"""A request that is sent twice creates one thing, and is answered twice (G23)."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.api.real_app import real_server
from tests.api.v1.server import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


def projects(served, text):
    return served.get(f"projects?text={text}").json["items"]


def test_the_same_request_is_answered_as_before(served):
    first = served.post("projects", {"name": "once"}, idempotency_key="a")
    again = served.post("projects", b'{ "name" : "once" }', idempotency_key="a", **JSON)
    assert (again.status, again.body) == (first.status, first.body) == (201, first.body)
    assert again.headers["Location"] == first.headers["Location"]
    assert first.headers["Idempotency-Replayed"] is None
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(projects(served, "once")) == 1
    served.post("projects", {"name": "once"}, idempotency_key="b")
    served.post("projects", {"name": "once"})
    assert len(projects(served, "once")) == 3


JSON = {"content_type": "application/json"}


def test_another_request_under_the_same_key_is_refused(served):
    served.post("projects", {"name": "mine"}, idempotency_key="c")
    other = served.post("projects", {"name": "other"}, idempotency_key="c")
    assert (other.status, other.json["code"]) == (422, "KEY_REUSED")
    assert projects(served, "other") == []


def test_a_key_belongs_to_one_operation(served, project):
    asked = {"project_id": project, "name": "x", "kind": "k"}
    assert served.post("datasets", asked, idempotency_key="d").status == 201
    assert served.post("projects", {"name": "x"}, idempotency_key="d").status == 201


@pytest.fixture
def project(served):
    return served.project()


def test_what_failed_may_be_tried_again_under_the_same_key(served, project):
    asked = {"project_id": 2_000_000_000, "name": "x", "kind": "k"}
    assert served.post("datasets", asked, idempotency_key="e").status == 404
    assert (
        served.post("datasets", asked | {"project_id": project}, idempotency_key="e").status == 201
    )


@pytest.mark.parametrize("key", ["", "a b", "ü", "x" * 201])
def test_a_key_is_a_word(served, key):
    assert served.post("projects", {"name": "x"}, idempotency_key=key).status == 422


def test_runs_and_reruns_are_started_once(served, project):
    number = served.benchmark(project, start=False)["id"]
    first = served.post(f"benchmarks/{number}/runs", idempotency_key="f")
    again = served.post(f"benchmarks/{number}/runs", idempotency_key="f")
    assert (first.status, again.status) == (202, 202)
    assert again.body == first.body  # as it was then
    assert again.headers["Location"] == first.headers["Location"]
    assert len(served.get(f"benchmarks/{number}/runs").json["items"]) == 1
    reruns = [served.post(f"benchmarks/{number}/rerun", idempotency_key="g") for _ in range(2)]
    assert reruns[0].json["id"] == reruns[1].json["id"] != number
    other = served.post(f"benchmarks/{reruns[0].json['id']}/rerun", idempotency_key="g")
    assert other.status == 422
    served.ended(first.json["id"])


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_g23_200_duplicates_and_a_kill_in_between_make_one_benchmark(tmp_path, database, request):
    """Half of them before the server is killed, in whatever they are doing, and half after."""
    url = None if database == "sqlite" else request.getfixturevalue("new_postgresql")()
    asked = {"project_id": 1, "model_id": 1, "iterations": 5, "engines": ["scripted"]}
    answers: list[tuple[int, str | None, int]] = []

    def send(server, tell):
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        said = {"Authorization": server.token, "Idempotency-Key": "only", **_JSON}
        try:
            link.request("POST", "/api/v1/benchmarks", json.dumps(asked), said)
            reply = link.getresponse()
            tell((reply.status, reply.getheader("Location"), json.loads(reply.read())["id"]))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # it was killed
        finally:
            link.close()

    with ThreadPoolExecutor(20) as pool:
        with real_server(tmp_path, url) as server:
            sent = [pool.submit(send, server, answers.append) for _ in range(100)]
            sent[10].result()
            server.process.kill()
            for one in sent:
                one.result()
        before = len(answers)
        with real_server(tmp_path, url) as server:
            for one in [pool.submit(send, server, answers.append) for _ in range(100)]:
                one.result()
            told = server.ask("GET", "/api/v1/benchmarks?limit=200", server.with_token()).text
            jobs = server.ask("GET", "/api/v1/jobs?limit=200", server.with_token()).text
    assert before >= 1
    assert len(answers) == before + 100
    assert len(set(answers)) == 1
    assert answers[0][0] == 201
    assert len(json.loads(told)["items"]) == 2  # and the one that was there
    assert len(json.loads(jobs)["items"]) == 1


_JSON = {"Content-Type": "application/json"}
