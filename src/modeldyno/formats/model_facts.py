"""What every format's reader reports alike: counts of weights and operators, index ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from modeldyno.core.models import (
    ExternalFile,
    IndexRange,
    InputSpec,
    ModelFacts,
    ModelFormat,
    TensorSpec,
)
from modeldyno.formats.domains import find_detector_words
from modeldyno.formats.file_reading import hash_file

# Types of shapes, axes and conditions: constants of these are part of the graph, not learned.
NEVER_LEARNED = ("int64", "uint64", "bool", "string", "resource", "variant")
_LONGEST_PATH = 16  # operators between an input and the table it indexes
_Tensor = TypeVar("_Tensor", bound=Hashable)
# Of a tensor: the rows of a table that it indexes, or the tensors that its values are passed on in.
IndexUse = tuple[int | None, Iterable[_Tensor]]


def make_model_facts(
    path: Path,
    model_format: ModelFormat,
    framework: str,
    *,
    inputs: Iterable[InputSpec],
    outputs: Iterable[TensorSpec],
    weights: dict[str, int],
    operators: Iterable[str] = (),
    names: Iterable[str] = (),
    external: tuple[ExternalFile, ...] = (),
    **more: Any,
) -> ModelFacts:
    """``names`` of nodes and tensors hint at what the model is for."""
    return ModelFacts(
        path=str(path),
        format=model_format,
        framework=framework,
        sha256=hash_file(path),
        size_bytes=path.stat().st_size + sum(file.size_bytes for file in external),
        parameters=sum(weights.values()),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        external=external,
        nodes_by_op=dict(Counter(operators).most_common()),
        weights_by_dtype=weights,
        telling=find_detector_words(names),
        **more,
    )


def count_weights(tensors: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Learned elements by dtype, given each tensor's dtype and number of elements."""
    counts: Counter[str] = Counter()
    for dtype, elements in tensors:
        if dtype not in NEVER_LEARNED:
            counts[dtype] += elements
    return dict(counts.most_common())


def join_some(names: Iterable[str], most: int = 4) -> str:
    """``Foo, Bar and more``."""
    listed = list(names)
    return ", ".join(listed[:most]) + (" and more" if len(listed) > most else "")


def is_integer(dtype: str) -> bool:
    return dtype.lstrip("u").startswith("int")


def make_input_spec(
    declared: TensorSpec, tensor: _Tensor, uses: Mapping[_Tensor, Iterable[IndexUse[_Tensor]]]
) -> InputSpec:
    """A declared input with the range of its values, if it is a ``tensor`` that indexes a table."""
    indices = _find_index_range(tensor, uses) if is_integer(declared.dtype) else None
    return InputSpec(declared.name, declared.dtype, declared.shape, indices)


def _find_index_range(
    tensor: _Tensor, uses: Mapping[_Tensor, Iterable[IndexUse[_Tensor]]]
) -> IndexRange | None:
    """The valid indices of the smallest table that the tensor indexes; None if there is none."""
    reached, rows = {tensor}, []
    for _ in range(_LONGEST_PATH):
        passed_on: set[_Tensor] = set()
        for each in reached:
            for size, outputs in uses.get(each, ()):
                rows += [size] if size else []
                passed_on.update(outputs)
        reached = passed_on
    return IndexRange(0, min(rows), f"indexes an embedding of {min(rows)} rows") if rows else None
