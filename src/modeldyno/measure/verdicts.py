"""Verdicts on a comparison and on the machine's noise.

"Inconclusive" and "unusable" are verdicts like any other (docs/measuring.md, verdicts).
"""

from __future__ import annotations

from math import ceil, exp, isfinite, log

from modeldyno.core.results import FEWEST_SESSIONS, Estimate, Noise, Verdict
from modeldyno.measure.student import half_interval

# The table in docs/measuring.md (noise verdict).
QUIET_CONTENTION, CONTENDED = 1.05, 1.5  # wall over CPU time
QUIET_GAP, NOISY_GAP = 1.03, 1.10  # typical over floor
QUIET_WIDTH, TRUSTED_WIDTH, USABLE_WIDTH = 0.01, 0.02, 0.05  # of the floor's interval, relative
USABLE_TYPICAL = 0.5  # of the typical's interval: a wider one says nothing
FEWEST_SAMPLES = 6  # for an interval around a median: see tails.py
OUT_OF_REACH = 100  # times the pairs taken: too long to wait for
_UNKNOWN = "hardly known: its interval is wider than the value itself"
UNPAIRED_LEVEL = 0.95


# ---------------------------------------------------------------- comparisons


def compare_verdict(ratio: Estimate, margin: float) -> Verdict:
    """What a ratio time(B) / time(A) says about B.

    The margin δ is on the ratio itself: B is slower when the whole interval lies above 1 + δ and
    faster when it lies below 1 - δ. (On logarithms the margins would differ slightly: 1 / 1.02 is
    0.9804.) Inside them B is equivalent, or different but too little to matter.
    """
    if ratio.low > 1 + margin:
        return "slower"
    if ratio.high < 1 - margin:
        return "faster"
    if ratio.low < 1 - margin or ratio.high > 1 + margin:
        return "inconclusive"
    return "equivalent" if ratio.low <= 1 <= ratio.high else "different-but-small"


def pairs_needed(ratio: Estimate, margin: float) -> int | None:
    """About how many pairs in all would decide an inconclusive comparison; None: out of reach.

    Half-widths shrink with the square root of n, hence n·(half/gap)². The gap separates the
    estimate from the nearest margin: all of δ if there is no difference, almost 0 if the change is
    as large as the margin.
    """
    gap = abs(abs(ratio.value - 1) - margin)
    if gap * OUT_OF_REACH**0.5 < ratio.half_width:
        return None
    return max(ratio.n + 1, ceil(ratio.n * (ratio.half_width / gap) ** 2))


# ---------------------------------------------------------------- benchmarks measured separately
#
# In a comparison, both sides meet the same machine at the same time. Here they did not, so the
# differences between sessions count on both sides: Welch's t on logarithms, one figure per session.
# Neither interval includes what affected all sessions of a run; only a comparison that alternates
# between both sides removes that (docs/measuring.md, comparing).


def is_over_sessions(estimate: Estimate) -> bool:
    """Whether the interval includes the differences between sessions."""
    return estimate.units == "sessions" and estimate.n >= FEWEST_SESSIONS and estimate.low > 0


def unpaired_ratio(a: Estimate, b: Estimate, items: tuple[int, int] = (1, 1)) -> Estimate:
    """B's time over A's, per item; both must be ``is_over_sessions``. ``n`` is the smaller n."""
    centre = log(b.value / items[1]) - log(a.value / items[0])
    squares = squared_error(a), squared_error(b)
    error = sum(squares)
    parts = sum(square**2 / (side.n - 1) for square, side in zip(squares, (a, b), strict=True))
    freedom = error**2 / parts if parts else float(a.n + b.n - 2)
    half = half_interval(UNPAIRED_LEVEL, freedom) * error**0.5
    low, high = exp(centre - half), exp(centre + half)
    return Estimate(exp(centre), low, high, UNPAIRED_LEVEL, min(a.n, b.n), "sessions")


def squared_error(estimate: Estimate) -> float:
    """The squared standard error of the mean logarithm, read back from the interval."""
    half = (log(estimate.high) - log(estimate.low)) / 2
    return (half / half_interval(estimate.level, estimate.n - 1)) ** 2


# ---------------------------------------------------------------- noise


def noise_verdict(
    contention: float | None,
    typical_over_floor: float,
    floor_half_width: float,
    trend: bool,
    steady: bool,
    typical_half_width: float = 0.0,
    samples: int | None = None,
) -> tuple[Noise, tuple[str, ...]]:
    """How far to trust a number, and why: one sentence per reason.

    ``contention`` is wall over CPU time, or its equivalent from the kernel's pressure figures; None
    if neither can be read. Half-widths are relative. ``samples`` is the number of samples behind
    the intervals; None if they are over sessions.
    """
    few = samples if samples is not None and samples < FEWEST_SAMPLES else None
    flaws = _list_flaws(floor_half_width, trend, steady, typical_half_width, few)
    if flaws:
        is_floor_known = floor_half_width <= USABLE_WIDTH and few is None
        disturbances = _list_disturbances(contention, typical_over_floor, is_floor_known)
        return "unusable", (*flaws, *disturbances)
    reasons = (
        *_list_disturbances(contention, typical_over_floor),
        *_list_imprecision(floor_half_width),
    )
    if contention is not None and contention >= CONTENDED:
        return "contended", reasons
    return ("noisy", reasons) if reasons else ("quiet", (_quiet_reason(contention),))


def _list_flaws(
    half_width: float, trend: bool, steady: bool, typical: float, few: int | None
) -> list[str]:
    reasons = []
    if not steady:
        reasons.append("Warm-up ended before the latency had settled; give it more time or calls.")
    if trend:
        reasons.append("The latency moved by more than 2 % from the first third to the last.")
    if few is not None:  # a few samples may agree by luck, so their width says nothing
        are = "1 sample is" if few == 1 else f"{few} samples are"
        reasons.append(
            f"{are} too few to know how precise the number is; take at least {FEWEST_SAMPLES}."
        )
        return reasons
    if not isfinite(half_width):
        reasons.append("The floor has no interval yet; measure more sessions.")
    elif half_width > USABLE_WIDTH:
        reasons.append(
            f"{_floor_precision(half_width)}{', too wide to say much' if half_width < 1 else ''}. "
            "Measure longer or on a quieter machine."
        )
    if typical > USABLE_TYPICAL:
        known = f"known to ±{100 * typical:.0f} % only" if typical < 1 else _UNKNOWN
        reasons.append(f"The typical latency is {known}.")
    return reasons


def _list_disturbances(
    contention: float | None, typical_over_floor: float, is_floor_known: bool = True
) -> list[str]:
    reasons = []
    if contention is not None and contention >= CONTENDED:
        reason = f"Other work used the processor (contention {contention:.2f}, undisturbed is 1)."
        advice = " Rely on the floor; typical and tails include the other work."
        reasons.append(reason + (advice if is_floor_known else ""))
    elif contention is not None and contention >= QUIET_CONTENTION:
        reasons.append(
            f"Some other work was running (contention {contention:.2f}, undisturbed is 1)."
        )
    if typical_over_floor >= QUIET_GAP:
        how = "far" if typical_over_floor >= NOISY_GAP else "somewhat"
        reasons.append(
            f"A typical call is {how} slower than an undisturbed one: {typical_over_floor:.2f} ×"
            " the floor."
        )
    return reasons


def _list_imprecision(half_width: float) -> list[str]:
    if half_width > TRUSTED_WIDTH:
        return [f"{_floor_precision(half_width)}: do not trust comparisons at a smaller margin."]
    if half_width > QUIET_WIDTH:
        return [
            f"{_floor_precision(half_width)}; a quiet machine reaches ±{QUIET_WIDTH * 100:.0f} %."
        ]
    return []


def _quiet_reason(contention: float | None) -> str:
    if contention is None:
        return "Samples agree closely; whether other work was running could not be read here."
    return f"Nothing disturbed it (contention {contention:.2f}, undisturbed is 1)."


def _floor_precision(half_width: float) -> str:
    if half_width >= 1:
        return f"The floor is {_UNKNOWN}"
    digits = 2 if half_width < TRUSTED_WIDTH else 1
    return f"The floor is known to ±{100 * half_width:.{digits}f} %"
