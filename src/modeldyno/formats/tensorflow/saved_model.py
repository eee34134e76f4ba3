"""TensorFlow's SavedModel: ``saved_model.pb`` with variables and assets beside it.

As in other formats, the file is the model and those beside it are its weights. Read without
TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import ModelFacts, ModelFormat, Signature, TensorSpec
from modeldyno.formats.external_weights import (
    check_weights_files,
    outside_folder_error,
    weights_exist,
)
from modeldyno.formats.file_reading import open_regular
from modeldyno.formats.refusals import printable_name
from modeldyno.formats.tensorflow import INDEX, unsafe_operators
from modeldyno.formats.tensorflow.frozen_graph import VARIABLES, ModelGraph, make_facts, mapped_file
from modeldyno.formats.tensorflow.inlining import main_key
from modeldyno.formats.tensorflow.messages import (
    GraphDef,
    MetaGraph,
    Node,
    SignatureDef,
    TensorInfo,
    parse_meta_graphs,
)
from modeldyno.graphs.protobuf import DamagedMessage, read_fields
from modeldyno.inputs.model_overrides import require_signature

FORMAT: ModelFormat = "saved-model"
SERVE = "serve"  # the tag of graphs for inference
USUAL = "serving_default"
_INTERNAL = "__saved_model_"  # prefix of signatures that callers cannot use
_MOST_SHARDS = 1000


def read(path: Path, without_weights: bool = False, signature: str = "") -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat; BadValue if it has no such signature.

    ``without_weights``: absent files are listed as missing, not refused.
    """
    with mapped_file(path) as data:
        meta = find_serving_graph(path, data)
        unsafe_operators.require_safe(path, meta.graph, has_assets=bool(meta.assets))
        name = choose_signature(path, meta, signature)
        part = graph_of_signature(meta, name)
        # Of all signatures, since loaders restore every variable of the graph.
        has_variables = any(node.op in VARIABLES for node in meta.graph.nodes)
        needed = [*_find_variable_files(path, has_variables), *_find_assets(path, meta)]
        external, missing = check_weights_files(
            path, dict.fromkeys(needed, (0, "")), without_weights
        )
        return make_facts(
            path,
            part,
            FORMAT,
            f"TensorFlow {meta.version}".strip(),
            _make_notes(meta, name),
            external=external,
            missing=missing,
            signature=name,
            signatures=tuple(_describe_signatures(meta)),
        )


def find_serving_graph(path: Path, data: memoryview) -> MetaGraph:
    """The graph meant for inference; raises ModelUnreadable."""
    graphs = parse_meta_graphs(data)
    for meta in graphs:
        if SERVE in meta.tags:
            return meta
    if len(graphs) == 1:
        return graphs[0]
    tags = ", ".join("+".join(meta.tags) or "no tag" for meta in graphs) or "none"
    raise ModelUnreadable(
        f"{printable_name(path)} has no graph to be measured",
        why=f"none of its graphs is tagged {SERVE!r}: {tags}"[:300],
        fix="Save it with tf.saved_model.save, or give the graph this tag",
    )


def graph_of_signature(meta: MetaGraph, name: str) -> ModelGraph:
    """The part of the graph that this signature computes."""
    signature = meta.signatures[name]
    nodes = tuple(_find_reachable_nodes(meta.graph, signature))
    return ModelGraph(
        meta.graph,
        nodes,
        _tensor_specs_by_port(signature.inputs),
        _tensor_specs_by_port(signature.outputs),
    )


def choose_signature(path: Path, meta: MetaGraph, requested: str = "") -> str:
    """The requested signature; by default ``serving_default``, or the first by name.

    Raises BadValue if it does not exist, ModelUnreadable if the model has none at all.
    """
    known = _callable_signatures(meta)
    if requested and known:
        require_signature(requested, sorted(known), printable_name(path))
        return requested
    for name in (USUAL, SERVE, *sorted(known)):
        if name in known:
            return name
    raise ModelUnreadable(
        f"{printable_name(path)} has no signature, so its inputs and outputs are unknown",
        why="a SavedModel is called by one of its signatures",
        fix="Save it with one: tf.saved_model.save(model, folder, signatures=function), or "
        "model.export(folder) in Keras",
    )


def _callable_signatures(meta: MetaGraph) -> dict[str, SignatureDef]:
    return {
        name: signature
        for name, signature in meta.signatures.items()
        if not name.startswith(_INTERNAL) and signature.outputs and _takes_plain_tensors(signature)
    }


def _describe_signatures(meta: MetaGraph) -> Iterator[Signature]:
    """The usual one first."""
    known = _callable_signatures(meta)
    for name in sorted(known, key=lambda name: (name != USUAL, name != SERVE, name)):
        inputs, outputs = (
            tuple(spec for _, spec in _tensor_specs_by_port(side))
            for side in (known[name].inputs, known[name].outputs)
        )
        yield Signature(name, inputs, outputs)


def _make_notes(meta: MetaGraph, name: str) -> Iterator[str]:
    # Keras writes the same signature under both names.
    others = sorted(_callable_signatures(meta).keys() - {name, SERVE})
    if others:
        names = ", ".join(others[:5])
        yield f"uses signature {name!r}; it also has {names} (choose with --signature)"[:300]


def _takes_plain_tensors(signature: SignatureDef) -> bool:
    """Whether all are plain tensors: sparse and composite ones consist of several."""
    return all(info.tensor for info in (*signature.inputs.values(), *signature.outputs.values()))


def _tensor_specs_by_port(infos: dict[str, TensorInfo]) -> tuple[tuple[str, TensorSpec], ...]:
    """Sorted by name, since their order in the file means nothing."""
    return tuple(
        (main_key(info.tensor), TensorSpec(name, info.dtype, info.shape))
        for name, info in sorted(infos.items())
    )


def _find_reachable_nodes(graph: GraphDef, signature: SignatureDef) -> Iterator[Node]:
    """Nodes that the signature's outputs need, in the order of the file."""
    needed: set[str] = set()
    waiting = [info.tensor.partition(":")[0] for info in signature.outputs.values()]
    while waiting:
        name = waiting.pop()
        if name in needed or name not in graph.by_name:
            continue
        needed.add(name)
        waiting += [key.lstrip("^").partition(":")[0] for key in graph.by_name[name].inputs]
    return (node for node in graph.nodes if node.name in needed)


# ---------------------------------------------------------------- files beside it


def _find_variable_files(path: Path, are_needed: bool) -> list[str]:
    if not weights_exist(path, INDEX) and not are_needed:
        return []
    count = _count_shards(path)
    names = [f"variables/variables.data-{n:05}-of-{count:05}" for n in range(count)]
    return [INDEX, *names]


def _count_shards(path: Path) -> int:
    """The number of files that the values are split into, from the first entry of the index; 1 if
    there is no index."""
    try:
        with open_regular(path.parent / INDEX) as file:
            head = file.read(256)
    except OSError:
        return 1
    # An entry of the table: the lengths of the prefix it shares with the previous name (0), of the
    # rest of its name (0), and of its value.
    if len(head) < 3 or head[:2] != b"\0\0" or head[2] > len(head) - 3:
        raise _damaged_error(path)
    try:
        fields = dict(read_fields(memoryview(head)[3 : 3 + head[2]]))
    except DamagedMessage as error:
        raise _damaged_error(path) from error
    count = fields.get(1, 1)
    if not isinstance(count, int) or not 1 <= count <= _MOST_SHARDS:
        raise _damaged_error(path)
    return count


def _damaged_error(path: Path) -> ModelUnreadable:
    return ModelUnreadable(
        f"The weights of {printable_name(path)} are damaged",
        why=f"{INDEX!r} is not the index of a checkpoint",
        fix="Copy, download or export it again",
    )


def _find_assets(path: Path, meta: MetaGraph) -> Iterator[str]:
    """Files that tables are filled from; their names are untrusted."""
    for name in dict.fromkeys(meta.assets):
        location = f"assets/{name}"
        parts = PurePosixPath(location).parts
        if not name or name.startswith("/") or ".." in parts or "\0" in name:
            raise outside_folder_error(path, location, "an asset must be in the folder 'assets'")
        yield location
