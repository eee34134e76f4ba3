"""Save and compare the outputs of a call; uses the numpy that the engine brings."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import Parity, UnusualOutput
from modeldyno.engines.protocol import Tensors

MAX_ELEMENTS = 1_000_000  # per output; of larger ones every n-th element is kept
# Float types that numpy does not know by itself: it treats them as raw bytes.
_SHORT_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_DIGEST = "V16"  # a dtype of raw bytes, which no engine returns
_FAR = 3.4e38  # the error where none can be computed; the largest that fits a float
TOLERANCE = 0.01  # of the largest magnitude in an output: far above rounding, far below wrong


def save(path: Path, outputs: Tensors) -> None:
    import numpy as np

    arrays = _comparable_arrays(outputs)
    numbered = {f"o{i}": array for i, array in enumerate(arrays.values())}
    np.savez(path, **numbered, names=list(arrays))


def load(path: Path) -> Tensors:
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        return {str(name): file[f"o{i}"] for i, name in enumerate(file["names"])}


def output_specs(outputs: Tensors) -> tuple[TensorSpec, ...]:
    """Type and shape of each output; a list or a map of tensors has no shape of its own."""
    import numpy as np

    specs = []
    for name, output in outputs.items():
        if isinstance(output, (list, dict)):
            specs.append(TensorSpec(name, type(output).__name__, None))
        else:
            array = np.asarray(output)
            specs.append(TensorSpec(name, str(array.dtype), tuple(array.shape)))
    return tuple(specs)


def unusual(outputs: Tensors) -> tuple[UnusualOutput, ...]:
    """Those that hold NaN or infinity, or one number everywhere. Every value is looked at."""
    looked_at = (
        _unusual(name, output)
        for name, output in outputs.items()
        if not isinstance(output, (list, dict))
    )
    return tuple(filter(None, looked_at))


def _unusual(name: str, output: Any) -> UnusualOutput | None:
    import numpy as np

    array = np.asarray(output).reshape(-1)
    if array.dtype.name in _SHORT_FLOATS:
        array = array.astype(np.float32)
    if array.dtype.kind not in "fciub":
        return None
    nan, infinite = (int(np.count_nonzero(test(array))) for test in (np.isnan, np.isinf))
    is_constant = array.size > 1 and not (nan or infinite) and bool((array == array[0]).all())
    if not (nan or infinite or is_constant):
        return None
    return UnusualOutput(name, array.size, nan, infinite, is_constant)


def comparable(a: Tensors, b: Tensors) -> bool:
    """Whether two models have outputs of the same size in common, matched by name. Converting a
    model may rename its outputs; those are matched by order or by their numbers."""
    return bool(_possible_pairings(_comparable_arrays(a), _comparable_arrays(b)))


Pairs = list[tuple[str, str]]


def _possible_pairings(a: Tensors, b: Tensors) -> list[Pairs]:
    """Ways to pair the outputs for comparison, the likeliest first; empty if none fits.

    One side may have more outputs, such as a state that the other does not return: then only
    outputs of the same name are compared.
    """
    named = [(name, name) for name in a if name in b]
    rest_a, rest_b = ([name for name in x if name not in y] for x, y in ((a, b), (b, a)))
    pairings: list[Pairs] = []
    if len(rest_a) != len(rest_b):
        pairings.append(named)
    else:
        pairings.append([*named, *zip(rest_a, rest_b, strict=True)])
        if len(rest_a) > 1:
            pairings.append([*named, *_pair_most_similar(a, b, rest_a, rest_b)])
    return [
        pairs
        for pairs in pairings
        if pairs and all(a[name].shape == b[other].shape for name, other in pairs)
    ]


def _pair_most_similar(a: Tensors, b: Tensors, rest_a: list[str], rest_b: list[str]) -> Pairs:
    """Pairs each with the output of its size that has the most similar numbers: some formats keep
    their outputs in alphabetical order."""
    pairs: Pairs = []
    free = list(rest_b)
    for name in rest_a:
        alike = [other for other in free if b[other].shape == a[name].shape] or free
        best = min(alike, key=lambda other: _error_by_scale(a[name], b[other])[1])
        free.remove(best)
        pairs.append((name, best))
    return pairs


def can_compare(outputs: Tensors) -> bool:
    """Whether any output holds numbers or texts."""
    return bool(_comparable_arrays(outputs))


def compare(reference: Tensors, outputs: Tensors) -> Parity:
    """Errors are relative to the largest magnitude of each output, so that values near zero do not
    blow them up. Outputs that cannot be paired, or compared, do not agree."""
    expected, actual = _comparable_arrays(reference), _comparable_arrays(outputs)
    parities = [
        _compare_pairs(expected, actual, pairs) for pairs in _possible_pairings(expected, actual)
    ]
    if not parities:
        return Parity(_FAR, _FAR, agrees=False)
    return next((parity for parity in parities if parity.agrees), parities[0])


def parity_to(reference: Tensors, outputs: Tensors) -> Parity | None:
    """None if neither side has anything that can be compared."""
    has_any = can_compare(reference) or can_compare(outputs)
    return compare(reference, outputs) if has_any else None


def differ(a: Tensors, b: Tensors) -> bool:
    """Whether they disagree by more than the tolerance."""
    parity = parity_to(a, b)
    return parity is not None and not parity.agrees


def _compare_pairs(expected: Tensors, actual: Tensors, pairs: Pairs) -> Parity:
    errors = [_error_by_scale(expected[name], actual[other]) for name, other in pairs]
    absolute = max((error for error, _ in errors), default=0.0)
    relative = max((error for _, error in errors), default=0.0)
    left_out = {*expected, *actual} - {name for pair in pairs for name in pair}
    return Parity(absolute, relative, relative <= TOLERANCE, tuple(sorted(left_out)))


def _error_by_scale(expected: Any, actual: Any) -> tuple[float, float]:
    """The largest error, absolute and relative to the largest expected magnitude."""
    import numpy as np

    if expected.shape != actual.shape:
        return float("inf"), float("inf")
    if _DIGEST in (expected.dtype, actual.dtype):  # texts are equal or not, nothing in between
        is_same = expected.dtype == actual.dtype and expected.tobytes() == actual.tobytes()
        return (0.0, 0.0) if is_same else (_FAR, _FAR)
    error = _largest_error(expected, actual)
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    return error, error / scale if scale else error


def _largest_error(expected: object, actual: object) -> float:
    """Elements agree where both are the same infinity, or both NaN."""
    import numpy as np

    a, b = np.asarray(expected), np.asarray(actual)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    worst = float(np.max(error, initial=0.0))
    return worst if np.isfinite(worst) else _FAR


def _comparable_arrays(outputs: Tensors) -> Tensors:
    """The outputs that can be compared, flat, of at most MAX_ELEMENTS: numbers as float64, complex
    ones as pairs; texts as short digests."""
    arrays: Tensors = {}
    for name, output in outputs.items():
        if isinstance(output, (list, dict)):
            continue
        array = _comparable_array(output)
        if array is not None:
            arrays[name] = array
    return arrays


def _comparable_array(output: Any) -> Any:
    import numpy as np

    array = np.asarray(output)
    flat = array.reshape(-1)
    flat = flat[:: -(-flat.size // MAX_ELEMENTS) or 1]
    kind = array.dtype.kind
    if array.dtype == _DIGEST:  # a saved reference
        return flat
    if kind in "SUO":
        return _hash_texts(flat.tolist())
    if kind == "c":
        return np.stack([flat.real, flat.imag], axis=-1).reshape(-1).astype(np.float64)
    if kind in "fiub" or array.dtype.name in _SHORT_FLOATS:
        return flat.astype(np.float64)
    return None


def _hash_texts(texts: list[Any]) -> Any:
    """None if something else is among them."""
    import numpy as np

    if not all(isinstance(text, (str, bytes)) for text in texts):
        return None
    raw = (text if isinstance(text, bytes) else text.encode(errors="replace") for text in texts)
    return np.frombuffer(b"".join(sha256(text).digest()[:16] for text in raw), dtype=_DIGEST)
