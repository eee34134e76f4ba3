"""Make the arrays an input plan describes: the same bytes for every engine.

Runs inside a worker, the only place where a user's .npz file is opened; imports numpy when called.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import InputUnresolved
from modeldyno.engines.protocol import Tensors
from modeldyno.inputs.plans import InputPlan, TensorPlan


@dataclass(frozen=True)
class Inputs:
    """The arrays of a single call, by input name, C-contiguous."""

    tensors: Tensors
    batch_size: int  # items per call
    notes: tuple[str, ...] = ()


def synthesise(plan: InputPlan) -> Inputs:
    """The plan's arrays; raises InputUnresolved when its data file does not fit the model."""
    file = _DataFile(Path(plan.data), plan.tensors) if plan.data is not None else None
    tensors: Tensors = {}
    notes: list[str] = []
    for tensor in plan.tensors:
        if file is None or tensor.is_said:
            tensors[tensor.name] = _synthesise_array(tensor, plan.seed)
        else:
            tensors[tensor.name], note = file.array_for(tensor)
            notes += [note] if note else []
    return Inputs(tensors, plan.batch_size, tuple(dict.fromkeys(notes)))


# ---------------------------------------------------------------- synthetic


def _synthesise_array(tensor: TensorPlan, seed: int) -> Any:
    import numpy as np

    if tensor.fill == "constant":
        return np.full(tensor.shape, tensor.value, dtype=tensor.dtype)
    name, dtype = tensor.twin or (tensor.name, tensor.dtype)
    randomness = _make_random_generator(seed, name)
    match tensor.fill:
        case "normal":
            # Normal values stay below 10 in practice: well within the range of float16.
            float_type = np.float64 if dtype == "float64" else np.float32
            array = randomness.standard_normal(tensor.shape, dtype=float_type)
        case "positions":
            places = np.arange(tensor.low, tensor.low + tensor.shape[-1])
            array = np.broadcast_to(places, tensor.shape)
        case "booleans":
            array = randomness.integers(0, 2, tensor.shape, dtype=np.uint8)
        case _:
            array = _synthesise_integers(randomness, tensor, dtype)
    return np.asarray(array, dtype=tensor.dtype, order="C")


def _synthesise_integers(randomness: Any, tensor: TensorPlan, dtype: str) -> Any:
    """Also for float inputs: an image's bytes may come as floats."""
    integer_type = dtype if "int" in dtype else "int64"
    return randomness.integers(tensor.low, tensor.high, tensor.shape, dtype=integer_type)


def _make_random_generator(seed: int, name: str) -> Any:
    """One stream per input, so that a new input does not change the others' bytes."""
    import numpy as np

    sequence = np.random.SeedSequence((seed, zlib.crc32(name.encode())))
    return np.random.Generator(np.random.PCG64(sequence))


# ---------------------------------------------------------------- from a file


class _DataFile:
    """The arrays of a user's .npz file, by the names of the model's inputs."""

    def __init__(self, path: Path, tensors: tuple[TensorPlan, ...]) -> None:
        self._name = path.name
        names = {t.name: t.alias or t.name for t in tensors if not t.is_said}
        self._arrays = _read_arrays(path, names)

    def array_for(self, tensor: TensorPlan) -> tuple[Any, str]:
        """The array in this input's type and batch size, and a note if it had to be adapted."""
        import numpy as np

        array = self._arrays[tensor.name]
        if not np.can_cast(array.dtype, tensor.dtype, casting="safe"):
            raise self._wrong_type_error(tensor, str(array.dtype))
        self._require_shape(tensor, array.shape)
        array, note = self._fit_to_batch(tensor, array)
        return np.array(array, dtype=tensor.dtype, order="C"), note

    def _require_shape(self, tensor: TensorPlan, shape: tuple[int, ...]) -> None:
        if tensor.yields is None:
            return
        free = {*tensor.yields, tensor.batch_axis}
        fits = len(shape) == len(tensor.shape) and all(
            axis in free or size == tensor.shape[axis] for axis, size in enumerate(shape)
        )
        if not fits:
            raise self._wrong_shape_error(tensor, shape)

    def _fit_to_batch(self, tensor: TensorPlan, array: Any) -> tuple[Any, str]:
        """As many rows as the batch has: the first ones, or all of them repeated."""
        import numpy as np

        axis = tensor.batch_axis
        if axis is None or array.ndim == 0:
            return array, ""
        rows, batch_size = array.shape[axis], tensor.shape[axis]
        if rows == batch_size:
            return array, ""
        if rows == 0:
            raise self._wrong_shape_error(tensor, array.shape)
        is_cut = rows > batch_size
        how = f"the first {batch_size} of {rows}" if is_cut else f"{rows} repeated to {batch_size}"
        return array.take(np.arange(batch_size) % rows, axis=axis), f"{self._name}: {how} items"

    def _wrong_type_error(self, tensor: TensorPlan, dtype: str) -> InputUnresolved:
        return InputUnresolved(
            f"The array {tensor.name!r} of {self._name} has the wrong type",
            why=f"it is {dtype}, the model needs {tensor.dtype}, and converting could lose digits",
            fix=f"Convert it yourself before you save it: array.astype({tensor.dtype!r})",
        )

    def _wrong_shape_error(self, tensor: TensorPlan, shape: tuple[int, ...]) -> InputUnresolved:
        return InputUnresolved(
            f"The array {tensor.name!r} of {self._name} has the wrong shape",
            why=f"it is {list(shape)}, the model needs {_shape_text(tensor)}",
            fix="Save it with that shape",
        )


def _shape_text(tensor: TensorPlan) -> str:
    """``[batch, 3, any, any]``"""
    free = tensor.yields or ()
    sizes = (
        "batch" if axis == tensor.batch_axis else "any" if axis in free else str(size)
        for axis, size in enumerate(tensor.shape)
    )
    return f"[{', '.join(sizes)}]"


def _read_arrays(path: Path, names: dict[str, str]) -> dict[str, Any]:
    """Reads the named arrays only: others in the file cost neither time nor memory.

    ``names`` are those of the inputs, each with an alias that is accepted as well.
    """
    import numpy as np

    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {path.stem: loaded} if isinstance(loaded, np.ndarray) else loaded
            keys = _match_keys_to_inputs(path, list(arrays), names)
            return {name: arrays[key] for name, key in keys.items()}
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


def _match_keys_to_inputs(
    path: Path, available: list[str], names: dict[str, str]
) -> dict[str, str]:
    """Which array is for which input. A single array for a single input needs no name."""
    if len(names) == 1 and len(available) == 1:
        return dict.fromkeys(names, available[0])
    keys = {name: name if name in available else alias for name, alias in names.items()}
    missing = [name for name, key in keys.items() if key not in available]
    if missing:
        raise InputUnresolved(
            f"{path.name} has no array for {', '.join(map(repr, missing))}",
            why=f"it has {', '.join(map(repr, available)) or 'no arrays at all'}",
            fix="Save one array for each input, by its name: np.savez(FILE, input_name=array, …)",
        )
    return keys
