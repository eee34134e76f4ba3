"""Pins: the benchmarks that speak for an optimization."""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, insert, select

from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, OptimizationId
from modeldyno.core.optimizations import Pin, PinKind
from modeldyno.store.database import Database
from modeldyno.store.records.events import tell
from modeldyno.store.records.finding import Clock, find, utc_now
from modeldyno.store.tables import PINS, RUNS, TRIALS


class Pins:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def put(self, pin: Pin) -> Pin:
        """Instead of the one before; raises BadValue when it measured something else."""
        now = self._clock()
        with self._database.writing() as connection:
            optimization = find(connection, "optimization", pin.optimization_id)
            benchmark = find(connection, "benchmark", pin.benchmark_id)
            made = select(TRIALS.c.model_id).join(RUNS, RUNS.c.id == TRIALS.c.run_id)
            made = made.where(RUNS.c.optimization_id == pin.optimization_id)
            if benchmark.model_id not in set(connection.scalars(made)):
                raise BadValue(
                    f"Benchmark {pin.benchmark_id} cannot be pinned here",
                    why="it measures a model that this optimization did not make",
                    fix="Choose a benchmark of an optimized model",
                )
            if benchmark.mode != pin.kind:
                raise BadValue(
                    f"Benchmark {pin.benchmark_id} cannot be pinned for its {pin.kind}",
                    why=f"it measures {benchmark.mode}",
                )
            connection.execute(delete(PINS).where(*_is(pin.optimization_id, pin.kind)))
            row = {"optimization_id": pin.optimization_id, "kind": pin.kind}
            connection.execute(insert(PINS).values(row | {"benchmark_id": pin.benchmark_id}))
            payload = {"id": pin.optimization_id}
            tell(connection, "optimization.changed", optimization.project_id, payload, now)
        return pin

    def remove(self, optimization_id: OptimizationId, kind: PinKind) -> bool:
        """Whether there was one."""
        with self._database.writing() as connection:
            optimization = find(connection, "optimization", optimization_id)
            gone = connection.execute(delete(PINS).where(*_is(optimization_id, kind)))
            if gone.rowcount:
                payload = {"id": optimization_id}
                now = self._clock()
                tell(connection, "optimization.changed", optimization.project_id, payload, now)
            return bool(gone.rowcount)

    def of(self, numbers: list[OptimizationId]) -> tuple[Pin, ...]:
        """Of several at once: for a page of a list."""
        query = select(PINS).where(PINS.c.optimization_id.in_(numbers))
        query = query.order_by(PINS.c.optimization_id, PINS.c.kind)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(
            Pin(OptimizationId(row.optimization_id), row.kind, BenchmarkId(row.benchmark_id))
            for row in rows
        )


def _is(optimization_id: int, kind: str) -> tuple[ColumnElement[bool], ...]:
    return PINS.c.optimization_id == optimization_id, PINS.c.kind == kind
