"""``jobs/queue``: what waits, as 2.1 told it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.runs import RunKind

if TYPE_CHECKING:
    from modeldyno.store.records.jobs import JobRecords

NAMES: dict[RunKind, str] = {"profile": "profiling"}


def operations(jobs: JobRecords) -> Operations:
    def queue(_: Parameters) -> dict[str, str]:
        """``{"benchmark_5": "1"}``: the place of each in the queue, "0" of the one that runs."""
        running, waiting = jobs.in_order()
        places = [*((of, 0) for of in running), *((of, n) for n, of in enumerate(waiting, 1))]
        return {f"{NAMES.get(of.kind, of.kind)}_{of.id}": str(place) for of, place in places}

    return {"jobs/queue": queue}
