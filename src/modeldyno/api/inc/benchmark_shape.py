"""A benchmark, as ``/api`` writes it: in a list, in details, and when it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.shapes import moment, status, why_not_done
from modeldyno.core.benchmarks import BenchmarkOutcome
from modeldyno.core.cells import best_cell
from modeldyno.core.commands import config_command
from modeldyno.core.documents.cell import FIGURES, CellDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.queue import Job
from modeldyno.core.results import CellResult
from modeldyno.core.runs import LatestRun
from modeldyno.services.benchmarks import fits_note
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.store.history import History

WARMUP, UNTIL_PRECISE = 10, -1


def benchmark_shape(
    history: History,
    outcome: BenchmarkOutcome,
    model: dict[str, Any],
    dataset: dict[str, Any],
    cell: CellResult | None = None,
    unfit: str = "",
    job: Job | None = None,
) -> dict[str, Any]:
    """``cell`` as the run's files have it, and the ``job`` of the latest run, for who asks for one
    benchmark: more figures, more reasons; ``unfit`` says that its dataset is not what it is fed."""
    benchmark, latest = outcome.benchmark, outcome.latest
    spec = benchmark.spec
    asked = spec.cells[0]
    folder = _folder(history, latest)
    notes = [why_not_done(latest, job), unfit, _note(outcome, cell)]
    return {
        "project_id": benchmark.project_id,
        "id": benchmark.id,
        "name": benchmark.name,
        "model": model,
        "dataset": dataset,
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
        "duration": _seconds(latest),
        "note": "; ".join(note for note in notes if note),
    }


def _folder(history: History, latest: LatestRun | None) -> str | None:
    """Of the latest run, once it has begun."""
    if latest is None or latest.started_at is None or latest.job_id is None:
        return None
    return str(history.folder(latest.id).path)


def _seconds(latest: LatestRun | None) -> int | None:
    if latest is None or latest.started_at is None or latest.finished_at is None:
        return None
    return round((latest.finished_at - latest.started_at).total_seconds())


def _result(outcome: BenchmarkOutcome, cell: CellResult | None) -> dict[str, Any] | None:
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
        "duration": _seconds(measured),
        "run_id": measured.id,
        "latency_ms": None if best.typical_s is None else best.typical_s * 1e3,
        "noise": best.noise,
    }
    if cell is not None:
        told["statistics"] = statistics(cell)
    return told


def statistics(cell: CellResult) -> dict[str, Any]:
    """All figures of our own document."""
    document = CellDocument.of(0, cell)
    return {name: json_value(getattr(document, name)) for name in FIGURES}


def _note(outcome: BenchmarkOutcome, cell: CellResult | None) -> str:
    """Where a run was not what was asked for; "" when it was."""
    best, requested = best_cell(outcome.cells), outcome.benchmark.spec.cells[0]
    if best is None or len(outcome.benchmark.spec.cells) > 1:
        return "; ".join(cell.notes) if cell else ""
    notes = [fits_note(requested, best.axes["cores"], best.axes["instances"])]
    if cell is not None:
        notes += cell.notes
    elif best.axes["batch_size"] != requested.batch_size:
        notes.append(f"ran at batch {best.axes['batch_size']}; asked {requested.batch_size}")
    return "; ".join(note for note in notes if note)


def measured_cell(history: History, outcome: BenchmarkOutcome) -> CellResult | None:
    """As the run's own files have it; None when they are gone, or of another version."""
    best = best_cell(outcome.cells)
    if outcome.measured is None or best is None:
        return None
    try:
        result: Any = history.read(outcome.measured.id).result
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    cell: CellResult | None = result.cells[best.number] if result else None
    return cell
