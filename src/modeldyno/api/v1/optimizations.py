"""``/api/v1/optimizations``: better models wanted, and the benchmarks that speak for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from modeldyno.api.v1.paging import ListRequest, OfRuns
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.shape import (
    MOST_ID,
    Id,
    Name,
    RequestBody,
    answer,
    gives,
    gives_nothing,
    page_response,
)
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId
from modeldyno.core.optimization_settings import (
    MOST,
    MOST_SEED,
    Criterion,
    OptimizationType,
    Strategy,
    TuningObjective,
)
from modeldyno.core.optimizations import (
    Optimization,
    OptimizationDetails,
    OptimizationDocument,
    PinKind,
)
from modeldyno.core.requests.measuring import without_defaults

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.store.records.all import Records

Reference = Annotated[int, Field(ge=1, le=MOST_ID)]
Precision = Literal[
    "fp32", "bf16", "int8", "int8 static quantization", "int8 dynamic quantization", "fp16"
]


class ListOptimizationsRequest(ListRequest, OfRuns):
    sort: Literal["created", "name", "state", "last_run"] = "created"


class TuningRequest(RequestBody):
    """What is not sent is as usual, or stays."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    batch_size: int = Field(100, ge=1, le=MOST)
    sampling_size: int = Field(100, ge=1, le=MOST, description="Samples to calibrate with.")
    strategy: Strategy = "basic"
    criterion: Criterion = Field("relative", description="What `threshold` is a part of.")
    threshold: float = Field(
        0.1, ge=0, le=1, description="How much accuracy may be lost, as a fraction: 0.01 is 1 %."
    )
    objective: TuningObjective = "performance"
    timeout_s: float = Field(
        0, ge=0, le=MOST, description="0: until a model is good enough, or trials are used up."
    )
    max_trials: int = Field(25, ge=1, le=MOST)
    seed: int = Field(9527, ge=0, le=MOST_SEED)


class NewOptimizationRequest(RequestBody):
    project_id: Reference = Field(examples=[1])
    model_id: Reference | None = Field(None, description="Null: the project's first.", examples=[1])
    name: Name = Field(examples=["Smaller"])
    type: OptimizationType = "quantization"
    precision: Precision = "int8"
    dataset_id: Reference | None = Field(
        None, description="To calibrate with, and to measure accuracy."
    )
    settings: TuningRequest | None = None


class EditOptimizationRequest(RequestBody):
    """What is not sent stays."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: Name | None = Field(None, examples=["Smaller"])
    type: OptimizationType | None = None
    precision: Precision | None = None
    dataset_id: Reference | None = None
    settings: TuningRequest | None = None


class PinRequest(RequestBody):
    benchmark_id: Reference = Field(
        description="Of a model that the optimization made.", examples=[1]
    )


def router(
    records: Records,
    optimizations: OptimizationService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/optimizations", tags=["optimizations"])

    def document_of(optimization: OptimizationDetails) -> OptimizationDocument:
        return OptimizationDocument.of(optimization, archive.numbers_of)

    def details(number: int, status: int = 200, **headers: str) -> Response:
        document = document_of(optimizations.details(OptimizationId(number)))
        return answer(document, status, **headers)

    def create(request: NewOptimizationRequest) -> Optimization:
        return optimizations.create(
            ProjectId(request.project_id),
            request.name,
            request.type,
            request.precision,
            model_id=ModelId(request.model_id) if request.model_id else None,
            dataset_id=_to_dataset_id(request.dataset_id),
            settings=_tuning_settings(request.settings),
        )

    def change(
        number: OptimizationId, request: EditOptimizationRequest, sent: frozenset[str]
    ) -> None:
        optimizations.edit(
            number,
            name=request.name,
            type=request.type,
            precision=request.precision,
            dataset_id=_to_dataset_id(request.dataset_id),
            settings=_tuning_settings(request.settings),
        )

    RunnableRoutes("optimization", routes, optimizations, records, jobs, archive).add(
        KindRoutes(
            new=NewOptimizationRequest,
            edit=EditOptimizationRequest,
            query=ListOptimizationsRequest,
            row=OptimizationDocument,
            details_document=OptimizationDocument,
            create=create,
            change=change,
            rows=lambda request: page_response(optimizations.page(request.wanted()), document_of),
            details=details,
            about="Its settings, its latest run, and what it made.",
            about_new="Kept, not started. This version cannot carry it out yet: a run ends with "
            "`NOT_YET`.",
            about_edit="What is not sent stays, single settings included. The name may change at "
            "any time, all\nelse before the first run. A precision that the type cannot make "
            "changes the type.",
            about_delete="With its runs and pins; models that it made stay.",
            refusals=(404, 413),
            has_cascade=False,
            can_rerun=False,
        )
    )

    @routes.put("/{optimization_id}/pins/{kind}", **gives(OptimizationDocument, 404, 413))
    def pin_benchmark(optimization_id: Id, kind: PinKind, request: PinRequest) -> Response:
        """Instead of the one before; it measures a model that the optimization made."""
        number = OptimizationId(optimization_id)
        optimizations.pin(number, kind, BenchmarkId(request.benchmark_id))
        return details(optimization_id)

    @routes.delete("/{optimization_id}/pins/{kind}", **gives_nothing(404))
    def unpin_benchmark(optimization_id: Id, kind: PinKind) -> None:
        """The benchmark stays; nothing happens when there is no pin."""
        optimizations.unpin(OptimizationId(optimization_id), kind)

    return routes


def _to_dataset_id(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


def _tuning_settings(tuning: TuningRequest | None) -> dict[str, Any] | None:
    """Those that were sent; None when none was."""
    return (tuning.model_dump(exclude_unset=True) if tuning else None) or None
