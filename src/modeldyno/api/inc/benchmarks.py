"""``benchmark/…``, and ``benchmark`` itself: details, or the call of 1.9 (``workload.py``)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.benchmark_shape import UNTIL_PRECISE, WARMUP, benchmark_shape
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.runnables import before_its_first_run
from modeldyno.api.inc.shapes import Json
from modeldyno.api.inc.workload import Calls
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
from modeldyno.services.requests import benchmark_spec
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MODES: tuple[Mode, ...] = ("performance", "accuracy")
BATCH_SIZE = 100
USUAL_CORES = 4  # of an instance; or as many as there are
MOST_CORES = 1024
T = TypeVar("T")


def operations(
    records: Records,
    history: History,
    benchmarks: BenchmarkService,
    runnables: Runnables,
    calls: Calls,
) -> Operations:
    def add(asked: Parameters) -> Json:
        """What a machine does not have (cores, instances) is kept as it was requested; a run takes
        what there is, and says so."""
        project_id = ProjectId(asked.id("project_id", MISSING))
        name, model_id = asked.text("name"), ModelId(asked.id("model_id", MISSING))
        dataset_id, mode = _parsed(asked.dataset_id), _mode(asked) or "performance"
        spec = _spec(asked, runnables.sizes(dataset_id, model_id))
        made, _ = benchmarks.create(
            project_id, model_id, name, spec, dataset_id=dataset_id, mode=mode
        )
        return {"benchmark_id": made.id}

    def edit(asked: Parameters) -> Json:
        number = BenchmarkId(asked.id())
        changed = _changed(asked)
        before, dataset_id = benchmarks.get(number), changed.get("dataset_id")
        model = runnables.changed_model(before, dataset_id)
        # The two spaces are the original's.
        with before_its_first_run("benchmark ", before.state):
            benchmarks.edit(
                number,
                dataset_id=dataset_id,
                mode=changed.get("mode"),
                make_spec=_changed_spec(before, changed, model),
            )
        return {"id": number, **changed}

    def details_of(number: int) -> Json:
        outcome = benchmarks.outcome(BenchmarkId(number))
        place = runnables.place_of(outcome.benchmark, _by_job(outcome.latest))
        best = best_cell(outcome.cells)
        cells = records.runs.cells(best.run_id) if best else ()  # none: deleted a moment ago
        cell = json.loads(cells[best.number]) if best and cells else None
        return benchmark_shape(outcome, place, cell)

    def listed(asked: Parameters) -> Json:
        project_id = ProjectId(asked.id("project_id", MISSING))
        outcomes = benchmarks.outcomes(project_id)
        place_of = runnables.places(project_id)
        placed = [(one, place_of(one.benchmark, _by_job(one.latest))) for one in outcomes]
        return {"benchmarks": [benchmark_shape(one, place) for one, place in placed if place]}

    def started(_number: int, run_id: RunId) -> Json:
        folder = history.folder(run_id)
        return {"config_path": str(folder.path / CONFIG), "output_path": str(folder.log)}

    return {
        **runnables.operations(benchmarks, Speech("benchmark", details_of, started)),
        "benchmark": lambda asked: (
            calls.begin(asked) if "input_model" in asked else details_of(asked.id())
        ),
        "benchmark/add": add,
        "benchmark/edit": edit,
        "benchmark/list": listed,
    }


def _by_job(latest: LatestRun | None) -> LatestRun | None:
    """Runs of the terminal have no files that clients know."""
    return latest if latest and latest.job_id is not None else None


# ---------------------------------------------------------------- asked


def _spec(asked: Parameters, dims: Mapping[str, int]) -> MakeSpec:
    """Of ``benchmark/add``, with the documented defaults, but never none of anything."""
    batch = _number(asked, "batch_size", BATCH_SIZE, most=MOST_BATCH)
    warmup = _number(asked, "warmup_iterations", WARMUP, least=0, most=1_000_000)
    iterations = _iterations(asked)
    available = len(allowed_cpus())
    cores = _number(asked, "cores_per_instance", min(USUAL_CORES, available), most=MOST_CORES)
    request = BenchmarkRequest(
        batch_sizes=(batch,),
        cores=(min(cores, available),),
        instances=(_instances(asked) or max(1, available // cores),),
        dims=dict(dims),
        iterations=iterations,
        warmup=warmup,
    )

    def make(path: str) -> BenchmarkSpec:
        spec = benchmark_spec(request, path)
        return replace(spec, cells=(replace(spec.cells[0], cores=cores),))

    return make


def _iterations(asked: Parameters) -> int | None:
    found = _number(asked, "iterations", UNTIL_PRECISE, least=UNTIL_PRECISE, most=MOST_ITERATIONS)
    if found == 0:
        raise BadValue("Could not parse value", why="iterations is -1, or at least 1")
    return None if found == UNTIL_PRECISE else found


def _instances(asked: Parameters) -> int | None:
    """None: as many as fit. The stock client divides cores by four, which is less than one on a
    small machine."""
    found = asked.value("number_of_instance")
    if isinstance(found, float) and math.isfinite(found):
        asked = Parameters({"number_of_instance": math.floor(found)})
    return _number(asked, "number_of_instance", 0, least=0, most=MOST_INSTANCES) or None


def _changed(asked: Parameters) -> dict[str, Any]:
    """What was sent, in the documented order."""
    found = {
        "dataset_id": _parsed(asked.dataset_id) if "dataset_id" in asked else None,
        "batch_size": _number(asked, "batch_size", 0, most=MOST_BATCH),
        "mode": _mode(asked),
        "cores_per_instance": _number(asked, "cores_per_instance", 0, most=MOST_CORES),
        "number_of_instance": _instances(asked) or 1,
    }
    return {name: value for name, value in found.items() if name in asked and value is not None}


def _changed_spec(
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
            fix="Change it where it was made",
        )
    first, *others = before.spec.cells
    cell = replace(first, **values)
    if before.spec.iterations == 1 and cell.instances > 1:
        raise BadValue("Could not parse value", why="several instances need at least 2 iterations")
    return lambda path: replace(before.spec, model=replace(model, path=path), cells=(cell, *others))


def _number(asked: Parameters, name: str, default: int, *, least: int = 1, most: int) -> int:
    return _parsed(lambda: asked.whole(name, default, least=least, most=most))


def _parsed(read: Callable[[], T]) -> T:
    try:
        return read()
    except BadValue as error:
        if error.title == MISSING:
            raise
        raise BadValue("Could not parse value", why=f"{error.title}: {error.why}") from error


def _mode(asked: Parameters) -> Mode | None:
    requested = asked.value("mode")
    if requested is not None and requested not in MODES:
        raise BadValue("Could not parse value", why=f"mode is {' or '.join(MODES)}")
    return next((mode for mode in MODES if mode == requested), None)
