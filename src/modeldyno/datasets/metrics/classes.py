"""The class that a label means, and the scores that a model gives for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue

Array = np.ndarray[Any, Any]
_SUM_TOLERANCE = 1e-3  # of probabilities, which may be 16 bits wide


def scores_of(outputs: Sequence[Array]) -> Array:
    """Samples × classes, of the first output. Raises BadValue if it has one number a sample."""
    scores = outputs[0].reshape(len(outputs[0]), -1)
    if scores.shape[1] < 2:
        raise BadValue(
            "The model's first output has one number for each sample",
            why="this metric needs a score for each class",
            fix="Use Accuracy, which takes classes too, or name the output with the scores",
        )
    return scores.astype(np.float64)


def require_labels(labels: Sequence[Any]) -> None:
    """Raises BadValue for a sample without one."""
    for number, label in enumerate(labels):
        if label is None:
            raise BadValue(
                f"Sample {number} of a batch has no label",
                why="this metric compares the model's answers with labels",
                fix="Use a dataset with labels, or the metric fidelity, which needs none",
            )


def class_of(label: Any, classes: int) -> int:
    """Also of a row with a 1 at the class and 0 elsewhere. Raises BadValue if it is none."""
    values = _numbers(label).reshape(-1)
    if values.size == classes and values.size > 1:
        if sorted(values.tolist()) != [0] * (classes - 1) + [1]:
            raise _not_a_class(label, "it has a number for each class, but not one 1 among 0s")
        return int(values.argmax())
    if values.size != 1 or values[0] != int(values[0]):
        raise _not_a_class(label, "a class is one whole number")
    number = int(values[0])
    if not 0 <= number < classes:
        hint = "Put LabelShift before it" if number == classes else "Choose the model's own dataset"
        raise BadValue(
            f"Label {number} is none of the model's {classes} classes",
            why=f"they are counted from 0 to {classes - 1}",
            fix=f"{hint}, or check which output has the scores",
        )
    return number


def _numbers(label: Any) -> Array:
    values = np.asarray(label)
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise _not_a_class(label, "a class is a whole number")
    return values


def _not_a_class(label: Any, why: str) -> BadValue:
    return BadValue(
        f"Label {str(label)[:100]} does not name a class",
        why=why,
        fix="Choose another metric, or a dataset whose labels are classes",
    )


def log_probabilities(scores: Array, *, is_distribution: bool | None = None) -> Array:
    """Along the last axis, in float64. Scores that are no probabilities go through a softmax."""
    scores = scores.astype(np.float64)
    if is_distribution is None:
        is_distribution = are_probabilities(scores)
    if is_distribution:
        least = np.finfo(np.float64).tiny
        probabilities = np.maximum(scores, least)
        return np.asarray(np.log(probabilities))
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def are_probabilities(scores: Array) -> bool:
    return bool(
        (scores >= 0).all()
        and np.abs(scores.sum(axis=-1, dtype=np.float64) - 1).max(initial=0) <= _SUM_TOLERANCE
    )


def require_finite(outputs: Sequence[Array]) -> None:
    """Raises BadValue if an output has values that no distance can be computed of."""
    for output in outputs:
        if output.dtype.kind == "f" and not np.isfinite(output).all():
            first = int(np.argwhere(~np.isfinite(output))[0][0])
            raise BadValue(
                f"The model's answer to sample {first} of a batch holds values that are no numbers",
                why="NaN or infinite values have no distance to others",
                fix="Look for an overflow: try a precision with a larger range",
            )
