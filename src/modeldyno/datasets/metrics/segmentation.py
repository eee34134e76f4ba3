"""How well regions match, pixel by pixel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, require_labels

VOID = 255  # pixels on borders, which belong to no class


@dataclass(frozen=True, kw_only=True)
class MIOU:
    """Intersection over union of each class's pixels in all images; the mean over the classes that
    occur. The output is a class for each pixel, or a score for each class and pixel."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[list[int]]]:
        """Class, pixels in both, pixels in either."""
        require_labels(labels)
        return [_overlaps(*pair) for pair in zip(outputs[0], labels, strict=True)]

    def summarize(self, outcomes: Sequence[Sequence[Sequence[int]]]) -> Mapping[str, float]:
        both: dict[int, int] = defaultdict(int)
        either: dict[int, int] = defaultdict(int)
        for outcome in outcomes:
            for number, in_both, in_either in outcome:
                both[number] += in_both
                either[number] += in_either
        shares = [both[number] / pixels for number, pixels in either.items()]
        return {"mIOU": float(np.mean(shares)) if shares else float("nan")}


def _overlaps(answer: Array, label: Any) -> list[list[int]]:
    expected = np.asarray(label).squeeze()
    given = _classes(answer.squeeze(), expected.shape)
    counted = (expected >= 0) & (expected != VOID)
    expected, given = expected[counted], given[counted]
    rows = []
    for number in np.union1d(expected, given).tolist():
        in_given, in_expected = given == number, expected == number
        both, either = (in_given & in_expected).sum(), (in_given | in_expected).sum()
        rows.append([int(number), int(both), int(either)])
    return rows


def _classes(answer: Array, shape: tuple[int, ...]) -> Array:
    """Scores may have the classes as their first or last axis."""
    if answer.shape == shape:
        return np.rint(answer).astype(np.int64)
    if answer.shape[:-1] == shape:
        return np.asarray(answer.argmax(axis=-1))
    if answer.shape[1:] == shape:
        return np.asarray(answer.argmax(axis=0))
    raise BadValue(
        f"An answer of shape {list(answer.shape)} does not fit a label of {list(shape)}",
        why="each pixel of the label needs a class, or a score for each class",
        fix="Resize images and labels to what the model gives",
    )
