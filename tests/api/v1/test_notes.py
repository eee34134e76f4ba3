"""Notes, over real HTTP: nobody overwrites what they have not read."""

import pytest

from modeldyno.api.v1.notes import LONGEST
from modeldyno.core.notes import subject_kinds


def test_a_note_is_empty_then_written_then_changed_by_who_has_read_it(served, project):
    path = f"projects/{project}/note"
    empty = served.get(path)
    assert (empty.json["text"], empty.json["version"], empty.headers["ETag"]) == ("", 0, '"0"')
    first = served.put(path, {"text": "one"}, if_match='"0"')
    assert (first.status, first.headers["ETag"]) == (200, '"1"')
    second = served.put(path, {"text": "two\n"}, if_match=first.headers["ETag"])
    assert second.json["text"] == "two\n"
    assert served.get(path).json == second.json


def test_a_note_that_somebody_else_changed_is_not_overwritten(served, project):
    path = f"projects/{project}/note"
    served.put(path, {"text": "theirs"}, if_match='"0"')
    stale = served.put(path, {"text": "mine"}, if_match='"0"')
    assert (stale.status, stale.json["code"]) == (412, "EDITED_MEANWHILE")
    assert served.get(path).json["text"] == "theirs"
    assert served.put(path, {"text": "mine"}, if_match="*").json["version"] == 2


def test_a_change_without_a_version_is_refused(served, project):
    refused = served.put(f"projects/{project}/note", {"text": "x"})
    assert (refused.status, refused.json["code"]) == (428, "VERSION_NEEDED")
    for other in ("1", 'W/"0"', '"x"', '"0", "1"', ""):
        said = served.put(f"projects/{project}/note", {"text": "x"}, if_match=other)
        assert said.status == 422
    assert served.get(f"projects/{project}/note").json["version"] == 0


def test_a_note_is_bounded(served, project):
    path = f"projects/{project}/note"
    assert served.put(path, {"text": "ü" * LONGEST}, if_match="*").status == 200
    assert served.put(path, {"text": "ü" * (LONGEST + 1)}, if_match="*").status == 422


@pytest.mark.parametrize("kind", subject_kinds())
def test_every_thing_has_its_own_note(served, kind):
    project = served.project()
    numbers = {"project": project, "model": served.model(project)}
    if kind == "dataset":
        asked = {"project_id": project, "name": "d", "kind": "dummy_v2"}
        numbers[kind] = served.post("datasets", asked).json["id"]
    elif kind == "benchmark":
        numbers[kind] = served.benchmark(project, start=False)["id"]
    elif kind == "comparison":
        side = {"model_id": numbers["model"]}
        asked = {"project_id": project, "a": side, "b": side, "start": False}
        numbers[kind] = served.post("comparisons", asked).json["id"]
    elif kind == "optimization":
        asked = {"project_id": project, "model_id": numbers["model"], "name": "o"}
        numbers[kind] = served.post("optimizations", asked).json["id"]
    elif kind == "profile":
        asked = {"project_id": project, "model_id": numbers["model"], "start": False}
        numbers[kind] = served.post("profiles", asked).json["id"]
    path = f"{kind}s/{numbers[kind]}/note"
    assert served.put(path, {"text": kind}, if_match='"0"').status == 200
    assert served.get(path).json["text"] == kind
    assert served.get(f"{kind}s/2000000000/note").status == 404
