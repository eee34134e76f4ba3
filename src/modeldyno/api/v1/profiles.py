"""``/api/v1/profiles``: where a model spends its time, by node and by operator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from modeldyno.api.v1.documents import TABLE
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
from modeldyno.api.v1.runs import LatestRunTold, attached, latest_of
from modeldyno.api.v1.settings import Sent, changed, profiling_of
from modeldyno.api.v1.shape import MOST_ID, Id, Moment, Told, answer, problems
from modeldyno.api.v1.summaries import SummaryTold, ms, summary_of
from modeldyno.core.commands import profile_command
from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId
from modeldyno.core.profile_diffs import MatchedBy, Standing, diff
from modeldyno.core.profile_diffs import Verdict as ChangeVerdict
from modeldyno.core.profiles import (
    Agreement,
    OpTypeRow,
    Profile,
    ProfileDetails,
    ProfileRow,
    RowsWanted,
    spec_of,
)
from modeldyno.core.public_profiles import diff_json, roof_json, work_json
from modeldyno.core.requests.measuring import ProfileRequest, profile_request
from modeldyno.core.requests.server import EditProfileRequest, NewProfileRequest
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Bound, Roof
from modeldyno.core.runs import State
from modeldyno.services import requests

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.exports import ExportService
    from modeldyno.services.jobs import JobService
    from modeldyno.services.profiles import ProfileService
    from modeldyno.store.records.all import Records

By = Literal["node", "op"]


class ProfilesAsked(ListAsked, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"


class ProfileRowTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["resnet50.onnx"])
    model_id: int = Field(examples=[1])
    state: State = Field(description="Of its latest run; `draft` before the first.")
    created_at: Moment
    last_run_at: Moment | None
    summary: SummaryTold


class AgreementTold(Told):
    """How far the rows agree with the latency: `sum_ms` and `outside_ms` make it up."""

    run_id: str = Field(description="Whose rows are shown.", examples=["20261115-095116-3fa9c1"])
    nodes: int = Field(examples=[57])
    latency_ms: float | None = Field(
        description="Typical, of a call without the profiler.", examples=[4.1]
    )
    sum_ms: float = Field(description="Of all nodes.", examples=[4.0])
    outside_ms: float | None = Field(description="In no node.", examples=[0.1])
    coverage: float | None = Field(description="The sum by the latency.", examples=[0.98])
    agrees: bool | None = Field(description="Within a tenth; if not, see the result's warnings.")


class ProfileTold(ProfileRowTold):
    model_name: str = Field(examples=["resnet50.onnx"])
    modified_at: Moment | None
    dataset_id: int | None
    settings: ProfileRequest | None = Field(description="Null where another version wrote them.")
    latest_run: LatestRunTold | None
    agreement: AgreementTold | None = Field(description="Null before a run has rows.")
    command: str = Field(
        description="Profiles the same in a terminal.",
        examples=["modeldyno profile resnet50.onnx --cores 2"],
    )


class TimeTold(Told):
    """A node, or all nodes of one operator; times are of one call of the model."""

    node: str | None = Field(description="Null by operator.", examples=["/layer1/Conv"])
    op_type: str = Field(examples=["Conv"])
    nodes: int = Field(examples=[1])
    calls: int = Field(description="In one call of the model.", examples=[1])
    total_ms: float = Field(examples=[0.31])
    share: float | None = Field(description="Of the latency.", examples=[0.076])
    cpu_ms: float | None = Field(examples=[0.31])
    accelerator_ms: float | None = Field(description="By an accelerator's own clock.")
    flop: float | None = Field(
        description="Arithmetic, from the shapes; null where not known.", examples=[236027904.0]
    )
    bytes: float | None = Field(
        description="Read and written, from the shapes; null where not known.", examples=[2457600.0]
    )
    gflop_per_s: float | None = Field(examples=[61.2])
    gbyte_per_s: float | None = Field(examples=[4.3])
    flop_per_byte: float | None = Field(examples=[14.1])
    bound: Bound | None = Field(
        description="What limits it; null without peaks, or where its work is not known.",
        examples=["compute"],
    )
    bound_reason: str = Field(
        description="The same in numbers, or why there is no answer.",
        examples=["61.2 GFLOP/s, 71 % of the peak"],
    )


class RoofTold(Told):
    """The machine's peaks that rows are held against, as `modeldyno doctor --peaks` measured."""

    gflop_per_s: float | None = Field(examples=[86.0])
    gbyte_per_s: float | None = Field(examples=[11.2])
    ridge_flop_per_byte: float | None = Field(
        description="With more arithmetic per byte, arithmetic is the limit.", examples=[7.7]
    )
    text: str = Field(description="Where they come from, or how to get them.")


class TimesTold(PageTold[TimeTold]):
    run_id: str = Field(examples=["20261115-095116-3fa9c1"])
    by: By
    roof: RoofTold


class DiffedTold(Told):
    run_id: str = Field(examples=["20261115-095116-3fa9c1"])
    model: str = Field(examples=["resnet50.onnx"])
    engine: str = Field(examples=["onnxruntime"])
    engine_version: str = Field(examples=["1.31.0"])
    latency_ms: float = Field(examples=[4.1])
    latency_ci95_ms: list[float] | None = Field(examples=[[4.05, 4.16]])
    repeats: int = Field(examples=[5])


class DiffPartTold(Told):
    """One node, or several that do the work of the other side's."""

    names: list[str] = Field(examples=[["/layer1/Conv", "/layer1/Relu"]])
    op_types: list[str] = Field(examples=[["Conv", "Relu"]])
    providers: list[str] = Field(examples=[["CPUExecutionProvider"]])
    nodes: int = Field(examples=[2])
    total_ms: float = Field(examples=[0.31])
    total_ci95_ms: list[float] | None = Field(examples=[[0.3, 0.32]])


class ChangeTold(Told):
    name: str = Field(examples=["/layer1/Conv"])
    standing: Standing = Field(
        description="`moved`: in both, at another place in the order of execution, or run by "
        "another provider."
    )
    matched_by: MatchedBy | None = Field(
        description="How its counterpart was found: by its name, by the model's nodes it is made "
        "of, by operator and place, or by its kind of work."
    )
    verdict: ChangeVerdict
    delta_ms: float = Field(description="B less A.", examples=[-0.12])
    a: DiffPartTold | None
    b: DiffPartTold | None


class DiffTold(Told):
    """What changes from profile A to profile B."""

    by: By
    a: DiffedTold
    b: DiffedTold
    delta_ms: float = Field(examples=[-0.4])
    verdict: ChangeVerdict
    text: str
    differences: list[str] = Field(
        description="What was not the same in how they were measured.",
        examples=[["cores: 1 in A, 2 in B"]],
    )
    changes: list[ChangeTold] = Field(description="The largest first.")


Sort = Annotated[
    Literal["time", "graph", "name"],
    Query(description="`time`: the slowest first; `graph`: as they ran."),
]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,9}$", description="`next` of the page before.")
]


def router(
    records: Records,
    profiles: ProfileService,
    exports: ExportService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/profiles", tags=["profiles"])

    def details(profile_id: ProfileId, status: int = 200, **headers: str) -> Response:
        found = profiles.details(profile_id)
        told = _details(found, profiles.agreement(profile_id))
        return answer(told, status, **headers)

    def result(profile_id: int) -> ProfileResult:
        """Of the latest run that has rows; raises NotFound."""
        run_id = profiles.rows(ProfileId(profile_id), RowsWanted(limit=1)).run_id
        found = exports.result(run_id)
        assert isinstance(found, ProfileResult)
        return found

    @routes.get(
        "",
        response_model=PageTold[ProfileRowTold],
        responses=problems(),
        openapi_extra=parameters(ProfilesAsked),
    )
    def list_profiles(asked: Annotated[ProfilesAsked, listed(ProfilesAsked)]) -> Response:
        """Newest first unless asked otherwise."""
        return page_answer(profiles.page(asked.wanted()), _row)

    @routes.post("", status_code=201, response_model=ProfileTold, responses=problems(404, 409, 413))
    @once(records)
    def create_profile(asked: NewProfileRequest) -> Response:
        """With `start`, it is in the queue as well: `latest_run.job_id` says as which job."""
        made, _ = profiles.create(
            ProjectId(asked.project_id),
            ModelId(asked.model_id),
            asked.name or "",
            _dataset(asked.dataset_id),
            make_spec=partial(requests.profile_spec, asked),
            start=asked.start,
        )
        return details(made.id, 201, location=f"/api/v1/profiles/{made.id}")

    @routes.get("/{profile_id}", response_model=ProfileTold, responses=problems(404))
    def get_profile(profile_id: Id) -> Response:
        """Its settings, its latest run, and how far the rows agree with the latency."""
        return details(ProfileId(profile_id))

    @routes.patch("/{profile_id}", response_model=ProfileTold, responses=problems(404, 409, 413))
    def edit_profile(profile_id: Id, asked: EditProfileRequest, sent: Sent) -> Response:
        """What is not sent stays. The name may change at any time, all else before the first
        run."""
        number = ProfileId(profile_id)
        after = changed(profile_request(profiles.get(number).spec), asked, sent, "profile")
        profiles.edit(
            number,
            name=asked.name,
            dataset_id=_dataset(asked.dataset_id),
            make_spec=partial(requests.profile_spec, after) if after else None,
        )
        return details(number)

    shared = RunnableRoutes("profile", routes, profiles, records, jobs, archive)
    shared.add_delete(profiles.delete)
    shared.add_runs()

    @routes.get("/{profile_id}/rows", response_model=TimesTold, responses=problems(404))
    def list_profile_rows(
        profile_id: Id,
        by: By = "op",
        sort: Sort = "time",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Response:
        """Where the time goes, by node or by operator, of the latest run that has rows."""
        wanted = RowsWanted(by=by, sort=sort, limit=limit, start=int(cursor or 0))
        found = profiles.rows(ProfileId(profile_id), wanted)
        more = str(found.next) if found.next is not None else None
        roof = profiles.roof(ProfileId(profile_id))
        items = [_time(row, found.latency_s, roof) for row in found.rows]
        told = {"items": items, "next": more, "run_id": found.run_id, "by": by}
        return answer(told | {"roof": roof_json(roof)})

    @routes.get("/{profile_id}/diff", response_model=DiffTold, responses=problems(404))
    def diff_profiles(
        profile_id: Id,
        to: Annotated[int, Query(ge=1, le=MOST_ID, description="The other profile: B.")],
        by: By = "node",
    ) -> Response:
        """What changes from this profile (A) to another (B): their latest runs, aligned by node
        and by operator."""
        found = diff_json(diff(result(profile_id), result(to), by))
        return answer({name: value for name, value in found.items() if name != "schema"})

    @routes.get("/{profile_id}/csv", response_class=Response, responses=TABLE | problems(404))
    def export_profile_rows(profile_id: Id, by: By = "op") -> Response:
        """The same as a table for a spreadsheet, with a line for what is outside all nodes."""
        text = profiles.csv(ProfileId(profile_id), by)
        headers = attached(f"profile-{profile_id}-by-{by}.csv")
        return Response(text, headers=headers, media_type="text/csv; charset=utf-8")

    return routes


def _dataset(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


def _row(found: Profile) -> dict[str, Any]:
    return {
        "id": found.id,
        "project_id": found.project_id,
        "name": found.name,
        "model_id": found.model_id,
        "state": found.state,
        "created_at": found.created_at,
        "last_run_at": found.last_run_at,
        "summary": summary_of(found.summary),
    }


def _details(found: ProfileDetails, agreement: Agreement | None) -> dict[str, Any]:
    profile = found.profile
    spec = spec_of(profile.settings)
    return {
        **_row(profile),
        "model_name": found.model_name,
        "modified_at": profile.modified_at,
        "dataset_id": profile.dataset_id,
        "settings": profiling_of(spec) if spec else None,
        "latest_run": latest_of(found.latest),
        "agreement": _agreement(agreement) if agreement else None,
        "command": profile_command(spec, found.model_name) if spec else "",
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "run_id": found.run_id,
        "nodes": found.nodes,
        "latency_ms": ms(found.latency_s),
        "sum_ms": found.sum_s * 1e3,
        "outside_ms": ms(found.outside_s),
        "coverage": found.coverage,
        "agrees": found.agrees,
    }


def _time(row: ProfileRow | OpTypeRow, latency_s: float | None, roof: Roof) -> dict[str, Any]:
    return {
        "node": row.node if isinstance(row, ProfileRow) else None,
        "op_type": row.op_type,
        "nodes": row.nodes if isinstance(row, OpTypeRow) else row.defined,
        "calls": row.calls,
        "total_ms": row.total_s * 1e3,
        "share": row.total_s / latency_s if latency_s else None,
        "cpu_ms": ms(row.cpu_s),
        "accelerator_ms": ms(row.accelerator_s),
        **work_json(row.flop, row.moved_bytes, row.total_s, roof),
    }
