"""The share of samples whose class is among the first k guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, class_of, require_labels, scores_of


@dataclass(frozen=True, kw_only=True)
class TopK:
    """An outcome is how many classes come before the right one. Of equal scores, the first wins."""

    k: tuple[int, ...] = (1, 5)
    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.k or min(self.k) < 1:
            raise BadValue(
                f"topk has no k of {list(self.k)}",
                why="it is how many guesses count, at least 1",
                fix="Give k as in 1, 5",
            )

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[int]:
        require_labels(labels)
        scores = scores_of(outputs)
        return [_rank(row, label) for row, label in zip(scores, labels, strict=True)]

    def summarize(self, outcomes: Sequence[int]) -> Mapping[str, float]:
        ranks = np.asarray(outcomes)
        return {f"top{k}": float(np.mean(ranks < k)) for k in self.k}


def _rank(scores: Array, label: Any) -> int:
    """Last, if the model gave something that is no number."""
    right = class_of(label, len(scores))
    if np.isnan(scores).any():
        return len(scores)
    before = (scores > scores[right]).sum() + (scores[:right] == scores[right]).sum()
    return int(before)
