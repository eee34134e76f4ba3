"""Area under the curve of hits over false alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, class_of, require_finite, require_labels
from modeldyno.datasets.metrics.correlations import ranks


@dataclass(frozen=True, kw_only=True)
class ROC:
    """Of yes or no: how likely a yes has a higher score than a no. Of two scores, the second is
    that of yes. NaN as long as one of the answers has no sample."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[float]]:
        require_labels(labels)
        require_finite(outputs)
        scores = outputs[0].reshape(len(outputs[0]), -1)
        if scores.shape[1] > 2:
            raise BadValue(
                f"ROC cannot judge {scores.shape[1]} classes",
                why="its curve is of yes and no",
                fix="Use topk or Accuracy",
            )
        sure = scores[:, -1].astype(np.float64)
        if scores.shape[1] == 2:  # unlike the second alone, right for scores before a softmax too
            sure = sure - scores[:, 0]
        pairs = zip(sure, labels, strict=True)
        return [[float(score), class_of(label, 2)] for score, label in pairs]

    def summarize(self, outcomes: Sequence[Sequence[float]]) -> Mapping[str, float]:
        scores, labels = np.asarray(outcomes, dtype=np.float64).T
        yes, no = float((labels == 1).sum()), float((labels == 0).sum())
        if not yes or not no:
            return {"roc_auc": float("nan")}
        above = ranks(scores)[labels == 1].sum() - yes * (yes + 1) / 2
        return {"roc_auc": float(above / (yes * no))}
