"""A profile, as ``/api`` writes a profiling: in a list, in details, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from modeldyno.api.inc.shapes import (
    Json,
    Place,
    head_shape,
    moment,
    note_shape,
    state_shape,
)
from modeldyno.core.profiles import OpMicroseconds, Profile
from modeldyno.core.requests.commands import profile_command
from modeldyno.core.runs import RunnableDetails


def profile_shape(details: RunnableDetails[Profile], place: Place) -> Json:
    profile, latest = details.runnable, details.latest
    spec, is_run = profile.spec, place.log is not None
    cores = min(spec.cell.cores, place.cores)
    is_less = is_run and cores < spec.cell.cores
    fits = replace(spec, cell=replace(spec.cell, cores=cores))
    return {
        **head_shape(profile),
        "model": place.model,
        "dataset": place.dataset,
        "num_threads": spec.cell.cores,
        # With the file that is run, so that it can be pasted.
        "execution_command": profile_command(fits, spec.model.path) if is_run else None,
        "log_path": place.log,
        **state_shape(profile, latest),
        "note": note_shape(
            latest, place, f"ran with {cores} threads; asked {spec.cell.cores}" if is_less else ""
        ),
    }


def op_rows_shape(
    number: int, rows: Iterable[OpMicroseconds], measured_at: datetime | None
) -> list[Json]:
    return [
        {
            "profiling_id": number,
            "id": position,
            "node_name": row.op_type,
            "total_execution_time": row.total_us,
            "accelerator_execution_time": row.accelerator_us,
            "cpu_execution_time": row.cpu_us,
            "op_run": row.op_run,
            "op_defined": row.op_defined,
            "created_at": moment(measured_at),
        }
        for position, row in enumerate(rows, 1)
    ]
