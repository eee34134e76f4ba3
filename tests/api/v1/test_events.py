"""Events, over plain HTTP: who was away asks what happened."""


def test_events_tell_what_happened_since(served):
    begin = served.get("events").json["last"]
    project = served.project()
    found = served.get(f"events?after={begin}&project_id={project}").json
    assert [event["kind"] for event in found["events"]] == ["project.created"]
    assert found["events"][0]["payload"] == {"id": project}
    assert found["is_complete"] is True
    assert served.get(f"events?after={found['last']}&project_id={project}").json["events"] == []


def test_pages_of_events_miss_none_and_repeat_none(served):
    project = served.project()
    for number in range(5):
        served.patch(f"projects/{project}", {"name": f"n{number}"})
    whole = served.get(f"events?project_id={project}").json["events"]
    after, seen = 0, []
    while True:
        page = served.get(f"events?after={after}&project_id={project}&limit=2").json
        if not page["events"]:
            break
        seen += page["events"]
        after = page["last"]
    assert seen == whole
    assert len(whole) == 6


def test_who_knows_more_than_there_is_must_fetch_everything_anew(served):
    """Their number is of another database."""
    assert served.get(f"events?after={2**53 - 1}").json["is_complete"] is False
    assert served.get(f"events?after={2**53}").status == 422
