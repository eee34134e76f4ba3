"""A frozen TensorFlow graph (.pb): facts, read without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.models import InputSpec, ModelFacts, ModelFormat, TensorSpec
from modeldyno.formats.containers.protobuf import require_protobuf_size
from modeldyno.formats.model_facts import (
    IndexUse,
    count_weights,
    make_input_spec,
    make_model_facts,
)
from modeldyno.formats.refusals import damaged_file_error
from modeldyno.formats.tensorflow import unsafe_operators
from modeldyno.formats.tensorflow.inlining import (
    FlatNode,
    InlinedGraph,
    TooLarge,
    inline_calls,
    main_key,
)
from modeldyno.formats.tensorflow.messages import (
    ConstantTensor,
    GraphDef,
    Node,
    Shape,
    parse_graph_def,
)
from modeldyno.graphs.protobuf import DamagedMessage

# Nodes that do not count as operators.
CONSTANT = "Const"
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
NO_OPERATORS = (CONSTANT, *PLACEHOLDERS, *VARIABLES, "NoOp")
# Nodes that are never outputs, though no other node reads what they produce.
_NO_OUTPUTS = (*NO_OPERATORS, "Assert", "Assign", "AssignVariableOp", "Print", "PrintV2")
# Operators that pass on the values of their first input.
_PASSES = ("Cast", "Reshape", "ExpandDims", "Squeeze", "Identity", "Transpose", "Tile")
_GATHERS = ("GatherV2", "Gather", "ResourceGather")
_READS = ("Identity", "ReadVariableOp")
_LONGEST_READ = 16  # operators between a table and its lookup
# Operators whose first output has the type of their attribute T.
_KEEP_TYPE = frozenset(
    """
    Abs Add AddN AddV2 AvgPool BatchMatMulV2 BiasAdd Concat ConcatV2 Conv2D Conv2DBackpropInput
    DepthwiseConv2dNative Einsum Elu Erf Exp ExpandDims FusedBatchNorm FusedBatchNormV3 GatherNd
    Identity LeakyRelu Log LogSoftmax MatMul Max MaxPool Maximum Mean Min Minimum MirrorPad Mul Neg
    Pack Pad PadV2 Pow Prod RealDiv Relu Relu6 Reshape ResizeBilinear Rsqrt SelectV2 Selu Sigmoid
    Slice Softmax Softplus Sqrt Square SquaredDifference Squeeze StridedSlice Sub Sum Tanh Tile
    Transpose Unpack
    """.split()  # noqa: SIM905 - one name per line would fill two pages
)


@dataclass(frozen=True)
class ModelGraph:
    """The part of a file that is the model: its nodes, inputs and outputs."""

    graph: GraphDef
    nodes: tuple[Node, ...]
    inputs: tuple[tuple[str, TensorSpec], ...]  # each with the key of its tensor
    outputs: tuple[tuple[str, TensorSpec], ...]


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat."""
    with mapped_file(path) as data:
        graph = parse_graph_def(data)
        unsafe_operators.require_safe(path, graph)
        producer = f"GraphDef {graph.producer or ''}".strip()
        return make_facts(path, make_whole_model(graph), "tf-graph", producer)


@contextmanager
def mapped_file(path: Path) -> Iterator[memoryview]:
    """The file's bytes. Raises ModelUnreadable for damage found inside the block, as attributes are
    decoded on access."""
    fix = "Save it as a SavedModel, which keeps its weights in separate files"
    require_protobuf_size(path, "protobuf file", fix)
    try:
        yield memoryview(path.read_bytes())
    except UnicodeDecodeError as error:
        raise damaged_file_error(path, "a name in it is not UTF-8 text") from error
    except DamagedMessage as error:
        raise damaged_file_error(
            path, "it begins as a TensorFlow graph, and is invalid after that"
        ) from error


def make_whole_model(graph: GraphDef) -> ModelGraph:
    """Without declared ends, inputs are placeholders, and outputs what no other node reads."""
    read_by_others = {
        name.removeprefix("^").partition(":")[0] for node in graph.nodes for name in node.inputs
    }
    inputs = (node for node in graph.nodes if node.op in PLACEHOLDERS)
    outputs = (
        node
        for node in graph.nodes
        if node.name not in read_by_others and node.op not in _NO_OUTPUTS
    )
    return ModelGraph(
        graph, graph.nodes, _first_output_of_nodes(inputs), _first_output_of_nodes(outputs)
    )


def _first_output_of_nodes(nodes: Iterable[Node]) -> tuple[tuple[str, TensorSpec], ...]:
    return tuple(
        (main_key(node.name), TensorSpec(node.name, dtype_of(node) or "", shape_of(node)))
        for node in nodes
    )


def make_facts(
    path: Path,
    model: ModelGraph,
    model_format: ModelFormat,
    producer: str,
    notes: Iterable[str] = (),
    **more: Any,
) -> ModelFacts:
    flat = None
    try:
        flat = inline_calls(model.graph, model.nodes)
        nodes = [flat_node.node for flat_node in flat.every_node]
    except TooLarge as error:
        bodies = (node for function in model.graph.functions.values() for node in function.nodes)
        nodes = [*model.nodes, *bodies]
        note = (
            f"its functions, written out, have more than {error.nodes} nodes: each is counted once"
        )
        notes = (note, *notes)
    return make_model_facts(
        path,
        model_format,
        "tensorflow",
        inputs=_read_inputs(model, flat),
        outputs=(spec for _, spec in model.outputs),
        weights=count_weights(_iterate_weights(nodes)),
        operators=(node.op for node in nodes if node.op not in NO_OPERATORS),
        names=(node.name for node in nodes),
        producer=producer[:100],
        notes=tuple(notes),
        **more,
    )


def dtype_of(node: Node) -> str | None:
    """Of the first output; None if the node does not state it."""
    if node.op in (CONSTANT, *PLACEHOLDERS, *VARIABLES, "ReadVariableOp"):
        return node.dtype("dtype")
    if node.op == "Cast":
        return node.dtype("DstT")
    return node.dtype("T") if node.op in _KEEP_TYPE else None


def shape_of(node: Node) -> Shape:
    """Of the first output; None if the file does not state it."""
    if node.op == CONSTANT:
        constant = node.get("value")
        return constant.shape if isinstance(constant, ConstantTensor) else None
    if node.op in (*PLACEHOLDERS, *VARIABLES):
        return node.shape("shape")
    shapes = node.get("_output_shapes")
    first = shapes[0] if isinstance(shapes, tuple) and shapes else None
    return first if isinstance(first, tuple) else None


def _iterate_weights(nodes: Sequence[Node]) -> Iterator[tuple[str, int]]:
    """Each constant and variable once, however often its function is called."""
    for node in {id(node): node for node in nodes}.values():
        if node.op not in (CONSTANT, *VARIABLES):
            continue
        tensor = ConstantTensor(dtype_of(node) or "", shape_of(node))
        # Shapes and axes are int32 here.
        if tensor.dtype != "int32" and (tensor.elements > 1 or node.op in VARIABLES):
            yield tensor.dtype, tensor.elements


def _read_inputs(model: ModelGraph, flat: InlinedGraph | None) -> Iterator[InputSpec]:
    uses = _find_index_uses(flat) if flat is not None else {}
    return (make_input_spec(spec, key, uses) for key, spec in model.inputs)


def _find_index_uses(flat: InlinedGraph) -> dict[str, list[IndexUse[str]]]:
    producers = {node.key: node for node in flat.every_node}
    outputs: dict[str, list[str]] = {}  # those that are used, by their producer
    for key in {flat.key(key) for node in producers.values() for key in node.inputs}:
        outputs.setdefault(producer_key(key), []).append(key)
    uses: dict[str, list[IndexUse[str]]] = {}
    for node in producers.values():
        for position, key in enumerate(node.inputs[:2]):
            if node.node.op in _GATHERS and position == 1:
                rows = _find_table_rows(flat, producers, node.inputs[0])
                uses.setdefault(flat.key(key), []).append((rows, []))
            elif node.node.op in _PASSES and position == 0:
                uses.setdefault(flat.key(key), []).append((None, outputs.get(node.key, [])))
    return uses


def _find_table_rows(flat: InlinedGraph, producers: dict[str, FlatNode], key: str) -> int | None:
    """The rows of a table: a constant or a variable, possibly behind a read operator."""
    for _ in range(_LONGEST_READ):
        producer = producers.get(producer_key(flat.key(key)))
        if producer is None:
            return None
        if producer.node.op in (CONSTANT, *VARIABLES):
            shape = shape_of(producer.node) or ()
            return shape[0] if shape and isinstance(shape[0], int) else None
        if producer.node.op not in _READS or not producer.inputs:
            return None
        key = producer.inputs[0]
    return None


def producer_key(key: str) -> str:
    """``3/node:output:0`` → ``3/node:``."""
    return key.partition(":")[0] + ":"
