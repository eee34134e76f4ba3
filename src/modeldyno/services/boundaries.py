"""Where a user said that a model begins and ends: checked when it is said, and told to the engine
that can begin and end there."""

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
    check_signature,
    completed,
    says_inputs,
    without_signatures,
)
from modeldyno.store.content import with_files

_ENGINE, _OPTION = "tensorflow", "outputs"
_ANY_NODE = "tf-graph"  # the format of files that can begin and end at any node
_WITH_SIGNATURES = "saved-model"
_MOST_NAMED = 10

Shapes = Sequence[tuple[int, ...]]  # of inputs, without the batch


# ---------------------------------------------------------------- said


def boundary_of(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shapes: Shapes,
    new: NewModel,
    read_graph: Callable[[], Graph],
) -> Boundary:
    """Raises BadValue for a node that the model does not have, or cannot begin or end at."""
    found = replace(new.boundary or Boundary(), inputs=inputs, outputs=outputs)
    facts = new.facts
    if facts is None:
        return found
    own_inputs, own_outputs = _names(facts.inputs), _names(facts.outputs)
    if facts.format != _ANY_NODE:
        if says_inputs(facts):
            _expect_own("input_nodes", inputs, own_inputs, facts)
        _expect_own("output_nodes", outputs, own_outputs, facts)
        return found
    if not _strange(inputs, own_inputs) and not _strange(outputs, own_outputs):
        return found
    try:
        graph = read_graph()
    except GraphUnavailable:  # too large to be looked through: the engine will tell
        graph = None
    if graph is not None:
        known = {tensor.name for tensor in graph.tensors} | {node.name for node in graph.nodes}
        _expect_nodes("input_nodes", inputs, known)
        _expect_nodes("output_nodes", outputs, known)
    if not _strange(inputs, own_inputs):
        return found
    return replace(found, fed=_fed(inputs, shapes, facts, graph))


def _fed(
    names: tuple[str, ...], shapes: Shapes, facts: ModelFacts, graph: Graph | None
) -> tuple[InputSpec, ...]:
    """What goes in at these nodes: as the file says, or as somebody said."""
    declared = {spec.name: spec for spec in facts.inputs}
    tensors = {tensor.name: tensor for tensor in graph.tensors} if graph else {}
    said = dict(zip(names, shapes, strict=True)) if len(names) == len(shapes) else {}
    found = []
    for name in names:
        plain = _plain(name)
        if plain in declared:
            found.append(declared[plain])
            continue
        noted = tensors.get(plain)
        shape: tuple[Dim, ...] | None = _open(noted.shape if noted else None)
        if name in said:
            shape = ("batch", *said[name])
        if shape is None:
            raise BadValue(
                f"Nobody says of which shape {name!r} is",
                why="the file does not, and a graph that begins there is fed there",
                fix="Say it in `shape`, for each of the input nodes and without the batch: "
                "[[224, 224, 3], [10]]",
            )
        dtype = noted.dtype if noted and noted.dtype else "float32"
        found.append(InputSpec(plain, dtype, shape))
    return tuple(found)


def _open(shape: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    """With names for sizes that have none, as ``--input`` would have them."""
    if shape is None:
        return None
    return tuple(
        ("batch" if axis == 0 else f"size{axis}") if size is None else size
        for axis, size in enumerate(shape)
    )


def _expect_own(what: str, said: tuple[str, ...], own: tuple[str, ...], facts: ModelFacts) -> None:
    strange = _strange(said, own)
    if strange and own:
        raise BadValue(
            f"{what}: the model has no {strange[0][:100]!r}",
            why=f"{facts.format} files say themselves where they begin and end: "
            f"{', '.join(own[:_MOST_NAMED])}",
            fix=f"Leave {what} out",
        )


def _expect_nodes(what: str, said: tuple[str, ...], known: Collection[str]) -> None:
    for name in said:
        if _plain(name) in known or _plain(name).rpartition(":")[0] in known:
            continue
        close = difflib.get_close_matches(name, known, n=1)
        raise BadValue(
            f"{what}: the graph has no node {name[:100]!r}",
            fix=f"Did you mean {close[0][:100]}?" if close else "See its graph for its nodes",
        )


def _strange(said: Sequence[str], own: Collection[str]) -> list[str]:
    return [name for name in said if _plain(name) not in own and name not in own]


def _plain(name: str) -> str:
    """TensorFlow's ``x:0`` is what ``x`` makes."""
    return name.removesuffix(":0")


def _names(specs: Sequence[TensorSpec] | Sequence[Signature]) -> tuple[str, ...]:
    return tuple(spec.name for spec in specs)


# ---------------------------------------------------------------- run


def pinned_to(said: ModelSpec, model: Model) -> ModelSpec:
    """What was vouched for is what is run, whatever the file holds by then, and from where the user
    said that it begins. Raises BadValue for a signature that it does not have."""
    facts = model.facts
    if said.signature and facts is not None:
        if facts.format != _WITH_SIGNATURES:
            raise without_signatures(model.name, facts.format)
        if facts.signatures:  # they were not noted always
            check_signature(said.signature, _names(facts.signatures), model.name)
    fed = model.boundary.fed if model.boundary else ()
    built = said.architecture or (architecture_of(facts) if facts is not None else None)
    said = replace(said, sha256=model.sha256, inputs=said.inputs or fed, architecture=built)
    return said if facts is None else with_files(said, facts)


def inputs_of(model: Model) -> tuple[InputSpec, ...]:
    """What goes in where the user said that it begins."""
    if model.facts is None:
        return ()
    fed = model.boundary.fed if model.boundary else ()
    return completed(model.facts, ModelSpec(model.path, inputs=fed)).inputs


def with_boundary(cell: CellSpec, model: Model) -> CellSpec:
    """A frozen graph can begin and end at any node; other files say themselves where they do.

    Raises BadValue for an engine that runs it from its own beginning to its own end only.
    """
    if not has_own_ends(model):
        return cell
    entry = catalog.find(cell.engine) if cell.engine else catalog.for_format(_ANY_NODE)
    if entry.adapter != _ENGINE:
        raise BadValue(
            f"{entry.title or entry.name} runs the whole graph of {model.name!r}",
            why=f"{_said(model)}, and only TensorFlow can begin and end at any node",
            fix="Use TensorFlow, or a project without input and output nodes",
        )
    outputs = _chosen_outputs(model)
    if not outputs or _OPTION in cell.options:
        return cell
    return replace(cell, options=cell.options | {_OPTION: ",".join(outputs)})


def require_whole_model(model: Model) -> None:
    """Raises BadValue where the user said that it begins or ends elsewhere than its file says."""
    if has_own_ends(model):
        raise BadValue(
            f"{model.name!r} is converted as a whole only",
            why=_said(model),
            fix="Convert it in a project without input and output nodes",
        )


def has_own_ends(model: Model) -> bool:
    fed = model.boundary.fed if model.boundary else ()
    return model.format == _ANY_NODE and bool(fed or _chosen_outputs(model))


def _chosen_outputs(model: Model) -> tuple[str, ...]:
    said = model.boundary.outputs if model.boundary else ()
    detected = _names(model.facts.outputs) if model.facts else ()
    return () if said == detected else said


def _said(model: Model) -> str:
    fed = _names(model.boundary.fed) if model.boundary else ()
    ends = [("begins", fed), ("ends", _chosen_outputs(model))]
    told = [f"it {verb} at {', '.join(nodes[:_MOST_NAMED])}" for verb, nodes in ends if nodes]
    return f"its project says that {' and '.join(told)}"
