"""``/api/v1/runs/{run_id}/cells/{cell}/samples``: a cell's samples, ready to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from modeldyno.api.v1.runs import Word
from modeldyno.api.v1.shape import Told, answer, problems
from modeldyno.core.distributions import Distribution
from modeldyno.core.ids import RunId
from modeldyno.core.results import Tail

if TYPE_CHECKING:
    from modeldyno.services.distributions import DistributionService

CellNumber = Annotated[int, Path(ge=0, le=100_000, description="Of the cell, from 0.")]
MostPoints = Annotated[int, Query(ge=1, le=20_000, description="To be told, evenly chosen.")]


class PointTold(Told):
    session: int = Field(examples=[0])
    sample: int = Field(examples=[17])
    ms: float = Field(description="Of one call.", examples=[4.1])


class HistogramTold(Told):
    edges_ms: list[float] = Field(description="One more than there are counts.")
    counts: list[int]
    above: int = Field(description="Samples beyond the last edge; they count everywhere else.")


class PercentileTold(Told):
    quantile: float = Field(examples=[0.99])
    ms: float | None = Field(description="Null where the samples cannot support it.")
    low_ms: float | None
    high_ms: float | None
    samples_needed: int | None = Field(description="To know it, where it is not known.")


class DistributionTold(Told):
    run_id: str = Field(examples=["20261115-095116-3fa9c1"])
    cell: int = Field(examples=[0])
    samples: int = Field(description="All of them.", examples=[2212])
    sessions: int = Field(examples=[12])
    points: list[PointTold] = Field(description="In the order in which they were measured.")
    is_thinned: bool = Field(description="There are more samples than points.")
    histogram: HistogramTold = Field(description="Of all samples.")
    mean_ms: float
    min_ms: float
    max_ms: float
    percentiles: list[PercentileTold]


def router(distributions: DistributionService) -> APIRouter:
    routes = APIRouter(prefix="/runs", tags=["runs"])

    @routes.get(
        "/{run_id}/cells/{cell}/samples",
        response_model=DistributionTold,
        responses=problems(404),
    )
    def get_cell_samples(
        run_id: Word, cell: CellNumber, most_points: MostPoints = 2000
    ) -> Response:
        """How they lie: in order, in bins, and by percentiles; also while it is measured. Nothing
        was removed."""
        found = distributions.of(RunId(run_id), cell, most_points)
        return answer({"run_id": run_id, "cell": cell, **_told(found)})

    return routes


def _told(found: Distribution) -> dict[str, Any]:
    points = [
        {"session": one.session, "sample": one.sample, "ms": one.seconds * 1e3}
        for one in found.points
    ]
    return {
        "samples": found.samples,
        "sessions": found.sessions,
        "points": points,
        "is_thinned": len(points) < found.samples,
        "histogram": {
            "edges_ms": [edge * 1e3 for edge in found.edges_s],
            "counts": list(found.counts),
            "above": found.above,
        },
        "mean_ms": found.mean_s * 1e3,
        "min_ms": found.min_s * 1e3,
        "max_ms": found.max_s * 1e3,
        "percentiles": [_percentile(tail) for tail in found.percentiles],
    }


def _percentile(tail: Tail) -> dict[str, Any]:
    shown = {"ms": tail.value, "low_ms": tail.low, "high_ms": tail.high}
    return {
        "quantile": tail.quantile,
        **{name: None if value is None else value * 1e3 for name, value in shown.items()},
        "samples_needed": tail.samples_needed,
    }
