"""Outputs of one call, kept and compared; numpy, as the engine brings it."""

from __future__ import annotations

from pathlib import Path

from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import Parity
from modeldyno.engines.protocol import Tensors

KEPT = 1_000_000  # elements per output; of larger ones an even selection is kept
TOLERANCE = 0.01  # of the largest magnitude in an output: far above rounding, far below wrong


def save(path: Path, outputs: Tensors) -> None:
    import numpy as np

    kept = _numbers(outputs)
    np.savez(path, **{f"o{i}": array for i, array in enumerate(kept.values())}, names=list(kept))


def load(path: Path) -> Tensors:
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        return {str(name): file[f"o{i}"] for i, name in enumerate(file["names"])}


def described(outputs: Tensors) -> tuple[TensorSpec, ...]:
    """What came out: a list or a map of tensors has no shape of its own."""
    import numpy as np

    found = []
    for name, value in outputs.items():
        if isinstance(value, (list, dict)):
            found.append(TensorSpec(name, type(value).__name__, None))
        else:
            array = np.asarray(value)
            found.append(TensorSpec(name, str(array.dtype), tuple(array.shape)))
    return tuple(found)


def comparable(a: Tensors, b: Tensors) -> bool:
    """Whether two models have outputs of the same size in common: by name, or in their order
    where the names differ, since a conversion between formats renames outputs."""
    return _paired(_numbers(a), _numbers(b)) is not None


def _paired(a: Tensors, b: Tensors) -> list[tuple[str, str]] | None:
    """Names of outputs to be compared; None where there are none, or where two do not fit.

    One side may have more outputs, such as a state that the other keeps to itself: then only
    those of the same name are compared.
    """
    pairs = [(name, name) for name in a if name in b]
    rest_a, rest_b = ([name for name in x if name not in y] for x, y in ((a, b), (b, a)))
    if len(rest_a) == len(rest_b):
        in_order = list(zip(rest_a, rest_b, strict=True))
        fits = all(a[name].shape == b[other].shape for name, other in in_order)
        pairs += in_order if fits else _nearest(a, b, rest_a, rest_b)
    fit = all(a[name].shape == b[other].shape for name, other in pairs)
    return pairs if fit and (pairs or not (a or b)) else None


def _nearest(a: Tensors, b: Tensors, ours: list[str], theirs: list[str]) -> list[tuple[str, str]]:
    """Formats also list outputs in different orders: then of those of one size the nearest two
    belong together. What finds nobody is left as it is, and does not fit."""
    left = list(theirs)
    pairs = []
    for name in ours:
        like = [other for other in left if a[name].shape == b[other].shape]
        other = min(like, key=lambda one: _largest_error(a[name], b[one])) if like else left[0]
        left.remove(other)
        pairs.append((name, other))
    return pairs


def compare(reference: Tensors, outputs: Tensors) -> Parity:
    """Errors are relative to the largest magnitude of each output, so that zeros do not explode."""
    import numpy as np

    expected, got = _numbers(reference), _numbers(outputs)
    pairs = _paired(expected, got)
    if pairs is None:
        return Parity(float(np.finfo(np.float32).max), float(np.finfo(np.float32).max), False)
    absolute = relative = 0.0
    for name, other in pairs:
        value = expected[name]
        error = _largest_error(value, got[other])
        scale = float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
        absolute = max(absolute, error)
        relative = max(relative, error / scale if scale else error)
    left_out = {*expected, *got} - {name for pair in pairs for name in pair}
    return Parity(absolute, relative, relative <= TOLERANCE, tuple(sorted(left_out)))


def _largest_error(expected: object, got: object) -> float:
    """Positions where both are the same infinity or both NaN agree."""
    import numpy as np

    a, b = np.asarray(expected), np.asarray(got)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    worst = float(np.max(error, initial=0.0))
    return worst if np.isfinite(worst) else float(np.finfo(np.float32).max)


def _numbers(outputs: Tensors) -> Tensors:
    """Numeric outputs as flat float64 arrays of at most KEPT elements."""
    import numpy as np

    kept: Tensors = {}
    for name, value in outputs.items():
        array = np.asarray(value) if not isinstance(value, (list, dict)) else None
        if array is None or array.dtype.kind not in "fiub":
            continue
        flat = array.reshape(-1)
        step = -(-flat.size // KEPT) or 1
        kept[name] = flat[::step].astype(np.float64)
    return kept
