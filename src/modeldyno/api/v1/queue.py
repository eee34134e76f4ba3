"""``/api/v1/queue``: what runs, what waits and why, and who has which core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from modeldyno.api.v1.jobs import job_document
from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.runs import CoreDocument, QueueDocument
from modeldyno.services.jobs import QueueStatus

if TYPE_CHECKING:
    from modeldyno.services.jobs import JobService


def router(jobs: JobService) -> APIRouter:
    routes = APIRouter(prefix="/queue", tags=["jobs"])

    @routes.get("", **gives(QueueDocument))
    def get_queue() -> Response:
        """All of it in one answer."""
        return answer(_make_document(jobs.queue()))

    @routes.post("/pause", **gives(QueueDocument))
    def pause_queue() -> Response:
        """What runs goes on to its end; nothing begins until somebody resumes, also when the
        server is started anew."""
        jobs.pause()
        return answer(_make_document(jobs.queue()))

    @routes.post("/resume", **gives(QueueDocument))
    def resume_queue() -> Response:
        """What waits begins again."""
        jobs.unpause()
        return answer(_make_document(jobs.queue()))

    return routes


def _make_document(queue: QueueStatus) -> QueueDocument:
    held = {lease.core: lease for lease in queue.leases}
    cores = (
        CoreDocument(core=core, job_id=held[core].job_id, since=held[core].taken_at)
        if core in held
        else CoreDocument(core=core, used_by=queue.elsewhere.get(core))
        for core in queue.cores
    )
    return QueueDocument(
        is_paused=queue.is_paused,
        cores=tuple(cores),
        running=tuple(map(job_document, queue.running)),
        waiting=tuple(map(job_document, queue.waiting)),
    )
