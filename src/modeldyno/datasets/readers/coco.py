"""COCO: images or arrays in a folder, and one JSON file that says what is in them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.core.visible import visible
from modeldyno.datasets.protocol import Objects, Sample
from modeldyno.datasets.readers.files import Folder, damaged, open_folder
from modeldyno.datasets.readers.images import read_image
from modeldyno.datasets.readers.npy import read_npy
from modeldyno.datasets.readers.samples import LazySamples, samples_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class COCORaw:
    """Images without objects count as well: what a model sees in them is wrong."""

    root: str = ""
    img_dir: str = "val2017"
    anno_dir: str = "annotations/instances_val2017.json"

    def open(self) -> LazySamples:
        return _open(self.root, self.img_dir, self.anno_dir, "", read_image)


@dataclass(frozen=True, kw_only=True)
class COCONpy:
    """For an image ``1.jpg`` of the annotations there is ``1.jpg.npy``."""

    root: str = ""
    npy_dir: str = "val2017"
    anno_dir: str = "annotations/instances_val2017.json"

    def open(self) -> LazySamples:
        return _open(self.root, self.npy_dir, self.anno_dir, ".npy", read_npy)


def _open(
    root: str, files: str, annotations: str, suffix: str, read: Callable[[Folder, str], Array]
) -> LazySamples:
    folder = open_folder(root, "root")
    entries = _parse(folder.read_text(annotations), annotations)
    inside = folder.subfolder(files)
    absent = [name for name, _ in entries if not inside.has(name + suffix)]
    if absent:
        raise damaged(
            annotations,
            why=f"{len(absent)} of its {len(entries)} images are not in {files}, first "
            f"{visible(absent[0] + suffix)}",
            fix="Copy them there, or use annotations of the images that you have",
        )

    def read_sample(entry: tuple[str, Objects]) -> Sample:
        name, label = entry
        return Sample((read(inside, name + suffix),), label)

    return samples_of(
        entries, read_sample, why=f"{annotations} lists no images", fix="Check anno_dir"
    )


def _parse(text: str, name: str) -> list[tuple[str, Objects]]:
    """The file and the label of each image, in the order of the file."""
    try:
        content = json.loads(text)
        images = {image["id"]: image for image in content["images"]}
        categories = {one["id"]: str(one["name"]) for one in content["categories"]}
        objects: dict[Any, list[Any]] = {number: [] for number in images}
        for annotation in content["annotations"]:
            _require_known(name, annotation, "image_id", images)
            _require_known(name, annotation, "category_id", categories)
            objects[annotation["image_id"]].append(annotation)
        entries = [
            (str(image["file_name"]), _make_label(name, image, objects[number], categories))
            for number, image in images.items()
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(name, why=f"it is no COCO annotation of objects: {why}") from error
    if len(images) != len(content["images"]):
        raise damaged(name, why="several images have the same id")
    return entries


def _require_known(name: str, annotation: Any, key: str, known: dict[Any, Any]) -> None:
    if annotation[key] not in known:
        raise damaged(
            f"annotation {annotation.get('id')} of {name}",
            why=f"its {key} is {visible(str(annotation[key]))}, and there is none of that id",
            fix="Remove it, or add what it belongs to",
        )


def _make_label(name: str, image: Any, objects: list[Any], categories: dict[Any, str]) -> Objects:
    objects = [one for one in objects if one["bbox"]]
    boxes = np.array([_require_box(name, one) for one in objects], np.float64).reshape(-1, 4)
    width, height = float(image["width"]), float(image["height"])
    if not (width > 0 and height > 0):
        raise damaged(f"image {image['id']} of {name}", why="its width or height is not above 0")
    left, top, wide, high = boxes.T
    sides = (top / height, left / width, (top + high) / height, (left + wide) / width)
    return Objects(
        boxes=np.stack(sides, axis=1).astype(np.float32),
        names=np.array([categories[one["category_id"]] for one in objects], dtype=str),
        classes=np.array([one["category_id"] for one in objects], np.int64),
        image_id=image["id"],
        crowd=np.array([bool(one.get("iscrowd")) for one in objects], bool),
    )


def _require_box(name: str, annotation: Any) -> list[float]:
    box = [float(side) for side in annotation["bbox"]]
    if len(box) != 4 or not all(map(math.isfinite, box)) or min(box[2:]) < 0:
        raise damaged(
            f"annotation {annotation.get('id')} of {name}",
            why="its bbox is not left, top, width and height",
        )
    return box
