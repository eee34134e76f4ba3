"""A comparison: two models or settings measured against each other, and every run it had."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.runs import Runnable
from modeldyno.core.sentences import pair_sentence
from modeldyno.core.specs import ComparisonSpec


@dataclass(frozen=True, kw_only=True)
class NewComparison:
    project_id: ProjectId
    a_model_id: ModelId
    b_model_id: ModelId
    name: str
    spec: ComparisonSpec
    rerun_of: ComparisonId | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(Runnable, NewComparison):
    id: ComparisonId

    def sentence(self, names: tuple[str, str] = ("A", "B")) -> str | None:
        """The verdict of its latest run; None without one."""
        summary = self.summary
        verdict, ratio = summary.verdict, summary.ratio
        if verdict is None or ratio is None:
            return None
        value, low, high = ratio.value, ratio.low, ratio.high
        if value is None or low is None or high is None:
            return None
        return pair_sentence(verdict, (value, low, high), self.spec.margin, names)
