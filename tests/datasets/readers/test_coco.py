"""COCO annotations, as pycocotools reads them; and those that lead nowhere."""

import contextlib
import copy
import io
import json
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.readers.coco import COCONpy, COCORaw
from tests.dataset_files import pixels, refuse, save_image

CONTENT: dict[str, Any] = {
    "images": [
        {"id": 9, "file_name": "b.png", "width": 40, "height": 20},
        {"id": 3, "file_name": "a.png", "width": 10, "height": 30},
        {"id": 5, "file_name": "empty.png", "width": 7, "height": 7},
    ],
    "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}],
    "annotations": [
        {"id": 1, "image_id": 9, "category_id": 18, "bbox": [4, 5, 10, 12.5], "iscrowd": 0},
        {"id": 2, "image_id": 3, "category_id": 1, "bbox": [0, 0, 10, 30], "iscrowd": 1},
        {"id": 4, "image_id": 9, "category_id": 1, "bbox": [1.5, 2.25, 3, 4], "iscrowd": 0},
        {"id": 5, "image_id": 9, "category_id": 1, "bbox": []},
    ],
}


@pytest.fixture
def folder(tmp_path):
    for image in CONTENT["images"]:
        array = pixels(image["height"], image["width"], image["id"])
        save_image(tmp_path / "val2017" / image["file_name"], array)
    write(tmp_path, CONTENT)
    return tmp_path


def write(folder, content):
    path = folder / "annotations/instances_val2017.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.oracle("COCORaw", "pycocotools.coco.COCO")
def test_labels_are_what_pycocotools_reads(folder):
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(folder / "annotations/instances_val2017.json")
    samples = COCORaw(root=str(folder)).open()
    assert len(samples) == len(coco.imgs) == 3
    for sample in samples:
        label, image = sample.label, coco.imgs[sample.label.image_id]
        notes = [note for note in coco.loadAnns(coco.getAnnIds(label.image_id)) if note["bbox"]]
        assert label.names.tolist() == [coco.cats[note["category_id"]]["name"] for note in notes]
        assert label.classes.tolist() == [note["category_id"] for note in notes]
        assert label.crowd.tolist() == [note["iscrowd"] == 1 for note in notes]
        assert label.boxes.shape == (len(notes), 4)
        assert label.boxes.dtype == np.float32
        height, width = image["height"], image["width"]
        top, left, bottom, right = (label.boxes * [height, width, height, width]).T
        boxes = np.stack([left, top, right - left, bottom - top], 1)
        np.testing.assert_allclose(boxes, np.reshape([n["bbox"] for n in notes], (-1, 4)), 1e-5)
        array = pixels(height, width, image["id"])
        np.testing.assert_array_equal(sample.inputs[0], array)


@pytest.mark.oracle("COCONpy", "arrays that numpy.save wrote")
def test_arrays_stand_for_images(folder):
    arrays = {}
    for image in CONTENT["images"]:
        arrays[image["id"]] = np.random.default_rng(image["id"]).random((3, 4), np.float32)
        np.save(folder / "val2017" / f"{image['file_name']}.npy", arrays[image["id"]])
    for sample in COCONpy(root=str(folder)).open():
        np.testing.assert_array_equal(sample.inputs[0], arrays[sample.label.image_id])
    np.save(folder / "val2017/b.png.npy", np.array([{}]), allow_pickle=True)
    read = COCONpy(root=str(folder)).open()
    refuse(lambda: read[0], "b.png.npy", "Python objects", error=DatasetUnreadable)


def change(path, value):
    content = copy.deepcopy(CONTENT)
    part: Any = content
    for key in path[:-1]:
        part = part[key]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("annotations", 1, "image_id"), 77, ("annotation 2 of", "image_id is 77")),
        (("annotations", 1, "category_id"), 99, ("annotation 2 of", "category_id is 99")),
        (("annotations", 1, "bbox"), [1, 2, 3], ("annotation 2 of", "left, top, width")),
        (("annotations", 1, "bbox"), [1, 2, -3, 4], ("annotation 2 of", "left, top, width")),
        (("annotations", 1, "bbox"), [1, 2, float("nan"), 4], ("annotation 2 of",)),
        (("annotations", 1, "bbox"), None, ("no 'bbox'",)),
        (("annotations",), None, ("no 'annotations'",)),
        (("images", 0, "width"), 0, ("image 9 of", "not above 0")),
        (("images", 1, "id"), 9, ("annotation 2 of", "image_id is 3")),
        (("images", 2, "id"), 9, ("same id",)),
        (("images", 0, "file_name"), "gone.png", ("1 of its 3 images", "gone.png")),
        (("images", 0, "file_name"), "../../secret.png", ("leads out of the dataset's folder",)),
        (("images",), [], ("annotation 1 of", "image_id is 9")),
        (("images", 0), "text", ("no COCO annotation",)),
    ],
)
def test_annotations_that_lead_nowhere_are_named(folder, path, value, words):
    write(folder, change(path, value))
    refuse(COCORaw(root=str(folder)).open, *words, error=DatasetUnreadable)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\xff"])
def test_what_is_no_annotation_file_is_refused(folder, text):
    write(folder, text)
    refuse(COCORaw(root=str(folder)).open, "instances_val2017.json", error=DatasetUnreadable)


def test_a_file_without_images_has_no_samples(folder):
    write(folder, {"images": [], "categories": [], "annotations": []})
    refuse(COCORaw(root=str(folder)).open, "no samples", "lists no images")
    refuse(COCORaw(root=str(folder), img_dir="none").open, "no folder none")
    refuse(COCORaw(root=str(folder), anno_dir="none.json").open, "none.json", "No such file")
