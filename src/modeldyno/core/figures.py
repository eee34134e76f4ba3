"""Numbers for people: digits follow the interval, one unit per column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from modeldyno.core.results import Estimate

UNITS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
NOTHING = "–"


def unit_for(seconds: Iterable[float]) -> tuple[float, str]:
    """The unit in which the smallest of these values is at least 1; ms from 0.1 ms on."""
    smallest = min((value for value in seconds if value > 0), default=1e-3)
    if 1e-4 <= smallest < 1:
        return 1e-3, "ms"
    return next(((size, name) for size, name in reversed(UNITS) if smallest >= size), UNITS[0])


def unit_for_parts(wholes: Iterable[float]) -> tuple[float, str]:
    """The unit of wholes and their parts, which may be much smaller; never seconds."""
    size, name = unit_for(wholes)
    return (1e-3, "ms") if name == "s" else (size, name)


def with_interval(
    value: float, half_width: float, scale: float = 1.0, most: int | None = None
) -> str:
    """``0.650 ±0.008``: two significant digits of the half-width decide how many are shown.

    The value has at most ``most`` digits, if given; the half-width is then rounded up.
    """
    value, half_width = value / scale, half_width / scale
    if not half_width > 0 or not math.isfinite(half_width):
        return plain(value)
    digits = max(0, 1 - magnitude(half_width))
    if half_width >= 0.095 * 10 ** (2 - digits):  # 0.0996 rounds up to one digit more
        digits = max(0, 1 - magnitude(round(half_width, digits) or half_width))
    if most is not None and value > 0:
        fewer = max(0, most - 1 - magnitude(value))
        if fewer < digits:
            digits = fewer
            half_width = math.ceil(half_width * 10**digits) / 10**digits
    return f"{spaced(value, digits)} ±{spaced(half_width, digits)}"


def estimate(figure: Estimate, scale: float = 1.0, most: int | None = None) -> str:
    """± is where a repeat is expected, if that is known, else the interval over sessions or pairs.

    Without ± where it would be the spread within sessions: that leaves out what differs between
    them, and looks surer than it is."""
    if not figure.is_over_units:
        return plain(figure.value / scale, most or 3)
    spread = figure.repeat or figure
    return with_interval(figure.value, spread.half_width, scale, most)


def plain(value: float, digits: int = 3) -> str:
    """``digits`` significant digits, never in scientific notation."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - magnitude(value))
    return spaced(value, decimals)


def magnitude(value: float) -> int:
    """2 of 123, −1 of 0.5: the power of ten of its first digit."""
    return math.floor(math.log10(abs(value)))


def spaced(value: float, decimals: int) -> str:
    """With thin spaces between thousands."""
    return f"{value:,.{decimals}f}".replace(",", "\u202f")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    size, name = unit_for([seconds])
    return f"{plain(seconds / size)} {name}"


def size(count: int | None) -> str:
    if count is None:
        return NOTHING
    for limit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{plain(count / limit)} {name}"
    return f"{count} B"


def percent(share: float) -> str:
    digits = ".2g" if share < 0.995 else ".0f"
    return f"{share * 100:{digits}} %"


def counted(count: int, noun: str) -> str:
    """``1 session``, ``2 sessions``, ``2 processes``; for nouns with a regular plural."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{count} {noun}" if count == 1 else f"{spaced(count, 0)} {noun}{plural}"


def ago(seconds: float) -> str:
    """``2 minutes ago``; only the largest unit counts."""
    for size_s, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size_s:
            return f"{counted(int(seconds // size_s), name)} ago"
    return "just now"
