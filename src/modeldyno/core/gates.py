"""``--fail-if-slower``: whether B may be merged, at most so much slower than A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from modeldyno.core import figures

if TYPE_CHECKING:
    from modeldyno.core.results import Estimate

Gate = Literal["pass", "fail", "inconclusive"]


def gate(ratio: Estimate, allowed: float) -> Gate:
    """As far as one can tell; ``ratio`` is B's time by A's."""
    if ratio.low > 1 + allowed:
        return "fail"
    return "pass" if ratio.high <= 1 + allowed else "inconclusive"


def gate_sentence(outcome: Gate, allowed: float) -> str:
    limit = figures.percent(allowed)
    match outcome:
        case "pass":
            return f"Gate passed: B is at most {limit} slower than A"
        case "fail":
            return f"Gate failed: B is more than {limit} slower than A"
        case "inconclusive":
            return f"Gate undecided: whether B is more than {limit} slower than A is open"
