"""A graph as rows of plain JSON, and back: how it travels between processes and lies in the cache.

Rows instead of the codec's objects, and tensors by their number: a graph has tens of thousands of
values, and this way it is read in about the time that JSON itself takes. Everything is checked:
rows may come from a worker that a hostile model has taken over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from modeldyno.core.codec import Mismatch
from modeldyno.core.graphs import (
    Attribute,
    Body,
    BodyKind,
    Graph,
    GraphNode,
    GraphTensor,
    TensorKind,
)
from modeldyno.core.models import ModelFormat

ROWS_VERSION = 1  # raise it whenever rows, ids or scopes change: kept graphs are read again then

_KINDS = frozenset(get_args(TensorKind))
_BODY_KINDS = frozenset(get_args(BodyKind))
_FORMATS = frozenset(get_args(ModelFormat))
_SCALARS = frozenset((bool, int, float, str))
_DIMS = frozenset((int, str, type(None)))
_LEFT_OUT = -1


def to_rows(graph: Graph) -> dict[str, Any]:
    number = {tensor.id: place for place, tensor in enumerate(graph.tensors)} | {"": _LEFT_OUT}

    def numbers(ids: Iterable[str]) -> list[int]:
        return [number[id_] for id_ in ids]

    return {
        "version": ROWS_VERSION,
        "format": graph.format,
        "sha256": graph.sha256,
        "name": graph.name,
        "tensors": [[t.id, t.name, t.kind, t.dtype, _listed(t.shape)] for t in graph.tensors],
        "nodes": [
            [
                *(n.id, n.op_type, n.domain, n.name, n.scope, numbers(n.inputs)),
                *(numbers(n.outputs), [_attribute_row(a) for a in n.attributes], [*n.bodies]),
            ]
            for n in graph.nodes
        ],
        "bodies": [
            [b.scope, b.name, b.kind, numbers(b.inputs), numbers(b.outputs)] for b in graph.bodies
        ],
        "inputs": numbers(graph.inputs),
        "outputs": numbers(graph.outputs),
        "notes": [*graph.notes],
    }


def from_rows(rows: Any) -> Graph:
    """The graph; raises Mismatch when the rows are not one."""
    try:
        return _graph(rows)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise Mismatch(f"not a graph: {error!r}"[:200]) from error


def _graph(rows: dict[str, Any]) -> Graph:
    if rows["version"] != ROWS_VERSION or rows["format"] not in _FORMATS:
        raise Mismatch("rows of another version or format")
    tensors = tuple([_tensor(*row) for row in rows["tensors"]])
    ids = [tensor.id for tensor in tensors]
    _unique(ids)
    ids.append("")  # where the number of what is left out, -1, points
    nodes = tuple([_node(ids, *row) for row in rows["nodes"]])
    _unique([node.id for node in nodes])
    return Graph(
        format=rows["format"],
        sha256=_text(rows["sha256"]),
        name=_text(rows["name"]),
        nodes=nodes,
        tensors=tensors,
        inputs=_present(ids, rows["inputs"]),
        outputs=_present(ids, rows["outputs"]),
        bodies=tuple([_body(ids, *row) for row in rows["bodies"]]),
        notes=_texts(rows["notes"]),
    )


def _tensor(id_: Any, name: Any, kind: Any, dtype: Any, shape: Any) -> GraphTensor:
    if kind not in _KINDS or not id_:
        raise Mismatch("a tensor of no known kind")
    return GraphTensor(_text(id_), _text(name), kind, _text_or_none(dtype), _shape(shape))


def _node(
    ids: list[str],
    id_: Any,
    op_type: Any,
    domain: Any,
    name: Any,
    scope: Any,
    inputs: Any,
    outputs: Any,
    attributes: Any,
    bodies: Any,
) -> GraphNode:
    _texts((id_, op_type, domain, name, scope))
    return GraphNode(
        id_,
        op_type,
        domain,
        name,
        scope,
        _ids(ids, inputs),
        _ids(ids, outputs),
        tuple([_attribute(*row) for row in attributes]),
        _texts(bodies) if bodies else (),
    )


def _attribute_row(attribute: Attribute) -> list[Any]:
    value = attribute.value
    row = [attribute.name, attribute.type, list(value) if isinstance(value, tuple) else value]
    if attribute.note or attribute.dtype is not None or attribute.shape is not None:
        row += [attribute.note, attribute.dtype, _listed(attribute.shape)]
    return row


def _attribute(
    name: Any, type_: Any, value: Any, note: Any = "", dtype: Any = None, shape: Any = None
) -> Attribute:
    _texts((name, type_, note))
    if type(value) is list:
        if not _SCALARS.issuperset(map(type, value)):
            raise Mismatch("an attribute of things inside things")
        value = tuple(value)
    elif value is not None and type(value) not in _SCALARS:
        raise Mismatch("an attribute without a value that we know")
    return Attribute(name, type_, value, note, _text_or_none(dtype), _shape(shape))


def _body(ids: list[str], scope: Any, name: Any, kind: Any, inputs: Any, outputs: Any) -> Body:
    if kind not in _BODY_KINDS:
        raise Mismatch("a body of no known kind")
    return Body(_text(scope), _text(name), kind, _present(ids, inputs), _present(ids, outputs))


def _ids(ids: list[str], numbers: Any) -> tuple[str, ...]:
    """Tensors by number; the last of ``ids`` stands for what is left out."""
    if numbers and not _LEFT_OUT <= min(numbers) <= max(numbers) < len(ids) - 1:
        raise Mismatch("a tensor that is not there")
    return tuple([ids[number] for number in numbers])


def _present(ids: list[str], numbers: Any) -> tuple[str, ...]:
    if numbers and min(numbers) < 0:
        raise Mismatch("an input or output that is not there")
    return _ids(ids, numbers)


def _listed(shape: tuple[Any, ...] | None) -> list[Any] | None:
    return None if shape is None else [*shape]


def _shape(shape: Any) -> tuple[Any, ...] | None:
    if shape is None:
        return None
    if type(shape) is not list or not _DIMS.issuperset(map(type, shape)):
        raise Mismatch("a shape of other things than sizes")
    return tuple(shape)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch(f"expected a text, got {type(value).__name__}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _texts(values: Any) -> tuple[str, ...]:
    for value in values:
        if type(value) is not str:
            raise Mismatch(f"expected a text, got {type(value).__name__}")
    return tuple(values)


def _unique(ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        raise Mismatch("two things of one id")
