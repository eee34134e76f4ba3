"""Filters of samples, by name: ``module:Class``."""

from __future__ import annotations

from collections.abc import Mapping

_LABEL_BALANCE = "modeldyno.datasets.filters.label_balance:LabelBalance"

FILTERS: Mapping[str, str | Mapping[str, str]] = {
    "LabelBalance": _LABEL_BALANCE,
    "LabelBalanceCOCORaw": _LABEL_BALANCE,
    "LabelBalanceCOCORecord": _LABEL_BALANCE,
}
