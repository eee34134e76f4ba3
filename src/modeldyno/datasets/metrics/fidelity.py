"""How like a reference model's answers are: needs no labels, for the reference's outputs are the
labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, ClassVar

import numpy as np

from modeldyno.datasets.metrics.classes import (
    Array,
    are_probabilities,
    log_probabilities,
    require_finite,
    require_labels,
)
from modeldyno.datasets.metrics.distances import paired


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """``top1_agreement`` is the share of places where the highest score of the first output is the
    same, ``kl`` the divergence of its probabilities in nats; models with one score have neither.
    ``cosine`` and ``normalized_error`` (squared errors over squared values) are of all outputs."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[dict[str, float]]:
        require_labels(labels)
        require_finite(outputs)
        return [
            _of_scores(outputs[0][number], np.asarray(label[0])) | _of_values(*pair)
            for number, (label, pair) in enumerate(
                zip(labels, paired(outputs, labels), strict=True)
            )
        ]

    def summarize(self, outcomes: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
        names = [name for name in ("top1_agreement", "cosine", "kl") if name in outcomes[0]]
        means = {name: float(np.mean([outcome[name] for outcome in outcomes])) for name in names}
        errors = fsum(outcome["squared_error"] for outcome in outcomes)
        squares = fsum(outcome["squared_value"] for outcome in outcomes)
        return means | {"normalized_error": _ratio(errors, squares)}


def _of_scores(answer: Array, reference: Array) -> dict[str, float]:
    classes = reference.shape[-1] if reference.ndim else 1
    if classes < 2:
        return {}
    answer, reference = answer.reshape(-1, classes), reference.reshape(-1, classes)
    is_distribution = are_probabilities(reference) and are_probabilities(answer)
    expected, given = (
        log_probabilities(scores, is_distribution=is_distribution) for scores in (reference, answer)
    )
    divergences = (np.exp(expected) * (expected - given)).sum(axis=-1)
    agreement = answer.argmax(axis=-1) == reference.argmax(axis=-1)
    return {"top1_agreement": float(agreement.mean()), "kl": max(0.0, float(divergences.mean()))}


def _of_values(answer: Array, reference: Array) -> dict[str, float]:
    lengths = sqrt(float(answer @ answer)) * sqrt(float(reference @ reference))
    same = float((answer == reference).all())  # two vectors of zeros have no angle
    return {
        "cosine": min(1.0, float(answer @ reference) / lengths) if lengths else same,
        "squared_error": float(np.square(answer - reference).sum()),
        "squared_value": float(np.square(reference).sum()),
    }


def _ratio(errors: float, squares: float) -> float:
    if squares:
        return errors / squares
    return float("inf") if errors else 0.0
