"""All operations of ``/api``, put together."""

from __future__ import annotations

from dataclasses import dataclass
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
from modeldyno.api.inc.operations import Operation, Operations

if TYPE_CHECKING:
    from modeldyno.workbench import Server


@dataclass(frozen=True)
class Inc:
    """What operations need."""

    server: Server
    broadcast: Broadcast
    announcer: Announcer


NOUNS = (
    benchmarks.operations,
    datasets.operations,
    diagnosis.operations,
    dictionaries.operations,
    examples.operations,
    jobs.operations,
    models.operations,
    optimizations.operations,
    possible_values.operations,
    profilings.operations,
    projects.operations,
    system.operations,
)


def inc_of(server: Server, broadcast: Broadcast) -> Inc:
    return Inc(server, broadcast, Announcer(server, broadcast))


def operations_of(inc: Inc) -> Operations:
    found: dict[str, Operation] = {}
    for noun in NOUNS:
        found |= noun(inc)
    return found
