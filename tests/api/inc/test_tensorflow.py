"""The whole way of a TensorFlow model through ``/api``: boundary nodes, graph, project, benchmark
with two instances, profile with its CSV; and an example that Keras builds."""

import csv
import io
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.api.v1.server import serving

MODELS = Path(__file__).parents[3] / ".cache/models/tensorflow"  # scripts/export_keras.py
pytestmark = [pytest.mark.engine("tensorflow"), pytest.mark.slow, pytest.mark.timeout(600)]
PATIENCE_S = 300.0  # each worker imports TensorFlow


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    shutil.copy(MODELS / "small.pb", folder / "small.pb")
    shutil.copytree(MODELS / "small", folder / "small")
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory, root, starts_processes):
    with serving(tmp_path_factory.mktemp("workspace"), models_roots=(root,)) as server:
        yield server


@pytest.fixture(params=["small.pb", "small"])
def path(request, root):
    return root / request.param


def until(ears, event, **wanted):
    return ears.until(event, PATIENCE_S, **wanted)


def test_boundary_nodes_end_with_custom_and_tell_domain_and_shape(served, ears, path):
    body = {"request_id": path.name, "model_path": str(path)}
    assert served.post("/api/model/boundary_nodes", body).status == 200
    status, told = until(ears, "boundary_nodes_finish", request_id=path.name)
    outputs = ["output_0"] if path.is_dir() else ["classes"]
    assert (status, told["framework"]) == ("success", "TensorFlow")
    assert (told["inputs"], told["outputs"]) == (["picture", "custom"], [*outputs, "custom"])
    assert (told["domain"], told["shape"], told["trusted"]) == (
        "Image Recognition",
        "16,16,3",
        True,
    )


def test_its_graph_is_drawn(served, path):
    answer = served.get("/api/model/graph?" + urlencode({"path": str(path)}))
    assert answer.status == 200, answer.text
    assert len(answer.json["nodes"]) >= 2
    assert answer.json["nodes"][0]["properties"] == {"name": "picture", "type": "Placeholder"}
    assert answer.json["edges"]


def test_it_is_measured_with_two_instances_and_profiled(served, ears, path):
    said = {"name": path.name, "model": {"path": str(path), "domain": "Image Recognition"}}
    made = served.post("/api/project/create", said)
    assert made.status == 200, made.text
    project, model = made.json["project_id"], made.json["model_id"]
    (listed,) = served.post("/api/model/list", {"project_id": project}).json["models"]
    assert listed["path"] == str(path)

    asked = {"project_id": project, "model_id": model, "name": "b", "dataset_id": -1}
    quick = {"iterations": 5000, "warmup_iterations": 1, "batch_size": 2, "cores_per_instance": 1}
    added = served.post("/api/benchmark/add", asked | quick | {"number_of_instance": 2})
    number = added.json["benchmark_id"]
    served.post("/api/benchmark/execute", {"request_id": f"b {path.name}", "benchmark_id": number})
    status, told = until(ears, "benchmark_finish", request_id=f"b {path.name}")
    assert status == "success", told
    assert (told["model"]["framework"]["name"], told["number_of_instance"]) == ("TensorFlow", 2)
    assert told["result"]["performance"] > 0

    added = served.post("/api/profiling/add", asked | {"name": "p", "num_threads": 1})
    number = added.json["profiling_id"]
    served.post("/api/profiling/execute", {"request_id": f"p {path.name}", "profiling_id": number})
    status, told = until(ears, "profiling_finish", request_id=f"p {path.name}")
    assert status == "success", told
    sent = served.get(f"/api/profiling/results/csv?id={number}")
    rows = {row["node_name"]: row for row in csv.DictReader(io.StringIO(sent.text))}
    assert any("Conv2D" in name for name in rows)
    assert all(int(row["total_execution_time"]) >= 0 for row in rows.values())


def test_a_graph_ends_where_the_user_says(served, root):
    nodes = {"input_nodes": ["picture"], "output_nodes": ["small_1/pool_1/Mean"]}
    said = {"name": "custom", "model": {"path": str(root / "small.pb")} | nodes}
    made = served.post("/api/project/create", said).json
    asked = {"project_id": made["project_id"], "model_id": made["model_id"], "dataset_id": -1}
    added = served.post("/api/benchmark/add", asked | {"name": "b", "batch_size": 1}).json
    spec = served.server.records.benchmarks.get(added["benchmark_id"]).spec
    assert spec.cells[0].options == {"outputs": "small_1/pool_1/Mean"}
    added = served.post("/api/profiling/add", asked | {"name": "p", "num_threads": 1}).json
    spec = served.server.records.profiles.get(added["profiling_id"]).spec
    assert spec.cell.options == {"outputs": "small_1/pool_1/Mean"}


def test_a_graph_begins_where_the_user_says(served, ears, root):
    nodes = {"input_nodes": ["small_1/pool_1/Mean"], "shape": "8"}
    said = {"name": "fed", "model": {"path": str(root / "small.pb")} | nodes}
    made = served.post("/api/project/create", said).json
    asked = {"project_id": made["project_id"], "model_id": made["model_id"], "name": "b"}
    quick = {"dataset_id": made["dataset_id"], "iterations": 20, "batch_size": 3}
    added = served.post("/api/benchmark/add", asked | quick | {"number_of_instance": 1}).json
    body = {"request_id": "fed", "benchmark_id": added["benchmark_id"]}
    served.post("/api/benchmark/execute", body)
    status, told = until(ears, "benchmark_finish", request_id="fed")
    assert status == "success", told
    run = served.get(f"benchmarks/{added['benchmark_id']}").json["latest_run"]
    (cell,) = served.get(f"runs/{run['id']}/result").json["cells"]
    assert cell["input_shapes"] == {"small_1/pool_1/Mean": [3, 8]}


def test_an_example_is_built_by_keras_and_becomes_a_project_with_all_its_events(served, ears):
    asked = {"request_id": "e", "name": "Mine", "framework": "TensorFlow", "progress_steps": 2}
    asked |= {"domain": "Image Recognition", "model": "MobileNetV3Small"}
    listed = served.get("/api/examples/list").json
    assert {key: asked[key] for key in ("framework", "domain", "model")} in listed
    answer = served.post("/api/examples/add", asked)
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    names, told = ["create_example_project_start"], {}
    assert until(ears, names[0], request_id="e")[0] == "success"
    status, start = until(ears, "download_start", request_id="e")
    assert (status, start["url"].startswith("pkg:pypi/keras@")) == ("success", True)
    status, progress = until(ears, "download_progress", request_id="e")
    assert (status, progress["progress"]) == ("success", 50)
    assert until(ears, "download_finish", request_id="e")[0] == "success"
    status, told = until(ears, "create_example_project_finish", request_id="e")
    assert status == "success", told
    model = served.server.records.models.get(told["model_id"])
    assert (model.format, model.domain) == ("keras", "Image Recognition")
    assert model.facts.parameters > 2_000_000
    started = served.server.examples.fetch(
        "keras-mobilenetv3small"
    )  # is there, and not built again
    assert started.stored.sha256 == model.sha256

    number = told["benchmark_id"]
    said = {"id": number, "iterations": 3, "cores_per_instance": 1, "number_of_instance": 1}
    assert served.post("/api/benchmark/edit", said).status == 200
    served.post("/api/benchmark/execute", {"request_id": "eb", "benchmark_id": number})
    status, told = until(ears, "benchmark_finish", request_id="eb")
    assert status == "success", told
    assert told["result"]["performance"] > 0


def test_a_saved_model_can_be_sent_packed_as_its_folder(served, root, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "small"), "zip", root, "small")
    project = served.post("projects", {"name": "packed"}).json["id"]
    answer = served.post(
        f"projects/{project}/models?name=small&packed=true",
        Path(packed).read_bytes(),
        content_type="application/octet-stream",
    )
    assert answer.status == 201, answer.text
    assert (answer.json["format"], answer.json["state"], answer.json["name"]) == (
        "saved-model",
        "ready",
        "small",
    )
