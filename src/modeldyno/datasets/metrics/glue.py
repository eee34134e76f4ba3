"""What GLUE judges each of its tasks by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.core.names import find_similar_names
from modeldyno.datasets.metrics.classes import (
    Array,
    class_of,
    require_finite,
    require_labels,
    scores_of,
)
from modeldyno.datasets.metrics.correlations import matthews, pearson, spearman

Figures = Callable[[Array, Array], dict[str, float]]


def _accuracy(given: Array, expected: Array) -> dict[str, float]:
    return {"accuracy": float(np.mean(given == expected))}


def _f1_and_accuracy(given: Array, expected: Array) -> dict[str, float]:
    return {"f1": _f1(given, expected)} | _accuracy(given, expected)


def _accuracy_and_f1(given: Array, expected: Array) -> dict[str, float]:
    return _accuracy(given, expected) | {"f1": _f1(given, expected)}


def _matthews(given: Array, expected: Array) -> dict[str, float]:
    return {"mcc": matthews(given, expected)} | _accuracy(given, expected)


def _correlations(given: Array, expected: Array) -> dict[str, float]:
    """The headline is the mean of both."""
    both = {"pearson": pearson(given, expected), "spearman": spearman(given, expected)}
    return {"corr": sum(both.values()) / 2} | both


def _f1(given: Array, expected: Array) -> float:
    both, either = (
        ((given == 1) & (expected == 1)).sum(),
        (given == 1).sum() + (expected == 1).sum(),
    )
    return float(2 * both / either) if either else 0.0


_TASKS: dict[str, Figures] = {
    "cola": _matthews,
    "mnli": _accuracy,
    "mrpc": _f1_and_accuracy,
    "qnli": _accuracy,
    "qqp": _accuracy_and_f1,
    "rte": _accuracy,
    "sst-2": _accuracy,
    "sts-b": _correlations,
    "wnli": _accuracy,
}
_OTHER_NAMES = {"sst2": "sst-2", "stsb": "sts-b"}


@dataclass(frozen=True, kw_only=True)
class GLUE:
    """An outcome is what the model says and what is right: classes, or of sts-b how alike."""

    task: str = "mrpc"
    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self._task not in _TASKS:
            near = find_similar_names(self._task, _TASKS, 3)
            raise BadValue(
                f"GLUE has no task {self.task[:100]!r}",
                why=f"the nearest are {', '.join(near)}" if near else "no name is near to it",
                fix=f"Choose one of: {', '.join(_TASKS)}",
            )

    @property
    def is_proportion(self) -> bool:
        return _TASKS[self._task] is _accuracy

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[float]]:
        require_labels(labels)
        require_finite(outputs)
        if self._task == "sts-b":
            numbers = outputs[0].reshape(len(labels), -1)[:, 0]
            return [[float(n), float(label)] for n, label in zip(numbers, labels, strict=True)]
        scores = scores_of(outputs)
        return [
            [int(row.argmax()), class_of(label, len(row))]
            for row, label in zip(scores, labels, strict=True)
        ]

    def summarize(self, outcomes: Sequence[Sequence[float]]) -> Mapping[str, float]:
        given, expected = np.asarray(outcomes, dtype=np.float64).T
        return _TASKS[self._task](given, expected)

    @property
    def _task(self) -> str:
        name = self.task.strip().lower()
        return _OTHER_NAMES.get(name, name)
