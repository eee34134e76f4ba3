"""A run as it is kept: what was asked, how far it came, what came out."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core import figures
from modeldyno.core.artifacts import Artifact
from modeldyno.core.ids import RunId
from modeldyno.core.results import BenchmarkResult, CellResult, Failure, RunResult
from modeldyno.core.runs import RunKind, RunState
from modeldyno.core.specs import RunSpec


@dataclass(frozen=True)
class KeptRun:
    run_id: RunId
    created_at: str  # when it began
    state: RunState
    spec: RunSpec
    sessions: tuple[int, ...]  # kept, of each cell; of a comparison its pairs, of a profile repeats
    result: RunResult | None = None
    failure: Failure | None = None
    artifacts: tuple[Artifact, ...] = ()

    @property
    def kind(self) -> RunKind:
        return self.spec.kind

    @property
    def models(self) -> tuple[str, ...]:
        """Paths, each once."""
        return tuple(dict.fromkeys(model.path for model in self.spec.models()))

    @property
    def subject(self) -> str:
        return self.spec.title()

    @property
    def kept(self) -> str:
        """``7 sessions``."""
        return figures.counted(sum(self.sessions), self.spec.unit)

    @property
    def headline(self) -> str:
        """The number, or why there is none."""
        if self.result is not None:
            return self.result.headline()
        return self.failure.title if self.failure else f"{self.kept} so far"


def quickest(result: BenchmarkResult) -> CellResult | None:
    """The cell with the lowest typical latency; an unusable one only if all are."""
    measured = [cell for cell in result.cells if cell.measurement is not None]
    return min(measured, key=lambda cell: (cell.is_unusable, _typical_s(cell)), default=None)


def _typical_s(cell: CellResult) -> float:
    assert cell.measurement is not None
    return cell.measurement.latency.typical.value


def benchmark_headline(result: BenchmarkResult) -> str:
    best = quickest(result)
    if best is None or best.measurement is None:
        return next((cell.error.title for cell in result.cells if cell.error), "nothing measured")
    typical = best.measurement.latency.typical
    scale, unit = figures.unit_for([typical.value])
    skipped = any(cell.is_unusable for cell in result.cells) and not best.is_unusable
    lowest = "lowest usable" if skipped else "lowest"
    of = f", {lowest} of {len(result.cells)} cells" if len(result.cells) > 1 else ""
    return f"{figures.estimate(typical, scale)} {unit}, {best.measurement.noise}{of}"
