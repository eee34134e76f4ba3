"""Make the arrays an input plan describes: the same bytes for every engine.

Imports numpy only when asked; runs inside a worker, where alone a user's .npz file is opened.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import InputUnresolved
from modeldyno.core.inputs import InputPlan, TensorPlan
from modeldyno.engines.protocol import Tensors


@dataclass(frozen=True)
class Inputs:
    """Arrays of one call, by input name, C-contiguous."""

    tensors: Tensors
    batch_size: int  # items per call
    notes: tuple[str, ...] = ()


def synthesise(plan: InputPlan) -> Inputs:
    """The plan's arrays; raises InputUnresolved when its data file does not fit the model."""
    data = _Data(Path(plan.data), plan.tensors) if plan.data is not None else None
    tensors: Tensors = {}
    notes: list[str] = []
    for tensor in plan.tensors:
        if data is None or tensor.is_said:
            tensors[tensor.name] = _synthetic(tensor, plan.seed)
        else:
            tensors[tensor.name], note = data.fitted(tensor)
            notes += [note] if note else []
    return Inputs(tensors, plan.batch_size, tuple(dict.fromkeys(notes)))


# ---------------------------------------------------------------- synthetic


def _synthetic(tensor: TensorPlan, seed: int) -> Any:
    import numpy as np

    if tensor.fill == "constant":
        return np.full(tensor.shape, tensor.value, dtype=tensor.dtype)
    name, dtype = tensor.twin or (tensor.name, tensor.dtype)
    randomness = _randomness(seed, name)
    match tensor.fill:
        case "normal":
            # Normal values stay below 10 in practice: far inside what float16 holds.
            wide = np.float64 if dtype == "float64" else np.float32
            made = randomness.standard_normal(tensor.shape, dtype=wide)
        case "booleans":
            made = randomness.integers(0, 2, tensor.shape, dtype=np.uint8)
        case _:
            made = _integers(randomness, tensor, dtype)
    return np.asarray(made, dtype=tensor.dtype, order="C")


def _integers(randomness: Any, tensor: TensorPlan, dtype: str) -> Any:
    """Of a float input too: an image's bytes may come as floats."""
    whole = dtype if "int" in dtype else "int64"
    return randomness.integers(tensor.low, tensor.high, tensor.shape, dtype=whole)


def _randomness(seed: int, name: str) -> Any:
    """One stream per input, so that a new input does not change the others' bytes."""
    import numpy as np

    sequence = np.random.SeedSequence((seed, zlib.crc32(name.encode())))
    return np.random.Generator(np.random.PCG64(sequence))


# ---------------------------------------------------------------- from a file


class _Data:
    """The arrays of a user's .npz file, by the names of the model's inputs."""

    def __init__(self, path: Path, tensors: tuple[TensorPlan, ...]) -> None:
        self._name = path.name
        names = {t.name: t.alias or t.name for t in tensors if not t.is_said}
        self._arrays = _read(path, names)

    def fitted(self, tensor: TensorPlan) -> tuple[Any, str]:
        """The array as this input wants it, and what was done to it."""
        import numpy as np

        array = self._arrays[tensor.name]
        if not np.can_cast(array.dtype, tensor.dtype, casting="safe"):
            raise self._wrong_type(tensor, str(array.dtype))
        self._check_shape(tensor, array.shape)
        array, note = self._batched(tensor, array)
        return np.array(array, dtype=tensor.dtype, order="C"), note

    def _check_shape(self, tensor: TensorPlan, shape: tuple[int, ...]) -> None:
        if tensor.yields is None:
            return
        free = {*tensor.yields, tensor.batch_axis}
        fits = len(shape) == len(tensor.shape) and all(
            axis in free or size == tensor.shape[axis] for axis, size in enumerate(shape)
        )
        if not fits:
            raise self._wrong_shape(tensor, shape)

    def _batched(self, tensor: TensorPlan, array: Any) -> tuple[Any, str]:
        """As many rows as the batch has: the first ones, or all of them again and again."""
        import numpy as np

        axis = tensor.batch_axis
        if axis is None or array.ndim == 0:
            return array, ""
        rows, wanted = array.shape[axis], tensor.shape[axis]
        if rows == wanted:
            return array, ""
        if rows == 0:
            raise self._wrong_shape(tensor, array.shape)
        how = f"the first {wanted} of {rows}" if rows > wanted else f"{rows} repeated to {wanted}"
        return array.take(np.arange(wanted) % rows, axis=axis), f"{self._name}: {how} items"

    def _wrong_type(self, tensor: TensorPlan, dtype: str) -> InputUnresolved:
        return InputUnresolved(
            f"The array {tensor.name!r} of {self._name} has the wrong type",
            why=f"it is {dtype}, the model wants {tensor.dtype}, and converting could lose digits",
            fix=f"Convert it yourself before you save it: array.astype({tensor.dtype!r})",
        )

    def _wrong_shape(self, tensor: TensorPlan, shape: tuple[int, ...]) -> InputUnresolved:
        return InputUnresolved(
            f"The array {tensor.name!r} of {self._name} has the wrong shape",
            why=f"it is {list(shape)}, the model wants {_wanted(tensor)}",
            fix="Save it with that shape",
        )


def _wanted(tensor: TensorPlan) -> str:
    """``[batch, 3, any, any]``"""
    free = tensor.yields or ()
    sizes = (
        "batch" if axis == tensor.batch_axis else "any" if axis in free else str(size)
        for axis, size in enumerate(tensor.shape)
    )
    return f"[{', '.join(sizes)}]"


def _read(path: Path, names: dict[str, str]) -> dict[str, Any]:
    """The named arrays only: others in the file cost neither time nor memory.

    ``names`` are the inputs', each with a second one that will do.
    """
    import numpy as np

    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            held = {path.stem: loaded} if isinstance(loaded, np.ndarray) else loaded
            return {name: held[key] for name, key in _matched(path, list(held), names).items()}
    except FileNotFoundError as error:
        raise InputUnresolved(
            f'No data file named "{path}"', fix="Check the path after --data"
        ) from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputUnresolved(
            f"Cannot read inputs from {path.name}",
            why=f"it is not a .npz file of plain arrays: {error}",
            fix="Write it with np.savez(FILE, input_name=array, …)",
        ) from error


def _matched(path: Path, held: list[str], names: dict[str, str]) -> dict[str, str]:
    """Which array is for which input. One array for one input needs no name."""
    if len(names) == 1 and len(held) == 1:
        return dict.fromkeys(names, held[0])
    found = {name: name if name in held else second for name, second in names.items()}
    missing = [name for name, key in found.items() if key not in held]
    if missing:
        raise InputUnresolved(
            f"{path.name} has no array for {', '.join(map(repr, missing))}",
            why=f"it has {', '.join(map(repr, held)) or 'no arrays at all'}",
            fix="Save one array for each input, by its name: np.savez(FILE, input_name=array, …)",
        )
    return found
