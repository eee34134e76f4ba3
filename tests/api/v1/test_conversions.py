"""Conversions, over real HTTP: a new model of the project, or the reason why there is none."""

import time
from typing import Any

import socketio

from modeldyno import Client
from modeldyno.core.documents.conversions import ConversionJobDocument, ConversionsDocument
from tests import onnx_models, torch_archives
from tests.api.v1.server import PATIENCE_S
from tests.api.v1.shapes import fits, problem

FILE = "application/octet-stream"


def send(served: Any, project: int, data: bytes, name: str) -> Any:
    sent = served.ask("POST", f"projects/{project}/models?name={name}", data, content_type=FILE)
    assert sent.status == 201, sent.text
    return sent.json


def linear(served: Any, project: int) -> Any:
    return send(served, project, onnx_models.linear().SerializeToString(), "net.onnx")


def ended(served: Any, number: int) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        told = fits(served.get(f"conversions/{number}"), ConversionJobDocument)
        if told["state"] != "converting":
            return told
        time.sleep(0.05)
    raise AssertionError("it never ended")


def test_a_model_becomes_another_one_of_its_project(served, project):
    source = linear(served, project)
    offered = fits(served.get(f"models/{source['id']}/conversions"), ConversionsDocument)
    possible = {one["to"]: one for one in offered["possible"]}
    assert possible["openvino"]["why_not"] == ""
    assert possible["onnx"]["why_not"] == "it is ONNX already"
    with socketio.SimpleClient(handle_sigint=False) as client:
        client.connect(served.url, auth={"token": served.token}, namespace="/v1")
        assert client.call("subscribe", {"project_id": project})["ok"]
        begun = served.post(f"models/{source['id']}/conversions", {"to": "openvino"})
        assert begun.status == 202, begun.text
        assert begun.headers["Location"] == f"/api/v1/conversions/{begun.json['id']}"
        told = ended(served, begun.json["id"])
        assert told["state"] == "done", told
        heard: dict[str, Any] = {"conversion.progress": begun.json}
        while "model.created" not in heard or heard["conversion.progress"]["state"] != "done":
            _, message = client.receive(timeout=PATIENCE_S)
            heard[message["kind"]] = message["data"]
    assert heard["model.created"] == {"id": told["made_id"]}
    assert heard["conversion.progress"]["made_id"] == told["made_id"]
    assert [check["batch_size"] for check in told["checks"]] == [1, 1, 3]
    made = served.get(f"models/{told['made_id']}").json
    assert (made["origin"], made["source"], made["name"]) == ("conversion", "net.onnx", "net.xml")
    assert (made["state"], made["project_id"]) == ("ready", project)
    assert made["facts"]["made"]["source_sha256"] == source["sha256"]
    assert served.post(f"models/{made['id']}/try", {}).json["failure"] is None
    again = served.post(f"models/{made['id']}/inspect").json
    assert again["facts"]["made"] == made["facts"]["made"]
    refused = served.post(f"models/{source['id']}/conversions", {"to": "onnx"})
    problem(refused, 400, "BAD_VALUE")


def test_nobody_converts_code_that_nobody_vouched_for(served, project):
    weights = torch_archives.tensor_pickle(("weight", "FloatStorage", (4,)))
    path = torch_archives.checkpoint(served.workspace / "w.pth", weights)
    model = send(served, project, path.read_bytes(), "w.pth")
    refused = served.post(f"models/{model['id']}/conversions", {"to": "onnx"})
    problem(refused, 403, "UNSAFE_FORMAT")


def test_one_that_is_cancelled_keeps_nothing(served, project):
    source = linear(served, project)
    begun = served.post(f"models/{source['id']}/conversions", {"to": "openvino"}).json
    twice = served.post(f"models/{source['id']}/conversions", {"to": "openvino"}).json
    assert twice["id"] == begun["id"]
    assert served.post(f"conversions/{begun['id']}/cancel").status == 200
    told = ended(served, begun["id"])
    assert (told["state"], told["made_id"]) == ("cancelled", None)
    (only,) = served.get(f"projects/{project}/models").json["items"]
    assert only["id"] == source["id"]


def test_the_client_waits_for_the_model(served, project):
    source = linear(served, project)
    with Client(served.url, token=served.token) as client:
        made = client.models.convert(source["id"], "openvino")
    assert (made.format, made.origin) == ("openvino-ir", "conversion")
