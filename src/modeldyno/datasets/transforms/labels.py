"""Change labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample


@dataclass(frozen=True, kw_only=True)
class LabelShift:
    """Takes a number off each label: 1 where classes are counted from 1."""

    label_shift: int = 0
    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return replace(sample, label=_shift(sample.label, self.label_shift))


def _shift(label: Any, by: int) -> Any:
    if isinstance(label, (tuple, list)):
        return type(label)(_shift(part, by) for part in label)
    if isinstance(label, np.ndarray) and label.dtype.kind in "iuf":
        return label - by
    if isinstance(label, (int, float, np.number)) and not isinstance(label, bool):
        return label - by
    raise BadValue(
        f"LabelShift cannot take {by} off a label of type {type(label).__name__}",
        why="it works on numbers",
        fix="Leave LabelShift out",
    )
