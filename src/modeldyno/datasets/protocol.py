"""What readers, transforms and metrics promise.

Each is a frozen dataclass whose fields are its parameters, with the names, types and defaults that
``dict/…`` of the reference API lists; `catalog.py` makes one from a name and what a user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Sample:
    """An image is an array of height × width × channels in uint8, until a transform makes it
    something else."""

    inputs: tuple[np.ndarray[Any, Any], ...]
    label: Any = None  # None: it has none; the metric says what it takes


class Objects(NamedTuple):
    """The label of an image with objects in it, an entry of each array for an object."""

    boxes: np.ndarray[Any, Any]  # float32 [objects, 4]: top, left, bottom, right, from 0 to 1
    names: np.ndarray[Any, Any]  # text [objects]; "" where the dataset has numbers alone
    classes: np.ndarray[Any, Any]  # int64 [objects]: the dataset's own numbers
    image_id: int | str
    crowd: np.ndarray[Any, Any]  # bool [objects]: many objects in one box, which do not count


class Samples(Protocol):
    """The samples of an opened dataset; each is read when it is needed, and no earlier."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Sample:
        """Raises DatasetUnreadable with the name of the file and what is wrong with it; IndexError
        beyond the last sample, so that ``for`` ends there."""
        ...


class Reader(Protocol):
    def open(self) -> Samples:
        """Find all samples without decoding one. Raises a UserError if there are none.

        Reads nothing outside the files and folders that its parameters name.
        """
        ...


class Transform(Protocol):
    @property
    def is_random(self) -> bool:
        """Whether it treats one sample differently each time: for training, not for judging."""
        ...

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        """``random`` is seeded by the dataset's seed and the sample's number."""
        ...


@runtime_checkable
class ReadsOutputs(Protocol):
    """A transform of what the model gives for a sample, rather than of what it takes."""

    @property
    def reads_outputs(self) -> bool: ...


class Filter(Protocol):
    def takes(self, sample: Sample) -> bool:
        """Of a sample as it was read, before any transform."""
        ...


Outcome = Any  # of one sample: what the metric needs to summarise it, of JSON types


class Metric(Protocol):
    """Judges sample by sample, so that outcomes can be kept and two models compared by pairs;
    summaries are of all samples together, never averages of batches, and in float64."""

    @property
    def higher_is_better(self) -> bool: ...

    @property
    def is_proportion(self) -> bool:
        """Whether figures are shares of samples that are right: of a single one, 0 or 1."""
        ...

    def judge(
        self, outputs: Sequence[np.ndarray[Any, Any]], labels: Sequence[Any]
    ) -> list[Outcome]:
        """One outcome for each sample of a batch; ``outputs`` have the batch as first dimension."""
        ...

    def summarize(self, outcomes: Sequence[Outcome]) -> Mapping[str, float]:
        """Figures by name, the headline first."""
        ...


@runtime_checkable
class Merges(Protocol):
    """A metric whose samples are not independent: several are parts of one question."""

    def merge(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """One outcome for each question, in the order in which they first occur."""
        ...
