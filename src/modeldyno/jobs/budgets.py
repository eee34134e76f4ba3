"""Say what a measurement will take if it cannot keep its budget, before that time is spent."""

from __future__ import annotations

from modeldyno.core.figures import duration

KEPT_WITHIN = 1.3  # times what was announced
SHARE_OF_TRIAL = 0.25  # what a session may take in any case: starting it has cost much more


def slow_notice(what: str, once_s: float, about_s: float, budget_s: float) -> str:
    """``what`` took ``once_s`` to read, load and run once, so all of it takes ``about_s``; empty if
    that keeps the budget."""
    if about_s <= KEPT_WITHIN * budget_s:
        return ""
    digits = 0 if about_s >= 10 else 1
    return (
        f"{what} took {duration(once_s)} to read, load and run once: "
        f"about {about_s:.{digits}f} s in all instead of {budget_s:g} s"
    )
