"""Pins: links from an optimization to the benchmarks that represent it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

from sqlalchemy import Connection, delete, select

from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, OptimizationId
from modeldyno.core.optimizations import Pin, PinKind
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import Repository, find_row, is_of_kind_sql, read_row_by_number
from modeldyno.store.runnables import select_with_links, where_number, write_link
from modeldyno.store.tables import LINKS, RUNNABLES, RUNS, TRIALS

_BENCHMARKS = RUNNABLES.alias("benchmarks")
_PINS = (
    select(RUNNABLES.c.number, LINKS.c.role, _BENCHMARKS.c.number.label("benchmark"))
    .select_from(LINKS)
    .join(RUNNABLES, RUNNABLES.c.id == LINKS.c.runnable_id)
    .join(_BENCHMARKS, _BENCHMARKS.c.id == LINKS.c.used_id)
    .where(is_of_kind_sql("optimization"), LINKS.c.role.in_(get_args(PinKind)))
    .order_by(RUNNABLES.c.number, LINKS.c.role)
)


class PinRecords(Repository):
    def put(self, pin: Pin) -> Pin:
        """Replaces an earlier pin; raises BadValue if the benchmark measured something else."""
        with self._database.writing() as connection:
            optimization = find_row(connection, "optimization", pin.optimization_id)
            query = where_number(select_with_links("benchmark"))
            benchmark = read_row_by_number(connection, "benchmark", pin.benchmark_id, query)
            made = select(TRIALS.c.model_id).join(RUNS, RUNS.c.id == TRIALS.c.run_id)
            made = made.where(RUNS.c.runnable_id == optimization.runnable_id)
            if benchmark.model_id not in set(connection.scalars(made)):
                raise BadValue(
                    f"Benchmark {pin.benchmark_id} cannot be pinned here",
                    why="it measures a model that this optimization did not make",
                    fix="Choose a benchmark of an optimized model",
                )
            mode = json.loads(benchmark.spec_json)["mode"]
            if mode != pin.kind:
                raise BadValue(
                    f"Benchmark {pin.benchmark_id} cannot be pinned for its {pin.kind}",
                    why=f"it measures {mode}",
                    fix=f"Pin it for its {mode}, or choose a benchmark of {pin.kind}",
                )
            used = benchmark.runnable_id
            write_link(connection, optimization.runnable_id, pin.kind, used_id=used)
            self._add_event(connection, optimization)
        return pin

    def remove(self, optimization_id: OptimizationId, kind: PinKind) -> bool:
        """Returns whether there was one."""
        with self._database.writing() as connection:
            optimization = find_row(connection, "optimization", optimization_id)
            is_it = (LINKS.c.runnable_id == optimization.runnable_id, LINKS.c.role == kind)
            was_pinned = connection.execute(delete(LINKS).where(*is_it)).rowcount > 0
            if was_pinned:
                self._add_event(connection, optimization)
            return was_pinned

    def read_of_optimizations(self, numbers: list[OptimizationId]) -> tuple[Pin, ...]:
        """Pins of all these optimizations, in one query."""
        with self._database.reading() as connection:
            return read_pins_of_optimizations(connection, numbers)

    def _add_event(self, connection: Connection, optimization: Any) -> None:
        payload, now = {"kind": "optimization", "id": optimization.id}, self._clock()
        add_event(connection, "runnable.changed", optimization.project_id, payload, now)


def read_pins_of_optimizations(connection: Connection, numbers: Sequence[int]) -> tuple[Pin, ...]:
    rows = connection.execute(_PINS.where(RUNNABLES.c.number.in_(numbers))).all()
    return tuple(
        Pin(OptimizationId(row.number), row.role, BenchmarkId(row.benchmark)) for row in rows
    )
