"""``/api/v1/runs/{run_id}/cells/{cell}/samples``: a cell's samples, ready to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Response

from modeldyno.api.v1.runs import Word
from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.figures import DistributionDocument
from modeldyno.core.ids import RunId

if TYPE_CHECKING:
    from modeldyno.services.distributions import DistributionService

CellNumber = Annotated[int, Path(ge=0, le=100_000, description="Of the cell, from 0.")]
MostPoints = Annotated[int, Query(ge=1, le=20_000, description="How many at most, evenly chosen.")]


def router(distributions: DistributionService) -> APIRouter:
    routes = APIRouter(prefix="/runs", tags=["runs"])

    @routes.get("/{run_id}/cells/{cell}/samples", **gives(DistributionDocument, 404))
    def get_cell_samples(
        run_id: Word, cell: CellNumber, most_points: MostPoints = 2000
    ) -> Response:
        """How they lie: in order, in bins, and by percentiles; also while it is measured. Nothing
        was removed."""
        return answer(distributions.distribution_of_cell(RunId(run_id), cell, most_points))

    return routes
