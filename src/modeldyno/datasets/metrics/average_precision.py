"""Average precision of boxes: which of them match objects, and the area under the curve.

An image is matched once, when it is judged, so that summaries of thousands of drawn samples need
no boxes any more. A box that was found *hits* an object that it overlaps enough, if no box with a
higher score did; it is *ignored* if it lies in a crowd instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from modeldyno.datasets.metrics.classes import Array
from modeldyno.datasets.metrics.detections import Found, Truth

Rule = Literal["free", "closest"]  # which object a box may hit: any that is free, or the closest
MOST_BOXES = 100  # of an image and a class, those with the highest scores: COCO's rule
_COCO_RECALLS = np.linspace(0, 1, 101)


def match_image(
    found: Found, truth: Truth, overlaps: Sequence[float], rule: Rule
) -> dict[str, Any]:
    """How many objects of each class there are, and of each box its class, its score, and the
    overlaps (as bits) at which it hits and at which it is ignored."""
    boxes: list[list[float]] = []
    for number in np.unique(found.classes).tolist():
        chosen = np.flatnonzero(found.classes == number)
        order = np.argsort(-found.scores[chosen], kind="stable")[:MOST_BOXES]
        best = chosen[order]
        same = truth.classes == number
        shares = _overlaps(found.boxes[best], truth.boxes[same], truth.is_crowd[same])
        match = _match_free if rule == "free" else _match_closest
        hits, ignored = match(shares, truth.is_crowd[same], overlaps)
        scores = found.scores[best].tolist()
        boxes += [[number, *row] for row in zip(scores, hits, ignored, strict=True)]
    objects = Counter(truth.classes[~truth.is_crowd].tolist())
    return {"objects": [[*pair] for pair in sorted(objects.items())], "boxes": boxes}


def _overlaps(found: Array, truth: Array, is_crowd: Array) -> Array:
    """Intersection over union; with a crowd, over the box alone."""
    low = np.maximum(found[:, None, :2], truth[None, :, :2])
    high = np.minimum(found[:, None, 2:], truth[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    area, truth_area = ((boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (found, truth))
    union = area[:, None] + np.where(is_crowd, 0, truth_area[None, :] - shared)
    shares: Array = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return shares


def _match_free(
    shares: Array, is_crowd: Array, overlaps: Sequence[float]
) -> tuple[list[int], list[int]]:
    """COCO: a box takes the object of the largest overlap that no earlier box took. Crowds come
    last, and can be taken again."""
    hits, ignored = [0] * len(shares), [0] * len(shares)
    candidates = [
        [(share, at) for at, share in enumerate(row) if share >= min(overlaps)]
        for row in shares.tolist()
    ]
    crowd = is_crowd.tolist()
    for bit, overlap in enumerate(overlaps):
        least = min(overlap, 1 - 1e-10)
        taken: set[int] = set()
        for box, near in enumerate(candidates):
            free = [pair for pair in near if pair[0] >= least and pair[1] not in taken]
            single = [pair for pair in free if not crowd[pair[1]]]
            if single:
                taken.add(max(single)[1])  # of equal ones the last, as COCO has it
                hits[box] |= 1 << bit
            elif free:
                ignored[box] |= 1 << bit
    return hits, ignored


def _match_closest(
    shares: Array, is_crowd: Array, overlaps: Sequence[float]
) -> tuple[list[int], list[int]]:
    """Pascal VOC: a box may hit the object of the largest overlap alone, if it is not taken."""
    hits, ignored = [0] * len(shares), [0] * len(shares)
    for bit, overlap in enumerate(overlaps):
        taken: set[int] = set()
        for box, row in enumerate(shares):
            closest = int(row.argmax()) if row.size else -1
            if closest < 0 or row[closest] < overlap:
                continue
            if is_crowd[closest]:
                ignored[box] |= 1 << bit
            elif closest not in taken:
                taken.add(closest)
                hits[box] |= 1 << bit
    return hits, ignored


def mean_average_precision(
    outcomes: Sequence[Mapping[str, Any]], count: int, *, is_interpolated: bool
) -> Array:
    """At each of ``count`` overlaps, over all classes that have objects; NaN if there are none.
    Interpolated: the mean precision at 101 recalls, as COCO has it; else the whole area."""
    objects: Counter[int] = Counter()
    boxes: dict[int, list[Sequence[float]]] = defaultdict(list)
    for outcome in outcomes:
        objects.update(dict(outcome["objects"]))
        for box in outcome["boxes"]:
            boxes[box[0]].append(box)
    precisions = [
        _precisions(boxes[number], total, count, is_interpolated=is_interpolated)
        for number, total in objects.items()
    ]
    return np.mean(precisions, axis=0) if precisions else np.full(count, np.nan)


def _precisions(
    boxes: Sequence[Sequence[float]], total: int, count: int, *, is_interpolated: bool
) -> Array:
    """Of one class, at each overlap."""
    if not boxes:
        return np.zeros(count)
    table = np.asarray(boxes, dtype=np.float64)
    table = table[np.argsort(-table[:, 1], kind="stable")]
    bits = 1 << np.arange(count)
    hit, ignored = (table[:, [column]].astype(np.int64) & bits != 0 for column in (2, 3))
    right = hit.cumsum(axis=0, dtype=np.float64)
    wrong = (~hit & ~ignored).cumsum(axis=0, dtype=np.float64)
    precision = right / np.maximum(right + wrong, 1)
    # Never lower than what a higher recall still reaches.
    precision = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
    if not is_interpolated:
        return np.asarray((precision * hit).sum(axis=0) / total)
    recall = right / total
    return np.asarray([_at_recalls(recall[:, at], precision[:, at]) for at in range(count)])


def _at_recalls(recall: Array, precision: Array) -> float:
    places = np.searchsorted(recall, _COCO_RECALLS, side="left")
    reached = places[places < len(precision)]
    return float(precision[reached].sum() / len(_COCO_RECALLS))
