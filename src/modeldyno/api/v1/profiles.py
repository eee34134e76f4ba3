"""``/api/v1/profiles``: where a model spends its time, by node and by operator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fastapi import APIRouter, Query, Response

from modeldyno.api.schemas import page_schema, response_schemas, schema_reference
from modeldyno.api.v1.paging import ListRequest, OfRuns
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.runs import attachment_headers
from modeldyno.api.v1.settings import apply_change, profiling_of
from modeldyno.api.v1.shape import MOST_ID, Id, answer, documented_problems, gives, json_response
from modeldyno.api.v1.summaries import join_json_members, make_field_copier, page_of_lines
from modeldyno.core.documents.profiles import (
    AgreementDocument,
    ProfileDetailsDocument,
    ProfileDiffDocument,
    ProfileSummary,
    RoofDocument,
    TimeDocument,
)
from modeldyno.core.documents.runnables import LatestRunSummary, NumbersOf
from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId
from modeldyno.core.profile_diffs import compare_profiles
from modeldyno.core.profiles import Agreement, Profile, ProfileRowsQuery, spec_of
from modeldyno.core.requests.measuring import EditProfileRequest, NewProfileRequest, profile_request
from modeldyno.core.results import ProfileResult
from modeldyno.core.runs import RunnableDetails
from modeldyno.services import requests

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.exports import ExportService
    from modeldyno.services.jobs import JobService
    from modeldyno.services.profiles import ProfileService
    from modeldyno.store.records.all import Records

By = Literal["node", "op"]


class ListProfilesRequest(ListRequest, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


Sort = Annotated[
    Literal["time", "graph", "name"],
    Query(description="`time`: the slowest first; `graph`: as they ran."),
]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,9}$", description="`next` of the page before.")
]


_ROWS = page_schema(
    TimeDocument,
    run_id={"type": "string"},
    by={"enum": [*get_args(By)]},
    roof=schema_reference(RoofDocument),
)
_TABLE = response_schemas("One line for each row.", None, "text/csv")


def router(
    records: Records,
    profiles: ProfileService,
    exports: ExportService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/profiles", tags=["profiles"])

    def details(profile_id: ProfileId, status: int = 200, **headers: str) -> Response:
        agreement = profiles.agreement(profile_id)
        body = _details_to_json(profiles.details(profile_id), agreement, archive.numbers_of)
        return json_response(body, status, **headers)

    def result(profile_id: int) -> ProfileResult:
        """Of the latest run that has rows; raises NotFound."""
        run_id = profiles.rows(ProfileId(profile_id), ProfileRowsQuery(limit=1)).run_id
        profile: ProfileResult = exports.result(run_id)
        return profile

    def create(request: NewProfileRequest) -> Profile:
        made, _ = profiles.create(
            ProjectId(request.project_id),
            ModelId(request.model_id),
            request.name or "",
            _to_dataset_id(request.dataset_id),
            make_spec=partial(requests.make_profile_spec, request),
            start=request.start,
        )
        return made

    def change(number: ProfileId, request: EditProfileRequest, sent: frozenset[str]) -> None:
        after = apply_change(profile_request(profiles.get(number).spec), request, sent, "profile")
        profiles.edit(
            number,
            name=request.name,
            dataset_id=_to_dataset_id(request.dataset_id),
            make_spec=partial(requests.make_profile_spec, after) if after else None,
        )

    def rows(request: ListProfilesRequest) -> Response:
        page = profiles.page(request.wanted())
        lines = (join_json_members(_row(row), summary=row.summary_json) for row in page.items)
        return page_of_lines(lines, page.next)

    RunnableRoutes("profile", routes, profiles, records, jobs, archive).add(
        KindRoutes(
            new=NewProfileRequest,
            edit=EditProfileRequest,
            query=ListProfilesRequest,
            row=ProfileSummary,
            details_document=ProfileDetailsDocument,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its settings, its latest run, and how far the rows agree with the latency.",
            can_rerun=False,
        )
    )

    @routes.get("/{profile_id}/rows", **gives(_ROWS, 404))
    def list_profile_rows(
        profile_id: Id,
        by: By = "op",
        sort: Sort = "time",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Response:
        """Where the time goes, by node or by operator, of the latest run that has rows."""
        wanted = ProfileRowsQuery(by=by, sort=sort, limit=limit, start=int(cursor or 0))
        profile_rows = profiles.rows(ProfileId(profile_id), wanted)
        more = str(profile_rows.next) if profile_rows.next is not None else None
        roof = profiles.roof(ProfileId(profile_id))
        latency_s, unknown = profile_rows.latency_s, profile_rows.unknown
        items = [
            TimeDocument.of_row(row, latency_s, roof, unknown.get(row.key, ""))
            for row in profile_rows.rows
        ]
        page = {"items": items, "next": more, "run_id": profile_rows.run_id, "by": by}
        return answer(page | {"roof": RoofDocument.of(roof)})

    @routes.get("/{profile_id}/diff", **gives(ProfileDiffDocument, 404))
    def diff_profiles(
        profile_id: Id,
        to: Annotated[int, Query(ge=1, le=MOST_ID, description="The other profile: B.")],
        by: By = "node",
    ) -> Response:
        """What changes from this profile (A) to another (B): their latest runs, aligned by node
        and by operator."""
        return answer(ProfileDiffDocument.of(compare_profiles(result(profile_id), result(to), by)))

    @routes.get(
        "/{profile_id}/csv", response_class=Response, responses=_TABLE | documented_problems(404)
    )
    def export_profile_rows(profile_id: Id, by: By = "op") -> Response:
        """The same as a table for a spreadsheet, with a line for what is outside all nodes."""
        text = profiles.csv(ProfileId(profile_id), by)
        headers = attachment_headers(f"profile-{profile_id}-by-{by}.csv")
        return Response(text, headers=headers, media_type="text/csv; charset=utf-8")

    return routes


def _to_dataset_id(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


_row = make_field_copier(ProfileSummary, "summary")


def _details_to_json(
    details: RunnableDetails[Profile], agreement: Agreement | None, numbers_of: NumbersOf
) -> bytes:
    """A ProfileDetailsDocument."""
    profile = details.runnable
    spec = spec_of(profile.settings)
    values = {
        **_row(profile),
        "model_name": details.model_names[0],
        "modified_at": profile.modified_at,
        "dataset_id": profile.dataset_id,
        "settings": profiling_of(spec) if spec else None,
        "latest_run": LatestRunSummary.of(details.latest, numbers_of),
        "agreement": AgreementDocument.of(agreement) if agreement else None,
        "command": spec.command(details.model_names) if spec else "",
    }
    return join_json_members(values, summary=profile.summary_json)
