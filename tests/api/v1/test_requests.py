"""What holds for all requests: bodies, methods, lists."""

import json

import pytest

JSON = {"content_type": "application/json"}


def refusal(answer):
    return answer.status, answer.json["code"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "cannot be read"),
        (b'{"name": "x"} x', "cannot be read"),
        (b'{"name": "a", "name": "b"}', "two keys"),
        (b'{"name": NaN}', "is none"),
        (b'{"name": 1e999}', "too large"),
        (b'{"name": 9007199254740992}', "53 bits"),
        (b'{"name": ' + b"9" * 5000 + b"}", "53 bits"),
        (b'{"name": "\\u0000"}', "an invalid character"),
        (b'{"name": "\\ud800"}', "an invalid character"),
        (b'{"name": "\xff"}', "UTF-8"),
        ('{"name": "x"}'.encode("utf-16"), "UTF-8"),
        (b'{"name": ' + b"[" * 32 + b"]" * 32 + b"}", "deep"),
        (b"[" * 100_000 + b"]" * 100_000, "deep"),
        (b'{"name": [' + b"0," * 5_000 + b"0]}", "more than 5000 values"),
        (b'{"name": [' + b"[0]," * 2_500 + b"0]}", "more than 5000 values"),
        (json.dumps({"name": {str(n): 0 for n in range(5_000)}}).encode(), "more than 5000 values"),
    ],
)
def test_json_that_could_be_read_in_two_ways_or_costs_too_much_is_refused(served, body, why):
    answer = served.post("projects", body, **JSON)
    assert refusal(answer) == (400, "BAD_JSON")
    assert why in answer.json["detail"]


def test_json_at_its_limits_is_read(served, project):
    parameters = {
        "deep": json.loads("[" * 28 + "]" * 28),
        "long": [0] * (5_000 - 8 - 27),  # with what else is in here, as many as there may be
        "whole": 2**53 - 1,
        "text": "ü€😀\u0001",
    }
    asked = {"project_id": project, "name": "x", "kind": "k", "parameters": parameters}
    answer = served.post("datasets", asked)
    assert (answer.status, answer.json.get("parameters")) == (201, parameters)


def test_a_body_is_json_and_says_so(served):
    body = b'{"name": "x"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/octet-stream"):
        assert refusal(served.post("projects", body, content_type=kind)) == (
            415,
            "MEDIA_TYPE_REFUSED",
        )
    assert refusal(served.post("projects", body)) == (415, "MEDIA_TYPE_REFUSED")
    assert (
        served.post("projects", body, content_type="application/json; charset=utf-8").status == 201
    )


def test_numbers_are_no_text_and_whole_ones_may_have_a_point(served, project):
    asked = {"project_id": project, "name": "x", "kind": "k"}
    for other in (str(project), True, project + 0.5, None):
        assert served.post("datasets", asked | {"project_id": other}).status == 422
    assert served.post("datasets", asked | {"project_id": float(project)}).status == 201


@pytest.mark.parametrize("name", ["", " ", "\n", "a\nb", "x" * 201, "\u007f"])
def test_a_name_is_one_line_with_something_in_it(served, name):
    assert served.post("projects", {"name": name}).status == 422
    assert served.post("projects", {"name": f"x{' ' * 100}y"}).status == 201


def test_head_is_a_get_without_its_body(served):
    for path in ("projects", "/api/v1/openapi.json", "/healthz", "/docs", "/"):
        whole, head = served.get(path), served.ask("HEAD", path)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == str(len(whole.body))


def test_an_answer_without_a_body_has_no_type(served):
    project = served.project()
    model, unused = served.model(project), served.model(project)
    dataset = served.post("datasets", {"project_id": project, "name": "d", "kind": "k"}).json["id"]
    benchmark = served.benchmark(project, model)
    served.ended(benchmark["latest_run"]["job_id"])
    wanted = {"project_id": project, "model_id": model, "name": "o", "precision": "fp32"}
    optimization = served.post("optimizations", wanted | {"type": "graph"}).json["id"]
    for path in (
        "session",
        f"optimizations/{optimization}/pins/accuracy",
        f"runs/{benchmark['latest_run']['id']}",
        f"benchmarks/{benchmark['id']}",
        f"datasets/{dataset}",
        f"models/{unused}",
        f"projects/{project}?cascade=true",
    ):
        answer = served.delete(path)
        assert (answer.status, answer.body) == (204, b"")
        assert "Content-Type" not in answer.headers


def test_options_tells_what_an_address_answers(served, project):
    for path, allowed in (
        ("projects", "GET, HEAD, OPTIONS, POST"),
        (f"projects/{project}", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("benchmarks/plan", "OPTIONS, POST"),
        ("/login", "GET, OPTIONS, POST"),
    ):
        told = served.ask("OPTIONS", path)
        assert (told.status, told.headers["Allow"]) == (204, allowed)
        other = served.ask("PURGE", path)
        assert (other.status, other.headers["Allow"]) == (405, allowed)
    assert served.ask("OPTIONS", "nothing").status == 404


def test_what_is_not_there_says_so(served):
    for path in ("nothing", "projects/", "projects/1/nothing", "/api/v1"):
        assert refusal(served.get(path)) == (404, "NOT_FOUND")
    assert served.get("/nothing").status == 404
    assert refusal(served.get("projects?text=%00")) == (400, "REQUEST_MALFORMED")


UNKNOWN = """colour=red limit=0 limit=201 limit=x limit=1&limit=2 sort=latency order=up engine=x
    since=0.5 since=1700000000 since=2026-11-15 since=2026-11-15T09:00:00 since=
    since=0001-01-01T00:00:00%2B14:00 since=2026-13-15T09:00:00Z"""


@pytest.mark.parametrize("query", UNKNOWN.split())
def test_a_list_refuses_what_it_does_not_know(served, query):
    assert served.get(f"projects?{query}").status == 422


def test_a_list_takes_moments_in_any_zone(served):
    project = served.project("Of today")
    for since in ("2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5%2B05:30", "2020-01-01%2000:00Z"):
        found = served.get(f"projects?since={since}&text=of+today&limit=200").json["items"]
        assert project in [item["id"] for item in found]
    assert served.get("projects?since=2999-01-01T00:00:00Z").json["items"] == []
