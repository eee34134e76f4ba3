"""Mean average precision, against pycocotools."""

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_metric
from tests.datasets.metrics.judging import figures, outcomes_of

IMAGES, MOST = 24, 30  # images, and boxes that a model gives for each
CLASSES = [1, 3, 90]


def truths(seed=0, crowds=False):
    """Labels as readers give them; some images are empty."""
    random = np.random.default_rng(seed)
    labels = []
    for number in range(IMAGES):
        count = int(random.integers(0, 9))
        corner, size = random.random((count, 2)) * 0.7, 0.05 + random.random((count, 2)) * 0.25
        kinds = random.choice(CLASSES, count)
        crowd = [random.random(count) < 0.2] if crowds else []
        labels.append((np.hstack([corner, corner + size]), [], kinds, f"{number}", *crowd))
    return labels


def answers(labels, seed=1):
    """Boxes, scores and classes: most near an object, some not, and some scores are equal."""
    random = np.random.default_rng(seed)
    boxes = np.zeros((IMAGES, MOST, 4), np.float32)
    kinds = random.choice(CLASSES, (IMAGES, MOST)).astype(np.float32)
    sureness = random.random((IMAGES, MOST)).round(2).astype(np.float32)
    for number, label in enumerate(labels):
        corner, size = random.random((MOST, 2)) * 0.7, 0.05 + random.random((MOST, 2)) * 0.25
        boxes[number] = np.hstack([corner, corner + size])
        if len(label[0]):
            near = random.integers(0, len(label[0]), MOST)
            close = random.random(MOST) < 0.7
            moved = label[0][near] + random.normal(size=(MOST, 4)) * 0.012
            boxes[number, close] = moved[close]
            kinds[number, close] = label[2][near][close]
    return [boxes, sureness, kinds]


def xywh(boxes):
    boxes = np.asarray(boxes, dtype=np.float64)
    return np.hstack([boxes[:, [1, 0]], boxes[:, [3, 2]] - boxes[:, [1, 0]]])


def by_pycocotools(outputs, labels, **settings):
    """What it evaluated, of objects of all sizes."""
    annotations: list[dict[str, Any]] = []
    detections = []
    for number, (label, boxes, scores, kinds) in enumerate(zip(labels, *outputs, strict=True)):
        crowd = label[4] if len(label) > 4 else np.zeros(len(label[0]))
        for box, kind, is_crowd in zip(xywh(label[0]), label[2], crowd, strict=True):
            annotations.append(
                {"id": len(annotations) + 1, "image_id": number, "category_id": int(kind),
                 "bbox": box.tolist(), "area": float(box[2] * box[3]), "iscrowd": int(is_crowd)}
            )  # fmt: skip
        for box, score, kind in zip(xywh(boxes), scores, kinds, strict=True):
            found = {"image_id": number, "category_id": int(kind), "score": float(score)}
            detections.append(found | {"bbox": box.tolist()})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "info": {},
            "images": [{"id": number} for number in range(len(labels))],
            "categories": [{"id": kind} for kind in CLASSES],
            "annotations": annotations,
        }
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(detections), "bbox")
        for name, value in settings.items():
            setattr(evaluation.params, name, value)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"][:, :, :, 0, -1]  # overlaps × recalls × classes


@pytest.mark.oracle("COCOmAP", "pycocotools.COCOeval")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("crowds", [False, True])
def test_coco_map(seed, crowds):
    labels = truths(seed, crowds)
    outputs = answers(labels, seed + 10)
    precision = by_pycocotools(outputs, labels)
    expected = {"mAP": precision.mean(), "mAP50": precision[0].mean(), "mAP75": precision[5].mean()}
    assert 0.05 < expected["mAP"] < expected["mAP50"] < 0.9
    assert figures("COCOmAP", outputs, labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.oracle("COCOmAPv2", "pycocotools.COCOeval")
def test_coco_map_of_outputs_in_another_order():
    labels = truths()
    boxes, scores, kinds = answers(labels)
    counts = np.random.default_rng(0).integers(5, MOST, IMAGES)
    used = np.arange(MOST)[None] < counts[:, None]
    expected = by_pycocotools([boxes, np.where(used, scores, 0), np.where(used, kinds, 7)], labels)
    mapping = {"num_detections": "3", "boxes": 2, "scores": 0, "classes": 1}
    outputs = [scores, kinds, boxes, counts.astype(np.float32)[:, None]]
    result = figures("COCOmAPv2", outputs, labels, output_index_mapping=mapping)
    assert result["mAP"] == pytest.approx(expected.mean(), abs=1e-12)
    # With the number first, COCOmAP knows the order by itself.
    same = figures("COCOmAP", [counts, boxes, scores, kinds], labels)
    assert same == result


@pytest.mark.oracle("mAP", "pycocotools.COCOeval at each recall")
def test_map_is_the_area_under_the_curve():
    labels = truths(5)
    outputs = answers(labels)
    areas = []
    for kind in CLASSES:
        count = sum(int((label[2] == kind).sum()) for label in labels)
        steps = np.arange(1, count + 1) / count
        precision = by_pycocotools(
            outputs, labels, iouThrs=np.array([0.5]), recThrs=steps, catIds=[kind]
        )
        areas.append(precision.mean())
    assert figures("mAP", outputs, labels) == {"mAP": pytest.approx(np.mean(areas), abs=1e-12)}


def voc_precision(found, objects):
    """Pascal VOC's rule for one class, box by box. ``found``: image, score, box."""
    taken, curve = set(), []
    for image, _, box in sorted(found, key=lambda entry: -entry[1]):
        best, closest = 0.0, None
        for place, other in enumerate(objects.get(image, [])):
            height = max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
            width = max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
            areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, other)]
            overlap = height * width / (sum(areas) - height * width)
            if overlap > best:
                best, closest = overlap, (image, place)
        is_right = best >= 0.5 and closest not in taken
        if is_right:
            taken.add(closest)
        curve.append(is_right)
    total = sum(map(len, objects.values()))
    points = [(sum(curve[:n]) / total, sum(curve[:n]) / n) for n in range(1, len(curve) + 1)]
    area, before = 0.0, 0.0
    for at, (recall, _) in enumerate(points):
        area += (recall - before) * max(precision for _, precision in points[at:])
        before = recall
    return area


@pytest.mark.oracle("VOCmAP", "the rule of Pascal VOC, box by box")
def test_voc_map():
    labels = truths(6)
    outputs = answers(labels)
    # Different scores: of equal ones, each rule has its own order.
    outputs[1] = np.random.default_rng(3).permutation(IMAGES * MOST).reshape(IMAGES, MOST) / 1000
    areas = []
    for kind in CLASSES:
        objects = {n: label[0][label[2] == kind].tolist() for n, label in enumerate(labels)}
        found = [
            (n, outputs[1][n, at], outputs[0][n, at].astype(float))
            for n in range(IMAGES)
            for at in range(MOST)
            if outputs[2][n, at] == kind
        ]
        areas.append(voc_precision(found, objects))
    assert figures("VOCmAP", outputs, labels) == {"mAP": pytest.approx(np.mean(areas), abs=1e-12)}
    assert figures("mAP", outputs, labels)["mAP"] >= np.mean(areas)


BOX = [0.1, 0.1, 0.5, 0.5]


def label_of(*, classes: Any = (), names: Any = ()) -> tuple[Any, ...]:
    """Of an image with one object."""
    return np.array([BOX]), names, classes, "a"


def test_perfect_boxes_have_a_precision_of_one():
    labels = [label_of(classes=[3]), (np.zeros((0, 4)), [], [], "b")]
    outputs = [np.array([[BOX], [[0, 0, 1, 1]]]), np.array([[0.9], [0.1]]), np.array([[3], [3]])]
    assert figures("COCOmAP", outputs, labels) == pytest.approx({"mAP": 1, "mAP50": 1, "mAP75": 1})


def test_only_a_hundred_boxes_of_a_class_count_in_an_image():
    """The right one comes last of 101."""
    boxes = np.broadcast_to([0.6, 0.6, 0.9, 0.9], (1, 101, 4)).copy()
    boxes[0, 100] = BOX
    outputs = [boxes, np.linspace(0.9, 0.1, 101)[None], np.ones((1, 101))]
    assert figures("mAP", outputs, [label_of(classes=[1])]) == {"mAP": 0.0}
    outputs = [part[:, 1:] for part in outputs]
    assert figures("mAP", outputs, [label_of(classes=[1])])["mAP"] == pytest.approx(1 / 100)


def test_names_become_classes_by_the_label_map(tmp_path):
    by_name = [label_of(names=[b"toothbrush"])]
    outputs = [np.array([[BOX]]), np.ones((1, 1)), np.full((1, 1), 90)]
    assert figures("COCOmAP", outputs, by_name)["mAP"] == pytest.approx(1)
    path = tmp_path / "map.yaml"
    path.write_text("toothbrush: 4\n")
    assert figures("COCOmAP", outputs, by_name, anno_path=str(path))["mAP"] == 0.0
    with pytest.raises(BadValue, match="Nothing says which class 'brush' is"):
        make_metric("mAP", "", {}).judge(outputs, [label_of(names=["brush"])])


def test_cocos_numbers_have_their_gaps():
    from modeldyno.datasets.metrics.coco_names import COCO_IDS

    assert len(COCO_IDS) == 80
    some = {"person": 1, "fire hydrant": 11, "stop sign": 13, "umbrella": 28, "handbag": 31,
            "bottle": 44, "wine glass": 46, "bed": 65, "dining table": 67, "toilet": 70, "tv": 72,
            "refrigerator": 82, "book": 84, "toothbrush": 90}  # fmt: skip
    assert {name: COCO_IDS[name] for name in some} == some
    assert sorted(set(range(1, 91)) - set(COCO_IDS.values())) == [
        12,
        26,
        29,
        30,
        45,
        66,
        68,
        69,
        71,
        83,
    ]


def test_images_without_any_object_have_no_precision():
    metric = make_metric("COCOmAP", "", {})
    assert np.isnan(metric.summarize([{"objects": [], "boxes": [[1, 0.5, 0, 0]]}])["mAP"])


TWO = np.zeros((1, 2, 4))


@pytest.mark.parametrize(
    ("outputs", "label", "what"),
    [
        ([TWO, np.zeros((1, 2))], None, "Sample 0 of a batch has no label"),
        ([TWO, np.zeros((1, 2))], truths()[1], "The model has 2 outputs"),
        ([TWO, np.zeros((1, 3)), np.zeros((1, 3))], truths()[1], "do not belong together"),
        ([TWO, np.zeros((1, 2)), np.zeros((1, 2))], 3, "A label has no boxes"),
        (
            [TWO, np.zeros((1, 2)), np.zeros((1, 2))],
            (np.zeros((2, 4)), [], [1], "a"),
            "A label has 2 boxes, but 1 classes",
        ),
    ],
)
def test_what_are_no_boxes_is_refused(outputs, label, what):
    with pytest.raises(BadValue, match=what):
        make_metric("COCOmAP", "", {}).judge(outputs, [label])


def test_files_that_are_no_label_map_are_refused(tmp_path):
    path = tmp_path / "instances.json"
    path.write_text('{"images": []}')
    outputs = [np.zeros((1, 1, 4)), np.zeros((1, 1)), np.zeros((1, 1))]
    for name, what in ((path, "is not a label map"), (tmp_path / "none", "cannot be read")):
        metric = make_metric("COCOmAP", "", {"anno_path": str(name)})
        with pytest.raises(BadValue, match=what):
            metric.judge(outputs, truths()[:1])


def test_a_mapping_beyond_the_outputs_is_refused():
    metric = make_metric("COCOmAPv2", "", {"output_index_mapping": {"classes": 5}})
    with pytest.raises(BadValue, match="names outputs that the model's 3 are not"):
        outcomes_of(metric, answers(truths()), truths())
