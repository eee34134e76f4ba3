"""A benchmark, as ``/api`` writes it: in a list, in details, and when it has ended."""

from __future__ import annotations

from modeldyno.api.inc.shapes import (
    Json,
    Place,
    head_shape,
    moment,
    note_shape,
    seconds,
    state_shape,
)
from modeldyno.core.benchmarks import BenchmarkOutcome, best_cell
from modeldyno.core.documents.cells import FIGURES
from modeldyno.core.requests.commands import config_command
from modeldyno.core.specs import CellSpec

WARMUP, UNTIL_PRECISE = 10, -1


def benchmark_shape(outcome: BenchmarkOutcome, place: Place, cell: Json | None = None) -> Json:
    """``cell`` is the document of the best one, for details of one benchmark: more figures."""
    benchmark = outcome.benchmark
    spec = benchmark.spec
    requested = spec.cells[0]
    return {
        **head_shape(benchmark),
        "model": place.model,
        "dataset": place.dataset,
        "mode": benchmark.mode,
        "result": _result(outcome, cell),
        "batch_size": requested.batch_size,
        "warmup_iterations": spec.warmup_calls if spec.warmup_calls is not None else WARMUP,
        "iterations": spec.iterations or UNTIL_PRECISE,
        "number_of_instance": requested.instances,
        "cores_per_instance": requested.cores,
        "config_path": place.config,
        "log_path": place.log,
        "execution_command": config_command(place.config) if place.config else "None",
        **state_shape(benchmark, outcome.latest),
        "note": note_shape(outcome.latest, place, _note(outcome, cell)),
    }


def _result(outcome: BenchmarkOutcome, cell: Json | None) -> Json | None:
    measured, best = outcome.measured, best_cell(outcome.cells)
    if measured is None or best is None:
        return None
    throughput = best.throughput_per_s
    row: Json = {
        "benchmark_id": outcome.benchmark.id,
        "id": measured.job_id or outcome.benchmark.id,
        "accuracy": None,
        "performance": None if throughput is None else round(throughput, 3),
        "created_at": moment(measured.finished_at),
        "last_run_at": moment(measured.started_at),
        "duration": seconds(measured),
        "run_id": measured.id,
        "latency_ms": None if best.typical_s is None else best.typical_s * 1e3,
        "noise": best.noise,
    }
    if cell is not None:
        row["statistics"] = {name: cell[name] for name in FIGURES}
    return row


def _note(outcome: BenchmarkOutcome, cell: Json | None) -> str:
    """Where a run was not what was requested; "" when it was."""
    best, requested = best_cell(outcome.cells), outcome.benchmark.spec.cells[0]
    if best is None or len(outcome.benchmark.spec.cells) > 1:
        return "; ".join(cell["notes"]) if cell else ""
    notes = [_fits_note(requested, best.axes["cores"], best.axes["instances"])]
    if cell is not None:
        notes += cell["notes"]
    elif best.axes["batch_size"] != requested.batch_size:
        notes.append(f"ran at batch {best.axes['batch_size']}; asked {requested.batch_size}")
    return "; ".join(note for note in notes if note)


def _fits_note(requested: CellSpec, cores: int, instances: int) -> str:
    """What was changed to fit this machine, in words; "" when it changed nothing."""
    if (requested.cores, requested.instances) == (cores, instances):
        return ""
    return f"ran as {cores} cores × {instances}, which this machine has; asked " + (
        f"{requested.cores} × {requested.instances}"
    )
