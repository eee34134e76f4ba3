"""Cross-entropy: how surprised the model is by the right class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.datasets.metrics.classes import (
    Array,
    class_of,
    log_probabilities,
    require_finite,
    require_labels,
    scores_of,
)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """In nats; the mean over all samples. INC's is the mean of what the model gives instead."""

    higher_is_better: ClassVar[bool] = False
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[float]:
        require_labels(labels)
        require_finite(outputs)
        return [
            -float(log_probabilities(row)[class_of(label, len(row))])
            for row, label in zip(scores_of(outputs), labels, strict=True)
        ]

    def summarize(self, outcomes: Sequence[float]) -> Mapping[str, float]:
        return {"loss": float(np.mean(outcomes))}
