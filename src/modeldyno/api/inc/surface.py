"""All operations of ``/api``, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.api.inc import (
    benchmarks,
    datasets,
    diagnosis,
    dictionaries,
    examples,
    jobs,
    models,
    optimizations,
    possible_values,
    profilings,
    projects,
    system,
)
from modeldyno.api.inc.announcing import Announcer
from modeldyno.api.inc.broadcast import Broadcast
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.runnables import Runnables
from modeldyno.api.inc.workload import Calls

if TYPE_CHECKING:
    from modeldyno.workbench import Server


def operations_of(server: Server, broadcast: Broadcast, announcer: Announcer) -> Operations:
    """Each noun gets the services it uses."""
    records, history, assets, kinds = server.records, server.history, server.assets, server.kinds
    scenarios = server.scenarios
    runnables = Runnables(records, history, server.jobs, server.archive, announcer)
    calls = Calls(scenarios.workloads, kinds.benchmarks, records.models, announcer, broadcast)
    return {
        **benchmarks.operations(records, history, kinds.benchmarks, runnables, calls),
        **datasets.operations(records.datasets, assets.datasets),
        **diagnosis.operations(records),
        **dictionaries.operations(),
        **examples.operations(assets.examples, scenarios.example_projects, broadcast),
        **jobs.operations(records.jobs),
        **models.operations(records.models, assets.files, assets.file_inspections, broadcast),
        **optimizations.operations(records, history, kinds.optimizations, runnables),
        **possible_values.operations(assets.examples),
        **profilings.operations(records, history, kinds.profiles, runnables),
        **projects.operations(records, assets.projects),
        **system.operations(assets.browsing, server.system),
    }
