"""ONNX files that want more than to be a model: refused when read, or harmless when run.

Numbers M13–M34 are those of the threat table; each trick has a control that shows it can work.
"""

import json
import os
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import modeldyno
from modeldyno.cli.main import exit_code
from modeldyno.core.errors import ModeldynoError, UserError
from modeldyno.formats import catalog

REFUSED = (2, 8)  # exit codes: the file is broken, or not safe
WEIGHTS = np.arange(4, dtype=np.float32)


# ---------------------------------------------------------------- external data


def external(location="w.bin", **entries):
    """A tensor whose numbers lie in another file."""
    tensor = numpy_helper.from_array(WEIGHTS, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": location} | entries).items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def _value(name, shape=(4,), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, initializers=(), **more):
    graph = helper.make_graph(nodes, "g", [_value("x")], [_value("y")], list(initializers))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **more)


def _sparse(tensor):
    return helper.make_sparse_tensor(tensor, numpy_helper.from_array(np.arange(4), "i"), [4])


ADD = helper.make_node("Add", ["x", "w"], ["y"])


def in_initializer(tensor):
    return model_of([ADD], [tensor])


def in_constant(tensor):
    return model_of([helper.make_node("Constant", [], ["w"], value=tensor), ADD])


def in_sparse_initializer(tensor):
    model = model_of([ADD])
    model.graph.sparse_initializer.append(_sparse(tensor))
    return model


def in_sparse_constant(tensor):
    return model_of([helper.make_node("Constant", [], ["w"], sparse_value=_sparse(tensor)), ADD])


def in_branch(tensor):
    branch = helper.make_graph([ADD], "branch", [], [_value("y")], [tensor])
    yes = numpy_helper.from_array(np.array(True), "yes")
    choose = helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)
    return model_of([choose], [yes])


def in_function(tensor):
    body = [helper.make_node("Constant", [], ["w"], value=tensor), ADD]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("local", "F", ["x"], ["y"], body, opsets)
    return model_of([helper.make_node("F", ["x"], ["y"], domain="local")], functions=[function])


def in_training(tensor):
    model = model_of([helper.make_node("Identity", ["x"], ["y"])])
    model.training_info.add().initialization.initializer.append(tensor)
    return model


PLACES = [
    in_initializer, in_constant, in_sparse_initializer, in_sparse_constant, in_branch,
    in_function, in_training,
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """``models/`` with honest weights, beside a secret that no model should read."""
    (tmp_path / "secret.bin").write_bytes(b"S" * 64)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/w.bin").write_bytes(b"S" * 64)
    models = tmp_path / "models"
    models.mkdir()
    (models / "w.bin").write_bytes(WEIGHTS.tobytes())
    return models


def _symlink(folder):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    return external("link.bin")


def _linked_folder(folder):
    (folder / "sub").symlink_to(folder.parent / "vault")
    return external("sub/w.bin")


def _hard_link(folder):
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    return external("hard.bin")


def _twice(folder):
    """Readers differ in which of two they believe."""
    tensor = external("../secret.bin")
    tensor.external_data.add(key="location", value="w.bin")
    return tensor


def _memory_address(folder):
    """ONNX Runtime's own name for “the offset is a pointer”, with a file of that name."""
    place = folder / "*/_ORT_MEM_ADDR_"
    place.mkdir(parents=True)
    (place / "*").write_bytes(WEIGHTS.tobytes())
    return external("*/_ORT_MEM_ADDR_/*", offset="0", length="16")


TRICKS = {
    "M13 parent": lambda folder: external("../secret.bin"),
    "M14 parent inside": lambda folder: external("a/../../secret.bin"),
    "M14 backslashes": lambda folder: external("..\\secret.bin"),
    "absolute": lambda folder: external(str(folder.parent / "secret.bin")),
    "drive": lambda folder: external("C:\\secret.bin"),
    "M15 symlink": _symlink,
    "M16 symlinked folder": _linked_folder,
    "M17 hard link": _hard_link,
    "M18 unknown key": lambda folder: external(__class__="x"),
    "M19 negative offset": lambda folder: external(offset="-16"),
    "M20 negative length": lambda folder: external(length="-1"),
    "M28 beyond the file": lambda folder: external(offset="4096"),
    "M28 endless offset": lambda folder: external(offset="9" * 400),
    "no location": lambda folder: external(""),
    "a folder": lambda folder: external("."),
    "two locations": _twice,
    "memory address": _memory_address,
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("trick", TRICKS)
def test_external_data_tricks_are_refused_wherever_they_hide(folder, place, trick):
    path = folder / "model.onnx"
    path.write_bytes(place(TRICKS[trick](folder)).SerializeToString())
    with pytest.raises(UserError) as refusal:
        catalog.read(path)
    assert exit_code(refusal.value) in REFUSED


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("entries", [{}, {"offset": "0", "length": "16", "checksum": "x"}])
def test_honest_external_data_is_accepted_in_the_same_places(folder, place, entries):
    path = folder / "model.onnx"
    path.write_bytes(place(external(**entries)).SerializeToString())
    assert [file.location for file in catalog.read(path).external] == ["w.bin"]


def test_m17_without_us_a_hard_link_is_read(folder):
    """The control: handed the user's own folder, the engine computes with somebody's secret."""
    import onnxruntime

    path = folder / "model.onnx"
    path.write_bytes(in_initializer(_hard_link(folder)).SerializeToString())
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.zeros(4, np.float32)})
    assert found.tobytes() == b"S" * 16


@pytest.mark.usefixtures("starts_processes")
def test_a_refusal_reaches_the_caller_from_the_worker(folder):
    path = folder / "model.onnx"
    path.write_bytes(in_initializer(_hard_link(folder)).SerializeToString())
    with pytest.raises(UserError) as refusal:
        modeldyno.inspect(path)
    assert exit_code(refusal.value) == 8
    path.write_bytes(in_initializer(external()).SerializeToString())
    assert modeldyno.inspect(path).external[0].location == "w.bin"


# ---------------------------------------------------------------- bombs


def run_once(path, tmp_path, **more):
    return modeldyno.bench(path, iterations=1, warmup=0, workspace=tmp_path / "w", **more)


def error_of(path, tmp_path, **more):
    """The code of what went wrong, raised or kept in the result; None when it ran."""
    try:
        result = run_once(path, tmp_path, **more)
    except ModeldynoError as error:
        return error.code
    failure = result.cells[0].error
    return None if failure is None else failure.code


def _loop(rounds):
    """Counts to ``rounds``."""
    step = [
        helper.make_node("Identity", ["go"], ["still"]),
        helper.make_node("Add", ["v", "one"], ["w"]),
    ]
    boolean, number = TensorProto.BOOL, TensorProto.FLOAT
    body = helper.make_graph(
        step, "body",
        [_value("i", [], TensorProto.INT64), _value("go", [], boolean), _value("v", [4], number)],
        [_value("still", [], boolean), _value("w", [4], number)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], body=body)
    return model_of(
        [loop],
        [
            numpy_helper.from_array(np.array(rounds, dtype=np.int64), "rounds"),
            numpy_helper.from_array(np.array(True), "yes"),
            numpy_helper.from_array(np.ones(4, dtype=np.float32), "one"),
        ],
    )


@pytest.mark.usefixtures("starts_processes")
def test_an_endless_loop_ends_at_the_time_limit(tmp_path):
    path = tmp_path / "loop.onnx"
    path.write_bytes(_loop(10).SerializeToString())
    assert error_of(path, tmp_path) is None
    path.write_bytes(_loop(2**62).SerializeToString())
    start = time.monotonic()
    assert error_of(path, tmp_path, timeout=4.0) == "TIMED_OUT"
    assert time.monotonic() - start < 60


def _expand(shape):
    """As many numbers as ``shape`` says, out of a file of a few hundred bytes."""
    wanted = numpy_helper.from_array(np.array(shape, dtype=np.int64), "shape")
    nodes = [
        helper.make_node("Expand", ["x", "shape"], ["large"]),
        helper.make_node("ReduceSum", ["large"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    return model_of(nodes, [wanted])


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("shape", [[10**9, 4], [2**40, 4], [2**62, 4]])
def test_a_memory_bomb_fails_alone(tmp_path, shape):
    path = tmp_path / "bomb.onnx"
    path.write_bytes(_expand([10, 4]).SerializeToString())
    assert error_of(path, tmp_path, memory_limit=2 << 30) is None
    path.write_bytes(_expand(shape).SerializeToString())
    error = error_of(path, tmp_path, memory_limit=2 << 30)
    assert error in ("OUT_OF_MEMORY", "ENGINE_FAILED")  # the latter where sizes overflow


@pytest.mark.parametrize("dims", [[2**62, 2**62], [-1], [2**63 - 1] * 8])
def test_absurd_dimensions_are_no_numbers_to_believe(folder, dims):
    """M28: a tensor that says it has more elements than its file."""
    tensor = external()
    tensor.ClearField("dims")
    tensor.dims.extend(dims)
    path = folder / "model.onnx"
    path.write_bytes(in_initializer(tensor).SerializeToString())
    with pytest.raises(UserError) as refusal:
        catalog.read(path)
    assert exit_code(refusal.value) in REFUSED


def _nested(depth):
    """``depth`` branches inside each other, written by hand: the library would refuse."""
    graph = helper.make_graph([ADD], "g", [], [_value("y")])
    graph = graph.SerializeToString()
    for _ in range(depth):
        attribute = b"\x0a\x01b" + _field(6, graph) + b"\xa0\x01\x05"
        graph = _field(1, _field(5, attribute))
    return b"\x08\x08" + _field(7, graph) + b"\x42\x02\x10\x11"


def _field(number, content):
    size, length = b"", len(content)
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content


@pytest.mark.parametrize("depth", [40, 1_000, 10_000])
def test_deep_nesting_is_refused_in_words(tmp_path, depth):
    """M29."""
    path = tmp_path / "deep.onnx"
    path.write_bytes(_nested(3))
    assert catalog.read(path).nodes_by_op["Add"] == 1
    path.write_bytes(_nested(depth))
    with pytest.raises(UserError) as refusal:
        catalog.read(path)
    assert exit_code(refusal.value) == 2


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.8])
def test_truncated_files_are_refused_in_words(tmp_path, cut):
    path = tmp_path / "cut.onnx"
    whole = in_initializer(numpy_helper.from_array(WEIGHTS, "w")).SerializeToString()
    path.write_bytes(whole[: int(len(whole) * cut)])
    with pytest.raises(UserError) as refusal:
        catalog.read(path)
    assert exit_code(refusal.value) == 2


def test_protobuf_is_parsed_by_the_native_backend():
    """M29: the one in pure Python has no depth limit of its own."""
    from google.protobuf.internal import api_implementation  # type: ignore[import-untyped]  # has no types

    assert api_implementation.Type() in ("upb", "cpp")


@pytest.mark.usefixtures("starts_processes")
def test_the_good_model_really_runs(folder, tmp_path):
    """The control of all refusals above: with honest weights the same file is measured."""
    path = folder / "model.onnx"
    path.write_bytes(in_initializer(external()).SerializeToString())
    onnx.checker.check_model(str(path))
    result = run_once(path, tmp_path)
    assert result.cells[0].status == "done"
    assert json.loads(result.to_json())["cells"][0]["error"] is None
