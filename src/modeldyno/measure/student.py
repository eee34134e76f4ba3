"""Student's t distribution, implemented here so that a benchmark needs no scipy."""

from __future__ import annotations

from functools import lru_cache
from math import exp, isfinite, lgamma, log, pi
from statistics import NormalDist

from modeldyno.measure.beta import incomplete_beta


def t_cdf(t: float, df: float) -> float:
    """The probability of a value of at most ``t`` with ``df`` degrees of freedom."""
    return 0.5 + _centre(t, df) if t >= 0 else _tail(-t, df)


def two_sided_p(t: float, df: float) -> float:
    """How often chance alone gives a statistic at least as far from zero as ``t``."""
    return 2 * _tail(abs(t), df)


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
        reached = _centre(t, df)
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
        reached = _tail(t, df)
        step = log(reached / probability) * reached / (t * _density(t, df))
        t *= exp(step)
        if abs(step) < 1e-14:
            break
    return t


def _centre(t: float, df: float) -> float:
    """The probability of a value between 0 and ``t``."""
    return 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t)) if isfinite(t) else 0.5


def _tail(t: float, df: float) -> float:
    """The probability of a value above ``t`` ≥ 0."""
    if t * t < df:  # df / (df + t²) would lose t's digits
        return 0.5 - _centre(t, df)
    return 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _density(t: float, df: float) -> float:
    scale = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * pi)
    return exp(scale - (df + 1) / 2 * log(1 + t * t / df)) if t else exp(scale)
