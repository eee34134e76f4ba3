"""How two lists of numbers go together."""

from __future__ import annotations

import numpy as np

from modeldyno.datasets.metrics.classes import Array


def ranks(values: Array) -> Array:
    """From 1 on; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def pearson(a: Array, b: Array) -> float:
    """NaN where one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread else float("nan")


def spearman(a: Array, b: Array) -> float:
    return pearson(ranks(a), ranks(b))


def matthews(given: Array, expected: Array) -> float:
    """Of classes; 0 where all are the same."""
    classes = np.union1d(given, expected)
    a, b = (np.equal.outer(values, classes).astype(np.float64) for values in (given, expected))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else 0.0
