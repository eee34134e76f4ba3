"""The demo, over real HTTP."""


def test_the_demo_is_a_project_whose_measurements_wait_in_the_queue(served):
    made = served.post("demo", {})
    assert made.status == 201
    number = made.json["project_id"]
    counts = served.get(f"projects/{number}").json["counts"]
    assert (counts["model"], counts["benchmark"], counts["comparison"]) == (1, 1, 1)
    waiting = served.get(f"jobs?project_id={number}").json["items"]
    assert len(waiting) == 2
    for job in waiting:
        served.post(f"jobs/{job['id']}/cancel", {})
