"""``/api/v1/benchmarks``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from modeldyno.api.v1.paging import CELL_FILTERS, ListRequest, OfCells, OfRuns, require_one_of
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.settings import apply_change, settings_of
from modeldyno.api.v1.shape import Id, answer, gives, json_response
from modeldyno.api.v1.summaries import (
    join_json_members,
    json_array,
    make_field_copier,
    page_of_lines,
)
from modeldyno.core.benchmarks import (
    Benchmark,
    BenchmarkDetails,
    BenchmarkRow,
    StoredCells,
    VersusBaseline,
)
from modeldyno.core.codec import decode, encode
from modeldyno.core.documents.benchmarks import (
    BenchmarkDetailsDocument,
    BenchmarkSummary,
    PlanDocument,
    RatioDocument,
    ReproductionDocument,
    VersusBaselineDocument,
)
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.runnables import NUMBER_PATHS, LatestRunSummary, NumbersOf
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.requests.commands import bench_command, config_of
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    EditBenchmarkRequest,
    NewBenchmarkRequest,
    PlanBenchmarkRequest,
    benchmark_request,
)
from modeldyno.core.runs import ListQuery
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.present.reproducing import reproduction
from modeldyno.services import requests

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records


if TYPE_CHECKING:
    Sort = str
else:
    Sort = require_one_of(
        *("created", "name", "state", "last_run", "latency", "throughput"), *NUMBER_PATHS
    )


class ListBenchmarksRequest(ListRequest, OfRuns, OfCells):
    sort: Sort = "created"
    with_cells: Annotated[bool, Field(description="Tell every cell of every line.")] = False

    def wanted(self) -> ListQuery:
        return replace(self.wanted_without("with_cells", *CELL_FILTERS), cell=self.cell())


def router(
    records: Records,
    benchmarks: BenchmarkService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/benchmarks", tags=["benchmarks"])

    def details(benchmark_id: BenchmarkId, status: int = 200, **headers: str) -> Response:
        body = _details_to_json(
            benchmarks.details(benchmark_id), benchmarks.compare_to_baseline, archive.numbers_of
        )
        return json_response(body, status, **headers)

    def create(request: NewBenchmarkRequest) -> Benchmark:
        made, _ = benchmarks.create(
            ProjectId(request.project_id),
            ModelId(request.model_id),
            request.name or "",
            partial(requests.make_benchmark_spec, request),
            dataset_id=_to_dataset_id(request.dataset_id),
            start=request.start,
        )
        return made

    def change(number: BenchmarkId, request: EditBenchmarkRequest, sent: frozenset[str]) -> None:
        before = benchmark_request(benchmarks.get(number).spec)
        after = apply_change(before, request, sent, "benchmark")
        benchmarks.edit(
            number,
            name=request.name,
            dataset_id=_to_dataset_id(request.dataset_id),
            make_spec=partial(requests.make_benchmark_spec, after) if after else None,
        )

    def rows(request: ListBenchmarksRequest) -> Response:
        page = benchmarks.page(request.wanted(), with_cells=request.with_cells)
        lines = (
            _row_to_json(row, benchmarks.compare_to_baseline, request.with_cells)
            for row in page.items
        )
        return page_of_lines(lines, page.next)

    RunnableRoutes("benchmark", routes, benchmarks, records, jobs, archive).add(
        KindRoutes(
            new=NewBenchmarkRequest,
            edit=EditBenchmarkRequest,
            query=ListBenchmarksRequest,
            row=BenchmarkSummary,
            details_document=BenchmarkDetailsDocument,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its settings, its latest run, and the latest result of each cell.",
            about_list="Newest first unless asked otherwise; sorted by `created`, `name`, `state`, "
            "`last_run`,\n`latency`, `throughput` or any number of `summary`. "
            "`engine` finds those with a cell of it;\nother axes find those with a cell that has "
            "all of these values, once it ran.",
        )
    )

    @routes.post("/plan", **gives(PlanDocument, 404, 409, 413))
    def plan_benchmark(request: PlanBenchmarkRequest) -> Response:
        """What it would measure and about how long; nothing is kept, nothing is run."""
        make_spec = partial(requests.make_benchmark_spec, request)
        plan = benchmarks.plan(ModelId(request.model_id), make_spec)
        cells = tuple(CellDocument.planned(*cell) for cell in enumerate(plan.cells))
        return answer(PlanDocument.from_fields(plan, cells=cells))

    @routes.get("/{benchmark_id}/reproduce", **gives(ReproductionDocument, 404))
    def reproduce_benchmark(benchmark_id: Id, request: Request) -> Response:
        """Texts that measure the same again when they are pasted. None holds the token: they read
        `MODELDYNO_TOKEN`."""
        details = benchmarks.details(BenchmarkId(benchmark_id))
        return answer(_make_reproduction(details, str(request.base_url).rstrip("/")))

    return routes


def _to_dataset_id(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


_OUTLINE = ("mode", "axes", "worst_noise")  # one text in the row
Versus = Callable[[StoredCells], VersusBaseline | None]


_of_row = make_field_copier(BenchmarkSummary, *_OUTLINE, "vs_baseline", "summary", "cells")
_of_benchmark = make_field_copier(
    BenchmarkSummary, *_OUTLINE, "model_name", "vs_baseline", "summary", "cells"
)


_of_versus, _of_ratio = make_field_copier(VersusBaselineDocument), make_field_copier(RatioDocument)


def _versus_to_json(versus: VersusBaseline | None) -> dict[str, Any] | None:
    """A VersusBaselineDocument."""
    if versus is None:
        return None
    values = _of_versus(versus)
    if versus.ratio is not None:
        values["ratio"] = _of_ratio(versus.ratio)
    return values


def _row_to_json(row: BenchmarkRow, versus: Versus, with_cells: bool) -> bytes:
    """A BenchmarkSummary."""
    values = _of_row(row)
    values["vs_baseline"] = _versus_to_json(versus(row.cells))
    return join_json_members(
        values,
        members=row.outline_json,
        summary=row.summary_json,
        cells=json_array(row.cells.documents) if with_cells else "null",
    )


def _details_to_json(details: BenchmarkDetails, versus: Versus, numbers_of: NumbersOf) -> bytes:
    """A BenchmarkDetailsDocument."""
    benchmark = details.benchmark
    values = {
        **_of_benchmark(benchmark),
        "model_name": details.model_name,
        "vs_baseline": _versus_to_json(versus(details.cells)),
        "modified_at": benchmark.modified_at,
        "dataset_id": benchmark.dataset_id,
        "latest_run": LatestRunSummary.of(details.latest, numbers_of),
        "command": _command_json(details.spec_json, details.model_name),
    }
    return join_json_members(
        values,
        members=details.outline_json,
        settings=_settings_json(details.spec_json),
        summary=benchmark.summary_json,
        cells=json_array(details.cells.documents),
    )


# What follows from a spec is worked out once, and kept while clients read it.


@lru_cache(maxsize=1024)
def _settings_json(spec_json: str) -> str:
    return json_text(settings_of(_decode_spec(spec_json)), indent=None)


@lru_cache(maxsize=1024)
def _command_json(spec_json: str, model_name: str) -> str:
    return bench_command(_decode_spec(spec_json), model_name)


def _decode_spec(spec_json: str) -> BenchmarkSpec:
    spec: BenchmarkSpec = decode(BenchmarkSpec, json.loads(spec_json)["spec"])
    return spec


def _make_reproduction(details: BenchmarkDetails, here: str) -> ReproductionDocument:
    benchmark = details.benchmark
    spec = benchmark.spec
    named = replace(spec, model=replace(spec.model, path=details.model_name))
    made = reproduction(
        here,
        benchmark.project_id,
        benchmark.model_id,
        benchmark.name,
        _non_default_settings(settings_of(spec)),
        bench_command(spec, details.model_name),
    )
    return ReproductionDocument.from_fields(made, config=config_of(named))


def _non_default_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Those that somebody chose; what follows from the machine is left out."""
    usual = encode(BenchmarkRequest()) | {"memory_limit_bytes": settings["memory_limit_bytes"]}
    return {name: value for name, value in settings.items() if value != usual[name]}
