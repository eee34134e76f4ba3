"""How many items a call has: as asked, where the model lets us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from modeldyno.core.models import InputSpec
from modeldyno.inputs.name_hints import says_batch
from modeldyno.inputs.open_axes import Axis, said_size


@dataclass(frozen=True)
class Batch:
    size: int
    fixed: int | None = None  # the model's own, where it leaves none open
    note: str = ""
    may_be_refused: bool = False  # exports call a batch open that a reshape inside them fixes


def batch_of_one(refused: Batch) -> Batch:
    return Batch(1, note=f"a batch of {refused.size} did not run, so the batch is 1")


def batch_of(
    inputs: tuple[InputSpec, ...], axes: tuple[Axis, ...], batch_size: int, dims: Mapping[str, int]
) -> Batch:
    named_so = any(axis.name == "batch" for axis in axes)
    wanted = batch_size if named_so else dims.get("batch", batch_size)
    batches = sorted((a for a in axes if a.is_batch), key=lambda axis: not says_batch(axis.name))
    if batches:
        said = said_size(batches[0], dims)
        if said is None:
            return Batch(wanted, may_be_refused=wanted > 1 and "batch" not in dims)
        if said == wanted:
            return Batch(wanted)
        note = f"--dim {batches[0].name}={said} sets the batch; asked {wanted}"
        return Batch(said, note=note if wanted != 1 else "")
    if any(spec.shape is None for spec in inputs):  # real data will show
        return Batch(wanted)
    fixed = _fixed(inputs)
    return Batch(fixed or 1, fixed, _fixed_note(fixed, wanted))


def _fixed_note(fixed: int | None, wanted: int) -> str:
    """Of a batch of 1 nobody knows whether anybody asked for it: it is the usual one."""
    if wanted == (fixed or 1):
        return ""
    if fixed is None:
        return f"the model has no batch dimension, so a call is one item; asked {wanted}"
    fact = f"the model's batch is fixed at {fixed}"
    return fact if wanted == 1 else f"{fact}; asked {wanted}"


def _fixed(inputs: tuple[InputSpec, ...]) -> int | None:
    """The batch of a model that leaves none open; None where no axis looks like one."""
    leading = [
        spec.shape[0]
        for spec in inputs
        if spec.shape is not None and len(spec.shape) > 1 and not _is_single_image(spec)
    ]
    sizes = [size for size in leading if isinstance(size, int)]
    return None if not sizes else 1 if 1 in sizes else sizes[0]


def _is_single_image(spec: InputSpec) -> bool:
    """[3, height, width]: the leading axis holds colours."""
    shape = spec.shape or ()
    return len(shape) == 3 and shape[0] in (3, 4) and all(d != 1 for d in shape[1:])
