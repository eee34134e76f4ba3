"""A frozen TensorFlow graph (.pb): what the file says, without TensorFlow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.domains import telling_words
from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import IndexRange, InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.containers.protobuf import Cut, Foreign
from modeldyno.formats.digest import sha256
from modeldyno.formats.refusals import shown
from modeldyno.formats.tensorflow import unsafe_operators
from modeldyno.formats.tensorflow.inlining import Flat, FlatNode, TooLarge, flattened, main_key
from modeldyno.formats.tensorflow.messages import GraphDef, Node, Shape, Tensor, graph_def

# Nodes that are no operators.
CONSTANT = "Const"
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
NO_OPERATORS = (CONSTANT, *PLACEHOLDERS, *VARIABLES, "NoOp")
# Nobody reads what these make, and yet nobody asks for it.
_NO_OUTPUTS = (*NO_OPERATORS, "Assert", "Assign", "AssignVariableOp", "Print", "PrintV2")
# Types of shapes, axes and conditions: constants of these are part of the graph, not learned.
_NEVER_LEARNED = ("int32", "int64", "uint64", "bool", "string", "resource", "variant")
# What an index goes through on its way to what it indexes.
_PASSES = ("Cast", "Reshape", "ExpandDims", "Squeeze", "Identity", "Transpose", "Tile")
_GATHERS = ("GatherV2", "Gather", "ResourceGather")
_READS = ("Identity", "ReadVariableOp")
_LONGEST_WAY = 16
# Operators whose first output has the type of their attribute T.
_KEEP_TYPE = frozenset(
    """
    Abs Add AddN AddV2 AvgPool BatchMatMulV2 BiasAdd Concat ConcatV2 Conv2D Conv2DBackpropInput
    DepthwiseConv2dNative Einsum Elu Erf Exp ExpandDims FusedBatchNorm FusedBatchNormV3 GatherNd
    Identity LeakyRelu Log LogSoftmax MatMul Max MaxPool Maximum Mean Min Minimum MirrorPad Mul Neg
    Pack Pad PadV2 Pow Prod RealDiv Relu Relu6 Reshape ResizeBilinear Rsqrt SelectV2 Selu Sigmoid
    Slice Softmax Softplus Sqrt Square SquaredDifference Squeeze StridedSlice Sub Sum Tanh Tile
    Transpose Unpack
    """.split()  # noqa: SIM905 - a name to a line would fill two pages
)
PROTOBUF_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Part:
    """What of a file is the model: which nodes, and where it begins and ends."""

    graph: GraphDef
    nodes: tuple[Node, ...]
    inputs: tuple[tuple[str, TensorSpec], ...]  # the key of the tensor, and what it is called
    outputs: tuple[tuple[str, TensorSpec], ...]


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat."""
    with reading(path) as data:
        graph = graph_def(data)
        unsafe_operators.check(path, graph)
        return facts_of(path, whole(graph), "tf-graph", f"GraphDef {graph.producer or ''}".strip())


@contextmanager
def reading(path: Path) -> Iterator[memoryview]:
    """The file's bytes. Attributes are decoded when they are looked at: whatever is found to be
    damaged in here raises ModelUnreadable."""
    size = path.stat().st_size
    if size > PROTOBUF_LIMIT:
        raise ModelUnreadable(
            f"{shown(path)} is too large for one protobuf file",
            why=f"it has {size} bytes, and protobuf cannot read more than {PROTOBUF_LIMIT}",
            fix="Save it as a SavedModel, which keeps its weights in files of their own",
        )
    try:
        yield memoryview(path.read_bytes())
    except (Cut, Foreign, UnicodeDecodeError) as error:
        raise ModelUnreadable(
            f"{shown(path)} is damaged",
            why="a name in it is not UTF-8 text"
            if isinstance(error, UnicodeDecodeError)
            else "it begins as a TensorFlow graph, and then makes no sense",
            fix="Copy, download or export it again",
        ) from error


def whole(graph: GraphDef) -> Part:
    """A graph that says nothing of where it begins and ends: it takes what placeholders hold, and
    makes what nobody reads."""
    read_by_others = {
        main_key(one).partition(":")[0] for node in graph.nodes for one in node.inputs
    } | {one[1:] for node in graph.nodes for one in node.inputs if one.startswith("^")}
    inputs = tuple(
        (main_key(node.name), TensorSpec(node.name, dtype_of(node) or "", shape_of(node)))
        for node in graph.nodes
        if node.op in PLACEHOLDERS
    )
    outputs = tuple(
        (main_key(node.name), TensorSpec(node.name, dtype_of(node) or "", shape_of(node)))
        for node in graph.nodes
        if node.name not in read_by_others and node.op not in _NO_OUTPUTS
    )
    return Part(graph, graph.nodes, inputs, outputs)


def facts_of(path: Path, part: Part, model_format: str, producer: str) -> ModelFacts:
    notes: tuple[str, ...] = ()
    try:
        flat = flattened(part.graph, part.nodes)
        nodes = list(flat.every_node)
    except TooLarge as error:
        flat = None
        nodes = [FlatNode(node, (), "") for node in (*part.nodes, *_bodies(part.graph))]
        notes = (
            f"its functions, written out, have more than {error.nodes} nodes: each is counted once",
        )
    learned = _learned(nodes)
    return ModelFacts(
        path=str(path),
        format=model_format,  # type: ignore[arg-type]  # one of ours
        framework="tensorflow",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=sum(learned.values()),
        inputs=tuple(_input(spec, key, flat) for key, spec in part.inputs),
        outputs=tuple(spec for _, spec in part.outputs),
        producer=producer[:100],
        nodes_by_op=dict(
            Counter(one.node.op for one in nodes if one.node.op not in NO_OPERATORS).most_common()
        ),
        weights_by_dtype=learned,
        notes=notes,
        telling=telling_words(one.node.name for one in nodes),
    )


def dtype_of(node: Node) -> str | None:
    """Of its first output, as far as the node itself tells."""
    if node.op in (CONSTANT, *PLACEHOLDERS, *VARIABLES, "ReadVariableOp"):
        return node.dtype("dtype")
    if node.op == "Cast":
        return node.dtype("DstT")
    return node.dtype("T") if node.op in _KEEP_TYPE else None


def shape_of(node: Node) -> Shape:
    """Of its first output: as the file has it, if it has."""
    if node.op == CONSTANT:
        held = node.get("value")
        return held.shape if isinstance(held, Tensor) else None
    if node.op in (*PLACEHOLDERS, *VARIABLES):
        return node.shape("shape")
    noted = node.get("_output_shapes")
    first = noted[0] if isinstance(noted, tuple) and noted else None
    return first if isinstance(first, tuple) else None


def _bodies(graph: GraphDef) -> Iterator[Node]:
    for function in graph.functions.values():
        yield from function.nodes


def _learned(nodes: Sequence[FlatNode]) -> dict[str, int]:
    """Each constant and variable once, however often its function is called."""
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for node in (one.node for one in nodes):
        if id(node) in seen or node.op not in (CONSTANT, *VARIABLES):
            continue
        seen.add(id(node))
        held = Tensor(dtype_of(node) or "", shape_of(node))
        if held.dtype not in _NEVER_LEARNED and (held.elements > 1 or node.op in VARIABLES):
            counts[held.dtype] += held.elements
    return dict(counts.most_common())


def _input(spec: TensorSpec, key: str, flat: Flat | None) -> InputSpec:
    is_whole = spec.dtype.lstrip("u").startswith("int")
    indices = _indexed(flat, key) if flat is not None and is_whole else None
    return InputSpec(spec.name, spec.dtype, spec.shape, indices)


def _indexed(flat: Flat, key: str) -> IndexRange | None:
    """The smallest table that an input's values index; None: it indexes nothing that we know."""
    takers: dict[str, list[tuple[FlatNode, int]]] = {}
    makers: dict[str, FlatNode] = {}
    for node in flat.every_node:
        makers[node.key] = node
        for place, taken in enumerate(node.inputs):
            takers.setdefault(flat.key(taken), []).append((node, place))
    reached, rows = [key], []
    for _ in range(_LONGEST_WAY):
        found = [taker for one in reached for taker in takers.get(one, ())]
        reached = []
        for node, place in found:
            if node.node.op in _GATHERS and place == 1:
                size = _rows(flat, makers, node.inputs[0])
                rows += [size] if size else []
            elif node.node.op in _PASSES and place == 0:
                reached += [one for one in takers if one.startswith(node.key)]
    return IndexRange(0, min(rows), f"indexes an embedding of {min(rows)} rows") if rows else None


def _rows(flat: Flat, makers: dict[str, FlatNode], key: str) -> int | None:
    """Of a table: a constant, or a variable, perhaps read first."""
    for _ in range(_LONGEST_WAY):
        maker = makers.get(_maker(flat.key(key)))
        if maker is None:
            return None
        if maker.node.op in (CONSTANT, *VARIABLES):
            shape = shape_of(maker.node) or ()
            return shape[0] if shape and isinstance(shape[0], int) else None
        if maker.node.op not in _READS or not maker.inputs:
            return None
        key = maker.inputs[0]
    return None


def _maker(key: str) -> str:
    """``3/node:output:0`` → ``3/node:``."""
    return key.partition(":")[0] + ":"
