"""Outputs of one call, kept and compared; numpy, as the engine brings it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import Parity
from modeldyno.engines.protocol import Tensors

KEPT = 1_000_000  # elements per output; of larger ones an even selection is kept
# Of types that numpy does not know by itself: their kind is that of raw bytes.
_SHORT_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_DIGEST = "V16"  # raw bytes, which no engine gives
_FAR = 3.4e38  # what has no distance at all; the largest that fits a float
TOLERANCE = 0.01  # of the largest magnitude in an output: far above rounding, far below wrong


def save(path: Path, outputs: Tensors) -> None:
    import numpy as np

    kept = _values(outputs)
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
    """Whether two models have outputs of the same size in common: by name, or where the names
    differ, since a conversion between formats renames outputs, by order or by what they hold."""
    return bool(_pairings(_values(a), _values(b)))


Pairs = list[tuple[str, str]]


def _pairings(a: Tensors, b: Tensors) -> list[Pairs]:
    """Names of outputs to be compared, the likeliest way first; empty where two do not fit.

    One side may have more outputs, such as a state that the other keeps to itself: then only
    those of the same name are compared.
    """
    named = [(name, name) for name in a if name in b]
    rest_a, rest_b = ([name for name in x if name not in y] for x, y in ((a, b), (b, a)))
    found: list[Pairs] = []
    if len(rest_a) != len(rest_b):
        found.append(named)
    else:
        found.append([*named, *zip(rest_a, rest_b, strict=True)])
        if len(rest_a) > 1:
            found.append([*named, *_nearest(a, b, rest_a, rest_b)])
    return [
        pairs
        for pairs in found
        if pairs and all(a[name].shape == b[other].shape for name, other in pairs)
    ]


def _nearest(a: Tensors, b: Tensors, rest_a: list[str], rest_b: list[str]) -> Pairs:
    """Each with the one of its size that holds the most similar numbers: some formats know their
    outputs by name alone, and list them by the alphabet."""
    pairs: Pairs = []
    free = list(rest_b)
    for name in rest_a:
        alike = [other for other in free if b[other].shape == a[name].shape] or free
        best = min(alike, key=lambda other: _error_by_scale(a[name], b[other])[1])
        free.remove(best)
        pairs.append((name, best))
    return pairs


def can_compare(outputs: Tensors) -> bool:
    """Whether there are any numbers or texts among them."""
    return bool(_values(outputs))


def compare(reference: Tensors, outputs: Tensors) -> Parity:
    """Errors are relative to the largest magnitude of each output, so that zeros do not explode.
    What does not fit, or gives nothing to compare, does not agree."""
    expected, got = _values(reference), _values(outputs)
    found = [_parity(expected, got, pairs) for pairs in _pairings(expected, got)]
    if not found:
        return Parity(_FAR, _FAR, agrees=False)
    return next((parity for parity in found if parity.agrees), found[0])


def parity_to(reference: Tensors, outputs: Tensors) -> Parity | None:
    """None where neither side has anything that can be compared."""
    has_any = can_compare(reference) or can_compare(outputs)
    return compare(reference, outputs) if has_any else None


def differ(a: Tensors, b: Tensors) -> bool:
    """Whether they can be told apart."""
    parity = parity_to(a, b)
    return parity is not None and not parity.agrees


def _parity(expected: Tensors, got: Tensors, pairs: Pairs) -> Parity:
    errors = [_error_by_scale(expected[name], got[other]) for name, other in pairs]
    absolute = max((error for error, _ in errors), default=0.0)
    relative = max((error for _, error in errors), default=0.0)
    left_out = {*expected, *got} - {name for pair in pairs for name in pair}
    return Parity(absolute, relative, relative <= TOLERANCE, tuple(sorted(left_out)))


def _error_by_scale(expected: Any, got: Any) -> tuple[float, float]:
    """The largest, and the same by the largest magnitude that was expected."""
    import numpy as np

    if expected.shape != got.shape:
        return float("inf"), float("inf")
    if _DIGEST in (expected.dtype, got.dtype):  # texts are the same, or they are not
        is_same = expected.dtype == got.dtype and expected.tobytes() == got.tobytes()
        return (0.0, 0.0) if is_same else (_FAR, _FAR)
    error = _largest_error(expected, got)
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    return error, error / scale if scale else error


def _largest_error(expected: object, got: object) -> float:
    """Positions where both are the same infinity or both NaN agree."""
    import numpy as np

    a, b = np.asarray(expected), np.asarray(got)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    worst = float(np.max(error, initial=0.0))
    return worst if np.isfinite(worst) else _FAR


def _values(outputs: Tensors) -> Tensors:
    """What can be compared, flat and of at most KEPT elements: numbers as float64, the two parts of
    a complex one beside each other; texts as digests, which are short and equal where they are."""
    kept: Tensors = {}
    for name, value in outputs.items():
        if isinstance(value, (list, dict)):
            continue
        found = _flat(value)
        if found is not None:
            kept[name] = found
    return kept


def _flat(value: Any) -> Any:
    import numpy as np

    array = np.asarray(value)
    flat = array.reshape(-1)
    flat = flat[:: -(-flat.size // KEPT) or 1]
    kind = array.dtype.kind
    if array.dtype == _DIGEST:  # of a reference that was kept
        return flat
    if kind in "SUO":
        return _digests(flat.tolist())
    if kind == "c":
        return np.stack([flat.real, flat.imag], axis=-1).reshape(-1).astype(np.float64)
    if kind in "fiub" or array.dtype.name in _SHORT_FLOATS:
        return flat.astype(np.float64)
    return None


def _digests(texts: list[Any]) -> Any:
    """None where something else is among them."""
    import numpy as np

    if not all(isinstance(text, (str, bytes)) for text in texts):
        return None
    raw = (text if isinstance(text, bytes) else text.encode(errors="replace") for text in texts)
    return np.frombuffer(b"".join(sha256(text).digest()[:16] for text in raw), dtype=_DIGEST)
