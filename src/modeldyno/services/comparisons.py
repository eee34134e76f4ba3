"""Comparisons of projects: two models or settings, measured against each other."""

from __future__ import annotations

from modeldyno.core.comparisons import Comparison
from modeldyno.core.ids import ComparisonId
from modeldyno.services.runnables import RunnableService


class ComparisonService(RunnableService[ComparisonId, Comparison]):
    kind = "comparison"
