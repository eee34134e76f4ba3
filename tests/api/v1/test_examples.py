"""Examples, over real HTTP: listed, and brought into projects in the background."""

import threading
import time
from typing import Any

import pytest
import socketio

from modeldyno.core.errors import Cancelled, TooBusy
from modeldyno.core.ids import ProjectId
from modeldyno.services.example_fetches import ExampleFetches
from tests.api.v1.server import PATIENCE_S
from tests.schemas import check


def ended(served, slug, project):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for fetch in served.get(f"examples/{slug}").json["fetches"]:
            if fetch["project_id"] == project and fetch["state"] != "fetching":
                return fetch
        time.sleep(0.02)
    raise AssertionError("it never ended")


def one(served, **said):
    """The first of the catalogue that is like this."""
    found = served.get("examples").json["examples"]
    return next(shown for shown in found if said.items() <= shown.items())


def test_the_catalogue_is_the_document_of_the_terminal(served):
    listed = served.get("examples").json
    check("examples", listed)
    assert len(listed["examples"]) > 10
    slug = listed["examples"][0]["slug"]
    assert served.get(f"examples/{slug}").json["example"] == listed["examples"][0]
    unknown = served.get("examples/nothing-like-that")
    assert (unknown.status, unknown.json["code"]) == (404, "EXAMPLE_NOT_FOUND")


def test_an_example_becomes_a_model_of_the_project(served, project):
    slug = one(served, kind="onnx-wheel", available=True)["slug"]
    with socketio.SimpleClient(handle_sigint=False) as client:
        client.connect(served.url, auth={"token": served.token}, namespace="/v1")
        assert client.call("subscribe", {"project_id": project})["ok"]
        begun = served.post(f"projects/{project}/models/example", {"example": slug})
        assert begun.status == 202, begun.text
        assert begun.headers["Location"] == f"/api/v1/examples/{slug}"
        fetch = ended(served, slug, project)
        heard: dict[str, Any] = {}
        while (
            "model.created" not in heard or heard.get("example.progress", {}).get("state") != "done"
        ):
            _, message = client.receive(timeout=PATIENCE_S)
            heard[message["kind"]] = message["data"]
    told = {key: fetch[key] for key in fetch if key not in ("project_id", "failure")}
    assert heard["example.progress"] == told
    assert heard["model.created"] == {"id": fetch["model_id"]}
    assert fetch["state"] == "done", fetch
    model = served.get(f"models/{fetch['model_id']}").json
    assert (model["origin"], model["state"], model["project_id"]) == ("example", "ready", project)
    assert fetch["done_bytes"] == fetch["total_bytes"] == model["size_bytes"]


def test_what_cannot_be_fetched_says_so(served, project):
    shown = one(served, kind="download", available=False)
    served.post(f"projects/{project}/models/example", {"example": shown["slug"]})
    fetch = ended(served, shown["slug"], project)
    assert (fetch["state"], fetch["model_id"]) == ("failed", None)
    assert fetch["failure"]["code"] == "DOWNLOADS_OFF"
    assert "--allow-downloads" in fetch["failure"]["fix"]
    assert served.get(f"projects/{project}/models").json["items"] == []


def test_only_names_of_the_catalogue_are_taken(served, project):
    for said in ("https://example.com/m.onnx", "../../etc/passwd", "x" * 99):
        refused = served.post(f"projects/{project}/models/example", {"example": said})
        assert (refused.status, refused.json["code"]) == (400, "EXAMPLE_NOT_FOUND")
    assert served.post("projects/999999/models/example", {"example": "x"}).status == 404


def test_no_more_are_on_their_way_than_may_be(served, project):
    server = served.server
    slug = one(served, kind="onnx-wheel", available=True)["slug"]
    full = ExampleFetches(server.records, server.examples, server.model_files, most_waiting=0)
    with pytest.raises(TooBusy):
        full.start(ProjectId(project), slug)


@pytest.mark.parametrize("is_stuck", [True, False])
def test_closing_does_not_wait_without_end_for_a_fetch(served, project, monkeypatch, is_stuck):
    """And says so: what is still at work may still write."""
    may_end, has_begun = threading.Event(), threading.Event()

    def fetch(*_):
        has_begun.set()
        may_end.wait(PATIENCE_S)
        raise Cancelled("The server is closing")

    if not is_stuck:
        may_end.set()
    server = served.server
    mine = ExampleFetches(
        server.records,
        server.examples,
        server.model_files,
        close_timeout_s=0.05 if is_stuck else PATIENCE_S,
    )
    monkeypatch.setattr(server.examples, "fetch", fetch)
    for shown in served.get("examples").json["examples"][:4]:  # two of them wait
        mine.start(ProjectId(project), shown["slug"])
    assert has_begun.wait(PATIENCE_S)
    assert mine.close() is not is_stuck
    may_end.set()
