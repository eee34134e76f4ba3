"""Options of engines, in words."""

from __future__ import annotations

from collections.abc import Mapping

from modeldyno.core.sessions import OptionValue


def options_told(options: Mapping[str, OptionValue]) -> str:
    """``xnnpack=off``, as people say them."""
    words = (f"{name}={_told(value)}" for name, value in sorted(options.items()))
    return ", ".join(words) or "no options"


def _told(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
