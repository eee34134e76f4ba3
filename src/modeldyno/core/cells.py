"""What lists rank measured cells by, and hold against each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from modeldyno.core.cell_axes import items_of
from modeldyno.core.ids import RunId
from modeldyno.core.results import FEWEST_SESSIONS, Estimate


@dataclass(frozen=True, slots=True)
class CellFigures:
    """The columns of a cell; its document has all of it. Intervals are over sessions."""

    run_id: RunId
    number: int  # its place in the spec
    axes: dict[str, Any]  # by name, as it ran
    typical_s: float | None
    floor_s: float | None
    floor_low_s: float | None
    floor_high_s: float | None
    throughput_per_s: float | None
    throughput_low_per_s: float | None
    throughput_high_per_s: float | None
    interval_level: float | None
    sessions: int | None
    noise: str | None
    machine: str | None  # None: unknown

    @property
    def items(self) -> int:
        """Of one call."""
        return items_of(self.axes)

    @property
    def decisive(self) -> Estimate | None:
        """What verdicts go by; None where too few sessions were measured for an interval."""
        return self._estimate(self.floor_s, self.floor_low_s, self.floor_high_s)

    @property
    def throughput(self) -> Estimate | None:
        return self._estimate(
            self.throughput_per_s, self.throughput_low_per_s, self.throughput_high_per_s
        )

    def _estimate(
        self, value: float | None, low: float | None, high: float | None
    ) -> Estimate | None:
        sessions = self.sessions or 0
        if value is None or low is None or high is None or sessions < FEWEST_SESSIONS:
            return None
        if min(value, low) <= 0:
            return None
        return Estimate(value, low, high, self.interval_level or 0.95, sessions, "sessions")


def best_cell(cells: Iterable[CellFigures]) -> CellFigures | None:
    """The quickest that came to a number."""
    measured = [cell for cell in cells if cell.typical_s is not None]
    return min(measured, key=lambda cell: cell.typical_s or 0.0, default=None)
