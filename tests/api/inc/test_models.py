"""``model/…``: listed, sent, drawn, and looked into by path."""

import shutil
import time
from urllib.parse import urlencode

import pytest
import socketio
from onnx import helper

from tests import onnx_models, tf_files, torch_archives
from tests.api.v1.server import serving
from tests.onnx_models import FLOAT, model, saved, value, weight

SOON_S = 30.0  # a worker starts meanwhile, on a busy machine


def grouped():
    """input → body/conv/Conv → body/conv/Relu → body/Add → head/Softmax → output."""
    made = helper.make_node
    nodes = [
        made("Constant", [], ["one"], name="body/one", value=weight("c", 1)),
        made("Conv", ["x", "w"], ["a"], name="body/conv/Conv", strides=[2, 2], group=1),
        made("Relu", ["a"], ["b"], name="body/conv/Relu"),
        made("Add", ["b", "one"], ["c"], name="body/Add"),
        made("Softmax", ["c"], ["y"], name="head/Softmax", axis=1),
    ]
    return model(
        nodes,
        [value("x", FLOAT, ["batch", 3, 8, 8])],
        [value("y", FLOAT, None)],
        [weight("w", 3, 3, 1, 1)],
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    saved(grouped(), folder / "net.onnx")
    (folder / "rubbish.onnx").write_bytes(b"no model at all" * 10)
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory, root, starts_processes):
    with serving(tmp_path_factory.mktemp("workspace"), models_roots=(root,)) as server:
        yield server


@pytest.fixture(scope="module")
def made(served, root):
    body = {"name": "p", "model": {"path": str(root / "net.onnx")}}
    return served.post("/api/project/create", body).json


def graph(served, path, *groups):
    query = urlencode([("path", path), *(("group", group) for group in groups)])
    return served.get(f"/api/model/graph?{query}")


def edges(drawn):
    return [(edge["source"], edge["target"]) for edge in drawn["edges"]]


# ---------------------------------------------------------------- list and file


def test_models_of_a_project_are_listed_in_one_query(served, root, made):
    with served.counting() as asked:
        told = served.post("/api/model/list", {"project_id": str(made["project_id"])}).json
    (row,) = told["models"]
    assert list(row) == ["id", "name", "path", "precision_id", "created_at"]
    assert (row["id"], row["name"], row["precision_id"]) == (made["model_id"], "Input model", 1)
    assert row["path"] == str(root / "net.onnx")
    assert sum(one.startswith("SELECT") for one in asked) == 1


def test_an_unknown_project_has_no_models_and_a_missing_one_is_told(served):
    assert served.get("/api/model/list?project_id=99999").json == {"models": []}
    assert served.get("/api/model/list").status == 400


def test_a_model_comes_as_an_attachment_under_its_files_name(served, root, made):
    answer = served.post("/api/model/download", {"id": made["model_id"]})
    assert (answer.status, answer.body) == (200, (root / "net.onnx").read_bytes())
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "net.onnx" in answer.headers["content-disposition"]
    assert served.post("/api/model/download", {"id": 99999}).status == 404


# ---------------------------------------------------------------- graph


def test_groups_are_closed_and_lead_to_what_can_be_seen(served, root):
    drawn = graph(served, root / "net.onnx").json
    assert [node["id"] for node in drawn["nodes"]] == [
        "x",
        "node_group_body",
        "head/Softmax",
        "y",
    ]
    assert drawn["nodes"][1] == {
        "id": "node_group_body",
        "label": "body",
        "highlight": False,
        "node_type": "group_node",
        "group": "body",
    }
    assert edges(drawn) == [
        ("x", "node_group_body"),
        ("node_group_body", "head/Softmax"),
        ("head/Softmax", "y"),
    ]


def test_a_node_has_its_settings_with_their_values(served, root):
    softmax = graph(served, root / "net.onnx").json["nodes"][2]
    assert softmax == {
        "id": "head/Softmax",
        "label": "Softmax",
        "highlight": False,
        "properties": {"name": "head/Softmax", "type": "Softmax"},
        "attributes": [
            {"name": "axis", "attribute_type": "int", "value": "1"},
            {"name": "output y", "attribute_type": "tensor", "value": "float32[batch, 3, 4, 4]"},
        ],
        "node_type": "node",
    }


def test_inputs_of_a_tensorflow_graph_are_placeholders(served, root):
    (root / "linear.pb").write_bytes(tf_files.linear())
    first = graph(served, root / "linear.pb").json["nodes"][0]
    assert first["label"] == first["properties"]["type"] == "Placeholder"


def test_ends_are_nodes_with_type_and_shape(served, root):
    first, *_, last = graph(served, root / "net.onnx").json["nodes"]
    assert (first["label"], last["label"]) == ("Input node", "Output node")
    assert first["attributes"] == [
        {"name": "dtype", "attribute_type": "type", "value": "float32"},
        {"name": "shape", "attribute_type": "shape", "value": "[batch, 3, 8, 8]"},
    ]


@pytest.mark.parametrize("prefix", ["", "node_group_"])
def test_groups_open_by_name_or_by_id_and_constants_are_left_out(served, root, prefix):
    opened = graph(served, root / "net.onnx", f"{prefix}body").json
    names = [node["id"] for node in opened["nodes"]]
    assert names == ["x", "node_group_body/conv", "body/Add", "head/Softmax", "y"]
    whole = graph(served, root / "net.onnx", f"{prefix}body", f"{prefix}body/conv").json
    assert {"body/conv/Conv", "body/conv/Relu"} < {node["id"] for node in whole["nodes"]}
    assert ("body/conv/Relu", "body/Add") in edges(whole)
    conv = next(node for node in whole["nodes"] if node["label"] == "Conv")
    assert {"name": "strides", "attribute_type": "ints", "value": "[2, 2]"} in conv["attributes"]
    # Only the inner one is open: it cannot be seen.
    inner = graph(served, root / "net.onnx", f"{prefix}body/conv").json
    assert inner == graph(served, root / "net.onnx").json


def test_a_graph_without_edges_says_so(served, root):
    nothing = model([], [value("x", FLOAT, [1])], [value("x", FLOAT, [1])])
    path = saved(nothing, root / "nothing.onnx")
    drawn = graph(served, path).json
    assert (len(drawn["nodes"]), len({node["id"] for node in drawn["nodes"]})) == (2, 2)
    assert edges(drawn) == [(drawn["nodes"][0]["id"], drawn["nodes"][1]["id"])]


def test_a_body_may_name_the_path_as_a_list_or_as_text(served, root):
    path = str(root / "net.onnx")
    told = [served.post("/api/model/graph", {"path": said}).json for said in (path, [path])]
    assert told[0] == told[1] == graph(served, path).json


@pytest.mark.parametrize(
    ("path", "status"),
    [("rubbish.onnx", 400), ("missing.onnx", 404), ("/etc/passwd", 403), ("a/../net.onnx", 403)],
)
def test_what_cannot_be_drawn_is_told(served, path, status):
    answer = graph(served, path)
    assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")


def test_a_missing_path_is_told(served):
    answer = served.get("/api/model/graph")
    assert (answer.status, answer.text) == (400, "Missing path parameter")


def test_what_was_drawn_is_drawn_again_without_a_worker(served, root, monkeypatch):
    first = graph(served, root / "net.onnx").body
    monkeypatch.setattr(served.server.model_files._inspections, "run", None)  # would fail
    assert graph(served, root / "net.onnx").body == first


def test_a_project_of_a_file_that_was_looked_at_starts_no_worker(served, client, root, monkeypatch):
    path = saved(onnx_models.linear("looked"), root / "once.onnx")
    boundary(served, client, path)
    monkeypatch.setattr(served.server.model_files._inspections, "run", None)  # would fail
    body = {"name": "p", "model": {"path": str(path)}}
    assert served.post("/api/project/create", body).status == 200


def test_a_file_that_changed_is_drawn_as_it_is_now(served, root):
    path = saved(onnx_models.linear(), root / "changing.onnx")
    assert [node["label"] for node in graph(served, path).json["nodes"]][1] == "Gemm"
    saved(onnx_models.embedding(), path)
    assert [node["label"] for node in graph(served, path).json["nodes"]][1] == "Gather"


def test_a_model_whose_file_is_gone_is_drawn_as_it_was(served, root):
    path = saved(grouped(), root / "gone.onnx")
    body = {"name": "p", "model": {"path": str(path)}}
    assert served.post("/api/project/create", body).status == 200
    path.unlink()
    assert graph(served, path).json == graph(served, root / "net.onnx").json


def test_an_uploaded_model_is_drawn_by_the_path_that_is_told(served, root):
    number = served.project()
    content = (root / "net.onnx").read_bytes()
    sent = served.post(
        f"projects/{number}/models?name=up.onnx", content, content_type="application/octet-stream"
    )
    assert sent.status == 201, sent.text
    path = served.post("/api/project", {"id": number}).json["input_model"]["path"]
    assert graph(served, path).json == graph(served, root / "net.onnx").json


def test_looking_leaves_nothing_in_the_workspace(served, root):
    shutil.copy(root / "rubbish.onnx", root / "more.onnx")
    saved(onnx_models.linear("looked-at"), root / "looked.onnx")
    before = sorted((served.workspace / "objects").rglob("*"))
    assert graph(served, root / "looked.onnx").status == 200
    assert graph(served, root / "more.onnx").status == 400
    files = [path for path in (served.workspace / "objects").rglob("*") if path.is_file()]
    assert [path for path in files if path not in before] == []


# ---------------------------------------------------------------- highlight


def test_a_pattern_is_highlighted_and_its_groups_are_open(served, root):
    body = {
        "path": [str(root / "net.onnx")],
        "op_name": "body/conv/Conv",
        "pattern": ["Conv", "Relu"],
    }
    told = served.post("/api/model/graph/highlight_pattern", body).json
    assert list(told) == ["graph", "groups"]
    assert told["groups"] == ["node_group_body", "node_group_body/conv"]
    shining = [node["id"] for node in told["graph"]["nodes"] if node["highlight"]]
    assert shining == ["body/conv/Conv", "body/conv/Relu"]
    body["pattern"] = ["Conv", "Sigmoid"]  # no such row: the operator itself
    told = served.post("/api/model/graph/highlight_pattern", body).json
    shining = [node["id"] for node in told["graph"]["nodes"] if node["highlight"]]
    assert shining == ["body/conv/Conv"]
    body["op_name"] = "nobody"
    assert served.post("/api/model/graph/highlight_pattern", body).status == 404


# ---------------------------------------------------------------- boundary nodes


@pytest.fixture(scope="module")
def client(served):
    with socketio.SimpleClient() as client:
        client.connect(served.url, headers={"Authorization": served.token})
        yield client


def boundary(served, client, path, request_id="asd"):
    body = {"request_id": request_id, "model_path": str(path)}
    answer = served.post("/api/model/boundary_nodes", body)
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    (started, first), (finished, last) = (client.receive(timeout=SOON_S) for _ in range(2))
    assert (started, finished) == ("boundary_nodes_start", "boundary_nodes_finish")
    assert first == {
        "status": "success",
        "data": {"message": "started", "id": request_id, "request_id": request_id},
    }
    return last


def test_boundary_nodes_are_told_with_domain_and_shape(served, client, root):
    told = boundary(served, client, root / "net.onnx")
    assert told == {
        "status": "success",
        "data": {
            "id": "asd",
            "request_id": "asd",
            "framework": "ONNXRT",
            "inputs": ["x", "custom"],
            "outputs": ["y", "custom"],
            "domain": "Image Recognition",
            "domain_flavour": "",
            "shape": "3,8,8",
            "trusted": True,
        },
    }
    assert boundary(served, client, root / "net.onnx")["data"] == told["data"]  # the same id again


@pytest.mark.parametrize(
    ("made", "shape", "outputs"),
    [
        (lambda path: torch_archives.torchscript(path, "x: Tensor, sr: int"), "", []),
        (torch_archives.export, "3", ["y"]),
    ],
)
def test_a_file_of_pytorch_has_names_too_and_nothing_of_it_is_run(
    served, client, root, made, shape, outputs
):
    told = boundary(served, client, made(root / "net.pt"))["data"]
    assert (told["framework"], told["domain"], told["shape"]) == ("PyTorch", "", shape)
    assert (told["inputs"][0], told["inputs"][-1]) == ("x", "custom")
    assert told["outputs"] == [*outputs, "custom"]


@pytest.mark.parametrize("path", ["rubbish.onnx", "missing.onnx", "/etc/passwd"])
def test_what_cannot_be_read_ends_with_one_error(served, client, path):
    told = boundary(served, client, path, "again")
    assert (told["status"], told["data"]["code"]) == ("error", 404)
    assert (told["data"]["id"], told["data"]["request_id"]) == ("again", "again")
    assert path.rpartition("/")[2] in told["data"]["message"]
    with pytest.raises(socketio.exceptions.TimeoutError):  # nothing more of it
        client.receive(timeout=0.2)


@pytest.mark.parametrize("body", [{}, {"request_id": ""}, {"model_path": "net.onnx"}])
def test_without_a_request_id_nothing_begins(served, body):
    answer = served.post("/api/model/boundary_nodes", body)
    assert (answer.status, answer.text) == (400, "Missing request id.")


def test_without_a_path_nothing_begins(served):
    assert served.post("/api/model/boundary_nodes", {"request_id": "x"}).status == 400


def test_many_requests_at_once_have_one_end_each(served, client, root):
    for number in range(8):
        body = {"request_id": f"r{number}", "model_path": str(root / "net.onnx")}
        assert served.post("/api/model/boundary_nodes", body).status == 200
    ends: list[str] = []
    deadline = time.monotonic() + SOON_S
    while len(ends) < 8 and time.monotonic() < deadline:
        event, told = client.receive(timeout=SOON_S)
        ends += [told["data"]["request_id"]] if event == "boundary_nodes_finish" else []
    assert sorted(ends) == [f"r{number}" for number in range(8)]
