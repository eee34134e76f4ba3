"""LiteRT: the contract of every engine, who runs which operator, and no silent conversions."""

from typing import Any

import numpy as np
import pytest

import modeldyno
from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.node_work import Operand, Operands, Work, work_of
from modeldyno.engines import litert_library
from modeldyno.engines.litert import EMPTY_MODEL, LiteRt, _effective_precision, delegated_operators
from modeldyno.engines.litert_library import OPERATOR, XNNPACK_OPERATOR, RecordedEvent
from modeldyno.engines.litert_profiling import (
    FileOperator,
    file_operators,
    node_events,
    operands_of,
)
from modeldyno.engines.node_times import Tally
from modeldyno.formats import catalog
from tests import litert_files
from tests.contracts.engine_contract import EngineContract
from tests.litert_files import CUSTOM, RELU, Table, graph, model, operator, operator_code, tensor
from tests.scripts import target

pytestmark = pytest.mark.engine("litert")
ENGINE = LiteRt()
SIN, IF = 66, 118
X = {"x": np.random.default_rng(0).standard_normal((2, 4), dtype=np.float32)}
ONE = {"x": X["x"][:1]}


class TestContract(EngineContract):
    engine = LiteRt()

    @pytest.fixture
    def target(self, tmp_path):
        return target(litert_files.saved(tmp_path / "m.tflite"), "litert", format="litert")


@pytest.fixture
def linear(tmp_path):
    return litert_files.saved(tmp_path / "m.tflite")


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))


def litert_target(model, **settings):
    return target(model, "litert", format="litert", **settings)


# ---------------------------------------------------------------- XNNPACK, precision, threads


def test_the_provider_of_each_operator_is_reported(linear):
    fast, _ = ENGINE.examine(litert_target(linear), X)
    own, _ = ENGINE.examine(litert_target(linear, options={"xnnpack": False}), X)
    assert (fast.providers, fast.nodes_by_provider) == (("XNNPACK", "LiteRT"), {"XNNPACK": 1})
    assert (own.providers, own.nodes_by_provider) == (("LiteRT",), {"LiteRT": 1})


def test_operators_that_xnnpack_lacks_stay_with_litert(tmp_path):
    """It takes the operator between two that it does not support, and no more."""
    tensors = [tensor(name, [1, 4]) for name in ("x", "a", "b", "y")]
    chain = [operator(0, [0], [1]), operator(1, [1], [2]), operator(0, [2], [3])]
    content = model(
        [operator_code(SIN), operator_code(RELU)],
        [graph(tensors, [0], [3], chain)],
        [],
    )
    facts, _ = ENGINE.examine(
        litert_target(litert_files.saved(tmp_path / "m.tflite", content)), ONE
    )
    assert facts.nodes_by_provider in ({"XNNPACK": 1, "LiteRT": 2}, {"XNNPACK": 3})
    assert sum(facts.nodes_by_provider.values()) == 3


def test_a_delegate_runs_the_operators_between_its_inputs_and_outputs():
    def details(index, name, inputs, outputs):
        return {"index": index, "op_name": name, "inputs": inputs, "outputs": outputs}

    chain = [
        details(0, "SIN", [0], [1]),
        details(1, "RELU", [1], [2]),
        details(2, "ADD", [2, 2], [3]),
    ]
    assert delegated_operators(chain, [details(3, "DELEGATE", [1], [3])]) == {1, 2}
    assert delegated_operators(chain, []) == set()


@pytest.mark.parametrize(
    ("types", "precision"),
    [
        ((np.float32, np.float32, np.float32), "fp32"),
        ((np.int8, np.int8, np.int32), "int8"),
        ((np.float32, np.int8, np.float32), "int8"),
    ],
)
def test_precision_is_that_of_multiplied_operands(types, precision):
    other = {"op_name": "ADD", "operand_types": [np.int16]}
    assert (
        _effective_precision([{"op_name": "CONV_2D", "operand_types": types}, other]) == precision
    )


def test_threads_are_counted_where_they_can_be(linear):
    with ENGINE.open(litert_target(linear, threads=2)) as session:
        assert session.facts.threads == 2
    with ENGINE.open(litert_target(linear, threads=2, options={"xnnpack": False})) as session:
        assert session.facts.threads is None  # its own kernels start theirs with a call


def test_inputs_of_another_type_are_refused_and_not_converted(linear):
    with ENGINE.open(litert_target(linear)) as session:
        with pytest.raises(ValueError, match="is float32, and float64 was given"):
            session.run({"x": X["x"].astype(np.float64)})
        assert session.facts.input_dtypes == {"x": "float32"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"device": "cuda"}, "cannot use device 'cuda'"),
        ({"precision": "bf16"}, "cannot change the precision to 'bf16'"),
        ({"options": {"gpu": True}}, "no option 'gpu'"),
        ({"options": {"xnnpack": "yes"}}, "true or false"),
    ],
)
def test_unsupported_settings_are_refused_with_a_reason(settings, complaint, linear):
    opening = ENGINE.open(litert_target(linear, **settings))
    with pytest.raises(BadValue, match=complaint):
        opening.__enter__()


def test_missing_operators_are_reported_with_its_own_message(tmp_path):
    odd = litert_files.saved(tmp_path / "m.tflite", litert_files.linear(code=CUSTOM))
    opening = ENGINE.open(litert_target(odd))
    with pytest.raises(EngineFailed, match="could not load") as caught:
        opening.__enter__()
    assert "Odd" in caught.value.why


# ---------------------------------------------------------------- the whole path


def test_it_is_compared_with_openvino_on_the_same_file_in_a_sandbox(linear):
    sides = (f"{linear}@engine=litert", f"{linear}@engine=openvino")
    result = modeldyno.compare(*sides, quick=True)
    assert result.parity is not None
    assert result.parity.agrees
    assert [side.facts.engine for side in (result.a, result.b)] == ["litert", "openvino"]


def test_batches_have_the_requested_size_and_the_option_is_kept(linear):
    result = modeldyno.bench(linear, batch=[1, 3], iterations=5, options={"xnnpack": False})
    assert [cell.batch_size for cell in result.cells] == [1, 3]
    assert [cell.facts and cell.facts.providers for cell in result.cells] == [("LiteRT",)] * 2


# ---------------------------------------------------------------- its profiler


def test_operators_have_xnnpacks_names_or_those_of_the_graph():
    recorded = [
        RecordedEvent("Invoke", 1, 90, 0),
        RecordedEvent("Add (ND)", XNNPACK_OPERATOR, 7, 0),
        RecordedEvent("DELEGATE", OPERATOR, 8, 4),
        RecordedEvent("SIN", OPERATOR, 3, 2),
        RecordedEvent("Add (ND)", XNNPACK_OPERATOR, 5, 0),
    ]
    events = node_events(recorded, lambda number, _: {2: "net/Sin"}[number], {})
    assert [(event.key, event.duration_ns) for event in events] == [
        (("Add (ND) #0", "Add (ND)", "XNNPACK"), 7000),
        (("net/Sin", "SIN", "LiteRT"), 3000),
        (("Add (ND) #0 (2)", "Add (ND)", "XNNPACK"), 5000),
    ]


def test_operators_of_a_loop_are_inside_it_and_named_by_its_graph():
    """Graph 1 is the loop's condition; 2 is its body, part of which XNNPACK took."""
    recorded = [
        RecordedEvent("Invoke", 1, 95, 0, 0, 100),
        RecordedEvent("WHILE", OPERATOR, 80, 0, 0, 102),
    ]
    for start in (103, 140):
        recorded += [
            RecordedEvent("Invoke", 1, 4, 0, 1, start),
            RecordedEvent("LESS", OPERATOR, 3, 0, 1, start),
            RecordedEvent("Invoke", 1, 30, 0, 2, start + 4),
            RecordedEvent("Add (ND)", XNNPACK_OPERATOR, 20, 0, 2),
            RecordedEvent("SIN", OPERATOR, 5, 1, 2, start + 26),
        ]
    recorded += [RecordedEvent("SIN", OPERATOR, 10, 1, 0, 185)]
    tally = Tally(1)
    tally.add_call(node_events(recorded, lambda number, graph: f"{graph}.{number}", {}))
    trace = tally.trace()
    assert {(node.node, node.op_type): (node.self_ns, node.events) for node in trace.nodes} == {
        ("0.0", "WHILE"): (24_000, 1),
        ("1.0", "LESS"): (6_000, 2),
        ("0.0/Add (ND) #0", "Add (ND)"): (40_000, 2),
        ("2.1", "SIN"): (10_000, 2),
        ("0.1", "SIN"): (10_000, 1),
    }
    assert trace.outer == 2


@pytest.mark.parametrize("xnnpack", [False, True])
def test_the_branch_of_a_model_is_counted_once(tmp_path, xnnpack):
    sizes = [8, 64]
    weights = np.eye(64, dtype=np.float32).tobytes()
    branch = graph(
        [tensor("x", sizes), tensor("w", [64, 64], 1), tensor("inner", sizes)],
        [0], [2], [operator(0, [0, 1, -1], [2], Table(), 8)], "branch",
    )  # fmt: skip
    main = graph(
        [tensor("c", [1], 0, 6), tensor("x", sizes), tensor("y", sizes)],
        [0, 1], [2], [operator(1, [0, 1], [2], Table({0: ("Int32", 1), 1: ("Int32", 2)}), 92)],
    )  # fmt: skip
    content = model([operator_code(9), operator_code(IF)], [main, branch, branch], [weights])
    path = litert_files.saved(tmp_path / "if.tflite", content)
    requested = litert_target(path, options={"xnnpack": xnnpack})
    inputs = {"c": np.array([True]), "x": np.ones(sizes, np.float32)}
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind(inputs, "hot")
        with profiled.recording():
            call()
        trace = profiled.trace([True])
    assert trace.outer == 1  # everything else is inside IF
    first, *inside = trace.nodes
    assert (first.node, first.op_type, first.inner) == ("y", "IF", len(inside))
    if not xnnpack:
        assert [(node.node, node.op_type) for node in inside] == [("inner", "FULLY_CONNECTED")]


def test_litert_s_own_operators_are_profiled_under_the_names_of_the_graph(linear):
    requested = litert_target(linear, options={"xnnpack": False})
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind(X, "hot")
        with profiled.recording():
            call()
        (node,) = profiled.trace([True]).nodes
    assert (node.node, node.op_type, node.provider) == (
        "net/dense/Relu", "FULLY_CONNECTED", "LiteRT",
    )  # fmt: skip
    (graph_node,) = catalog.read_graph(linear).nodes
    assert node.node == graph_node.name


def test_operators_without_outputs_are_profiled_under_their_numbers(tmp_path):
    path = litert_files.saved(tmp_path / "variable.tflite", litert_files.variable())
    requested = litert_target(path, options={"xnnpack": False})
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind(ONE, "hot")
        with profiled.recording():
            call()
        nodes = profiled.trace([True]).nodes
    assert [node.node for node in nodes] == ["handle", "ASSIGN_VARIABLE #1", "y"]


def test_a_profile_of_outputs_of_unknown_size_is_refused_with_the_reason(tmp_path):
    path = litert_files.saved(tmp_path / "filled.tflite", litert_files.filled())
    requested = litert_target(path)
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind({"n": np.array([3], np.int32)}, "hot")
        with pytest.raises(EngineFailed, match="cannot run this model") as caught:
            call()
    assert "the size of an output is known only after a call" in caught.value.why
    assert "--engine openvino" in caught.value.fix


def profiled_work(path, inputs, **settings):
    requested = litert_target(path, **settings)
    with ENGINE.open(requested) as session, ENGINE.profiled(requested, session) as profiled:
        call = profiled.bind(inputs, "hot")
        with profiled.recording():
            call()
        nodes = profiled.trace([True]).nodes
    # XNNPACK inserts it before a product; the file has none.
    return [work_of(n.op_type, n.operands) for n in nodes if "Static Reshape" not in n.op_type]


@pytest.mark.parametrize("uses_xnnpack", [True, False])
def test_a_profile_knows_the_work_of_each_operator(linear, tmp_path, uses_xnnpack):
    settings = {"options": {"xnnpack": uses_xnnpack}}
    assert profiled_work(linear, X, **settings) == [
        Work(2 * 2 * 3 * 4, 4 * (2 * 4 + 3 * 4 + 2 * 3))
    ]
    path = litert_files.saved(tmp_path / "pictures.tflite", litert_files.pictures())
    image, out, small = 2 * 16 * 2, 2 * 16 * 3, 2 * 4 * 3  # elements of two pictures
    work = profiled_work(path, {"x": np.ones((2, 4, 4, 2), np.float32)}, **settings)
    assert work == [
        Work(2 * out * 9 * 2, 4 * (image + 54 + 3 + out)),
        Work(2 * out * 9, 4 * (out + 27 + 3 + out)),
        Work(small * 4, 4 * (out + small)),
        Work(small, 4 * (small + 2 * 3)),
    ]


def test_where_xnnpack_merged_operators_their_work_is_not_known():
    def in_file(name, size):
        operand = Operand("float32", (size,))
        return FileOperator(name, Operands((operand, operand), (operand,)))

    def recorded(*names):
        return [RecordedEvent(name, XNNPACK_OPERATOR, 1, n) for n, name in enumerate(names)]

    known = dict(enumerate([in_file("MUL", 1), in_file("ADD", 2)]))
    known |= {2: in_file("MUL", 3), 3: in_file("SIN", 4)}
    all_three = recorded("Multiply (ND)", "Add (ND)", "Multiply (ND)")
    paired = operands_of(all_three, known, [[0, 1, 2]])
    assert {p: operands.outputs[0].size for p, operands in paired.items()} == {0: 1, 1: 2, 2: 3}
    merged = recorded("Multiply (ND)", "Add (ND)")
    assert list(operands_of(merged, known, [[0, 1, 2]])) == [1]
    assert operands_of(merged, known, [[0], [1, 2]]) == {}  # it ran one part, not two
    own = [RecordedEvent("SIN", OPERATOR, 1, 3), RecordedEvent("SIN", OPERATOR, 1, 3, graph=1)]
    assert list(operands_of(own, known, [])) == [0]  # the other one is of a loop's body


def test_filters_are_turned_to_where_the_count_expects_them():
    def flop(name, *shapes):
        tensors = [
            {"index": number, "dtype": np.float32, "shape": shape}
            for number, shape in enumerate(shapes)
        ]
        last = len(shapes) - 1
        operator = {"index": 0, "op_name": name, "inputs": range(last), "outputs": [last]}
        return work_of(name, file_operators([operator], tensors)[0].operands).flop

    transposed = flop("TRANSPOSE_CONV", (4,), (5, 2, 2, 8), (1, 3, 3, 8), (1, 6, 6, 5))
    assert transposed == 2 * (3 * 3 * 8) * (5 * 2 * 2)
    assert flop("FULLY_CONNECTED", (2, 3, 4), (5, 12), (2, 5)) == 2 * (2 * 5) * 12
    assert flop("CONV_3D", (1, 4, 4, 4, 2), (3, 3, 3, 2, 6), (1, 4, 4, 4, 6)) == (
        2 * (64 * 6) * (27 * 2)
    )


def test_under_the_profiler_it_computes_the_same(linear):
    with ENGINE.open(litert_target(linear)) as session:
        expected = session.run(X)["y"]
        with ENGINE.profiled(litert_target(linear), session) as profiled:
            outputs: Any = profiled.bind(X, "api")()
    assert np.allclose(np.frombuffer(outputs[0], np.float32).reshape(2, 3), expected)


def test_a_library_without_a_profiler_is_refused(linear, monkeypatch):
    monkeypatch.setattr(litert_library, "_LIBRARY", "no such library.so")
    requested = litert_target(linear)
    with (
        ENGINE.open(requested) as session,
        ENGINE.profiled(requested, session) as profiled,
        pytest.raises(EngineFailed, match="no profiler that we can use"),
    ):
        profiled.bind(X, "hot")


def test_the_model_that_computes_nothing_is_the_one_that_we_can_write():
    tensors = [litert_files.tensor(name, [1]) for name in "xy"]
    graph = litert_files.graph(tensors, [0], [1], [litert_files.operator(0, [0], [1])])
    relu = litert_files.operator_code(litert_files.RELU)
    assert litert_files.written(litert_files.model([relu], [graph], [])) == EMPTY_MODEL
