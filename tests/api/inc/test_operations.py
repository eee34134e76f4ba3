"""``/api/<operation>``: what holds for all of them."""

import pytest

from tests.api.v1.server import serving


@pytest.fixture
def served(tmp_path, starts_processes):
    with serving(tmp_path) as server:
        yield server


def test_an_operation_answers_get_and_post_with_the_bare_object(served):
    served.post("/api/v1/projects", {"name": "p"})
    for answer in (served.get("/api/project/list"), served.post("/api/project/list", {})):
        assert answer.status == 200
        assert [project["name"] for project in answer.json["projects"]] == ["p"]


def test_an_unknown_operation_is_not_found_in_plain_text(served):
    answer = served.get("/api/no/such")
    assert (answer.status, answer.text) == (404, "Unable to find no/such")
    assert answer.headers["content-type"].startswith("text/plain")
    assert served.get("/api/v1/no/such").headers["content-type"] == "application/problem+json"
