"""``project/…``: made with a model, told with it, deleted with everything."""

import pytest

from modeldyno.core.models import InputSpec
from tests import onnx_models, tf_files
from tests.api.v1.server import serving
from tests.onnx_models import saved

MODEL_KEYS = [
    *("id", "name", "path", "framework", "size", "precision", "domain", "domain_flavour"),
    *("input_nodes", "output_nodes", "supports_profiling", "supports_graph", "created_at"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def served(tmp_path_factory, root, starts_processes):
    saved(onnx_models.linear(), root / "net.onnx")
    (root / "net.pb").write_bytes(tf_files.linear())
    (root / "rubbish.onnx").write_bytes(b"no model at all" * 10)
    with serving(tmp_path_factory.mktemp("workspace"), models_roots=(root,)) as server:
        yield server


def create(served, root, **model):
    body = {"name": "My project", "model": {"path": str(root / "net.onnx"), **model}}
    return served.post("/api/project/create", body)


def project(served, number):
    return served.post("/api/project", {"id": number})


def count(served):
    return len(served.get("/api/project/list").json["projects"])


def test_a_project_is_made_with_its_model_and_a_dummy_dataset(served, root):
    said = {"input_nodes": "x", "output_nodes": "y", "domain": "Image Recognition", "shape": "4"}
    made = create(served, root, **said).json
    assert list(made) == ["project_id", "model_id", "dataset_id"]
    (dataset,) = served.get(f"datasets?project_id={made['project_id']}").json["items"]
    assert (dataset["id"], dataset["name"]) == (made["dataset_id"], "dummy")
    kept = served.server.records.datasets.get(made["dataset_id"])
    assert (kept.kind, kept.parameters) == (
        "dummy_v2",
        {"input_shape": [[4]], "label_shape": [1]},
    )


def test_details_have_every_documented_key_in_its_order_with_its_type(served, root):
    number = create(served, root, domain="").json["project_id"]
    told = project(served, number).json
    assert list(told) == ["id", "name", "notes", "input_model", "created_at", "modified_at"]
    assert (told["id"], told["name"], told["notes"]) == (number, "My project", None)
    assert told["modified_at"] == "None"
    model = told["input_model"]
    assert list(model) == MODEL_KEYS
    del model["id"], model["created_at"]
    assert model == {
        "name": "Input model",
        "path": str(root / "net.onnx"),
        "framework": {"id": 2, "name": "ONNXRT"},
        "size": 0.0,
        "precision": {"id": 1, "name": "fp32"},
        "domain": {"id": 0, "name": ""},
        "domain_flavour": {"id": 1, "name": ""},
        "input_nodes": ["x"],
        "output_nodes": ["y"],
        "supports_profiling": True,
        "supports_graph": True,
    }


def test_nodes_are_text_with_commas_or_a_list_and_custom_is_none(served, root):
    said = {"input_nodes": "x, b,custom", "output_nodes": ["product", "y"]}
    number = create(served, root, path=str(root / "net.pb"), **said).json["project_id"]
    model = served.get(f"/api/project?id={number}").json["input_model"]
    assert (model["input_nodes"], model["output_nodes"]) == (["x", "b"], ["product", "y"])


def test_a_frozen_graph_is_fed_where_the_user_says(served, root):
    said = {"path": str(root / "net.pb"), "input_nodes": ["product:0"], "shape": "2"}
    made = create(served, root, **said).json
    asked = {"project_id": made["project_id"], "model_id": made["model_id"]}
    named = asked | {"name": "b", "dataset_id": made["dataset_id"], "batch_size": 1}
    added = served.post("/api/benchmark/add", named).json
    spec = served.server.records.benchmarks.get(added["benchmark_id"]).spec
    fed = (InputSpec("product", "float32", ("batch", 2)),)
    assert (spec.model.inputs, spec.model.dims) == (fed, {})
    added = served.post("/api/profiling/add", named | {"name": "p", "num_threads": 1}).json
    assert served.server.records.profiles.get(added["profiling_id"]).spec.model.inputs == fed
    side = {"model_id": made["model_id"]}
    pair = {"project_id": made["project_id"], "a": side, "b": side, "start": False}
    compared = served.post("comparisons", pair).json["pairing"]
    assert [compared[one]["inputs"] for one in "ab"] == [["product=float32[batch,2]"]] * 2


@pytest.mark.parametrize(
    "nodes", [{"input_nodes": ["product"], "shape": "2"}, {"output_nodes": ["product"]}]
)
def test_what_runs_whole_graphs_only_refuses_chosen_nodes(served, root, nodes):
    made = create(served, root, path=str(root / "net.pb"), **nodes).json
    asked = {"project_id": made["project_id"], "model_id": made["model_id"], "start": False}
    refused = served.post("benchmarks", asked | {"engines": ["openvino"]})
    assert refused.status == 400, refused.text
    assert refused.json["title"] == "OpenVINO runs the whole graph of 'Input model'"
    refused = served.post(f"models/{made['model_id']}/conversions", {"to": "onnx"})
    assert refused.status == 400, refused.text
    assert "at product" in refused.json["detail"]
    assert served.post("benchmarks", asked | {"engines": ["tensorflow"]}).status == 201


@pytest.mark.parametrize(
    ("file", "said", "words"),
    [
        ("net.pb", {"input_nodes": "prodct", "shape": "2"}, "Did you mean product?"),
        ("net.pb", {"output_nodes": "z"}, "output_nodes: the graph has no node 'z'"),
        ("net.pb", {"input_nodes": "product"}, "The shape of 'product' is unknown"),
        ("net.onnx", {"input_nodes": "product"}, "input_nodes: the model has no 'product'"),
        ("net.onnx", {"output_nodes": "product"}, "output_nodes: the model has no 'product'"),
    ],
)
def test_nodes_at_which_a_model_cannot_begin_or_end_are_told_at_once(
    served, root, file, said, words
):
    before = count(served)
    refused = create(served, root, path=str(root / file), **said)
    assert (refused.status, words in refused.text) == (400, True), refused.text
    assert count(served) == before


def test_domain_and_precision_are_as_said_or_as_the_model_shows_them(served, root):
    said = create(served, root, domain="recommendation", precision="bf16").json["project_id"]
    model = project(served, said).json["input_model"]
    assert model["domain"] == {"id": 4, "name": "Recommendation"}
    assert model["precision"] == {"id": 2, "name": "bf16"}
    made = create(served, root, shape="").json  # a second of that name
    assert made["dataset_id"] == -1
    model = project(served, made["project_id"]).json["input_model"]
    assert (model["domain"]["id"], model["precision"]["name"]) == (0, "fp32")


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"path": "rubbish.onnx"}, 400, "rubbish.onnx"),
        ({"path": "missing.onnx"}, 404, "missing.onnx"),
        ({"path": "/etc/passwd"}, 403, "--models-root"),
        ({"path": "../net.onnx"}, 403, ".."),
        ({"domain": "Cooking"}, 400, "Object Detection"),
        ({"precision": "fp7"}, 400, "int8"),
        ({"shape": "3,x"}, 400, "224,224,3"),
        ({"shape": "0,4"}, 400, "224,224,3"),
        ({"path": None}, 400, "Could not find required parameter."),
        ({"path": ["a", "b"]}, 400, "path"),
    ],
)
def test_what_cannot_be_made_leaves_nothing_behind(served, root, said, status, words):
    before = count(served)
    answer = create(served, root, **said)
    assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    assert words in answer.text
    assert count(served) == before


@pytest.mark.parametrize("body", [{}, {"name": "p"}, {"model": {"path": "net.onnx"}}])
def test_what_is_missing_is_told(served, body):
    answer = served.post("/api/project/create", body)
    assert answer.status == 400
    assert answer.text.startswith("Could not find required parameter.")


def test_a_relative_path_means_below_an_allowed_folder(served):
    body = {"name": "p", "model": {"path": "net.onnx"}}
    number = served.post("/api/project/create", body).json["project_id"]
    assert project(served, number).json["input_model"]["path"] == "net.onnx"


@pytest.mark.usefixtures("starts_processes")
def test_without_any_flag_files_of_the_workspace_can_be_used(tmp_path):
    with serving(tmp_path) as served:
        path = saved(onnx_models.linear(), tmp_path / "models" / "exported" / "net.onnx")
        body = {"name": "p", "model": {"path": str(path)}}
        assert served.post("/api/project/create", body).status == 200
        outside = saved(onnx_models.linear(), tmp_path / "net.onnx")
        answer = served.post("/api/project/create", {"name": "p", "model": {"path": str(outside)}})
        assert (answer.status, "models/exported" in answer.text) == (403, True)


# ---------------------------------------------------------------- unknown, wrong, missing


def test_an_unknown_project_is_told_in_the_words_that_send_the_client_home(served):
    answer = project(served, 99999)
    assert (answer.status, answer.text) == (500, "list index out of range")


def test_a_wrong_or_missing_id_is_told(served):
    assert (project(served, "x").status, project(served, "x").text) == (
        400,
        "Incorrect project id.",
    )
    answer = served.post("/api/project", {})
    assert (answer.status, answer.text) == (400, "Could not find project id.")


def test_a_project_without_a_model_can_be_looked_at(served):
    told = project(served, served.project("empty")).json
    assert list(told["input_model"]) == MODEL_KEYS
    assert told["input_model"]["framework"] == {"id": 0, "name": ""}


# ---------------------------------------------------------------- notes


def test_notes_are_kept_and_the_project_was_modified(served):
    number = served.project()
    told = served.post("/api/project/note", {"id": number, "notes": "Fans at\nfull speed"}).json
    assert told == {"id": number, "notes": "Fans at\nfull speed"}
    after = project(served, number).json
    assert after["notes"] == "Fans at\nfull speed"
    assert after["modified_at"] != "None"
    assert served.post("/api/project/note", {"id": number, "notes": ""}).json["notes"] == ""


def test_notes_that_are_missing_or_of_no_project_are_refused(served):
    number = served.project()
    answer = served.post("/api/project/note", {"id": number})
    assert (answer.status, answer.text) == (400, "Notes not provided.")
    assert served.post("/api/project/note", {"id": number, "notes": 5}).status == 400
    assert served.post("/api/project/note", {"id": 99999, "notes": "x"}).status == 404


# ---------------------------------------------------------------- delete


def test_deleting_takes_everything_along(served, root):
    made = create(served, root, shape="4").json
    body = {"id": made["project_id"], "name": "My project"}
    assert served.post("/api/project/delete", body).json == {"id": made["project_id"]}
    assert project(served, made["project_id"]).status == 500
    assert served.get(f"models/{made['model_id']}").status == 404
    assert served.post("/api/project/delete", body).json == {"id": None}


def test_deleting_needs_the_right_name(served):
    number = served.project("right")
    for name in ("wrong", "RIGHT", "right "):
        body = {"id": number, "name": name}
        assert served.post("/api/project/delete", body).json == {"id": None}
    assert project(served, number).status == 200
    for body in ({"id": number}, {"name": "right"}, {}):
        answer = served.post("/api/project/delete", body)
        assert (answer.status, answer.text) == (400, "Missing project id or project name.")


def test_deleting_a_project_stops_what_waits_and_what_runs_and_tells_each_end_once(served, ears):
    project = served.project("at work")
    model = served.model(project, latency_us=20_000)
    for name in ("runs", "waits"):
        asked = {"project_id": project, "name": name, "model_id": model, "dataset_id": -1}
        added = served.post("/api/benchmark/add", asked | {"batch_size": 1}).json["benchmark_id"]
        execute(served, added, name)
    ears.until("benchmark_start", request_id="runs")
    body = {"id": project, "name": "at work"}
    assert served.post("/api/project/delete", body).json == {"id": project}
    other = served.project("afterwards")  # everything keeps working
    after = served.benchmark(other, start=False)["id"]
    execute(served, after, "after")
    ears.until("benchmark_finish", request_id="after")
    ends = [
        (told["data"]["request_id"], told["status"])
        for name, told in ears.heard
        if name == "benchmark_finish"
    ]
    assert sorted(ends) == [("after", "success"), ("runs", "error"), ("waits", "error")]


def execute(served, number, request_id):
    body = {"request_id": request_id, "benchmark_id": number}
    assert served.post("/api/benchmark/execute", body).status == 200


# ---------------------------------------------------------------- lists


def test_a_list_asks_the_database_once_for_each_page(served):
    for number in range(3):
        served.project(f"p{number}")
    with served.counting() as asked:
        told = served.get("/api/project/list").json
    assert sum(one.startswith("SELECT") for one in asked) == 1
    assert [one["id"] for one in told["projects"]] == sorted(one["id"] for one in told["projects"])
    assert list(told["projects"][0]) == ["id", "name", "created_at", "modified_at"]


def test_details_ask_the_database_the_same_few_times(served):
    number = served.project()
    served.model(number)
    with served.counting() as asked:
        told = served.ask("GET", "/api/project", {"id": str(number)}).json
    assert told["input_model"]["name"]
    assert sum(one.startswith("SELECT") for one in asked) <= 4


@pytest.mark.parametrize("noun", ["model", "dataset", "benchmark", "profiling", "optimization"])
def test_every_list_of_an_unknown_project_is_empty(served, noun):
    answer = served.post(f"/api/{noun}/list", {"project_id": 10**6})
    assert (answer.status, answer.json) == (200, {f"{noun}s": []})
