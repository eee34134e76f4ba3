"""``/api/v1/runs``: every execution of a benchmark, comparison or profile, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from modeldyno.api.schemas import page_schema, response_schemas, schema_reference
from modeldyno.api.v1 import downloads
from modeldyno.api.v1.logs import LOG, Limit, Offset, log_answer
from modeldyno.api.v1.paging import ListRequest, OfRuns, listed, query_parameters
from modeldyno.api.v1.settings import SETTINGS
from modeldyno.api.v1.shape import answer, documented_problems, gives, gives_nothing, json_response
from modeldyno.api.v1.summaries import (
    join_json_members,
    json_array,
    make_field_copier,
    page_of_lines,
)
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.reports import ResultDocument, RunDetailsDocument, RunSummary
from modeldyno.core.documents.runs import ArtifactDocument
from modeldyno.core.ids import RunId, number_in
from modeldyno.core.runs import ListQuery, Page, Run
from modeldyno.services.exports import Format, RunDetails
from modeldyno.services.run_logs import read_chunk

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.exports import ExportService
    from modeldyno.store.records.runs import RunRecords

Word = Annotated[
    str,
    Path(
        pattern=r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{6,40}$",
        examples=["20261115-095116-3fa9c1"],
        description="Sorts by time.",
    ),
]


ArtifactName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", examples=["trace.json"])
]


class ListRunsRequest(ListRequest, OfRuns):
    sort: Literal["created", "latency", "state"] = "created"


EXPORT_TEXTS = ("text/csv", "text/markdown", "text/html")
_RESULT_SCHEMA = {"anyOf": [schema_reference(kind) for kind in get_args(ResultDocument)]}
_RESULT = response_schemas("The result of a benchmark, a comparison or a profile.", _RESULT_SCHEMA)
_RECORD = response_schemas(
    "The result as it is kept.", {"type": "object", "additionalProperties": True}
)
_EXPORTED = response_schemas("A file to keep.", _RESULT_SCHEMA, *EXPORT_TEXTS)
_SAMPLES = response_schemas("One line for each sample.", None, "text/csv")


def router(runs: RunRecords, exports: ExportService, archive: Archive) -> APIRouter:
    routes = APIRouter(prefix="/runs", tags=["runs"])

    @routes.get(
        "", **gives(page_schema(RunSummary)), openapi_extra=query_parameters(ListRunsRequest)
    )
    def list_runs(request: Annotated[ListRunsRequest, listed(ListRunsRequest)]) -> Response:
        """Newest first unless asked otherwise; sorted by `created`, `latency` or `state`. `text`
        is sought in the id; `#12` is the number of a run."""
        return run_lines(runs.page(_by_number(request.wanted(), archive)), archive)

    @routes.get("/{run_id}", **gives(RunDetailsDocument, 404))
    def get_run(run_id: Word) -> Response:
        """How it went, what was asked, and how much of it is kept."""
        details = exports.details(RunId(run_id))
        return json_response(_details_to_json(details, archive.numbers_of([details.run.id])))

    @routes.delete("/{run_id}", **gives_nothing(404, 409))
    def delete_run(run_id: Word) -> None:
        """This run alone; what it belongs to shows the one before."""
        with archive.translated_deletion():
            runs.delete(RunId(run_id))

    @routes.get(
        "/{run_id}/result",
        response_class=Response,
        responses=_RESULT | documented_problems(404, 409),
    )
    def get_run_result(run_id: Word) -> Response:
        """The document that `modeldyno … --json` prints."""
        return answer(exports.document(RunId(run_id)))

    @routes.get(
        "/{run_id}/record",
        response_class=Response,
        responses=_RECORD | documented_problems(404, 409),
    )
    def get_run_record(run_id: Word) -> Response:
        """The result as it is kept, in seconds; for our own clients, which make objects of it."""
        return answer(exports.record(RunId(run_id)))

    @routes.get(
        "/{run_id}/export",
        response_class=Response,
        responses=_EXPORTED | documented_problems(404, 409),
    )
    def export_run(run_id: Word, format: Format = "json") -> Response:
        """The result as a file: JSON, a table for a spreadsheet, Markdown to paste, or a page to
        read, without scripts."""
        file = exports.file(RunId(run_id), format)
        return Response(
            file.text, headers=attachment_headers(file.name), media_type=file.media_type
        )

    @routes.get(
        "/{run_id}/samples",
        response_class=StreamingResponse,
        responses=_SAMPLES | documented_problems(404),
    )
    def export_run_samples(run_id: Word) -> Response:
        """Every sample of it, in nanoseconds."""
        lines = exports.samples(RunId(run_id))
        headers = attachment_headers(f"{run_id}-samples.csv")
        return StreamingResponse(lines, headers=headers, media_type="text/csv; charset=utf-8")

    @routes.get("/{run_id}/artifacts", **gives(page_schema(ArtifactDocument), 404))
    def list_run_artifacts(run_id: Word) -> Response:
        """Files that it left, by name."""
        items = [
            ArtifactDocument.from_fields(artifact) for artifact in exports.artifacts(RunId(run_id))
        ]
        return answer({"items": items, "next": None})

    @routes.get(
        "/{run_id}/artifacts/{name}", response_class=Response, responses=downloads.DESCRIBED
    )
    def download_run_artifact(run_id: Word, name: ArtifactName, request: Request) -> Response:
        """One of them. `ETag` is its checksum."""
        artifact, descriptor = exports.open_artifact(RunId(run_id), name)
        return downloads.file_response(request.headers, descriptor, artifact.name, artifact.sha256)

    @routes.get("/{run_id}/log", response_class=Response, responses=LOG | documented_problems(404))
    def get_run_log(run_id: Word, offset: Offset = 0, limit: Limit = 64 << 10) -> Response:
        """What its workers printed."""
        return log_answer(read_chunk(exports.log_path(RunId(run_id)), offset, limit))

    return routes


def attachment_headers(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _by_number(query: ListQuery, archive: Archive) -> ListQuery:
    """``#12`` is sought as the id of that run; of an unknown number, nothing is listed."""
    number = number_in(query.text) if query.text.startswith("#") else None
    return query if number is None else replace(query, text=archive.run_numbered(number) or "#")


def run_lines(page: Page[Run], archive: Archive) -> Response:
    numbers = archive.numbers_of(run.id for run in page.items)
    lines = (
        join_json_members(_run_values(run, numbers), summary=run.summary_json) for run in page.items
    )
    return page_of_lines(lines, page.next)


_alike = make_field_copier(RunSummary, "number", "kind", "of_id", "failure", "summary")


def _run_values(run: Run, numbers: Mapping[RunId, int]) -> dict[str, Any]:
    own = {"number": numbers[run.id], "kind": run.of.kind, "of_id": run.of.id}
    return _alike(run) | own | {"failure": FailureDocument.of_record(run.failure)}


def _details_to_json(details: RunDetails, numbers: Mapping[RunId, int]) -> bytes:
    """A RunDetailsDocument."""
    settings: dict[str, Any] = {"settings": None, "pairing": None, "profiling": None}
    if details.spec is not None and details.spec.kind in SETTINGS:
        field, settings_of = SETTINGS[details.spec.kind]
        settings[field] = settings_of(details.spec)
    values = {
        **_run_values(details.run, numbers),
        "job_id": details.job_id,
        **settings,
        "units_kept": details.units_kept,
        "has_result": details.has_result,
        "artifacts": [ArtifactDocument.from_fields(artifact) for artifact in details.artifacts],
    }
    return join_json_members(
        values, summary=details.run.summary_json, cells=json_array(details.cells)
    )
