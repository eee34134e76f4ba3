"""What a detection model says about an image, and what its label says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array
from modeldyno.datasets.metrics.coco_names import COCO_IDS

PLACEHOLDER = "/path/to/"  # forms send it back where nothing was filled in


@dataclass(frozen=True)
class OutputIndexMapping:
    """Which output of the model is what, counted from 0; -1: none tells how many boxes count."""

    num_detections: int = -1
    boxes: int = 0
    scores: int = 1
    classes: int = 2


@dataclass(frozen=True)
class Found:
    """Boxes are top, left, bottom, right as fractions of the image; one row each."""

    boxes: Array
    scores: Array
    classes: Array


@dataclass(frozen=True)
class Truth:
    boxes: Array
    classes: Array
    is_crowd: Array  # a region of many: neither missed nor false, whatever is found in it


def mapping_of(outputs: Sequence[Array]) -> OutputIndexMapping:
    """Three outputs are boxes, scores and classes; a fourth before them says how many count."""
    if len(outputs) not in (3, 4):
        raise BadValue(
            f"The model has {len(outputs)} outputs",
            why="boxes, scores and classes are needed, or how many there are and these three",
            fix="Use COCOmAPv2 with output_index_mapping, or name the model's outputs",
        )
    return OutputIndexMapping() if len(outputs) == 3 else OutputIndexMapping(0, 1, 2, 3)


def detections_of(outputs: Sequence[Array], mapping: OutputIndexMapping, number: int) -> Found:
    indices = (mapping.boxes, mapping.scores, mapping.classes)
    if not all(0 <= index < len(outputs) for index in indices) or not (
        mapping.num_detections < len(outputs)
    ):
        raise BadValue(
            f"output_index_mapping names outputs that the model's {len(outputs)} are not",
            why=f"they are counted from 0 to {len(outputs) - 1}",
            fix="Correct output_index_mapping, or add the outputs",
        )
    boxes, scores, classes = (outputs[index][number] for index in indices)
    scores, classes = scores.reshape(-1), classes.reshape(-1)
    if boxes.size != 4 * scores.size or scores.size != classes.size:
        raise BadValue(
            f"{boxes.size} values of boxes, {scores.size} scores and {classes.size} classes do not "
            "belong together",
            why="each box has four values, a score and a class",
            fix="Correct output_index_mapping",
        )
    count = scores.size
    if mapping.num_detections >= 0:
        count = min(count, int(outputs[mapping.num_detections][number].reshape(-1)[0]))
    return Found(
        boxes=boxes.reshape(-1, 4)[:count].astype(np.float64),
        scores=scores[:count].astype(np.float64),
        classes=np.rint(classes[:count]).astype(np.int64),
    )


def truth_of(label: Any, ids: dict[str, int]) -> Truth:
    """A label is boxes, names, classes and image id, and whether each is a crowd; names count
    where there are no classes."""
    if not isinstance(label, (tuple, list)) or len(label) < 4:
        raise BadValue(
            "A label has no boxes",
            why="this metric compares boxes with those around a sample's objects",
            fix="Use a reader of detection data: COCORaw, COCORecord or VOCRecord",
        )
    boxes = np.asarray(label[0], dtype=np.float64).reshape(-1, 4)
    classes = np.asarray(label[2]).reshape(-1)
    if not classes.size:
        classes = np.asarray([_id_of(name, ids) for name in np.asarray(label[1]).reshape(-1)])
    crowd = np.asarray(label[4]).reshape(-1) if len(label) > 4 else np.zeros(len(boxes))
    if not len(boxes) == classes.size == crowd.size:
        raise BadValue(
            f"A label has {len(boxes)} boxes, but {classes.size} classes",
            fix="Correct the annotations: each box has a class",
        )
    return Truth(boxes, classes.astype(np.int64), crowd.astype(bool))


def _id_of(name: Any, ids: dict[str, int]) -> int:
    text = name.decode("utf-8", errors="replace") if isinstance(name, bytes) else str(name)
    if text not in ids:
        raise BadValue(
            f"Nothing says which class {text[:100]!r} is",
            why="the label map has no such name",
            fix="Give anno_path a YAML file with a line `name: number` for each class",
        )
    return ids[text]


def read_label_map(path: str) -> dict[str, int]:
    """COCO's own numbers, if no file is given."""
    if not path or path.startswith(PLACEHOLDER):
        return COCO_IDS
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadValue(
            f"The label map {path[:200]!r} cannot be read",
            why=str(error).splitlines()[0],
            fix="Give anno_path a YAML file with a line `name: number` for each class",
        ) from error
    if not isinstance(content, dict) or not all(type(value) is int for value in content.values()):
        raise BadValue(
            f"{path[:200]!r} is not a label map",
            why="it has no line `name: number` for each class",
            fix="Give anno_path a YAML file with such lines, not the annotations themselves",
        )
    return {str(name): number for name, number in content.items()}
