"""``modeldyno inspect``: what is in a file, without running any of it."""

import pickle

import pytest

from tests import onnx_models, schemas
from tests.terminal import modeldyno


@pytest.fixture
def model(tmp_path):
    return onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")


def test_the_document_is_what_the_schema_promises(model):
    ended = modeldyno("inspect", model, "--json")
    document = ended.document
    schemas.check("model", document)
    assert (ended.code, ended.err) == (0, "")
    assert (document["schema"], document["parameters"]) == ("modeldyno.model/1", 400)
    assert document["nodes_by_op"] == {"Gather": 1}
    (ids,) = document["inputs"]
    assert (ids["name"], ids["dtype"], ids["shape"]) == ("ids", "int64", ["batch", "sequence"])
    assert (ids["indices"]["low"], ids["indices"]["high"]) == (0, 50)


def test_people_get_inputs_outputs_and_operators(model):
    ended = modeldyno("inspect", model)
    assert ended.code == 0
    assert "format      onnx, IR 8" in ended.out
    assert "1 node: Gather 1" in ended.out
    (line,) = (line for line in ended.out.splitlines() if line.startswith("input"))
    assert line.split()[1:3] == ["ids", "int64"]


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
