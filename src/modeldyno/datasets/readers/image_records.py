"""TFRecords of images with a class, with objects, or with a class for each pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modeldyno.datasets.protocol import Objects, Sample
from modeldyno.datasets.readers.files import damaged
from modeldyno.datasets.readers.images import Pixels, decode_class_map, decode_image
from modeldyno.datasets.readers.samples import LazySamples
from modeldyno.datasets.readers.tfrecords import (
    Example,
    Record,
    find_record_files,
    record_samples,
)

_IMAGE = "image/encoded"
_BOX = "image/object/bbox/"
_CLASS_MAP = "image/segmentation/class/encoded"


@dataclass(frozen=True, kw_only=True)
class ImageRecord:
    """Classes are as in the records: of ImageNet usually from 1, which LabelShift can change."""

    root: str = ""

    def open(self) -> LazySamples:
        pattern = "*-*-of-*"
        return record_samples(*find_record_files(self.root, pattern), _read_image, pattern)


@dataclass(frozen=True, kw_only=True)
class COCORecord:
    """``root`` is a file of records; or a folder, of which all files named ``*.record*``,
    ``*.tfrecord*`` or ``*-of-*`` are read."""

    root: str = ""

    def open(self) -> LazySamples:
        folder, names = find_record_files(self.root, "*")
        if len(names) > 1:
            names = [name for name in names if "record" in name or "-of-" in name]
        return record_samples(folder, names, _read_objects, "*.record")


@dataclass(frozen=True, kw_only=True)
class VOCRecord:
    """Files ``val-*``. Labels are a class for each pixel where the records have them, else
    objects."""

    root: str = ""

    def open(self) -> LazySamples:
        pattern = "val-*"
        return record_samples(*find_record_files(self.root, pattern), _read_voc, pattern)


def _read_image(record: Record) -> Sample:
    example = Example(record)
    label = example.integer("image/class/label")
    if label < 0:
        raise damaged(record.name, why=f"its class is {label}", fix="Classes are 0 or more")
    return Sample((_decode(example),), label)


def _read_objects(record: Record) -> Sample:
    example = Example(record)
    sides = [
        example.numbers(f"{_BOX}{side}", "float32") for side in ("ymin", "xmin", "ymax", "xmax")
    ]
    count = len(sides[0])
    classes = example.numbers("image/object/class/label", "int64")
    names = example.texts("image/object/class/text")
    crowd = example.numbers("image/object/is_crowd", "bool")
    if not (len(classes) or len(names)) and count:
        raise damaged(
            record.name,
            why="its objects have neither image/object/class/text nor image/object/class/label",
            fix="Write the records again with one of them",
        )
    lengths = {len(side) for side in sides}
    if lengths != {count} or not {len(classes), len(names), len(crowd)} <= {0, count}:
        raise damaged(
            record.name,
            why="its objects do not all have four sides of a box, a class, and what else is there",
        )
    label = Objects(
        boxes=np.stack(sides, axis=1),
        names=np.array(names or [""] * count, dtype=str),
        classes=classes if len(classes) else np.zeros(count, np.int64),
        image_id=(example.texts("image/source_id") or [""])[0],
        crowd=crowd if len(crowd) else np.zeros(count, bool),
    )
    return Sample((_decode(example),), label)


def _read_voc(record: Record) -> Sample:
    example = Example(record)
    if _CLASS_MAP not in example:
        return _read_objects(record)
    image = _decode(example)
    label = decode_class_map(example.content(_CLASS_MAP), f"the class map in {record.name}")
    if label.shape != image.shape[:2]:
        raise damaged(record.name, why="its image and its class map have different sizes")
    return Sample((image,), label)


def _decode(example: Example) -> Pixels:
    return decode_image(example.content(_IMAGE), f"the image in {example.name}")
