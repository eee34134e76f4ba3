"""A model for readers that know older versions only: the same numbers, or a refusal."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from modeldyno.core.errors import EngineFailed
from modeldyno.formats.onnx.opset_lowering import lower_opset
from tests.onnx_models import FLOAT, model, saved, value, weight

X = np.random.default_rng(0).standard_normal((2, 4), dtype=np.float32)


def new(*nodes, **more):
    """Of opset 21 and IR 10, as exporters write them today."""
    made = model(
        nodes,
        [value("x", FLOAT, ["batch", 4])],
        [value("y", FLOAT, ["batch", 4])],
        [weight("w", 4, 4)],
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)],
        **more,
    )
    made.ir_version = 10
    return made


def run(path):
    return onnxruntime.InferenceSession(path).run(None, {"x": X})[0]


def test_it_computes_the_same_and_the_original_stays_as_it_is(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Softmax", ["a"], ["y"]),
    ]
    source = saved(new(*nodes), tmp_path / "new.onnx")
    before = source.read_bytes()
    lower_opset(source, tmp_path / "old.onnx", 19, 9)
    made = onnx.load(tmp_path / "old.onnx")
    assert (made.ir_version, {o.domain: o.version for o in made.opset_import}[""]) == (9, 19)
    np.testing.assert_array_equal(run(tmp_path / "old.onnx"), run(source))
    assert source.read_bytes() == before


def test_weights_in_a_file_beside_it_come_along(tmp_path):
    made = new(helper.make_node("MatMul", ["x", "w"], ["y"]))
    onnx.save(made, tmp_path / "new.onnx", save_as_external_data=True, size_threshold=0)
    (tmp_path / "alone").mkdir()
    lower_opset(tmp_path / "new.onnx", tmp_path / "alone" / "old.onnx", 19, 9)
    np.testing.assert_array_equal(run(tmp_path / "alone" / "old.onnx"), X @ np.ones((4, 4), "f"))


def test_an_operator_that_came_later_is_refused_by_name(tmp_path):
    source = saved(new(helper.make_node("Gelu", ["x"], ["y"])), tmp_path / "new.onnx")
    with pytest.raises(EngineFailed, match="from opset 21 to 19") as caught:
        lower_opset(source, tmp_path / "old.onnx", 19, 9)
    assert "Gelu" in caught.value.why


def test_functions_would_get_lost_so_they_are_refused(tmp_path):
    twice = helper.make_function(
        "ours", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    node = helper.make_node("Twice", ["x"], ["y"], domain="ours")
    source = saved(new(node, functions=[twice]), tmp_path / "new.onnx")
    with pytest.raises(EngineFailed) as caught:
        lower_opset(source, tmp_path / "old.onnx", 19, 9)
    assert "functions" in caught.value.why
