"""``benchmark`` (details, or a workload: ``workload.py``) and ``benchmark/…``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from modeldyno.api.inc.announcing import RunEvents
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.runnable_shapes import UNTIL_PRECISE, WARMUP, benchmark_shape
from modeldyno.api.inc.runnables import translated_state_errors
from modeldyno.api.inc.shapes import Json
from modeldyno.api.inc.workload import WorkloadCalls
from modeldyno.core.benchmarks import Benchmark, Mode, best_cell
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId, RunId
from modeldyno.core.requests.measuring import (
    MOST_BATCH,
    MOST_INSTANCES,
    MOST_ITERATIONS,
    BenchmarkRequest,
)
from modeldyno.core.runs import LatestRun
from modeldyno.core.specs import BenchmarkSpec, ModelSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import MakeSpec
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MODES: tuple[Mode, ...] = ("performance", "accuracy")
BATCH_SIZE = 100
DEFAULT_CORES = 4  # of an instance, if there are as many
MOST_CORES = 1024
T = TypeVar("T")


def operations(
    records: Records,
    history: History,
    benchmarks: BenchmarkService,
    runnables: Runnables,
    calls: WorkloadCalls,
) -> Operations:
    def add(parameters: Parameters) -> Json:
        """Cores and instances are kept as requested, even if the machine has fewer: a run takes
        what there is, and says so."""
        project_id = ProjectId(parameters.id("project_id", MISSING))
        name, model_id = parameters.text("name"), ModelId(parameters.id("model_id", MISSING))
        dataset_id, mode = (
            _parse_or_refuse(parameters.dataset_id),
            _requested_mode(parameters) or "performance",
        )
        spec = _make_spec_maker(parameters, runnables.sizes(dataset_id, model_id))
        benchmark, _ = benchmarks.create(
            project_id, model_id, name, spec, dataset_id=dataset_id, mode=mode
        )
        return {"benchmark_id": benchmark.id}

    def edit(parameters: Parameters) -> Json:
        number, changed = BenchmarkId(parameters.id()), _requested_changes(parameters)
        before, dataset_id = benchmarks.get(number), changed.get("dataset_id")
        model = runnables.changed_model(before, dataset_id)
        # The original's message has two spaces there.
        with translated_state_errors("benchmark ", before.state):
            benchmarks.edit(
                number,
                dataset_id=dataset_id,
                mode=changed.get("mode"),
                make_spec=_make_changed_spec(before, changed, model),
            )
        return {"id": number, **changed}

    def details_of(number: int) -> Json:
        outcome = benchmarks.outcome(BenchmarkId(number))
        surroundings = runnables.surroundings_of(outcome.benchmark, _job_run(outcome.latest))
        best = best_cell(outcome.cells)
        cells = records.runs.cells(best.run_id) if best else ()  # empty if just deleted
        cell = json.loads(cells[best.number]) if best and cells else None
        return benchmark_shape(outcome, surroundings, cell)

    def list_benchmarks(parameters: Parameters) -> Json:
        project_id = ProjectId(parameters.id("project_id", MISSING))
        outcomes = benchmarks.outcomes(project_id)
        surroundings_of = runnables.all_surroundings(project_id)
        return {
            "benchmarks": [
                benchmark_shape(outcome, surroundings)
                for outcome in outcomes
                if (surroundings := surroundings_of(outcome.benchmark, _job_run(outcome.latest)))
            ]
        }

    def started(_number: int, run_id: RunId) -> Json:
        folder = history.folder(run_id)
        return {"config_path": str(folder.path / CONFIG), "output_path": str(folder.log)}

    return {
        **runnables.operations(benchmarks, RunEvents("benchmark", details_of, started)),
        "benchmark": lambda parameters: (
            calls.begin(parameters) if "input_model" in parameters else details_of(parameters.id())
        ),
        "benchmark/add": add,
        "benchmark/edit": edit,
        "benchmark/list": list_benchmarks,
    }


def _job_run(latest: LatestRun | None) -> LatestRun | None:
    """None for a run of the terminal, which has no files that clients know."""
    return latest if latest and latest.job_id is not None else None


# ---------------------------------------------------------------- what clients send


def _make_spec_maker(parameters: Parameters, dims: Mapping[str, int]) -> MakeSpec:
    """Of ``benchmark/add``, with the documented defaults."""
    batch = _number_in_range(parameters, "batch_size", BATCH_SIZE, most=MOST_BATCH)
    warmup = _number_in_range(parameters, "warmup_iterations", WARMUP, least=0, most=1_000_000)
    iterations = _requested_iterations(parameters)
    available = len(allowed_cpus())
    cores = _number_in_range(
        parameters, "cores_per_instance", min(DEFAULT_CORES, available), most=MOST_CORES
    )
    request = BenchmarkRequest(
        batch_sizes=(batch,),
        cores=(min(cores, available),),
        instances=(_requested_instances(parameters) or max(1, available // cores),),
        dims=dict(dims),
        iterations=iterations,
        warmup=warmup,
    )

    def make(path: str) -> BenchmarkSpec:
        spec = make_benchmark_spec(request, path)
        return replace(spec, cells=(replace(spec.cells[0], cores=cores),))

    return make


def _requested_iterations(parameters: Parameters) -> int | None:
    count = _number_in_range(
        parameters, "iterations", UNTIL_PRECISE, least=UNTIL_PRECISE, most=MOST_ITERATIONS
    )
    if count == 0:
        raise BadValue("Could not parse value", why="iterations is -1, or at least 1")
    return None if count == UNTIL_PRECISE else count


def _requested_instances(parameters: Parameters) -> int | None:
    """None: as many as fit. The stock client sends a quarter of the cores, which is less than one
    on a small machine."""
    count = parameters.value("number_of_instance")
    if isinstance(count, float) and math.isfinite(count):
        parameters = Parameters({"number_of_instance": math.floor(count)})
    return (
        _number_in_range(parameters, "number_of_instance", 0, least=0, most=MOST_INSTANCES) or None
    )


def _requested_changes(parameters: Parameters) -> dict[str, Any]:
    """The values that were sent, in the documented order."""
    values = {
        "dataset_id": _parse_or_refuse(parameters.dataset_id)
        if "dataset_id" in parameters
        else None,
        "batch_size": _number_in_range(parameters, "batch_size", 0, most=MOST_BATCH),
        "mode": _requested_mode(parameters),
        "cores_per_instance": _number_in_range(
            parameters, "cores_per_instance", 0, most=MOST_CORES
        ),
        "number_of_instance": _requested_instances(parameters) or 1,
    }
    return {
        name: value for name, value in values.items() if name in parameters and value is not None
    }


def _make_changed_spec(
    before: Benchmark, changed: Mapping[str, Any], model: ModelSpec
) -> MakeSpec | None:
    names = {
        "batch_size": "batch_size",
        "cores_per_instance": "cores",
        "number_of_instance": "instances",
    }
    values = {field: changed[name] for name, field in names.items() if name in changed}
    if not values and model == before.spec.model:
        return None
    if values and len(before.spec.cells) > 1:
        raise BadValue(
            "This benchmark has several cells",
            why="here, a benchmark has one batch size, and so on",
            fix="Change it where it was created",
        )
    first, *others = before.spec.cells
    cell = replace(first, **values)
    if before.spec.iterations == 1 and cell.instances > 1:
        raise BadValue("Could not parse value", why="several instances need at least 2 iterations")
    return lambda path: replace(before.spec, model=replace(model, path=path), cells=(cell, *others))


def _number_in_range(
    parameters: Parameters, name: str, default: int, *, least: int = 1, most: int
) -> int:
    return _parse_or_refuse(lambda: parameters.integer(name, default, least=least, most=most))


def _parse_or_refuse(read: Callable[[], T]) -> T:
    try:
        return read()
    except BadValue as error:
        if error.title == MISSING:
            raise
        raise BadValue("Could not parse value", why=f"{error.title}: {error.why}") from error


def _requested_mode(parameters: Parameters) -> Mode | None:
    requested = parameters.value("mode")
    if requested is not None and requested not in MODES:
        raise BadValue("Could not parse value", why=f"mode is {' or '.join(MODES)}")
    return next((mode for mode in MODES if mode == requested), None)
