"""The demo, over real HTTP."""


def test_the_demo_is_a_project_whose_measurements_wait_in_the_queue(served):
    made = served.post("demo", {})
    assert made.status == 201
    number = made.json["project_id"]
    counts = served.get(f"projects/{number}").json["counts"]
    kinds = ("model", "comparison", "benchmark", "profile")
    assert [counts[kind] for kind in kinds] == [1, 1, 1, 1]
    waiting = served.get(f"jobs?project_id={number}").json["items"]
    assert len(waiting) == 3
    for job in waiting:
        served.post(f"jobs/{job['id']}/cancel", {})
    assert served.post("demo", {}).json == made.json  # there is one already
