"""A graph as rows of plain JSON, and back: how it travels between processes and lies in the cache.

Rows instead of the codec's objects, and tensors by their number: a graph has tens of thousands of
values, and this way it is read in about the time that JSON itself takes. Everything is checked:
rows may come from a worker that a hostile model has taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
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
from modeldyno.core.models import FORMATS

ROWS_VERSION = 2  # raise it whenever rows, ids or scopes change: kept graphs are read again then

_KINDS = frozenset(get_args(TensorKind))
_BODY_KINDS = frozenset(get_args(BodyKind))
_Types = frozenset[type]
_TEXT: _Types = frozenset((str,))
_TEXT_OR_NONE: _Types = frozenset((str, type(None)))
_INTEGER = frozenset((int,))
_LIST = frozenset((list,))
_SEQUENCES: _Types = frozenset((list, tuple))
_LIST_OR_NONE: _Types = frozenset((list, type(None)))
_SCALARS = frozenset((bool, int, float, str))
_DIMS: _Types = frozenset((int, str, type(None)))
_LEFT_OUT, _FIRST = -1, 0


def to_rows(graph: Graph) -> dict[str, Any]:
    number = {tensor.id: place for place, tensor in enumerate(graph.tensors)} | {"": _LEFT_OUT}

    def numbers(ids: Iterable[str]) -> list[int]:
        return [number[id_] for id_ in ids]

    shapes = {shape: place for place, shape in enumerate({t.shape: None for t in graph.tensors})}
    return {
        "version": ROWS_VERSION,
        "format": graph.format,
        "sha256": graph.sha256,
        "name": graph.name,
        "shapes": [_shape_to_list(shape) for shape in shapes],  # each once: a graph has few
        "tensors": [[t.id, t.name, t.kind, t.dtype, shapes[t.shape]] for t in graph.tensors],
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
        return _graph_from_rows(rows)
    except (
        TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        raise Mismatch(f"not a graph: {error!r}"[:200]) from error


def _graph_from_rows(rows: dict[str, Any]) -> Graph:
    if rows["version"] != ROWS_VERSION or rows["format"] not in FORMATS:
        raise Mismatch("rows of another version or format")
    tensors = _tensors_from_rows(rows["tensors"], _shapes_from_rows(rows["shapes"]))
    table = _Table([tensor.id for tensor in tensors])
    (inputs, outputs) = table.all([rows["inputs"], rows["outputs"]], _FIRST)
    _require_types((rows["sha256"], rows["name"], *rows["notes"]), _TEXT)
    return Graph(
        format=rows["format"],
        sha256=rows["sha256"],
        name=rows["name"],
        nodes=_nodes_from_rows(rows["nodes"], table),
        tensors=tensors,
        inputs=inputs,
        outputs=outputs,
        bodies=_bodies_from_rows(rows["bodies"], table),
        notes=tuple(rows["notes"]),
    )


# ---------------------------------------------------------------- column by column
# Types are looked at by the column, in loops that Python runs in C: a graph is checked in a few
# milliseconds, where a check of each field by itself would take longer than to decode the JSON.


def _tensors_from_rows(rows: Any, shapes: list[tuple[Any, ...] | None]) -> tuple[GraphTensor, ...]:
    ids, names, kinds, dtypes, places = _split_columns(rows, 5)
    _require_types(ids, _TEXT)
    _require_types(names, _TEXT)
    _require_types(dtypes, _TEXT_OR_NONE)
    _require_types(places, _INTEGER)
    if places and min(places) < 0:
        raise Mismatch("a shape that is not there")
    if not _KINDS.issuperset(kinds) or "" in ids:
        raise Mismatch("a tensor of no known kind, or without an id")
    _require_unique(ids)
    return tuple(map(GraphTensor, ids, names, kinds, dtypes, map(shapes.__getitem__, places)))


def _nodes_from_rows(rows: Any, table: _Table) -> tuple[GraphNode, ...]:
    ids, ops, domains, names, scopes, inputs, outputs, settings, bodies = _split_columns(rows, 9)
    for texts in (ids, ops, domains, names, scopes, [*chain.from_iterable(bodies)]):
        _require_types(texts, _TEXT)
    _require_unique(ids)
    return tuple(
        map(
            GraphNode, ids, ops, domains, names, scopes,
            table.all(inputs, _LEFT_OUT), table.all(outputs, _LEFT_OUT),
            _attributes_from_rows(settings), map(tuple, bodies),
        )
    )  # fmt: skip


def _bodies_from_rows(rows: Any, table: _Table) -> tuple[Body, ...]:
    scopes, names, kinds, inputs, outputs = _split_columns(rows, 5)
    _require_types(scopes, _TEXT)
    _require_types(names, _TEXT)
    if not _BODY_KINDS.issuperset(kinds):
        raise Mismatch("a body of no known kind")
    ends = table.all(inputs, _FIRST), table.all(outputs, _FIRST)
    return tuple(map(Body, scopes, names, kinds, *ends))


def _attributes_from_rows(settings: Sequence[Any]) -> list[tuple[Attribute, ...]]:
    """Each node's own, in one row: [name, type, value], or with note, dtype and shape as well."""
    rows = [row if len(row) == 6 else [*row, "", None, None] for row in chain(*settings)]
    names, types, values, notes, dtypes, shapes = _split_columns(rows, 6)
    for texts in (names, types, notes):
        _require_types(texts, _TEXT)
    _require_types(dtypes, _TEXT_OR_NONE)
    plain = map(_attribute_value, values)
    made = map(Attribute, names, types, plain, notes, dtypes, _shapes_from_rows(shapes))
    return [tuple(islice(made, len(of_node))) if of_node else () for of_node in settings]


def _attribute_row(attribute: Attribute) -> list[Any]:
    value = attribute.value
    row = [attribute.name, attribute.type, list(value) if isinstance(value, tuple) else value]
    if attribute.note or attribute.dtype is not None or attribute.shape is not None:
        row += [attribute.note, attribute.dtype, _shape_to_list(attribute.shape)]
    return row


def _attribute_value(value: Any) -> Any:
    if type(value) is list:
        _require_types(value, _SCALARS)
        return tuple(value)
    if value is not None and type(value) not in _SCALARS:
        raise Mismatch("an attribute without a value that we know")
    return value


class _Table:
    """Tensors by number; -1 is what is left out."""

    def __init__(self, ids: list[str]) -> None:
        self._ids = [*ids, ""]

    def all(self, lists: Sequence[Any], lowest: int) -> list[tuple[str, ...]]:
        numbers = [*chain.from_iterable(lists)]
        _require_types(numbers, _INTEGER)
        if numbers and not lowest <= min(numbers) <= max(numbers) < len(self._ids) - 1:
            raise Mismatch("a tensor that is not there")
        of = self._ids.__getitem__
        return [tuple(map(of, some)) for some in lists]


def _split_columns(rows: Any, width: int) -> list[tuple[Any, ...]]:
    _require_types((rows,), _LIST)
    _require_types(rows, _LIST)
    columns = [*zip(*rows, strict=True)] or [()] * width
    if len(columns) != width:
        raise Mismatch(f"rows of {len(columns)} instead of {width}")
    return columns


def _shapes_from_rows(shapes: Sequence[Any]) -> list[tuple[Any, ...] | None]:
    _require_types((shapes,), _SEQUENCES)
    _require_types(shapes, _LIST_OR_NONE)
    _require_types(chain.from_iterable(filter(None, shapes)), _DIMS)
    return [None if shape is None else tuple(shape) for shape in shapes]


def _shape_to_list(shape: tuple[Any, ...] | None) -> list[Any] | None:
    return None if shape is None else [*shape]


def _require_types(values: Iterable[Any], kinds: _Types) -> None:
    strange = set(map(type, values)) - kinds
    if strange:
        raise Mismatch(f"a {strange.pop().__name__} where it does not belong")


def _require_unique(ids: Sequence[str]) -> None:
    if len(set(ids)) != len(ids):
        raise Mismatch("two things of one id")
