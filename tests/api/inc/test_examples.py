"""``examples/…``: the list, and a project made around one of them, as its clients hear of it."""

import time
from contextlib import contextmanager
from typing import Any

import pytest
import socketio

from modeldyno import server as server_module
from modeldyno.services.examples import ExampleService
from modeldyno.store.downloads import Downloads
from modeldyno.store.objects import Objects
from tests.api.v1.server import PATIENCE_S, serving
from tests.model_server import File, example, model_server
from tests.onnx_models import linear, saved

START, PROGRESS, FINISH = (
    f"create_example_project_{what}" for what in ("start", "progress", "finish")
)
STEPS = [
    "Downloading example model.",
    "Adding project for example model.",
    "Adding example model to project.",
    "Adding dummy dataset to project.",
    "Adding optimization to project.",
    "Adding benchmark to project.",
]


@contextmanager
def listening(served):
    with socketio.SimpleClient(handle_sigint=False) as client:
        client.connect(served.url, headers={"Authorization": served.token})
        yield client


def heard(client):
    """All events up to the finish, as (name, status, data)."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    while not found or found[-1][0] != FINISH:
        name, told = client.receive(timeout=PATIENCE_S)
        found.append((name, told["status"], told["data"]))
    return found


def add(served, client, **said):
    usual = {"request_id": "abc", "name": "Mine", "framework": "ONNXRT"}
    usual |= {"domain": "Image Recognition", "model": "SqueezeNet"}
    answer = served.post("/api/examples/add", usual | said)
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    return heard(client)


def counts(served):
    records = served.server.records
    pages = ("projects", "models", "datasets", "optimizations", "benchmarks")
    return [len(getattr(records, name).page().items) for name in pages]


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("w")) as server:
        yield server


@pytest.fixture
def host():
    with model_server() as server:
        yield server


@pytest.fixture
def fetching(tmp_path, host, monkeypatch):
    """A server whose examples lie on a server of the tests."""

    def open_examples(settings):
        return ExampleService(
            {
                "net": example("/net.onnx", file="net.onnx", format="onnx", framework="onnx"),
                "other": example("/other.pb", slug="other", name="Other"),
            },
            Objects(settings.workspace / "objects", kept_free=0),
            Downloads(settings.workspace / "downloads", host.network(), kept_free=0, pauses_s=()),
            allow_downloads=settings.allow_downloads,
        )

    monkeypatch.setattr(server_module, "open_examples", open_examples)
    with serving(tmp_path, allow_downloads=True) as server:
        yield server


def test_the_list_begins_with_those_of_the_original_and_has_ours_that_are_here(served):
    for name in ("examples/list", "list_model_zoo"):
        listed = served.get(f"/api/{name}").json
        assert listed[0] == {
            "domain": "Image Recognition", "framework": "TensorFlow", "model": "inception_v3",
        }  # fmt: skip
        assert [one["model"] for one in listed[5:10]] == [
            "faster_rcnn_inception_resnet_v2", "faster_rcnn_resnet101", "mask_rcnn_inception_v2",
            "ssd_mobilenet_v1", "ssd_resnet50_v1",
        ]  # fmt: skip
        ours = {one["model"] for one in listed[10:]}
        assert {one["framework"] for one in listed[10:]} == {"ONNXRT", "TensorFlow"}
        assert {"SqueezeNet", "MobileNetV2"} <= ours


def test_an_example_of_an_installed_package_becomes_a_project_without_any_network(served):
    with listening(served) as client:
        events = add(served, client, progress_steps=4)
    assert [status for _, status, _ in events] == ["success"] * len(events)
    assert {data["request_id"] for _, _, data in events} == {"abc"}
    names = [name for name, _, _ in events]
    download = ["download_start", *["download_progress"] * 4, "download_finish"]
    assert names == [START, PROGRESS, *download, *[PROGRESS] * 5, FINISH]
    said = [data for name, _, data in events if name == "download_progress"]
    assert [data["progress"] for data in said] == [25, 50, 75, 100]
    assert [data["message"] for name, _, data in events if name == PROGRESS] == STEPS
    start = events[names.index("download_start")][2]
    assert start["url"].startswith("pkg:pypi/onnx@")
    assert [*events[-1][2]] == [
        "message", "request_id",
        "project_id", "model_id", "dataset_id", "optimization_id", "benchmark_id",
    ]  # fmt: skip
    made = events[-1][2]
    records = served.server.records
    model = records.models.get(made["model_id"])
    assert (model.name, model.domain, model.origin) == (
        "Input model", "Image Recognition", "example",
    )  # fmt: skip
    dataset = records.datasets.get(made["dataset_id"])
    assert (dataset.name, dataset.kind) == ("dummy", "dummy_v2")
    assert dataset.parameters == {"input_shape": [[3, 224, 224]], "label_shape": [1]}
    optimization = records.optimizations.get(made["optimization_id"])
    assert (optimization.name, optimization.type, optimization.precision) == (
        "SqueezeNet quantization", "quantization", "int8",
    )  # fmt: skip
    benchmark = records.benchmarks.get(made["benchmark_id"])
    assert (benchmark.name, benchmark.state) == ("SqueezeNet benchmark", "draft")
    assert (benchmark.spec.cells[0].batch_size, benchmark.spec.warmup_calls) == (1, 5)
    assert {one.project_id for one in (model, dataset, optimization, benchmark)} == {
        made["project_id"]
    }


@pytest.mark.usefixtures("starts_processes")
def test_a_download_is_told_in_percent_steps_each_once(fetching, host, tmp_path):
    model = saved(linear(), tmp_path / "net.onnx")
    host.files["/net.onnx"] = File(model.read_bytes())
    with listening(fetching) as client:
        events = add(fetching, client, model="net", progress_steps="3")
    assert [data["progress"] for name, _, data in events if name == "download_progress"] == [
        33, 67, 100,
    ]  # fmt: skip
    assert events[2][2]["url"] == "https://models.test/net.onnx"
    assert events[-1][1] == "success"


@pytest.mark.usefixtures("starts_processes")
def test_what_cannot_be_fetched_ends_once_and_leaves_nothing(fetching, host):
    before = counts(fetching)
    with listening(fetching) as client:
        lost = add(fetching, client, model="Net")  # 404 on the host
        assert [name for name, _, _ in lost][:3] == [START, PROGRESS, "download_start"]
        assert lost[-1][1] == "error"
        assert lost[-1][2]["code"] == 404
        assert lost[-1][2]["error_code"] in ("DOWNLOAD_FAILED", "DOWNLOAD_REFUSED")
        host.files["/net.onnx"] = File(b"no model at all")
        garbage = add(fetching, client, model="Net")
        assert "download_finish" in [name for name, _, _ in garbage]
        assert garbage[-1][1] == "error"
        unread = add(fetching, client, framework="TensorFlow", model="other")
        assert "tensorflow-graph" in unread[-1][2]["message"]
        assert counts(fetching) == before
        time.sleep(0.2)  # nothing comes after an end
        with pytest.raises(socketio.exceptions.TimeoutError):
            client.receive(timeout=0.2)


def test_without_leave_to_download_the_end_says_so(served):
    with listening(served) as client:
        events = add(served, client, framework="TensorFlow", model="inception_v3")
    assert [name for name, _, _ in events] == [START, PROGRESS, FINISH]
    _, status, data = events[-1]
    assert (status, data["error_code"]) == ("error", "DOWNLOADS_OFF")
    assert "--allow-downloads" in data["message"]


@pytest.mark.parametrize(
    ("said", "status", "text"),
    [
        ({"request_id": ""}, 400, "Missing request id."),
        ({"name": None}, 400, "Could not find required parameter."),
        ({"name": " "}, 400, "name"),
        ({"model": "SqueezeNetto"}, 404, "There is no example"),
        ({"framework": "TensorFlow"}, 404, "There is no example"),
        ({"progress_steps": 0}, 400, "progress_steps"),
        ({"model": ["a", "b"]}, 400, "model"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once_and_nothing_is_told(served, said, status, text):
    usual = {"request_id": "abc", "name": "Mine", "framework": "ONNXRT"}
    usual |= {"domain": "Image Recognition", "model": "SqueezeNet"}
    before = counts(served)
    answer = served.post("/api/examples/add", usual | said)
    assert (answer.status, text in answer.text) == (status, True), answer.text
    assert counts(served) == before
