"""Images with as many objects as one wants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.transforms.boxes import has_boxes


@dataclass(frozen=True, kw_only=True)
class LabelBalance:
    """Takes images with so many objects, no more and no fewer."""

    size: int = 1

    def __post_init__(self) -> None:
        if self.size < 0:
            raise BadValue(
                f"LabelBalance cannot take images with {self.size} objects",
                why="it is how many objects an image has",
                fix="Give size as in 1",
            )

    def takes(self, sample: Sample) -> bool:
        if not has_boxes(sample.label):
            raise BadValue(
                "LabelBalance found a sample without boxes",
                why="it counts the objects in an image",
                fix="Leave the filter out, or use a reader of detection data",
            )
        return len(np.asarray(sample.label[0]).reshape(-1, 4)) == self.size
