"""The usual ways that do not hold on benchmark data: what our tests must see fail.

Iterations of one session are not independent units (docs/measuring.md, A/A by design).
"""

from __future__ import annotations

from math import sqrt

from modeldyno.measure.student import half_interval


def welch(
    a: tuple[float, float, int], b: tuple[float, float, int], level: float
) -> tuple[float, float]:
    """Welch's t interval of mean(b) - mean(a) from (mean, variance, n) of each."""
    share_a, share_b = a[1] / a[2], b[1] / b[2]
    error = sqrt(share_a + share_b)
    df = (share_a + share_b) ** 2 / (share_a**2 / (a[2] - 1) + share_b**2 / (b[2] - 1))
    half = half_interval(level, df) * error
    return b[0] - a[0] - half, b[0] - a[0] + half
