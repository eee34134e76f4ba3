"""F1 of what an answer and the right one have in common, piece by piece, as SQuAD defines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.datasets.metrics.classes import Array, require_labels
from modeldyno.datasets.metrics.texts import text_of


@dataclass(frozen=True, kw_only=True)
class F1:
    """Of tokens or words, whatever their order; the mean over samples. Scores count as the class
    with the highest."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[float]:
        require_labels(labels)
        return [
            f1_of_pieces(_pieces(answer), _pieces(label))
            for answer, label in zip(outputs[0], labels, strict=True)
        ]

    def summarize(self, outcomes: Sequence[float]) -> Mapping[str, float]:
        return {"f1": float(np.mean(outcomes))}


def f1_of_pieces(answer: Sequence[Hashable], right: Sequence[Hashable]) -> float:
    """Nothing equals nothing, and shares nothing with anything else."""
    if not answer or not right:
        return float(not answer and not right)
    shared = (Counter(answer) & Counter(right)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def _pieces(value: Any) -> list[Hashable]:
    values = np.asarray(value)
    if values.dtype.kind not in "biuf":
        return list(text_of(value).split())
    if values.dtype.kind == "f" and values.ndim and values.shape[-1] > 1:
        values = values.argmax(axis=-1)
    return [int(piece) for piece in values.reshape(-1)]
