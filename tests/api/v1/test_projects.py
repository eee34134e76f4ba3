"""Projects, over real HTTP."""


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
