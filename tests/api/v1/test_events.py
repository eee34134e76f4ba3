"""Events, over plain HTTP: who was away asks what happened."""

import re
from pathlib import Path

import modeldyno
from modeldyno.core.events import KINDS
from modeldyno.store.tables import THINGS

PACKAGE = Path(modeldyno.__file__).parent

FLEETING = {"job.progress", "example.progress", "conversion.progress"}  # sent once, and not kept


def test_events_tell_what_happened_since(served):
    begin = served.get("events").json["last"]
    project = served.project()
    found = served.get(f"events?after={begin}&project_id={project}").json
    assert [event["kind"] for event in found["events"]] == ["project.created"]
    assert found["events"][0]["data"] == {"id": project}
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


def test_the_vocabulary_of_events_is_all_that_the_store_writes():
    code = "".join(path.read_text() for path in (PACKAGE / "store").rglob("*.py"))
    written = set(re.findall(r"""add_events?\(\s*connection, "([\w.]+)\"""", code))
    families = set(
        re.findall(r"""add_events?\(\s*connection, f"\{(?:self\.)?kind\}\.(\w+)\"""", code)
    )
    assert families == {"created", "changed", "deleted"}
    written |= {f"{kind}.{family}" for kind in THINGS for family in families}
    # A dataset is never edited.
    assert "_update(" not in (PACKAGE / "store/records/datasets.py").read_text()
    assert (written - {"dataset.changed"}) | FLEETING == set(KINDS)


def test_events_of_both_ways_are_described(served):
    schemas = served.get("/api/v1/openapi.json").json["components"]["schemas"]
    kinds = schemas["EventMessage"]["discriminator"]["mapping"]
    assert set(kinds) == set(KINDS)
    kept = schemas["EventsDocument"]["properties"]["events"]["items"]["discriminator"]["mapping"]
    assert set(KINDS) - set(kept) == FLEETING
    assert {kept[kind] for kind in kept} <= {kinds[kind] for kind in kinds}
