"""A model that is tried once, over real HTTP and in a real worker."""

import json
import socket
import time

import pytest

from modeldyno.core.documents.models import AttemptDocument
from tests.api.v1.server import PATIENCE_S
from tests.api.v1.shapes import fits, problem
from tests.scripts import fault


def test_a_model_that_works_tells_how_long_it_took_and_what_came_out(served, project):
    model = served.model(project, latency_us=2000)
    told = fits(served.post(f"models/{model}/try", {"batch_size": 3}), AttemptDocument)["inference"]
    assert (told["engine"], told["batch_size"]) == ("scripted", 3)
    assert told["ms"] >= 2
    assert [one["shape"][0] for one in (*told["inputs"], *told["outputs"])] == [3, 3]
    assert told["outputs"][0]["dtype"] == "float32"
    kept = served.get(f"runs?project_id={project}").json
    assert kept["items"] == []


def test_what_goes_wrong_is_told_with_what_to_do(served, project):
    broken = served.model(project, faults=[fault("segfault")])
    told = fits(served.post(f"models/{broken}/try", {}), AttemptDocument)
    assert told["inference"] is None
    assert told["failure"]["code"] == "ENGINE_CRASHED"
    assert told["failure"]["fix"]
    fine = served.model(project)
    unknown = served.post(f"models/{fine}/try", {"engine": "nothing"}).json["failure"]
    assert unknown["code"] == "ENGINE_UNKNOWN"


def test_who_goes_away_stops_it_and_the_next_may_try(served, project):
    endless = served.model(project, faults=[fault("hang")])
    fine = served.model(project)
    body = json.dumps({}).encode()
    with socket.create_connection(("127.0.0.1", served.port)) as link:
        head = (
            f"POST /api/v1/models/{endless}/try HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            f"Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        link.sendall(head.encode() + body)
        wait_until(lambda: served.server.inferences.is_busy)
        problem(served.post(f"models/{fine}/try", {}), 429, "TOO_BUSY")
    wait_until(lambda: not served.server.inferences.is_busy)
    assert served.post(f"models/{fine}/try", {}).status == 200


def wait_until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("batch_size", [0, "two"])
def test_what_cannot_be_asked_is_refused(served, project, batch_size):
    model = served.model(project)
    problem(served.post(f"models/{model}/try", {"batch_size": batch_size}), 422, "BAD_VALUE")
    problem(served.post("models/999999/try", {}), 404, "NOT_FOUND")
