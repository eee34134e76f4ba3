"""Arrays of NumPy: one .npz file, one .npy file, or a folder of .npy files."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.columns import INPUT_NAMES, choose_columns
from modeldyno.datasets.readers.files import damaged, open_location
from modeldyno.datasets.readers.npy import Stored, open_npy, open_npz
from modeldyno.datasets.readers.samples import LazySamples, samples_of


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """The first dimension is that of the samples. Labels of ``x.npy`` may be beside it: with
    ``label="y"`` in ``y.npy``."""

    root: str = ""
    inputs: tuple[str, ...] = ()  # in the order of the model's; none: x, inputs, data or images
    label: str = ""  # none: y, labels, label or targets

    def open(self) -> LazySamples:
        arrays, source = self._find()
        columns = choose_columns(list(arrays), self.inputs, self.label, source)
        if len(columns.inputs) > 1 and not self.inputs:
            raise DatasetUnreadable(
                f"It is not clear which array of {source} is the input",
                why=f"it has {', '.join(arrays)}, none with a usual name: {', '.join(INPUT_NAMES)}",
                fix="Name them in inputs, in the order of the model's inputs",
            )
        inputs = [arrays[name] for name in columns.inputs]
        label = arrays[columns.label] if columns.label else None
        _require_same_length([*inputs, *([label] if label else [])])

        def read(number: int) -> Sample:
            values = tuple(stored[number] for stored in inputs)
            if label is None:
                return Sample(values)
            value = label[number]
            return Sample(values, value if value.ndim else value.item())

        return samples_of(
            range(len(inputs[0])),
            read,
            why="the first dimension of its arrays is 0",
            fix="Store an entry along the first dimension for each sample",
        )

    def _find(self) -> tuple[dict[str, Stored], str]:
        folder, name = open_location(self.root, "root")
        if name is None:
            names, source = folder.files(), folder.path.name
        elif name.endswith(".npz"):
            return open_npz(folder, name), name
        else:
            beside = f"{self.label}.npy"
            names, source = [name, *([beside] if self.label and folder.has(beside) else [])], name
        arrays = {
            one.removesuffix(".npy"): open_npy(folder, one)
            for one in names
            if one.endswith(".npy") or one == name
        }
        return arrays, source


def _require_same_length(arrays: list[Stored]) -> None:
    for stored in arrays:
        if not stored.shape:
            raise damaged(
                stored.name,
                why="it is a single value, without a dimension for the samples",
                fix="Store an entry along the first dimension for each sample",
            )
        if len(stored) != len(arrays[0]):
            raise damaged(
                stored.name,
                why=f"it has {len(stored)} samples, and {arrays[0].name} has {len(arrays[0])}",
                fix="Store as many of each; every input needs its label",
            )
