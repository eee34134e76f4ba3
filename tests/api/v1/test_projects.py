"""Projects, over real HTTP."""

from tests.api.v1.server import serving


def test_a_project_is_made_found_renamed_and_deleted(served):
    made = served.post("projects", {"name": "Edge box"})
    assert made.status == 201
    number = made.json["id"]
    assert made.headers["Location"] == f"/api/v1/projects/{number}"
    assert served.get(f"projects/{number}").json["counts"]["benchmark"] == 0
    assert served.patch(f"projects/{number}", {"name": "Edge"}).json["name"] == "Edge"
    assert [item["name"] for item in served.get("projects?text=edge").json["items"]] == ["Edge"]
    assert served.delete(f"projects/{number}").status == 204
    gone = served.get(f"projects/{number}")
    assert (gone.status, gone.json["code"]) == (404, "NOT_FOUND")
    assert gone.headers["Content-Type"] == "application/problem+json"


def test_the_demo_is_made_when_it_is_asked_for_and_only_once(tmp_path):
    with serving(tmp_path) as served:  # a server of its own: it measures
        made = served.post("projects/demo")
        assert (made.status, made.json["name"]) == (200, "Demo")
        assert served.post("projects/demo").json == made.json
        counts = served.get(f"projects/{made.json['id']}").json["counts"]
        assert [counts[kind] for kind in ("comparison", "benchmark", "profile")] == [1, 1, 1]
        assert [one["name"] for one in served.get("projects").json["items"]] == ["Demo"]
