"""The share of right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, class_of, require_labels

_YES = 0.5  # from this score on


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """What is right depends on the shapes: of one number a sample, the class itself or a score
    from 0 to 1; of a score for each class, the highest; of as many labels as scores, all of them.
    """

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = True

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[int]:
        require_labels(labels)
        answers = outputs[0].reshape(len(outputs[0]), -1)
        return [int(_is_right(*pair)) for pair in zip(answers, labels, strict=True)]

    def summarize(self, outcomes: Sequence[int]) -> Mapping[str, float]:
        return {"accuracy": float(np.mean(outcomes))}


def _is_right(answer: Array, label: Any) -> bool:
    labels = np.asarray(label).reshape(-1)
    if answer.size == 1 and answer.dtype.kind in "biu":
        return bool(answer[0] == labels[0])
    if answer.size == 1:
        return bool(answer[0] >= _YES) == bool(class_of(label, 2))
    if labels.size == 1:
        right = class_of(label, answer.size)
        return not np.isnan(answer).any() and int(answer.argmax()) == right
    if labels.size == answer.size:
        return bool(((answer >= _YES) == (labels >= _YES)).all())
    raise BadValue(
        f"A label of {labels.size} values cannot be compared with {answer.size} scores",
        why="a label is one class, or says yes or no to each",
        fix="Choose another metric, or a dataset that fits the model",
    )
