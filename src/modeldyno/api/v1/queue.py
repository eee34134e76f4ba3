"""``/api/v1/queue``: what runs, what waits and why, and who has which core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.jobs import JobTold, job_of
from modeldyno.api.v1.shape import Moment, Told, answer, problems
from modeldyno.services.jobs import QueueShown

if TYPE_CHECKING:
    from modeldyno.services.jobs import JobService


class CoreTold(Told):
    core: int = Field(description="A CPU, as the system numbers it.", examples=[2])
    job_id: int | None = Field(
        description="Null: no job of this server measures on it.", examples=[7]
    )
    since: Moment | None
    used_by: str | None = Field(
        description="Another process on this machine that measures on it; null: none does.",
        examples=["modeldyno pid 4711"],
    )


class QueueViewTold(Told):
    is_paused: bool = Field(description="What runs goes on; nothing else begins.")
    cores: list[CoreTold] = Field(
        description="Those that may be measured on. A job that measures has its cores to itself."
    )
    running: list[JobTold]
    waiting: list[JobTold] = Field(description="In the order in which they will begin.")


def router(jobs: JobService) -> APIRouter:
    routes = APIRouter(prefix="/queue", tags=["jobs"])

    @routes.get("", response_model=QueueViewTold, responses=problems())
    def get_queue() -> Response:
        """All of it in one answer."""
        return answer(_told(jobs.queue()))

    @routes.post("/pause", response_model=QueueViewTold, responses=problems())
    def pause_queue() -> Response:
        """What runs goes on to its end; nothing begins until somebody resumes, also when the
        server is started anew."""
        jobs.pause()
        return answer(_told(jobs.queue()))

    @routes.post("/resume", response_model=QueueViewTold, responses=problems())
    def resume_queue() -> Response:
        """What waits begins again."""
        jobs.unpause()
        return answer(_told(jobs.queue()))

    return routes


def _told(shown: QueueShown) -> dict[str, Any]:
    held = {lease.core: lease for lease in shown.leases}
    return {
        "is_paused": shown.is_paused,
        "cores": [
            {
                "core": core,
                "job_id": held[core].job_id if core in held else None,
                "since": held[core].taken_at if core in held else None,
                "used_by": None if core in held else shown.elsewhere.get(core),
            }
            for core in shown.cores
        ],
        "running": [job_of(job) for job in shown.running],
        "waiting": [job_of(job) for job in shown.waiting],
    }
