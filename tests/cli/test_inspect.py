"""``modeldyno inspect``: what is in a file, without running any of it."""

import pickle

import pytest
from onnx import helper

from tests import onnx_models, schemas, tf_files
from tests.scripts import script
from tests.terminal import modeldyno

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def model(tmp_path):
    return onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")


def test_the_document_is_what_the_schema_promises(model):
    ended = modeldyno("inspect", model, "--json")
    document = ended.document
    schemas.check("model", document)
    assert (ended.code, ended.err) == (0, "")
    assert (document["schema"], document["parameters"]) == ("modeldyno.model/2", 400)
    assert document["nodes_by_op"] == {"Gather": 1}
    (ids,) = document["inputs"]
    assert (ids["name"], ids["dtype"], ids["shape"]) == ("ids", "int64", ["batch", "sequence"])
    assert (ids["indices"]["low"], ids["indices"]["high"]) == (0, 50)


def test_people_get_inputs_outputs_and_operators(model):
    ended = modeldyno("inspect", model)
    assert ended.code == 0
    assert "format      ONNX, IR 8" in ended.out
    assert "1 node: Gather 1" in ended.out
    (line,) = (line for line in ended.out.splitlines() if line.startswith("input"))
    assert line.split()[1:3] == ["ids", "int64"]


def test_signatures_are_told_with_what_they_take_and_give(tmp_path):
    (path := tmp_path / "saved_model.pb").write_bytes(tf_files.two_ways())
    ended = modeldyno("inspect", path)
    assert "  serving_default (taken): x float32[?, 4] → y float32[?, 3]" in ended.out
    assert "  shift: z float32[?, 2] → doubled float32[?, 2], shifted float32[?, 2]" in ended.out
    document = modeldyno("inspect", path, "--signature", "shift", "--json").document
    schemas.check("model", document)
    assert (document["signature"], document["inputs"][0]["name"]) == ("shift", "z")
    assert [one["name"] for one in document["signatures"]] == ["serving_default", "shift"]


def test_looking_leaves_nothing_in_the_workspace(model, tmp_path):
    modeldyno("inspect", model, MODELDYNO_WORKSPACE=str(tmp_path / "workspace"))
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (pickle.dumps({}), 8, "error[UNSAFE_FORMAT]: f is a Python pickle."),
        (b"hello", 2, "error[MODEL_UNREADABLE]: f is a text file, not a model"),
        (b"", 2, "error[MODEL_UNREADABLE]: f is empty"),
    ],
    ids=["pickle", "text", "empty"],
)
def test_what_is_no_model_is_told_what_it_is(content, code, words, tmp_path):
    (tmp_path / "f").write_bytes(content)
    ended = modeldyno("inspect", tmp_path / "f", "--json")
    assert ended.code == code
    assert f"error[{ended.error_code}]" in words
    assert ended.err.startswith(words)


def test_a_missing_file_is_answered_with_one_that_is_there(typed, model):
    ended = typed("inspect", model.with_name("m.onx"))
    assert (ended.code, ended.out) == (4, "")
    assert f"Did you mean {model}?" in ended.err


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "abc"])
def test_a_bad_time_limit_is_wrong_usage(timeout, typed, model):
    assert typed("inspect", model, "--timeout", timeout).code == 2


# ---------------------------------------------------------------- --graph


@pytest.fixture
def scoped(tmp_path):
    names = ("/encoder/0/fc/MatMul", "/encoder/0/act/Relu", "/encoder/1/act/Relu", "Identity_3")
    nodes = [
        helper.make_node(name.rpartition("/")[2].partition("_")[0], [f"t{i}"], [f"t{i + 1}"], name)
        for i, name in enumerate(names)
    ]
    nodes[0].input.append("w")
    made = onnx_models.model(
        nodes,
        [onnx_models.value("t0", shape=[2, 4])],
        [onnx_models.value("t4", shape=[2, 4])],
        [onnx_models.weight("w", 4, 4)],
    )
    return onnx_models.saved(made, tmp_path / "scoped.onnx")


def test_people_get_a_tree_of_groups(scoped, tmp_path):
    ended = modeldyno("inspect", scoped, "--graph", "--workspace", tmp_path / "workspace")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "4 nodes, 3 edges, 6 groups, 1 initializer",
        "encoder             3  Relu 2, MatMul 1",
        "  0                 2  MatMul 1, Relu 1",
        "    fc              1  MatMul 1",
        "    act             1  Relu 1",
        "  1                 1  Relu 1",
        "    act             1  Relu 1",
        "(in no group)       1  Identity 1",
    ]
    shallow = ("inspect", scoped, "--graph", "--depth", 1, "--workspace", tmp_path / "workspace")
    assert modeldyno(*shallow).out.splitlines()[1:] == [
        "encoder             3  Relu 2, MatMul 1",
        "(in no group)       1  Identity 1",
    ]


def test_the_document_of_a_graph_is_what_the_schema_promises(scoped, tmp_path):
    said = ("inspect", scoped, "--graph", "--json", "--workspace", tmp_path / "workspace")
    ended = modeldyno(*said)
    assert (ended.code, ended.err) == (0, "")
    schemas.check("graph", ended.document)
    document = ended.document
    assert document["schema"] == "modeldyno.graph/1"
    assert document["edges"][0] == {
        "source": "/encoder/0/fc/MatMul",
        "target": "/encoder/0/act/Relu",
        "tensor": "t1",
        "dtype": "float32",
        "shape": [2, 4],
    }
    assert [node["scope"] for node in document["nodes"]] == [
        "encoder/0/fc", "encoder/0/act", "encoder/1/act", "",
    ]  # fmt: skip
    assert len(list((tmp_path / "workspace" / "graphs").iterdir())) == 1
    assert modeldyno(*said).document == document  # out of the workspace


def test_a_model_without_a_graph_says_which_formats_have_one(tmp_path):
    made = script(tmp_path / "m.json")
    ended = modeldyno("inspect", made, "--graph", "--json", "--workspace", tmp_path / "workspace")
    assert (ended.code, ended.error_code) == (2, "GRAPH_UNAVAILABLE")
    assert "ONNX files, torch.export programs (.pt2)" in ended.err


def test_a_depth_without_a_graph_is_wrong_usage(typed, scoped):
    assert typed("inspect", scoped, "--depth", "2").code == 2
    assert typed("inspect", scoped, "--graph", "--depth", "0").code == 2
