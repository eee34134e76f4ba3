"""How well boxes around objects match: mean average precision over classes.

Our own, since outcomes of images can so be kept and drawn again; tests hold it against pycocotools.
Boxes are fractions of the image, so sizes in pixels are unknown, and objects of all sizes count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from modeldyno.datasets.metrics.average_precision import (
    Rule,
    match_image,
    mean_average_precision,
)
from modeldyno.datasets.metrics.classes import Array, require_labels
from modeldyno.datasets.metrics.detections import (
    OutputIndexMapping,
    detections_of,
    mapping_of,
    read_label_map,
    truth_of,
)

_COCO_OVERLAPS = tuple(np.linspace(0.5, 0.95, 10).tolist())
_HALF = (0.5,)


@dataclass(frozen=True, kw_only=True)
class MAP:
    """At an overlap of a half, the area under the curve of precision over recall."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False
    overlaps: ClassVar[tuple[float, ...]] = _HALF
    rule: ClassVar[Rule] = "free"

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[dict[str, Any]]:
        require_labels(labels)
        mapping = self._mapping(outputs)
        return [
            match_image(
                detections_of(outputs, mapping, number),
                truth_of(label, self._ids),
                self.overlaps,
                self.rule,
            )
            for number, label in enumerate(labels)
        ]

    def summarize(self, outcomes: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        return {"mAP": float(mean_average_precision(outcomes, 1, is_interpolated=False)[0])}

    def _mapping(self, outputs: Sequence[Array]) -> OutputIndexMapping:
        return mapping_of(outputs)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return read_label_map("")


class VOCMAP(MAP):
    """As Pascal VOC has it since 2010: a box that finds an object once more is wrong."""

    rule: ClassVar[Rule] = "closest"


@dataclass(frozen=True, kw_only=True)
class COCOMAP(MAP):
    """Over ten overlaps from 0.5 to 0.95, at 101 recalls. ``anno_path`` is a label map."""

    anno_path: str = "/path/to/workdir/label_map.yaml"
    overlaps: ClassVar[tuple[float, ...]] = _COCO_OVERLAPS

    def summarize(self, outcomes: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        precisions = mean_average_precision(outcomes, len(self.overlaps), is_interpolated=True)
        return {
            "mAP": float(precisions.mean()),
            "mAP50": float(precisions[0]),
            "mAP75": float(precisions[5]),
        }

    @cached_property
    def _ids(self) -> dict[str, int]:
        return read_label_map(self.anno_path)


@dataclass(frozen=True, kw_only=True)
class COCOMAPv2(COCOMAP):
    """The same for outputs in any order."""

    output_index_mapping: OutputIndexMapping = field(default_factory=OutputIndexMapping)

    def _mapping(self, outputs: Sequence[Array]) -> OutputIndexMapping:
        return self.output_index_mapping
