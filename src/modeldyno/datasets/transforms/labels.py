"""Change labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.boxes import CLASSES, has_boxes, rebuild


@dataclass(frozen=True, kw_only=True)
class LabelShift:
    """Takes a number off each label, of boxes off their classes: 1 where these begin at 1."""

    label_shift: int = 0
    is_random: ClassVar[bool] = False

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        return replace(sample, label=_shift(sample.label, self.label_shift))


def _shift(label: Any, by: int) -> Any:
    if has_boxes(label):
        parts = [part if at != CLASSES else _shift(part, by) for at, part in enumerate(label)]
        return rebuild(label, parts)
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
