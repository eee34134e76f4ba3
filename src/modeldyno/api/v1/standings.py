"""``/api/v1/projects/{project_id}/standing``: what an overview of a project shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.shape import Id, Moment, Told, problems
from modeldyno.api.v1.summaries import CellPart, joined, json_array, json_response
from modeldyno.core.benchmarks import MeasuredCell
from modeldyno.core.ids import ProjectId
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import Objective
from modeldyno.core.runs import RunState
from modeldyno.core.standings import (
    Action,
    Best,
    Happened,
    NextStep,
    ProjectStanding,
    Subject,
)

if TYPE_CHECKING:
    from modeldyno.services.standings import StandingService


class ContenderTold(Told):
    benchmark_id: int = Field(examples=[3])
    name: str = Field(description="Of the benchmark.")
    model_id: int = Field(examples=[1])
    model_name: str = Field(examples=["resnet50.onnx"])
    cell: CellPart


class BestTold(Told):
    objective: Objective
    is_clear: bool = Field(description="Somebody leads, and nobody ties.")
    leader: ContenderTold | None = Field(description="Not the best when others tie.")
    tied: list[ContenderTold] = Field(description="That cannot be told from the leader.")
    note: str = Field(description="Why there is none, or what to keep in mind; may be empty.")


class HappenedTold(Told):
    at: Moment
    subject: Subject
    id: int = Field(examples=[3])
    sentence: str = Field(examples=["Benchmark resnet50.onnx is done"])
    state: RunState | None = Field(description="Of a run; null of a model that came.")
    run_id: str | None


class NextStepTold(Told):
    sentence: str = Field(examples=["1 engine measured; PyTorch reads this model, too."])
    action: Action
    label: str = Field(description="Of the button.", examples=["Compare with PyTorch"])
    model_id: int | None
    benchmark_id: int | None
    other_benchmark_id: int | None
    engine: str | None


class CountsTold(Told):
    models: int
    datasets: int
    benchmarks: int
    comparisons: int
    optimizations: int
    profiles: int
    active_jobs: int = Field(description="That wait or run.")


class StandingTold(Told):
    best: list[BestTold] = Field(description="By latency, then by throughput.")
    activity: list[HappenedTold] = Field(description="Newest first.")
    next_steps: list[NextStepTold] = Field(description="Three at the most.")
    counts: CountsTold


def router(standings: StandingService) -> APIRouter:
    routes = APIRouter(prefix="/projects", tags=["projects"])

    @routes.get("/{project_id}/standing", response_model=StandingTold, responses=problems(404))
    def get_project_standing(project_id: Id) -> Response:
        """The best so far, what happened last, and what to do next. What cannot be told apart is a
        tie, and what lost an alternation is not the best."""
        standing = standings.of(ProjectId(project_id))
        counts = {f"{kind}s": count for kind, count in standing.counts.items()}
        values = {
            "activity": [_happened(event) for event in standing.activity],
            "next_steps": [_step(step) for step in standing.next_steps],
            "counts": counts | {"active_jobs": standing.active},
        }
        best = json_array(_best(best, standing) for best in standing.best)
        return json_response(joined(values, best=best))

    return routes


def _best(best: Best, standing: ProjectStanding) -> str:
    """As BestTold describes."""
    values = {"objective": best.objective, "is_clear": best.is_clear, "note": best.note}
    return joined(
        values,
        leader="null" if best.leader is None else _contender(best.leader, standing),
        tied=json_array(_contender(cell, standing) for cell in best.tied),
    ).decode()


def _contender(cell: MeasuredCell, standing: ProjectStanding) -> str:
    """As ContenderTold describes."""
    values = {
        "benchmark_id": cell.benchmark_id,
        "name": cell.name,
        "model_id": cell.model_id,
        "model_name": standing.model_names.get(cell.model_id, ""),
    }
    document = standing.documents[cell.figures.run_id][cell.figures.number]
    return joined(values, cell=document).decode()


def _happened(one: Happened) -> dict[str, Any]:
    return vars(one) | {"sentence": without_folders(one.sentence)}


def _step(step: NextStep) -> dict[str, Any]:
    return dict(vars(step))
