"""Student's t distribution and the incomplete beta function, so that a benchmark needs no scipy."""

from __future__ import annotations

from functools import lru_cache
from math import exp, isfinite, lgamma, log, log1p, pi
from statistics import NormalDist

_STEPS = 100_000  # the fraction needs about sqrt(max(a, b)): enough for millions of samples
_TINY = 1e-300


def t_cdf(t: float, df: float) -> float:
    """The probability of a value of at most ``t`` with ``df`` degrees of freedom."""
    return 0.5 + _probability_from_zero_to(t, df) if t >= 0 else _probability_in_tail(-t, df)


def two_sided_p(t: float, df: float) -> float:
    """How often chance alone gives a statistic at least as far from zero as ``t``."""
    return 2 * _probability_in_tail(abs(t), df)


@lru_cache(maxsize=4096)  # the stop rule needs the same few again and again
def t_quantile(p: float, df: float) -> float:
    """The value that a t variable stays below with probability ``p``, 0 < p < 1."""
    if not 0 < p < 1:
        raise ValueError(f"a quantile needs a probability strictly between 0 and 1, not {p}")
    if not df > 0:
        raise ValueError(f"Student's t needs more than 0 degrees of freedom, not {df}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    if p == 0.5:
        return 0.0
    # Each half is solved for the side with the small probability, where no digits cancel.
    if p < 0.75:
        return _solve_centre(p - 0.5, df)
    return _solve_tail(1 - p, df)


def half_interval(level: float, df: float) -> float:
    """Half of a two-sided interval at ``level``, in standard errors."""
    return t_quantile((1 + level) / 2, df)


def _solve_centre(probability: float, df: float) -> float:
    t = probability / _density(0.0, df)
    for _ in range(100):
        reached = _probability_from_zero_to(t, df)
        step = log(reached / probability) * reached / (t * _density(t, df))
        t *= exp(-step)
        if abs(step) < 1e-14:
            break
    return t


def _solve_tail(probability: float, df: float) -> float:
    # Newton on the logarithms: a heavy tail is nearly a straight line there, so even df = 1
    # converges from the normal quantile in a few steps. The curve is concave, so it cannot cycle.
    t = NormalDist().inv_cdf(1 - probability)
    for _ in range(100):
        reached = _probability_in_tail(t, df)
        step = log(reached / probability) * reached / (t * _density(t, df))
        t *= exp(step)
        if abs(step) < 1e-14:
            break
    return t


def _probability_from_zero_to(t: float, df: float) -> float:
    """The probability of a value between 0 and ``t``."""
    return 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t)) if isfinite(t) else 0.5


def _probability_in_tail(t: float, df: float) -> float:
    """The probability of a value above ``t`` ≥ 0."""
    if t * t < df:  # df / (df + t²) would lose t's digits
        return 0.5 - _probability_from_zero_to(t, df)
    return 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _density(t: float, df: float) -> float:
    scale = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * pi)
    return exp(scale - (df + 1) / 2 * log(1 + t * t / df)) if t else exp(scale)


# ---------------------------------------------------------------- incomplete beta function


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) for a, b > 0: the probability that a Beta(a, b) variable is at most x."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The fraction converges quickly only below the mean; above it we use the mirror image.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _lower_incomplete_beta(b, a, 1.0 - x)
    return _lower_incomplete_beta(a, b, x)


def _lower_incomplete_beta(a: float, b: float, x: float) -> float:
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _continued_fraction(a, b, x) / a


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction DLMF 8.17.22, evaluated by Lentz's method."""
    c = 1.0
    d = 1.0 / _keep_from_zero(1.0 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _keep_from_zero(1.0 + term * d)
            c = _keep_from_zero(1.0 + term / c)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return fraction
    raise ArithmeticError(f"I_x({a}, {b}) did not converge at x = {x}")


def _keep_from_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
