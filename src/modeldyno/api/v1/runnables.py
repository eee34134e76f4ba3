"""What every kind of runnable has: it is deleted, has runs, is run once more, and repeated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fastapi import APIRouter, Response

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.jobs import JobTold, job_of
from modeldyno.api.v1.paging import PageTold, listed, parameters
from modeldyno.api.v1.runs import RunsAsked, RunTold, run_of
from modeldyno.api.v1.shape import Id, Told, answer, problems
from modeldyno.api.v1.summaries import page_of
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunKind, RunOf

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records

Handler = Callable[..., Any]
Details = Callable[..., Response]  # of a number; then the status, and headers by name


class Runnables(Protocol):
    """The services of all kinds."""

    def get(self, number: Any, /) -> Any: ...
    def start(self, number: Any, /) -> Job: ...


@dataclass(frozen=True, slots=True)
class RunnableRoutes:
    """Adds routes of one kind; ``routes`` has its prefix."""

    kind: RunKind
    routes: APIRouter
    service: Runnables
    records: Records
    jobs: JobService
    archive: Archive

    def add_delete(self, remove: Callable[..., None]) -> None:
        @self.routes.delete(self._path, status_code=204, responses=problems(404, 409))
        @self._named("delete_{kind}")
        def delete(number: Id, cascade: bool = False) -> None:
            """With its runs. With `cascade`, what depends on it goes along."""
            with self.archive.deleting():
                remove(number, cascade=cascade)

    def add_runs(self) -> None:
        @self.routes.get(
            f"{self._path}/runs",
            response_model=PageTold[RunTold],
            responses=problems(404),
            openapi_extra=parameters(RunsAsked),
        )
        @self._named("list_{kind}_runs")
        def list_runs(number: Id, asked: Annotated[RunsAsked, listed(RunsAsked)]) -> Response:
            """Every run that it had, newest first unless asked otherwise."""
            of = RunOf(self.kind, self.service.get(number).id)
            page = self.records.runs.page(asked.wanted(), of)
            return page_of(map(run_of, page.items), page.next)

        @self.routes.post(
            f"{self._path}/runs",
            status_code=202,
            response_model=JobTold,
            responses=problems(404, 409),
        )
        @once(self.records)
        @self._named("run_{kind}")
        def run(number: Id) -> Response:
            """One more run of it, at the end of the queue."""
            job = self.service.start(number)
            shown = job_of(self.jobs.get(job.id))
            return answer(shown, 202, location=f"/api/v1/jobs/{job.id}")

    def add_rerun(
        self, repeat: Callable[[Any], tuple[Any, Job]], shape: type[Told], details: Details
    ) -> None:
        @self.routes.post(
            f"{self._path}/rerun",
            status_code=201,
            response_model=shape,
            responses=problems(404, 409),
        )
        @once(self.records)
        @self._named("rerun_{kind}")
        def rerun(number: Id) -> Response:
            """A new {kind} with the same settings, in the queue; its `rerun_of` is this one."""
            made, _ = repeat(number)
            return details(made.id, 201, location=f"/api/v1/{self.kind}s/{made.id}")

    @property
    def _path(self) -> str:
        return f"/{{{self.kind}_id}}"

    def _named(self, name: str) -> Callable[[Handler], Handler]:
        """FastAPI and ``once`` go by names: ``number`` is ``benchmark_id`` for them, and so on."""

        def decorate(handler: Handler) -> Handler:
            @wraps(handler)
            def call(**values: Any) -> Any:
                return handler(values.pop(f"{self.kind}_id"), **values)

            signature = inspect.signature(handler, eval_str=True)
            number, *others = signature.parameters.values()
            renamed = number.replace(name=f"{self.kind}_id")
            call.__signature__ = signature.replace(parameters=[renamed, *others])  # type: ignore[attr-defined]
            call.__name__ = name.format(kind=self.kind)
            call.__doc__ = (handler.__doc__ or "").replace("{kind}", self.kind)
            return call

        return decorate
