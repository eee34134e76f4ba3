"""``/api/v1/comparisons``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import (
    ListAsked,
    OfRuns,
    PageTold,
    listed,
    page_answer,
    parameters,
)
from modeldyno.api.v1.runnables import RunnableRoutes
from modeldyno.api.v1.runs import LatestRunTold, latest_of
from modeldyno.api.v1.settings import (
    PairingAsked,
    PairingTold,
    SideAsked,
    asked_of,
    pairing_of,
    resettled,
)
from modeldyno.api.v1.shape import (
    MOST_ID,
    Id,
    Moment,
    Name,
    Told,
    answer,
    problems,
    without_defaults,
)
from modeldyno.api.v1.summaries import SummaryTold, summary_of
from modeldyno.core.commands import compare_command
from modeldyno.core.comparisons import Comparison, ComparisonDetails
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.runs import State
from modeldyno.core.specs import ComparisonSpec
from modeldyno.engines.run_names import side_names

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records


class ComparisonsAsked(ListAsked, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


class ComparisonAsked(PairingAsked):
    project_id: Annotated[int, Field(ge=1, le=MOST_ID)] = Field(examples=[1])
    a: SideAsked
    b: SideAsked
    name: Name | None = Field(
        None, description="Null: made of the models' names.", examples=["Before and after"]
    )
    start: bool = Field(True, description="Put it in the queue at once.")

    def between(self, a: Model, b: Model) -> ComparisonSpec:
        sides = self.a.spec(a.name, a.path), self.b.spec(b.name, b.path)
        return self.spec(*sides)


class ComparisonEdited(PairingAsked):
    """What is not sent stays; a side that is sent is that side, whole."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: Name | None = Field(None, examples=["Before and after"])
    a: SideAsked | None = None
    b: SideAsked | None = None


class ComparisonRowTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["old.onnx against new.onnx"])
    a_model_id: int = Field(examples=[1])
    b_model_id: int = Field(examples=[2])
    state: State = Field(description="Of its latest run; `draft` before the first.")
    created_at: Moment
    last_run_at: Moment | None
    rerun_of: int | None = Field(description="The comparison that this one repeats.")
    summary: SummaryTold
    sentence: str | None = Field(
        description="The verdict of its latest run; null before it has one.",
        examples=["B is 1.31× faster than A (1.24\u20131.38, 95 %)."],
    )
    sentence_by_name: str | None = Field(
        description="The same, with both sides by what tells them apart.",
        examples=["OpenVINO is 1.31× faster than ONNX Runtime (1.24\u20131.38, 95 %)."],
    )


class ComparisonTold(ComparisonRowTold):
    a_model_name: str = Field(examples=["old.onnx"])
    b_model_name: str = Field(examples=["new.onnx"])
    pairing: PairingTold
    latest_run: LatestRunTold | None
    command: str = Field(
        description="Compares the same in a terminal.",
        examples=["modeldyno compare old.onnx new.onnx"],
    )


def router(
    records: Records,
    comparisons: ComparisonService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/comparisons", tags=["comparisons"])

    def details(comparison_id: ComparisonId, status: int = 200, **headers: str) -> Response:
        return answer(_details(comparisons.details(comparison_id)), status, **headers)

    @routes.get(
        "",
        response_model=PageTold[ComparisonRowTold],
        responses=problems(),
        openapi_extra=parameters(ComparisonsAsked),
    )
    def list_comparisons(asked: Annotated[ComparisonsAsked, listed(ComparisonsAsked)]) -> Response:
        """Newest first unless asked otherwise."""
        return page_answer(comparisons.page(asked.wanted()), _row)

    @routes.post(
        "", status_code=201, response_model=ComparisonTold, responses=problems(404, 409, 413)
    )
    @once(records)
    def create_comparison(asked: ComparisonAsked) -> Response:
        """With `start`, it is in the queue as well: `latest_run.job_id` says as which job."""
        made, _ = comparisons.create(
            ProjectId(asked.project_id),
            ModelId(asked.a.model_id),
            ModelId(asked.b.model_id),
            asked.name or "",
            asked.between,
            start=asked.start,
        )
        return details(made.id, 201, location=f"/api/v1/comparisons/{made.id}")

    @routes.get("/{comparison_id}", response_model=ComparisonTold, responses=problems(404))
    def get_comparison(comparison_id: Id) -> Response:
        """Its two sides, its latest run, and the verdict."""
        return details(ComparisonId(comparison_id))

    @routes.patch(
        "/{comparison_id}", response_model=ComparisonTold, responses=problems(404, 409, 413)
    )
    def edit_comparison(comparison_id: Id, asked: ComparisonEdited) -> Response:
        """What is not sent stays. The name may change at any time, all else before the first
        run."""
        number = ComparisonId(comparison_id)
        edited = _edited(comparisons.get(number), asked)
        if edited is None:
            comparisons.rename(number, asked.name)
        else:
            models = ModelId(edited.a.model_id), ModelId(edited.b.model_id)
            comparisons.edit(number, *models, edited.between, asked.name)
        return details(number)

    shared = RunnableRoutes("comparison", routes, comparisons, records, jobs, archive)
    shared.add_delete(comparisons.delete)
    shared.add_runs()
    shared.add_rerun(comparisons.rerun, ComparisonTold, details)
    return routes


def _edited(before: Comparison, asked: ComparisonEdited) -> ComparisonAsked | None:
    """All of it with what was sent; None when that was no more than a name."""
    sent = asked.model_dump(include=asked.model_fields_set - {"name"})
    sent = {name: value for name, value in sent.items() if name not in "ab" or value is not None}
    if not sent:
        return None
    known = {"project_id": before.project_id} | asked_of(before.spec)
    known["a"] |= {"model_id": before.a_model_id}
    known["b"] |= {"model_id": before.b_model_id}
    return resettled(ComparisonAsked, known | sent, "comparison")


def _row(found: Comparison) -> dict[str, Any]:
    return {
        "id": found.id,
        "project_id": found.project_id,
        "name": found.name,
        "a_model_id": found.a_model_id,
        "b_model_id": found.b_model_id,
        "state": found.state,
        "created_at": found.created_at,
        "last_run_at": found.last_run_at,
        "rerun_of": found.rerun_of,
        "summary": summary_of(found.summary),
        "sentence": found.sentence(),
        "sentence_by_name": found.sentence(side_names(found.spec)),
    }


def _details(found: ComparisonDetails) -> dict[str, Any]:
    spec = found.comparison.spec
    return {
        **_row(found.comparison),
        "a_model_name": found.a_model_name,
        "b_model_name": found.b_model_name,
        "pairing": pairing_of(spec),
        "latest_run": latest_of(found.latest),
        "command": compare_command(spec, found.a_model_name, found.b_model_name),
    }
