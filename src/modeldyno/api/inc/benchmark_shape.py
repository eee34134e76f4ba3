"""A benchmark, as ``/api`` writes it: in a list, in details, and when it has ended."""

from __future__ import annotations

from typing import Any

from modeldyno.api.inc.shapes import Place, moment, seconds, status, why_not_done
from modeldyno.core.benchmarks import BenchmarkOutcome
from modeldyno.core.cells import best_cell
from modeldyno.core.commands import config_command
from modeldyno.core.documents.cell import FIGURES
from modeldyno.services.benchmarks import fits_note
from modeldyno.store.configs import NAME as CONFIG

WARMUP, UNTIL_PRECISE = 10, -1


def benchmark_shape(
    outcome: BenchmarkOutcome, place: Place, cell: dict[str, Any] | None = None
) -> dict[str, Any]:
    """``cell`` is the document of the best one, for who asks for one benchmark: more figures."""
    benchmark, latest = outcome.benchmark, outcome.latest
    spec = benchmark.spec
    asked = spec.cells[0]
    folder = place.folder
    notes = [why_not_done(latest, place.job), place.unfit, _note(outcome, cell)]
    return {
        "project_id": benchmark.project_id,
        "id": benchmark.id,
        "name": benchmark.name,
        "model": place.model,
        "dataset": place.dataset,
        "mode": benchmark.mode,
        "result": _result(outcome, cell),
        "batch_size": asked.batch_size,
        "warmup_iterations": spec.warmup_calls if spec.warmup_calls is not None else WARMUP,
        "iterations": spec.iterations or UNTIL_PRECISE,
        "number_of_instance": asked.instances,
        "cores_per_instance": asked.cores,
        "config_path": f"{folder}/{CONFIG}" if folder else None,
        "log_path": f"{folder}/log.txt" if folder else None,
        "execution_command": config_command(f"{folder}/{CONFIG}") if folder else "None",
        "status": status(benchmark.state),
        "created_at": moment(benchmark.created_at),
        "last_run_at": moment(benchmark.last_run_at),
        "duration": seconds(latest),
        "note": "; ".join(note for note in notes if note),
    }


def _result(outcome: BenchmarkOutcome, cell: dict[str, Any] | None) -> dict[str, Any] | None:
    measured, best = outcome.measured, best_cell(outcome.cells)
    if measured is None or best is None:
        return None
    throughput = best.throughput_per_s
    told: dict[str, Any] = {
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
        told["statistics"] = {name: cell[name] for name in FIGURES}
    return told


def _note(outcome: BenchmarkOutcome, cell: dict[str, Any] | None) -> str:
    """Where a run was not what was asked for; "" when it was."""
    best, requested = best_cell(outcome.cells), outcome.benchmark.spec.cells[0]
    if best is None or len(outcome.benchmark.spec.cells) > 1:
        return "; ".join(cell["notes"]) if cell else ""
    notes = [fits_note(requested, best.axes["cores"], best.axes["instances"])]
    if cell is not None:
        notes += cell["notes"]
    elif best.axes["batch_size"] != requested.batch_size:
        notes.append(f"ran at batch {best.axes['batch_size']}; asked {requested.batch_size}")
    return "; ".join(note for note in notes if note)
