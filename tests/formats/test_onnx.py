"""What we read out of an ONNX file, and which files we will not touch."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import (
    ExternalFile,
    IndexRange,
    InputSpec,
    ModelFacts,
    TensorSpec,
    precision_of,
)
from modeldyno.formats import catalog
from modeldyno.formats.onnx.model import read
from modeldyno.present.tables import model_rows
from tests import low_bit_models
from tests.onnx_models import FLOAT, INT64, STRING, embedding, linear, model, saved, value, weight


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def inputs_of(made, tmp_path):
    return read(saved(made, tmp_path / "net.onnx")).inputs


def indices_of(made, tmp_path):
    return {spec.name: spec.indices for spec in inputs_of(made, tmp_path)}


def embedding_of(rows):
    return IndexRange(0, rows, f"indexes an embedding of {rows} rows")


# ---------------------------------------------------------------- facts


def test_a_model_tells_everything_about_itself(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    assert catalog.read(path) == ModelFacts(
        path=str(path),
        format="onnx",
        framework="onnx",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=15,
        inputs=(InputSpec("x", "float32", ("batch", 4)),),
        outputs=(TensorSpec("y", "float32", ("batch", 3)),),
        external=(),
        opsets={"": 17},
        ir_version=8,
        producer="tests",
        nodes_by_op={"Gemm": 1},
        weights_by_dtype={"float32": 15},
        notes=(),
    )


@pytest.mark.parametrize(
    ("dim", "read_as"),
    [(8, 8), ("batch", "batch"), (None, None), ("?", None), ("", None), (-1, None), ("-1", None)],
)
def test_dimensions_are_numbers_symbols_or_unknown(tmp_path, dim, read_as):
    assert inputs_of(linear(dim), tmp_path) == (InputSpec("x", "float32", (read_as, 4)),)


def test_a_shape_that_is_not_there_is_unknown_and_an_empty_one_is_a_scalar(tmp_path):
    made = model(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [value("a", FLOAT, None), value("b", FLOAT, [])],
        [value("y", FLOAT, None)],
    )
    assert inputs_of(made, tmp_path) == (
        InputSpec("a", "float32", None),
        InputSpec("b", "float32", ()),
    )


def test_types_have_numpys_names_or_describe_themselves(tmp_path):
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, None)
    kinds = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL, STRING, TensorProto.UINT8)
    inputs = [value(f"i{kind}", kind, []) for kind in kinds]
    tensor = helper.make_tensor_type_proto(INT64, [])
    others = [
        helper.make_value_info("o", helper.make_optional_type_proto(tensor)),
        helper.make_value_info("m", helper.make_map_type_proto(INT64, tensor)),
    ]
    made = model([], [*inputs, sequence, *others], [])
    assert [spec.dtype for spec in inputs_of(made, tmp_path)] == [
        *("float16", "bfloat16", "bool", "string", "uint8"),
        *("sequence(float32)", "optional(int64)", "map(int64, int64)"),
    ]


def test_sequences_and_optional_values_have_the_shape_of_their_elements(tmp_path):
    tensor = helper.make_tensor_type_proto(FLOAT, ["batch", 4])
    several = helper.make_sequence_type_proto(tensor)
    made = model(
        [],
        [
            helper.make_value_info("s", several),
            helper.make_value_info("o", helper.make_optional_type_proto(several)),
            helper.make_tensor_sequence_value_info("open", FLOAT, None),
            helper.make_value_info("m", helper.make_map_type_proto(INT64, tensor)),
        ],
        [],
    )
    assert [spec.shape for spec in inputs_of(made, tmp_path)] == [
        ("batch", 4),
        ("batch", 4),
        None,
        None,
    ]
    shown = [row[3] for row in model_rows(read(saved(made, tmp_path / "m.onnx")))[1]]
    assert shown == ["[batch, 4]", "[batch, 4]", "any rank", "–"]


def test_weights_listed_as_inputs_are_not_inputs(tmp_path):
    made = linear()
    made.graph.input.append(value("w", FLOAT, [4, 3]))
    assert [spec.name for spec in inputs_of(made, tmp_path)] == ["x"]


def test_weights_are_counted_in_constants_and_branches_but_shapes_are_not(tmp_path):
    constant = helper.make_node("Constant", [], ["k"], value=weight("", 5, dtype="float16"))
    scalar = helper.make_node("Constant", [], ["s"], value=weight("", 1))
    branches = [
        helper.make_graph([constant], "then", [], [value("k")], [weight("t", 7)]),
        helper.make_graph([scalar], "else", [], [value("s")]),
    ]
    made = model(
        [helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])],
        [value("c", TensorProto.BOOL, [])],
        [value("y")],
        [weight("bias", 1), weight("shape", 4, dtype="int64"), weight("q", 6, dtype="int8")],
    )
    facts = read(saved(made, tmp_path / "net.onnx"))
    assert facts.weights_by_dtype == {"float32": 8, "int8": 6, "float16": 5}
    assert facts.parameters == 19
    assert facts.nodes_by_op == {"Constant": 2, "If": 1}
    assert facts.nodes == 3


@pytest.mark.parametrize("form", ["int4 DequantizeLinear", "int4 MatMulNBits 4"])
def test_weights_of_4_bits_are_counted_one_by_one_however_they_are_stored(form, tmp_path):
    facts = read(low_bit_models.saved(form, tmp_path))
    elements = low_bit_models.LAYERS * low_bit_models.WIDTH**2
    dtype = "int4" if "Dequantize" in form else "uint4"
    scales = elements // low_bit_models.BLOCK
    assert facts.weights_by_dtype == {dtype: elements, "float32": scales}
    assert facts.parameters == elements + scales
    assert precision_of(facts) == "int4"
    assert facts.size_bytes < elements / 2 + 4 * scales + 2_000


def test_bytes_that_only_fill_a_block_are_not_weights_and_nonsense_stays_bytes(tmp_path):
    def counted(**attributes):
        node = helper.make_node(
            "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes
        )
        made = model([node], [value("x")], [value("y")], [weight("w", 5, 2, 16, dtype="uint8")])
        return read(saved(made, tmp_path / "net.onnx")).weights_by_dtype

    assert counted(K=50, N=5, bits=4, block_size=32) == {"uint4": 250}
    assert counted(K=32, N=5, bits=8, block_size=16) == {"uint8": 160}
    assert counted(K=1 << 40, N=1 << 40, bits=4, block_size=32) == {"uint4": 320}
    assert counted(K=-1, N=5, bits=4, block_size=32) == {"uint4": 320}
    assert counted(K=50, N=5, bits=0, block_size=32) == {"uint8": 160}


def test_operators_of_unknown_domains_are_noted_and_local_functions_are_not(tmp_path):
    domains = ("", "com.microsoft", "acme", "ai.onnx.contrib", "local")
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], []
    )
    nodes = [
        helper.make_node("Gelu", ["x"], ["a"], domain="com.microsoft"),
        helper.make_node("Boost", ["a"], ["b"], domain="acme"),
        helper.make_node("Tokenize", ["b"], ["c"], domain="ai.onnx.contrib"),
        helper.make_node("Twice", ["c"], ["y"], domain="local"),
    ]
    made = model(
        nodes,
        [value("x")],
        [value("y")],
        opset_imports=[helper.make_opsetid(domain, 1) for domain in domains],
        functions=[function],
    )
    facts = read(saved(made, tmp_path / "net.onnx"))
    assert facts.notes == (
        "uses operators that ONNX does not define (acme.Boost, ai.onnx.contrib.Tokenize): "
        "engines need a library for them",
    )
    assert facts.nodes_by_op == {
        "com.microsoft.Gelu": 1,
        "acme.Boost": 1,
        "ai.onnx.contrib.Tokenize": 1,
        "local.Twice": 1,
        "Add": 1,
    }


def test_a_damaged_graph_says_where(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    content = bytearray(path.read_bytes())
    place = content.index(b"Gemm") - 1
    content[place] = 0x70  # the operator's name claims to be longer than its node
    path.write_bytes(content)
    with pytest.raises(ModelUnreadable) as caught:
        catalog.read(path)
    assert caught.value.title == "net.onnx is a damaged ONNX model"
    assert caught.value.why == (
        f"byte {place + 1}, in GraphProto.node[0], begins a field that is longer than what holds it"
    )


# ---------------------------------------------------------------- what integers index


def test_integers_that_look_up_an_embedding_stay_inside_it(tmp_path):
    assert indices_of(embedding(50), tmp_path) == {"ids": embedding_of(50)}


def through(*nodes, last, weights):
    """``ids`` through some operators into a Gather of ``table``."""
    return model(
        [*nodes, helper.make_node("Gather", ["table", last], ["y"])],
        [value("ids", TensorProto.INT32, ["b", "s"])],
        [value("y", FLOAT, None)],
        weights,
    )


def test_integers_are_followed_through_casts_and_reshapes(tmp_path):
    made = through(
        helper.make_node("Cast", ["ids"], ["a"], to=INT64),
        helper.make_node("Unsqueeze", ["a", "axis"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[2, 1, 0]),
        helper.make_node("Concat", ["c", "more"], ["d"], axis=0),
        helper.make_node("Clip", ["d"], ["e"]),
        last="e",
        weights=[weight("table", 9, 2), weight("axis", 1, dtype="int64")],
    )
    assert indices_of(made, tmp_path) == {"ids": embedding_of(9)}


def test_the_smallest_table_wins(tmp_path):
    made = through(
        helper.make_node("Gather", ["small", "ids"], ["z"]),
        last="ids",
        weights=[weight("table", 9, 2), weight("small", 4, 2)],
    )
    assert indices_of(made, tmp_path) == {"ids": embedding_of(4)}


def test_a_table_in_a_constant_or_quantized_counts_as_well(tmp_path):
    constant = helper.make_node("Constant", [], ["q"], value=weight("", 6, 2, dtype="int8"))
    real = helper.make_node("DequantizeLinear", ["q", "scale"], ["table"])
    made = through(constant, real, last="ids", weights=[weight("scale", 1)])
    assert indices_of(made, tmp_path) == {"ids": embedding_of(6)}


def test_other_axes_and_one_hot_vectors_bound_integers_too(tmp_path):
    depth = numpy_helper.from_array(np.array(11), "depth")
    made = model(
        [
            helper.make_node("GatherElements", ["t", "i"], ["y"], axis=1),
            helper.make_node("OneHot", ["j", "depth", "values"], ["z"]),
        ],
        [value("i", INT64, [3, 1]), value("j", INT64, [3]), value("k", INT64, [3])],
        [value("y", FLOAT, None), value("z", FLOAT, None)],
        [weight("t", 3, 5), depth, weight("values", 2)],
    )
    assert indices_of(made, tmp_path) == {
        "i": IndexRange(0, 5, "indexes a table of 5 rows"),
        "j": IndexRange(0, 11, "becomes a one-hot vector of 11 entries"),
        "k": None,
    }


def test_fused_embeddings_bound_words_and_segments(tmp_path):
    names = ["ids", "segments", "words", "positions", "kinds"]
    made = model(
        [helper.make_node("EmbedLayerNormalization", names, ["y"], domain="com.microsoft")],
        [value("ids", TensorProto.INT32, [1, 8]), value("segments", TensorProto.INT32, [1, 8])],
        [value("y", FLOAT, None)],
        [weight("words", 30, 4), weight("positions", 16, 4), weight("kinds", 2, 4)],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
    )
    assert indices_of(made, tmp_path) == {"ids": embedding_of(30), "segments": embedding_of(2)}


def test_integers_are_followed_into_branches_and_out_of_them(tmp_path):
    inside = helper.make_node("Gather", ["small", "ids"], ["looked_up"])
    same = helper.make_node("Identity", ["ids"], ["same"])
    then = helper.make_graph([inside, same], "then", [], [value("same", INT64, None)])
    other = helper.make_graph(
        [helper.make_node("Identity", ["ids"], ["also"])], "else", [], [value("also", INT64, None)]
    )
    branch = helper.make_node("If", ["c"], ["z"], then_branch=then, else_branch=other)
    weights = [weight("small", 7, 2), weight("table", 5, 2)]
    made = through(branch, last="z", weights=weights)
    assert indices_of(made, tmp_path) == {"ids": embedding_of(5)}


def test_integers_are_followed_into_local_functions(tmp_path):
    body = [helper.make_node("Gather", ["t", "i"], ["o"])]
    function = helper.make_function(
        "local", "Look", ["t", "i"], ["o"], body, [helper.make_opsetid("", 17)]
    )
    made = model(
        [helper.make_node("Look", ["table", "ids"], ["y"], domain="local")],
        [value("ids", INT64, [2])],
        [value("y", FLOAT, None)],
        [weight("table", 3, 2)],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
        functions=[function],
    )
    assert indices_of(made, tmp_path) == {"ids": embedding_of(3)}


def test_a_function_that_calls_itself_does_not_hang_us(tmp_path):
    body = [helper.make_node("Again", ["i"], ["o"], domain="local")]
    function = helper.make_function("local", "Again", ["i"], ["o"], body, [])
    made = model(
        [helper.make_node("Again", ["ids"], ["y"], domain="local")],
        [value("ids", INT64, [2])],
        [value("y", INT64, None)],
        functions=[function],
    )
    assert indices_of(made, tmp_path) == {"ids": None}


# ---------------------------------------------------------------- external data


def external(name="w", location="net.data", dims=(4, 3), **place):
    tensor = TensorProto(name=name, data_type=FLOAT, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, **place}
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=str(text))
    return tensor


def linear_with(tensor):
    made = linear()
    made.graph.initializer[0].CopyFrom(tensor)
    return made


def refusal(made, tmp_path):
    path = saved(made, tmp_path / "net.onnx")
    with pytest.raises((ModelUnreadable, UnsafeFormat)) as caught:
        read(path)
    return caught.value


def test_external_weights_are_listed_hashed_and_counted_once(tmp_path):
    made = linear_with(external(offset=0, length=48))
    made.graph.initializer[1].CopyFrom(external("b", dims=(3,), offset=48))
    (tmp_path / "net.data").write_bytes(bytes(60))
    path = saved(made, tmp_path / "net.onnx")
    facts = read(path)
    assert facts.external == (ExternalFile("net.data", 60, sha256(tmp_path / "net.data")),)
    assert facts.size_bytes == path.stat().st_size + 60
    assert facts.parameters == 15


def test_a_missing_weights_file_is_named(tmp_path):
    error = refusal(linear_with(external(location="weights/net.data")), tmp_path)
    assert isinstance(error, ModelUnreadable)
    assert error.title == "net.onnx needs the weights file 'weights/net.data', which is missing"
    assert error.fix == "Put 'weights/net.data' into the folder of the model"


@pytest.mark.parametrize("place", [{"offset": 16}, {"length": 49}, {"offset": 4, "length": 45}])
def test_a_weights_file_that_is_too_short_is_truncated(tmp_path, place):
    (tmp_path / "net.data").write_bytes(bytes(48))
    error = refusal(linear_with(external(**place)), tmp_path)
    assert isinstance(error, ModelUnreadable)
    assert error.title == "The weights file 'net.data' of net.onnx is truncated"
    assert error.why.endswith("the file has 48 bytes")


def test_a_weights_file_that_is_a_git_lfs_pointer_says_so(tmp_path):
    (tmp_path / "net.data").write_text("version https://git-lfs.github.com/spec/v1")
    error = refusal(linear_with(external()), tmp_path)
    assert error.fix == "Run `git lfs pull` in the repository it comes from"


@pytest.mark.parametrize("number", ["-1", "many", "1e3", "9" * 30])
def test_a_place_that_is_no_number_is_damaged(tmp_path, number):
    (tmp_path / "net.data").write_bytes(bytes(48))
    error = refusal(linear_with(external(offset=number)), tmp_path)
    assert error.title == "net.onnx is damaged"


@pytest.mark.parametrize(
    "location",
    ["/etc/passwd", "../net.data", "a/../../net.data", "..\\net.data", "C:\\net.data", "", "a\0b"],
)
def test_weights_outside_the_models_folder_are_refused(tmp_path, location):
    error = refusal(linear_with(external(location=location)), tmp_path)
    assert isinstance(error, UnsafeFormat)
    assert error.title == "net.onnx keeps weights outside its own folder"


def test_links_out_of_the_models_folder_are_refused(tmp_path):
    (home := tmp_path / "home").mkdir()
    (tmp_path / "secret").write_bytes(bytes(48))
    (home / "net.data").symlink_to("../secret")
    assert isinstance(refusal(linear_with(external()), home), UnsafeFormat)
    (home / "net.data").unlink()
    (home / "folder").symlink_to(tmp_path)
    assert isinstance(refusal(linear_with(external(location="folder/secret")), home), UnsafeFormat)
    (home / "net.data").hardlink_to(tmp_path / "secret")
    assert isinstance(refusal(linear_with(external()), home), UnsafeFormat)


def test_links_inside_the_models_folder_are_fine(tmp_path):
    (tmp_path / "real").write_bytes(bytes(48))
    (tmp_path / "net.data").symlink_to("real")
    facts = read(saved(linear_with(external()), tmp_path / "net.onnx"))
    assert facts.external == (ExternalFile("net.data", 48, sha256(tmp_path / "real")),)


def test_a_cache_that_links_model_and_weights_to_one_place_is_fine(tmp_path):
    """As Hugging Face keeps its downloads."""
    for folder in ("blobs", "snapshot"):
        (tmp_path / folder).mkdir()
    saved(linear_with(external()), tmp_path / "blobs" / "1")
    (tmp_path / "blobs" / "2").write_bytes(bytes(48))
    (tmp_path / "snapshot" / "net.onnx").symlink_to("../blobs/1")
    (tmp_path / "snapshot" / "net.data").symlink_to("../blobs/2")
    facts = read(tmp_path / "snapshot" / "net.onnx")
    assert facts.external == (ExternalFile("net.data", 48, sha256(tmp_path / "blobs" / "2")),)


def hidden_in_attribute(tensor):
    return model([helper.make_node("Constant", [], ["y"], value=tensor)], [], [value("y")])


def hidden_in_branch(tensor):
    graph = helper.make_graph([], "b", [], [value("w")], [tensor])
    node = helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)
    return model([node], [value("c", TensorProto.BOOL)], [value("y")])


def hidden_in_function(tensor):
    body = [helper.make_node("Constant", [], ["y"], value=tensor)]
    return model([], [], [], functions=[helper.make_function("f", "F", [], ["y"], body, [])])


def hidden_in_sparse_weights(tensor):
    made = linear()
    made.graph.sparse_initializer.add().indices.CopyFrom(tensor)
    return made


def hidden_in_training(tensor):
    made = linear()
    made.training_info.add().algorithm.initializer.add().CopyFrom(tensor)
    return made


@pytest.mark.parametrize(
    "hide",
    [
        hidden_in_attribute,
        hidden_in_branch,
        hidden_in_function,
        hidden_in_sparse_weights,
        hidden_in_training,
    ],
)
def test_a_location_cannot_hide_anywhere(tmp_path, hide):
    error = refusal(hide(external(location="/etc/passwd")), tmp_path)
    assert isinstance(error, UnsafeFormat)


# ---------------------------------------------------------------- scripted models


def test_a_script_tells_its_inputs(tmp_path):
    path = tmp_path / "net.json"
    inputs = [{"name": "ids", "dtype": "int64", "shape": ["batch", 8, None]}]
    path.write_text(json.dumps({"modeldyno": "scripted/1", "inputs": inputs, "latency_us": 3}))
    facts = catalog.read(path)
    assert facts == ModelFacts(
        path=str(path),
        format="scripted",
        framework="scripted",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=0,
        inputs=(InputSpec("ids", "int64", ("batch", 8, None)),),
        outputs=(TensorSpec("y", "float32", ("batch", 1)),),
        producer="modeldyno",
    )


def test_a_script_without_inputs_has_one(tmp_path):
    (path := tmp_path / "net").write_text('{"modeldyno": "scripted/1"}')
    assert catalog.read(path).inputs == (InputSpec("x", "float32", ("batch", 4)),)


def test_a_script_with_wrong_inputs_is_refused_with_a_reason(tmp_path):
    (path := tmp_path / "net").write_text('{"modeldyno": "scripted/1", "inputs": [{"nome": "x"}]}')
    with pytest.raises(ModelUnreadable, match="no field 'nome'"):
        catalog.read(path)


def test_reading_needs_no_absolute_path(tmp_path, monkeypatch):
    saved(linear_with(external()), tmp_path / "net.onnx")
    (tmp_path / "net.data").write_bytes(bytes(48))
    monkeypatch.chdir(tmp_path)
    assert read(Path("net.onnx")).external[0].location == "net.data"


@pytest.mark.parametrize("location", ["net.onnx", "./net.onnx", "link.onnx"])
def test_a_model_that_names_itself_as_its_weights_is_refused(location, tmp_path):
    (tmp_path / "link.onnx").symlink_to("net.onnx")
    error = refusal(linear_with(external(location=location)), tmp_path)
    assert error.title == "net.onnx names itself as the file of its weights"
    assert "tensor 'w'" in error.why
    assert "in a file of another name" in error.fix
