"""How far answers are from numbers: labels, or the outputs of another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, require_finite, require_labels


@dataclass(frozen=True, kw_only=True)
class Distance:
    """An outcome is the sum of a sample's distances, and how many there are: in the end all count
    the same. With ``compare_label`` off, labels are a reference's outputs: one array for each."""

    compare_label: bool = True
    higher_is_better: ClassVar[bool] = False
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[float]]:
        require_labels(labels)
        require_finite(outputs)
        return [
            [float(self.distances(difference).sum()), float(difference.size)]
            for difference in self._differences(outputs, labels)
        ]

    def _differences(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[Array]:
        if self.compare_label:
            return [answer - label for answer, label in paired(outputs[:1], [[x] for x in labels])]
        return [answer - other for answer, other in paired(outputs, labels)]

    def distances(self, difference: Array) -> Array:
        raise NotImplementedError

    def summarize(self, outcomes: Sequence[Sequence[float]]) -> Mapping[str, float]:
        total = fsum(outcome[0] for outcome in outcomes)
        return {type(self).__name__: total / fsum(outcome[1] for outcome in outcomes)}


class MAE(Distance):
    def distances(self, difference: Array) -> Array:
        return np.abs(difference)


class MSE(Distance):
    def distances(self, difference: Array) -> Array:
        return np.square(difference)


class RMSE(MSE):
    def summarize(self, outcomes: Sequence[Sequence[float]]) -> Mapping[str, float]:
        return {"RMSE": sqrt(super().summarize(outcomes)["RMSE"])}


def paired(
    outputs: Sequence[Array], references: Sequence[Sequence[Any]]
) -> list[tuple[Array, Array]]:
    """For each sample, all numbers of its outputs and those of its reference, in float64."""
    pairs = []
    for number, reference in enumerate(references):
        answers = [np.asarray(output[number], dtype=np.float64) for output in outputs]
        others = [_as_numbers(part) for part in reference]
        sizes = [part.size for part in answers], [part.size for part in others]
        if sizes[0] != sizes[1]:
            raise BadValue(
                f"Answers of {sizes[0]} values cannot be compared with {sizes[1]}",
                why="each value of each output needs its counterpart",
                fix="Compare models with the same outputs, or labels of the output's shape",
            )
        flat = [np.concatenate([part.reshape(-1) for part in parts]) for parts in (answers, others)]
        pairs.append((flat[0], flat[1]))
    return pairs


def _as_numbers(reference: Any) -> Array:
    try:
        return np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadValue(
            f"Label {str(reference)[:100]} is no number",
            why="this metric computes distances",
            fix="Choose another metric, or a dataset whose labels are numbers",
        ) from error
