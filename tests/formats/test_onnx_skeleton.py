"""Reading a model without its weights loses the weights and nothing else."""

import onnx
import pytest
from onnx import TensorProto, helper

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.onnx.file import LARGEST_CONSTANT, parse, parse_without_weights
from tests.onnx_models import FLOAT, linear, model, saved, value, weight
from tests.test_real_models import LIGHT

LARGE = {
    "raw": weight("w", 1000),
    "floats": helper.make_tensor("w", FLOAT, [1000], [0.5] * 1000),
    "integers": helper.make_tensor("w", TensorProto.INT64, [1000], range(1000)),
    "strings": TensorProto(
        name="w", data_type=TensorProto.STRING, dims=[1000], string_data=[b"word"] * 1000
    ),
}


def with_weight(tensor):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return model([node], [value("x")], [value("y")], [weight("small", 4), tensor, weight("z", 2)])


@pytest.mark.parametrize("tensor", LARGE.values(), ids=LARGE)
def test_large_weights_keep_name_type_and_shape(tensor, tmp_path):
    made = with_weight(tensor)
    found = parse_without_weights(saved(made, tmp_path / "m.onnx"))
    bare = TensorProto(name="w", data_type=tensor.data_type, dims=tensor.dims)
    assert found.graph.initializer[1] == bare
    del made.graph.initializer[1]
    del found.graph.initializer[1]
    assert found == made


def test_a_model_of_small_weights_is_read_whole(tmp_path):
    assert parse_without_weights(saved(linear(), tmp_path / "m.onnx")) == linear()


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_real_models_lose_nothing_but_numbers(path):
    whole, bare = parse(path), parse_without_weights(path)
    for tensor in whole.graph.initializer:
        if tensor.ByteSize() > LARGEST_CONSTANT:
            kept = {"name": tensor.name, "data_type": tensor.data_type, "dims": [*tensor.dims]}
            tensor.CopyFrom(TensorProto(**kept))
    assert bare == whole


def test_a_graph_in_two_pieces_is_one_graph(tmp_path):
    """protobuf joins a message that comes in pieces; so must we."""
    first = with_weight(LARGE["raw"])
    path = tmp_path / "m.onnx"
    second = onnx.ModelProto()
    second.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    path.write_bytes(first.SerializeToString() + second.SerializeToString())
    assert [n.op_type for n in parse_without_weights(path).graph.node] == ["Add", "Relu"]


@pytest.mark.parametrize("cut", [1, 100, 4000])
def test_a_damaged_file_gives_the_usual_error(cut, tmp_path):
    path = saved(with_weight(LARGE["raw"]), tmp_path / "m.onnx")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ModelUnreadable) as expected:
        parse(path)
    with pytest.raises(ModelUnreadable) as found:
        parse_without_weights(path)
    assert str(found.value) == str(expected.value)


def test_memory_does_not_grow_with_the_weights(tmp_path):
    import tracemalloc

    path = saved(with_weight(weight("w", 8 << 20)), tmp_path / "m.onnx")
    assert path.stat().st_size > 32 << 20
    tracemalloc.start()
    try:
        parse_without_weights(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
