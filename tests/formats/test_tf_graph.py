"""Frozen TensorFlow graphs are read without TensorFlow."""

import sys

import pytest

from modeldyno.core.errors import GraphUnavailable, ModelUnreadable, UnsafeFormat
from modeldyno.core.models import IndexRange, InputSpec, TensorSpec
from modeldyno.formats import catalog
from modeldyno.formats.recognise import recognise
from tests import tf_files as tf


def saved(tmp_path, content, name="net.pb"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_inputs_outputs_operators_and_weights_are_read(tmp_path):
    facts = catalog.read(saved(tmp_path, tf.linear(), "net.onnx"))
    assert (facts.format, facts.framework, facts.producer) == (
        "tf-graph",
        "tensorflow",
        "GraphDef 2474",
    )
    assert facts.inputs == (InputSpec("x", "float32", (None, 3)),)
    assert facts.outputs == (TensorSpec("y", "float32", None),)
    assert (facts.parameters, facts.weights_by_dtype) == (8, {"float32": 8})
    assert facts.nodes_by_op == {"MatMul": 1, "BiasAdd": 1}
    assert not {name for name in sys.modules if name.split(".")[0] == "tensorflow"}


def test_its_graph_connects_nodes_and_keeps_scopes(tmp_path):
    content = tf.graph_def(
        tf.placeholder("x", 1, 4),
        tf.node("block/split", "Split", "x", num_split=tf.number(3, 2), T=tf.dtype(tf.FLOAT)),
        tf.node("block/sum", "AddV2", "block/split", "block/split:1", "^x", T=tf.dtype(tf.FLOAT)),
    )
    graph = catalog.read_graph(saved(tmp_path, content))
    assert [(one.id, one.scope, one.inputs) for one in graph.nodes] == [
        ("block/split", "block", ("x",)),
        ("block/sum", "block", ("block/split", "block/split:1")),
    ]
    assert (graph.inputs, graph.outputs) == (("x",), ("block/sum",))
    assert [(a.name, a.value) for a in graph.nodes[0].attributes] == [
        ("num_split", 2),
        ("T", "float32"),
    ]


def test_an_input_that_indexes_a_table_says_how_far(tmp_path):
    content = tf.graph_def(
        tf.placeholder("ids", -1, 8, kind=tf.INT32),
        tf.constant("table", *range(20), dims=(10, 2)),
        tf.node("table/read", "Identity", "table", T=tf.dtype(tf.FLOAT)),
        tf.node("wide", "Cast", "ids", DstT=tf.dtype(9)),
        tf.constant("axis", 0, dims=(), kind=tf.INT32),
        tf.node("rows", "GatherV2", "table/read", "wide", "axis"),
    )
    (found,) = catalog.read(saved(tmp_path, content)).inputs
    assert found.indices == IndexRange(0, 10, "indexes an embedding of 10 rows")


def test_branches_and_loops_are_bodies(tmp_path):
    body = tf.function_def("body", ("i",), {"o": "more:z:0"}, tf.node("more", "AddV2", "i", "i"))
    content = tf.graph_def(
        tf.placeholder("x", 1),
        tf.node("loop", "StatelessWhile", "x", body=tf.function("body")),
        functions=(body,),
    )
    path = saved(tmp_path, content)
    graph = catalog.read_graph(path)
    assert [(one.name, one.scope) for one in graph.bodies] == [("body", "loop[body]")]
    assert catalog.read(path).nodes_by_op == {"StatelessWhile": 1, "AddV2": 1}


def test_no_part_of_a_graph_passes_for_the_whole(tmp_path):
    content = tf.linear()
    ends = [len(content) - len(tf.held(4, tf.number(1, 2474)))]
    start = 0
    while start < len(content):  # a cut between two nodes makes a smaller graph: nobody can tell
        start += 2 + content[start + 1]
        ends.append(start)
    for length in range(1, len(content)):
        if length not in ends:
            with pytest.raises(ModelUnreadable):
                catalog.read(saved(tmp_path, content[:length]))


def test_a_truncated_and_a_damaged_graph_say_so(tmp_path):
    content = tf.linear()
    with pytest.raises(ModelUnreadable, match=r"net.pb is truncated") as caught:
        recognise(saved(tmp_path, content[:60]))
    assert "frozen TensorFlow graph" in caught.value.why
    with pytest.raises(ModelUnreadable, match=r"net.pb is damaged"):
        recognise(saved(tmp_path, content + b"\0\0"))
    broken = content.replace(tf.dtype(tf.FLOAT), b"\x30\xff")
    with pytest.raises(ModelUnreadable, match=r"net.pb is damaged"):
        catalog.read(saved(tmp_path, broken))


@pytest.mark.parametrize(
    "op",
    [
        "ReadFile",
        "WriteFile",
        "PyFunc",
        "EagerPyFunc",
        "TFRecordDataset",
        "MatchingFilesDataset",
        "DatasetToTFRecord",
        "ListSnapshotChunksDataset",
        "DebugIdentity",
        "DebugNumericSummaryV2",
        "InitializeTableFromTextFileV2",
    ],
)
def test_operators_that_reach_outside_the_model_are_refused(tmp_path, op):
    content = tf.graph_def(tf.placeholder("x", 1), tf.node("evil", op, "x"))
    with pytest.raises(UnsafeFormat, match="reach outside") as caught:
        catalog.read(saved(tmp_path, content))
    assert op in caught.value.why


def test_unsafe_operators_are_refused_even_in_uncalled_functions(tmp_path):
    hidden = tf.function_def("hidden", (), {}, tf.node("evil", "WriteFile", "a", "b"))
    content = tf.graph_def(tf.placeholder("x", 1), functions=(hidden,))
    with pytest.raises(UnsafeFormat, match="reach outside"):
        catalog.read(saved(tmp_path, content))


def test_two_functions_of_one_name_are_refused(tmp_path):
    """TensorFlow may take the one that we would not look at."""
    both = [tf.function_def("same", (), {}, tf.node("n", op)) for op in ("WriteFile", "NoOp")]
    content = tf.graph_def(tf.placeholder("x", 1), functions=tuple(both))
    with pytest.raises(ModelUnreadable, match="damaged"):
        catalog.read(saved(tmp_path, content))


def test_printing_is_fine_but_not_into_a_file(tmp_path):
    def graph(stream):
        printing = tf.node("said", "PrintV2", "x", output_stream=tf.text(stream))
        return saved(tmp_path, tf.graph_def(tf.placeholder("x", 1), printing))

    assert catalog.read(graph("stderr")).format == "tf-graph"
    with pytest.raises(UnsafeFormat):
        catalog.read(graph("file:///tmp/said"))


@pytest.mark.slow
def test_functions_that_call_each_other_many_times_do_not_explode(tmp_path):
    """Forty functions, each calling the next one twice: a million million nodes, written out."""
    functions = []
    for level in range(40):
        calls = [
            tf.node(f"c{n}", "PartitionedCall", "a", f=tf.function(f"f{level + 1}")) for n in (1, 2)
        ]
        functions.append(tf.function_def(f"f{level}", ("a",), {"o": "c1:output:0"}, *calls))
    content = tf.graph_def(
        tf.placeholder("x", 1),
        tf.node("y", "PartitionedCall", "x", f=tf.function("f0")),
        functions=tuple(functions),
    )
    path = saved(tmp_path, content)
    assert "each is counted once" in catalog.read(path).notes[0]
    with pytest.raises(GraphUnavailable, match="too large"):
        catalog.read_graph(path)


def test_a_function_that_calls_itself_ends(tmp_path):
    again = tf.node("c", "PartitionedCall", "a", f=tf.function("f"))
    content = tf.graph_def(
        tf.placeholder("x", 1),
        tf.node("y", "PartitionedCall", "x", f=tf.function("f")),
        functions=(tf.function_def("f", ("a",), {"o": "c:output:0"}, again),),
    )
    assert catalog.read(saved(tmp_path, content)).nodes_by_op == {"PartitionedCall": 1}
