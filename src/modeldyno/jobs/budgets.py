"""Say what a measurement will take where its budget cannot be kept, before that time is spent."""

from __future__ import annotations

from modeldyno.core.figures import duration

WORTH_SAYING = 1.3  # times the budget …
WORTH_SAYING_S = 2.0  # … and so much more than it


def slow_notice(what: str, once_s: float, least_s: float, budget_s: float) -> str:
    """``what`` took ``once_s`` to load and run once, so all of it takes at least ``least_s``; empty
    if that keeps the budget."""
    if least_s <= max(WORTH_SAYING * budget_s, budget_s + WORTH_SAYING_S):
        return ""
    return (
        f"{what} took {duration(once_s)} to load and run once: "
        f"at least {least_s:.0f} s in all instead of {budget_s:g} s"
    )
