"""All operations of ``/api``, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.api.inc import (
    benchmarks,
    datasets,
    diagnosis,
    dictionaries,
    examples,
    models,
    optimizations,
    profilings,
    projects,
    system,
)
from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.broadcast import Broadcast
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.runnables import Runnables
from modeldyno.api.inc.workload import WorkloadCalls

if TYPE_CHECKING:
    from modeldyno.server import Server


def operations_of(server: Server, broadcast: Broadcast, announcer: Announcer) -> Operations:
    """Each noun gets the services it uses."""
    records, history = server.records, server.history
    runnables = Runnables(records, history, server.jobs, server.archive, announcer)
    calls = WorkloadCalls(server.workloads, server.benchmarks, records.models, announcer, broadcast)
    return {
        **benchmarks.operations(records, history, server.benchmarks, runnables, calls),
        **datasets.operations(records.datasets, server.datasets),
        **diagnosis.operations(records),
        **dictionaries.operations(server.examples),
        **examples.operations(server.examples, server.example_projects, broadcast),
        **models.operations(records.models, server.model_files, server.file_inspections, broadcast),
        **optimizations.operations(records, history, server.optimizations, runnables),
        **profilings.operations(records, history, server.profiles, runnables),
        **projects.operations(records, server.projects),
        **system.operations(server.file_browser, server.system, records.jobs),
    }
