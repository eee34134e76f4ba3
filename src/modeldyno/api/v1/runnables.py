"""Routes that every kind of runnable has: make, list, show, change, delete, run and repeat it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fastapi import APIRouter, Response

from modeldyno.api.schemas import page_schema
from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.jobs import job_document
from modeldyno.api.v1.paging import ListRequest, listed, query_parameters
from modeldyno.api.v1.runs import ListRunsRequest, run_lines
from modeldyno.api.v1.settings import Sent
from modeldyno.api.v1.shape import Id, answer, gives, gives_nothing
from modeldyno.core.documents.reports import RunSummary
from modeldyno.core.documents.runs import JobDocument
from modeldyno.core.jobs import Job
from modeldyno.core.runs import RunKind, RunOf

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records

Handler = Callable[..., Any]
Details = Callable[..., Response]  # of a number; then the status, and headers by name


class Service(Protocol):
    """The services of all kinds."""

    def get(self, number: Any, /) -> Any: ...
    def start(self, number: Any, /) -> Job: ...
    def rerun(self, number: Any, /) -> tuple[Any, Job]: ...
    def delete(self, number: Any, /, *, cascade: bool = False) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRoutes:
    """What differs between kinds: their shapes, and how a request becomes one of them."""

    new: type[Any]  # the body that makes one
    edit: type[Any]  # the body that changes one
    query: type[ListRequest]  # of their list
    row: type[Any]  # the document of a line of the list
    details_document: type[Any]  # the document of all that is known of one
    create: Callable[[Any], Any]  # from the body; what was made
    change: Callable[[Any, Any, frozenset[str]], object]  # number, body, the names that were sent
    rows: Callable[[Any], Response]  # of the query
    details: Details
    about: str  # one of them, in words
    about_list: str = "Newest first unless asked otherwise."
    about_new: str = (
        "With `start`, it is in the queue as well: `latest_run.job_id` says as which job."
    )
    about_edit: str = (
        "What is not sent stays. The name may change at any time, all else before the first\nrun."
    )
    about_delete: str = "Deletes its runs too; with `cascade`, also what depends on it."
    refusals: tuple[int, ...] = (404, 409, 413)  # of what is to be made
    has_cascade: bool = True
    can_rerun: bool = True


@dataclass(frozen=True, slots=True)
class RunnableRoutes:
    """Adds routes of one kind; ``routes`` has its prefix."""

    kind: RunKind
    routes: APIRouter
    service: Service
    records: Records
    jobs: JobService
    archive: Archive

    def add(self, kind: KindRoutes) -> None:
        self._add_list(kind)
        self._add_new(kind)
        self._add_one(kind)
        self._add_delete(kind)
        self._add_runs()
        if kind.can_rerun:
            self._add_rerun(kind)

    def _add_list(self, kind: KindRoutes) -> None:
        query = Annotated[kind.query, listed(kind.query)]  # type: ignore[name-defined]

        @self.routes.get(
            "", **gives(page_schema(kind.row)), openapi_extra=query_parameters(kind.query)
        )
        @self._with_operation_name(f"list_{self.kind}s", kind.about_list, request=query)
        def list_all(request: Any) -> Response:
            return kind.rows(request)

    def _add_new(self, kind: KindRoutes) -> None:
        @self.routes.post("", **gives(kind.details_document, *kind.refusals, status=201))
        @once(self.records)
        @self._with_operation_name(f"create_{self.kind}", kind.about_new, request=kind.new)
        def create(request: Any) -> Response:
            return self._created_response(kind, kind.create(request).id)

    def _add_one(self, kind: KindRoutes) -> None:
        @self.routes.get(self._path, **gives(kind.details_document, 404))
        @self._with_operation_name(f"get_{self.kind}", kind.about)
        def get(number: Id) -> Response:
            return kind.details(number)

        @self.routes.patch(self._path, **gives(kind.details_document, 404, 409, 413))
        @self._with_operation_name(f"edit_{self.kind}", kind.about_edit, request=kind.edit)
        def edit(number: Id, request: Any, sent: Sent) -> Response:
            kind.change(number, request, sent)
            return kind.details(number)

    def _add_delete(self, kind: KindRoutes) -> None:
        left_out = {} if kind.has_cascade else {"cascade": None}

        @self.routes.delete(self._path, **gives_nothing(404, 409))
        @self._with_operation_name(f"delete_{self.kind}", kind.about_delete, **left_out)
        def delete(number: Id, cascade: bool = False) -> None:
            with self.archive.translated_deletion():
                self.service.delete(number, cascade=cascade)

    def _add_runs(self) -> None:
        @self.routes.get(
            f"{self._path}/runs",
            **gives(page_schema(RunSummary), 404),
            openapi_extra=query_parameters(ListRunsRequest),
        )
        @self._with_operation_name(f"list_{self.kind}_runs")
        def list_runs(
            number: Id, request: Annotated[ListRunsRequest, listed(ListRunsRequest)]
        ) -> Response:
            """Every run that it had, newest first unless asked otherwise."""
            of = RunOf(self.kind, self.service.get(number).id)
            return run_lines(self.records.runs.page(request.wanted(), of), self.archive)

        @self.routes.post(f"{self._path}/runs", **gives(JobDocument, 404, 409, status=202))
        @once(self.records)
        @self._with_operation_name(f"run_{self.kind}")
        def run(number: Id) -> Response:
            """One more run of it, at the end of the queue."""
            job = self.service.start(number)
            document = job_document(self.jobs.get(job.id))
            return answer(document, 202, location=f"/api/v1/jobs/{job.id}")

    def _add_rerun(self, kind: KindRoutes) -> None:
        about = f"A new {self.kind} with the same settings, in the queue; "
        about += "its `rerun_of` is this one."

        @self.routes.post(
            f"{self._path}/rerun", **gives(kind.details_document, 404, 409, status=201)
        )
        @once(self.records)
        @self._with_operation_name(f"rerun_{self.kind}", about)
        def rerun(number: Id) -> Response:
            return self._created_response(kind, self.service.rerun(number)[0].id)

    def _created_response(self, kind: KindRoutes, number: int) -> Response:
        return kind.details(number, 201, location=f"/api/v1/{self.kind}s/{number}")

    @property
    def _path(self) -> str:
        return f"/{{{self.kind}_id}}"

    def _with_operation_name(
        self, name: str, about: str = "", **bodies: Any
    ) -> Callable[[Handler], Handler]:
        """FastAPI and ``once`` go by names: ``number`` is ``benchmark_id`` for them, and so on.
        ``bodies`` are the classes of parameters that are not known where they are written; None
        leaves one out."""
        number = f"{self.kind}_id"

        def decorate(handler: Handler) -> Handler:
            @wraps(handler)
            def call(**values: Any) -> Any:
                if number in values:
                    return handler(values.pop(number), **values)
                return handler(**values)

            signature = inspect.signature(handler, eval_str=True)
            parameters = [
                parameter.replace(
                    name=number if parameter.name == "number" else parameter.name,
                    annotation=bodies.get(parameter.name, parameter.annotation),
                )
                for parameter in signature.parameters.values()
                if bodies.get(parameter.name, parameter) is not None
            ]
            call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            call.__name__ = name
            call.__doc__ = about or handler.__doc__
            return call

        return decorate
