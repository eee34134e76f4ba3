"""The regularised incomplete beta function, behind both Student's t and order statistics."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

_STEPS = (
    100_000  # the fraction needs about sqrt(max(a, b)) steps, so this covers millions of samples
)
_TINY = 1e-300


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) for a, b > 0: the probability that a Beta(a, b) variable is at most x."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The fraction converges quickly only below the mean; above it we use the mirror image.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _lower(b, a, 1.0 - x)
    return _lower(a, b, x)


def _lower(a: float, b: float, x: float) -> float:
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Continued fraction DLMF 8.17.22, evaluated by Lentz's method."""
    c = 1.0
    d = 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _nonzero(1.0 + term * d)
            c = _nonzero(1.0 + term / c)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return fraction
    raise ArithmeticError(f"I_x({a}, {b}) did not converge at x = {x}")


def _nonzero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
