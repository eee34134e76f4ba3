"""Input and output nodes that a user chose for a model: checked, and passed on to the engine that
can run a part of a graph."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from modeldyno.core.errors import BadValue, GraphUnavailable
from modeldyno.core.graphs import Graph
from modeldyno.core.models import (
    Boundary,
    Dim,
    InputSpec,
    Model,
    ModelFacts,
    NewModel,
    Signature,
    TensorSpec,
)
from modeldyno.core.specs import CellSpec, ModelSpec
from modeldyno.core.trust import architecture_of
from modeldyno.engines import catalog
from modeldyno.inputs.model_overrides import (
    declares_inputs,
    no_signatures_error,
    require_signature,
    with_overrides,
)
from modeldyno.store.content import list_files_in_spec

_ENGINE, _OPTION = "tensorflow", "outputs"
_FROZEN_GRAPH = "tf-graph"  # the only format that can begin and end at any node
_WITH_SIGNATURES = "saved-model"
_MOST_NAMED = 10

Shapes = Sequence[tuple[int, ...]]  # of inputs, without the batch


# ---------------------------------------------------------------- choose


def make_boundary(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shapes: Shapes,
    new: NewModel,
    read_graph: Callable[[], Graph],
) -> Boundary:
    """Raises BadValue for nodes that the model does not have, or cannot begin or end at."""
    boundary = replace(new.boundary or Boundary(), inputs=inputs, outputs=outputs)
    facts = new.facts
    if facts is None:
        return boundary
    own_inputs, own_outputs = _names(facts.inputs), _names(facts.outputs)
    if facts.format != _FROZEN_GRAPH:
        if declares_inputs(facts):
            _require_own_nodes("input_nodes", inputs, own_inputs, facts)
        _require_own_nodes("output_nodes", outputs, own_outputs, facts)
        return boundary
    inner_inputs = _nodes_beyond(inputs, own_inputs)
    if not inner_inputs and not _nodes_beyond(outputs, own_outputs):
        return boundary
    try:
        graph = read_graph()
    except GraphUnavailable:  # too large to check: the engine will report it
        graph = None
    if graph is not None:
        names = {tensor.name for tensor in graph.tensors} | {node.name for node in graph.nodes}
        _require_nodes("input_nodes", inputs, names)
        _require_nodes("output_nodes", outputs, names)
    if not inner_inputs:
        return boundary
    return replace(boundary, fed=_make_fed_inputs(inputs, shapes, facts, graph))


def _make_fed_inputs(
    names: tuple[str, ...], shapes: Shapes, facts: ModelFacts, graph: Graph | None
) -> tuple[InputSpec, ...]:
    """The inputs at these nodes: from the file, the graph, or the given shapes."""
    declared = {spec.name: spec for spec in facts.inputs}
    tensors = {tensor.name: tensor for tensor in graph.tensors} if graph else {}
    given = dict(zip(names, shapes, strict=True)) if len(names) == len(shapes) else {}
    inputs = []
    for name in names:
        tensor_name = _tensor_name(name)
        if tensor_name in declared:
            inputs.append(declared[tensor_name])
            continue
        tensor = tensors.get(tensor_name)
        shape: tuple[Dim, ...] | None = _name_open_sizes(tensor.shape if tensor else None)
        if name in given:
            shape = ("batch", *given[name])
        if shape is None:
            raise BadValue(
                f"The shape of {name!r} is unknown",
                why="the file does not say it, and a graph that begins there needs it as an input",
                fix="Give it in `shape`, for each of the input nodes and without the batch: "
                "[[224, 224, 3], [10]]",
            )
        dtype = tensor.dtype if tensor and tensor.dtype else "float32"
        inputs.append(InputSpec(tensor_name, dtype, shape))
    return tuple(inputs)


def _name_open_sizes(shape: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    """Names for unnamed sizes, as in ``--input``."""
    if shape is None:
        return None
    return tuple(
        ("batch" if axis == 0 else f"size{axis}") if size is None else size
        for axis, size in enumerate(shape)
    )


def _require_own_nodes(
    field: str, names: tuple[str, ...], own: tuple[str, ...], facts: ModelFacts
) -> None:
    others = _nodes_beyond(names, own)
    if others and own:
        raise BadValue(
            f"{field}: the model has no {others[0][:100]!r}",
            why=f"{facts.format} files have fixed inputs and outputs: "
            f"{', '.join(own[:_MOST_NAMED])}",
            fix=f"Leave {field} out",
        )


def _require_nodes(field: str, names: tuple[str, ...], graph_names: Collection[str]) -> None:
    for name in names:
        tensor_name = _tensor_name(name)
        if tensor_name in graph_names or tensor_name.rpartition(":")[0] in graph_names:
            continue
        close = difflib.get_close_matches(name, graph_names, n=1)
        raise BadValue(
            f"{field}: the graph has no node {name[:100]!r}",
            fix=f"Did you mean {close[0][:100]}?" if close else "See its graph for its nodes",
        )


def _nodes_beyond(names: Sequence[str], own: Collection[str]) -> list[str]:
    """Those that are not the model's own inputs or outputs."""
    return [name for name in names if _tensor_name(name) not in own and name not in own]


def _tensor_name(name: str) -> str:
    """TensorFlow's ``x:0`` is the first output of ``x``."""
    return name.removesuffix(":0")


def _names(specs: Sequence[TensorSpec] | Sequence[Signature]) -> tuple[str, ...]:
    return tuple(spec.name for spec in specs)


# ---------------------------------------------------------------- apply


def pin_to_trusted_content(spec: ModelSpec, model: Model) -> ModelSpec:
    """With the content and architecture that are trusted, whatever the file contains by then, and
    with the inputs the user chose. Raises BadValue for a signature that it does not have."""
    facts = model.facts
    if spec.signature and facts is not None:
        if facts.format != _WITH_SIGNATURES:
            raise no_signatures_error(model.name, facts.format)
        if facts.signatures:  # older facts have none
            require_signature(spec.signature, _names(facts.signatures), model.name)
    architecture = spec.architecture or (architecture_of(facts) if facts is not None else None)
    inputs = spec.inputs or _chosen_inputs(model)
    spec = replace(spec, sha256=model.sha256, inputs=inputs, architecture=architecture)
    return spec if facts is None else list_files_in_spec(spec, facts)


def inputs_of(model: Model) -> tuple[InputSpec, ...]:
    """Its inputs, or those at the input nodes that the user chose."""
    if model.facts is None:
        return ()
    return with_overrides(model.facts, ModelSpec(model.path, inputs=_chosen_inputs(model))).inputs


def with_boundary(cell: CellSpec, model: Model) -> CellSpec:
    """With the outputs the user chose, for a frozen graph.

    Raises BadValue for an engine that only runs whole graphs.
    """
    if not has_chosen_nodes(model):
        return cell
    entry = catalog.find(cell.engine) if cell.engine else catalog.for_format(_FROZEN_GRAPH)
    if entry.adapter != _ENGINE:
        raise BadValue(
            f"{entry.title or entry.name} runs the whole graph of {model.name!r}",
            why=f"{_chosen_nodes(model)}, and only TensorFlow can begin and end at any node",
            fix="Use TensorFlow, or a project without input and output nodes",
        )
    outputs = _overridden_outputs(model)
    if not outputs or _OPTION in cell.options:
        return cell
    return replace(cell, options=cell.options | {_OPTION: ",".join(outputs)})


def require_whole_model(model: Model) -> None:
    """Raises BadValue if the user chose other inputs or outputs than its file's."""
    if has_chosen_nodes(model):
        raise BadValue(
            f"{model.name!r} can only be converted as a whole",
            why=_chosen_nodes(model),
            fix="Convert it in a project without input and output nodes",
        )


def has_chosen_nodes(model: Model) -> bool:
    return model.format == _FROZEN_GRAPH and bool(
        _chosen_inputs(model) or _overridden_outputs(model)
    )


def _chosen_inputs(model: Model) -> tuple[InputSpec, ...]:
    return model.boundary.fed if model.boundary else ()


def _overridden_outputs(model: Model) -> tuple[str, ...]:
    chosen = model.boundary.outputs if model.boundary else ()
    detected = _names(model.facts.outputs) if model.facts else ()
    return () if chosen == detected else chosen


def _chosen_nodes(model: Model) -> str:
    ends = [("begins", _names(_chosen_inputs(model))), ("ends", _overridden_outputs(model))]
    parts = [f"it {verb} at {', '.join(nodes[:_MOST_NAMED])}" for verb, nodes in ends if nodes]
    return f"its project says that {' and '.join(parts)}"
