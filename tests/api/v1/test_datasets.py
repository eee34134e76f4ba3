"""Datasets, over real HTTP."""


def test_a_dataset_is_made_listed_found_and_deleted(served, project):
    asked = {
        "project_id": project,
        "name": "Noise",
        "kind": "dummy_v2",
        "parameters": {"input_shape": [3, 224, 224], "label": None},
        "transforms": [{"name": "Resize", "size": 224}],
    }
    made = served.post("datasets", asked)
    assert made.status == 201
    told = made.json
    assert {key: told[key] for key in asked} == asked
    assert (told["filter"], told["metric"]) == (None, None)
    assert served.get(made.headers["Location"]).json == told
    assert served.get(f"datasets?project_id={project}").json["items"] == [told]
    assert served.delete(f"datasets/{told['id']}").status == 204
    assert served.get(f"datasets/{told['id']}").status == 404


def test_a_dataset_that_is_used_goes_only_with_its_users(served, project):
    asked = {"project_id": project, "name": "Noise", "kind": "dummy_v2"}
    number = served.post("datasets", asked).json["id"]
    used = served.benchmark(project, dataset_id=number, start=False)["id"]
    refused = served.delete(f"datasets/{number}")
    assert (refused.status, refused.json["code"]) == (409, "STILL_USED")
    assert served.delete(f"datasets/{number}?cascade=true").status == 204
    assert served.get(f"benchmarks/{used}").status == 404


def test_a_dataset_of_no_project_is_not_made(served):
    asked = {"project_id": 2_000_000_000, "name": "Noise", "kind": "dummy_v2"}
    assert served.post("datasets", asked).status == 404
