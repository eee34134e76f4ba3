"""``benchmark`` with an input model: the call of 1.9, as its document tells it."""

import json
import shlex
from pathlib import Path

import pytest

from tests.api.inc.events import listening
from tests.api.v1.server import serving
from tests.onnx_models import linear, saved
from tests.scripts import fault, script
from tests.terminal import modeldyno

PARTS = (
    *("instances", "cores_per_instance", "model_path", "precision", "mode", "batch_size"),
    *("framework", "config_path", "benchmark_script", "command"),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def served(tmp_path_factory, root, starts_processes):
    with serving(tmp_path_factory.mktemp("served"), models_roots=(root,)) as found:
        yield found


@pytest.fixture(scope="module")
def linear_onnx(root):
    return saved(linear(), root / "linear.onnx")


def call(served, **said):
    return served.post("/api/benchmark", said)


def told(ears, *names):
    return [data for name, data in ears.heard if name in names]


@pytest.mark.slow
def test_two_models_are_measured_and_told_as_documented(served, root, linear_onnx, ears, tmp_path):
    optimized = saved(linear(batch=1), root / "optimized.onnx")
    (root / "space").mkdir()
    answer = call(
        served,
        id="configuration_id",
        workspace_path=str(root / "space"),
        input_model={"precision": "fp32", "path": str(linear_onnx)},
        optimized_model={"precision": "int8", "path": str(optimized)},
    )
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    status, last = ears.until("benchmark_finish", id="configuration_id")
    assert status == "success"
    assert ears.names() == [
        "benchmark_start",
        "benchmark_progress",
        "benchmark_progress",
        "benchmark_finish",
    ]
    start, first, second = (data["data"] for _, data in ears.heard[:3])
    assert start == {"id": "configuration_id", "message": "started"}
    keys = ("id", "execution_details", "progress", "perf_throughput_input_model")
    assert (tuple(first), first["progress"]) == (keys, "1/2")
    assert tuple(first["execution_details"]) == ("input_model_benchmark",)
    assert tuple(second) == (*keys, "perf_throughput_optimized_model")
    assert second == last  # and no note: the folder was ours to write to
    folder = root / "space/workloads/linear_configuration_id"
    for side, path, precision, config in (
        ("input_model", linear_onnx, "fp32", "config.yaml"),
        ("optimized_model", optimized, "int8", "optimized_config.yaml"),
    ):
        details = last["execution_details"][f"{side}_benchmark"]["performance"]
        assert tuple(details) == PARTS
        shown = {key: details[key] for key in ("model_path", "precision", "mode", "framework")}
        assert shown == {
            "model_path": str(path),
            "precision": precision,
            "mode": "performance",
            "framework": "onnxrt",
        }
        assert details["config_path"] == str(folder / config)
        assert last[f"perf_throughput_{side}"] > 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "config.yaml",
        "optimized_config.yaml",
        "optimized_output.txt",
        "output.txt",
    ]
    # The results are kept, in a project of that name.
    (project,) = (
        one for one in served.get("projects").json["items"] if one["name"] == "configuration_id"
    )
    found = served.post("/api/benchmark/list", {"project_id": project["id"]}).json["benchmarks"]
    assert [(one["name"], one["status"]) for one in found] == [
        ("Input model", "success"),
        ("Optimized model", "success"),
    ]
    assert [*(served.workspace / "workloads").iterdir()] == []
    command = last["execution_details"]["optimized_model_benchmark"]["performance"]["command"]
    ended = modeldyno(*shlex.split(command)[1:], "--json", "--workspace", tmp_path)
    assert ended.code == 0, ended.err
    assert ended.document["budget"]["name"] == "quick"


@pytest.mark.slow
def test_accuracy_counts_in_the_total_and_is_honestly_not_there(served, linear_onnx, ears):
    model = {"path": "linear.onnx", "mods": ["benchmark", "accuracy"]}
    assert call(served, id=7, input_model=model, workspace_path="/elsewhere").status == 200
    status, last = ears.until("benchmark_finish", id=7)
    assert status == "success"
    progress = [data["data"]["progress"] for data in told(ears, "benchmark_progress")]
    assert (progress, last["progress"]) == (["1/2", "2/2"], "2/2")
    assert (last["acc_input_model"], "later version" in last["message"]) == (None, True)
    config = last["execution_details"]["input_model_benchmark"]["performance"]["config_path"]
    assert config.startswith(f"{served.workspace}/runs/")
    assert Path(config).is_file()
    assert last["note"].startswith("workspace_path is not a writable folder")


def test_accuracy_alone_ends_as_an_error_that_says_that_nothing_was_measured(served, root, ears):
    script(root / "alone.json")
    accuracy = {"path": "alone.json", "mods": ["accuracy"]}
    said = {"id": "alone", "input_model": accuracy, "workspace_path": "/elsewhere"}
    assert call(served, **said).status == 200
    status, last = ears.until("benchmark_finish", id="alone")
    assert (status, last["error_code"], last["progress"]) == ("error", "NOT_YET", "1/1")
    assert (last["acc_input_model"], last["message"][:17]) == (None, "Nothing measured.")
    assert "workspace_path" in last["note"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ["a"]},
        {"id": {"a": 1}},
        {"instances": "many"},
        {"instances": 0},
        {"cores_per_instance": 1.5},
        {"workspace_path": 7},
    ],
)
def test_values_of_a_wrong_type_are_refused_and_nothing_is_made(served, root, ears, wrong):
    script(root / "typed.json")
    model = {"path": "typed.json", "mods": "accuracy"}
    before = served.server.records.projects.count()
    assert call(served, **{"id": "typed", "input_model": model} | wrong).status == 400
    assert served.server.records.projects.count() == before
    if "instances" in wrong:
        assert call(served, id="typed", input_model=model | wrong).status == 400
    # The same, well said: in a query a single id is no list.
    right = {"input_model": model, "instances": 2, "cores_per_instance": "1"}
    assert served.post("/api/benchmark?id=right", right).status == 200
    ears.until("benchmark_finish", id="right")


def test_a_measurement_that_fails_ends_the_call_once_and_others_go_on(served, root, ears):
    script(root / "broken.json", faults=[fault("raise", call=2)])
    script(root / "good.json")
    both = {"input_model": {"path": "broken.json"}, "optimized_model": {"path": "good.json"}}
    assert call(served, id="broken", **both).status == 200
    status, last = ears.until("benchmark_finish", id="broken")
    assert (status, last["error_code"], last["progress"]) == ("error", "ENGINE_FAILED", "0/2")
    assert last["message"]
    accuracy = {"path": "good.json", "mods": "accuracy"}
    assert call(served, id="after", input_model=accuracy).status == 200
    assert ears.until("benchmark_finish", id="after")[1]["progress"] == "1/1"
    finishes = [data["data"]["id"] for data in told(ears, "benchmark_finish")]
    assert finishes == ["broken", "after"]
    assert served.get("jobs?state=queued").json["items"] == []


@pytest.mark.parametrize(
    ("model", "status"),
    [
        ({"path": "nowhere.onnx"}, 404),
        ({"path": "/etc/passwd"}, 403),
        ({"path": "../linear.onnx"}, 403),
        ({"precision": "fp32"}, 400),
        ({"path": ["a", "b"]}, 400),
        ({"path": "linear.onnx", "mods": ["speed"]}, 400),
        ([1, 2], 400),
    ],
)
def test_what_cannot_be_measured_is_refused_and_nothing_is_made(served, linear_onnx, model, status):
    before = served.server.records.projects.count()
    answer = call(served, id="refused", input_model=model)
    assert (answer.status, bool(answer.text)) == (status, True)
    assert served.server.records.projects.count() == before


@pytest.mark.slow
def test_a_call_that_a_server_left_ends_once_with_the_next_one(tmp_path, root):
    script(root / "slow.json", latency_us=50_000)
    both = {"input_model": {"path": "slow.json"}, "optimized_model": {"path": "slow.json"}}
    with serving(tmp_path, models_roots=(root,)) as first, listening(first) as ears:
        assert call(first, id="left", **both).status == 200
        ears.until("benchmark_start", id="left")
    (file,) = (tmp_path / "workloads").iterdir()
    assert json.loads(file.read_text())["id"] == "left"
    with serving(tmp_path, models_roots=(root,)) as second, listening(second) as ears:
        status, last = ears.until("benchmark_finish", id="left")
        assert (status, last["progress"]) == ("error", "0/2")
        assert last["message"].startswith("The server was stopped")
        assert call(second, id="n", input_model={"path": "slow.json", "mods": "accuracy"})
        ears.until("benchmark_finish", id="n")
        assert [name for name, _ in ears.heard if name == "benchmark_finish"] == [
            "benchmark_finish",
            "benchmark_finish",
        ]
    assert [*(tmp_path / "workloads").iterdir()] == []


def test_without_an_input_model_it_is_details(served):
    assert served.post("/api/benchmark", {"id": 10**6}).status == 404
    assert served.get("/api/benchmark?id=1000000").status == 404
