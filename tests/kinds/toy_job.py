"""How a toy runs: a unit for each round, and a file in the end."""

from __future__ import annotations

import select
import time
from datetime import UTC, datetime

from modeldyno.core.errors import Cancelled
from modeldyno.core.hosts import tool_version
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.names import name_of_file
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.local import RUN_FUNCTIONS
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import launched
from tests.kinds.toy_core import Round, ToyResult, ToySpec


def run_toy(spec: ToySpec, context: Context) -> ToyResult:
    from modeldyno.measure import host

    before = host.read_load()
    with launched(context.worker_setup(spec, inspecting=True)) as worker:
        facts = inspect(worker, spec.model, context, spec.timeout_s)
    context.send(Started(name_of_file(facts.path), spec.rounds, facts.sha256))
    eyes = [unit.measured.eyes for unit in context.earlier]
    process = 1 + max((unit.process for unit in context.earlier), default=-1)
    while len(eyes) < spec.rounds and not _is_stopped(context, spec.pause_s):
        start = time.perf_counter_ns()
        thrown = 1 + len(eyes) % 6
        context.send(Unit(0, process, Round(thrown, time.perf_counter_ns() - start)))
        eyes.append(thrown)
        context.send(Progress(len(eyes), spec.rounds, "rounds"))
    if not eyes:
        raise Cancelled("Stopped before the first round")
    file = context.folder.scratch / "eyes"
    file.write_text("".join(f"{count}\n" for count in eyes))
    with file.open("rb") as source:
        context.keep_file("eyes.txt", source.fileno())
    return ToyResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=tool_version(),
        spec=spec,
        model=facts,
        host=context.host(),
        weather=host.weather(before, host.read_load()),
        eyes=tuple(eyes),
        interrupted=len(eyes) < spec.rounds,
    )


def _is_stopped(context: Context, pause_s: float) -> bool:
    select.select([context.stop], [], [], pause_s)
    return context.stop.requested


def register() -> None:
    RUN_FUNCTIONS["toy"] = "tests.kinds.toy_job:run_toy"
