"""``/api/v1/projects/{project_id}/standing``: what an overview of a project shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from modeldyno.api.v1.shape import Id, gives, json_response
from modeldyno.api.v1.summaries import join_json_members, json_array
from modeldyno.core.benchmarks import MeasuredCell
from modeldyno.core.documents.projects import OverviewDocument
from modeldyno.core.ids import ProjectId
from modeldyno.core.projects import Best, Happened, ProjectStanding
from modeldyno.core.redaction import without_folders

if TYPE_CHECKING:
    from modeldyno.services.project_overview import ProjectOverviewService


def router(standings: ProjectOverviewService) -> APIRouter:
    routes = APIRouter(prefix="/projects", tags=["projects"])

    @routes.get("/{project_id}/standing", **gives(OverviewDocument, 404))
    def get_project_standing(project_id: Id) -> Response:
        """The best so far, what happened last, and what to do next. What cannot be told apart is a
        tie, and what lost an alternation is not the best."""
        standing = standings.of(ProjectId(project_id))
        counts = {f"{kind}s": count for kind, count in standing.counts.items()}
        values = {
            "activity": [_redact_event(event) for event in standing.activity],
            "next_steps": standing.next_steps,
            "counts": counts | {"active_jobs": standing.active},
        }
        best = json_array(_best_json(best, standing) for best in standing.best)
        return json_response(join_json_members(values, best=best))

    return routes


def _best_json(best: Best, standing: ProjectStanding) -> str:
    """A LeaderDocument."""
    values = {"objective": best.objective, "is_clear": best.is_clear, "note": best.note}
    return join_json_members(
        values,
        leader="null" if best.leader is None else _contender_json(best.leader, standing),
        tied=json_array(_contender_json(cell, standing) for cell in best.tied),
    ).decode()


def _contender_json(cell: MeasuredCell, standing: ProjectStanding) -> str:
    """A ContenderDocument."""
    values = {
        "benchmark_id": cell.benchmark_id,
        "name": cell.name,
        "model_id": cell.model_id,
        "model_name": standing.model_names.get(cell.model_id, ""),
    }
    document = standing.documents[cell.figures.run_id][cell.figures.number]
    return join_json_members(values, cell=document).decode()


def _redact_event(event: Happened) -> Happened:
    return replace(event, sentence=without_folders(event.sentence))
