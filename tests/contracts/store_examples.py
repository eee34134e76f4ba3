"""Small values to fill a database with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import event, insert, select

from modeldyno.core.benchmarks import Benchmark, Comparison, NewBenchmark, NewComparison
from modeldyno.core.codec import encode
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.jobs import JobOwner
from modeldyno.core.models import Model, NewModel
from modeldyno.core.optimizations import NewOptimization, Optimization
from modeldyno.core.profiles import NewProfile, Profile
from modeldyno.core.projects import Project
from modeldyno.core.runs import Run, RunOf
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.store.database import Database
from modeldyno.store.records.all import Records, open_all_records
from modeldyno.store.tables import LINKS, RUNNABLES
from tests import values

BEGIN = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
OWNER = JobOwner("here", "boot-1", 4711, 99)
SPEC = BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(engine="onnxruntime"),))
SIDE = SideSpec("m", ModelSpec("m.onnx"), CellSpec(engine="onnxruntime"))
COMPARISON = ComparisonSpec(SIDE, SIDE)


class Ticking:
    """A clock that moves a second each time somebody looks."""

    def __init__(self, now: datetime = BEGIN) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Desk:
    """A database's records, and short ways to put examples in them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = Ticking()
        self.records: Records = open_all_records(database, self.clock)

    def project(self, name: str = "resnet") -> Project:
        return self.records.projects.add(name)

    def model(self, project: Project | None = None, name: str = "m", **more: Any) -> Model:
        owner = (project or self.project()).id
        new = NewModel(project_id=owner, name=name, path=f"{name}.onnx", **more)
        return self.records.models.add(new)

    def benchmark(self, model: Model | None = None, name: str = "b", **more: Any) -> Benchmark:
        model = model or self.model()
        values: dict[str, Any] = {"spec": SPEC} | more
        new = NewBenchmark(project_id=model.project_id, model_id=model.id, name=name, **values)
        return self.records.benchmarks.add(new)

    def comparison(self, a: Model, b: Model) -> Comparison:
        new = NewComparison(
            project_id=a.project_id, a_model_id=a.id, b_model_id=b.id, name="c", spec=COMPARISON
        )
        return self.records.comparisons.add(new)

    def optimization(self, model: Model, **more: Any) -> Optimization:
        new = NewOptimization(
            project_id=model.project_id,
            model_id=model.id,
            name="int8",
            type="quantization",
            precision="int8",
            **more,
        )
        return self.records.optimizations.add(new)

    def profile(self, model: Model, **more: Any) -> Profile:
        new = NewProfile(project_id=model.project_id, model_id=model.id, name="p", **more)
        return self.records.profiles.add(new)

    def run(self, of: RunOf | Benchmark | None = None) -> Run:
        if not isinstance(of, RunOf):
            of = RunOf("benchmark", (of or self.benchmark()).id)
        return self.records.runs.add(of, encode(SPEC))

    def measured(
        self,
        benchmark: Benchmark,
        typical_s: float | None,
        cells: Iterable[CellDocument] = (),
        **more: Any,
    ) -> Run:
        """A run that has come to its end."""
        run = self.run(benchmark)
        self.records.runs.move(run.id, "running")
        summary = values.summary(typical_s, engine="onnxruntime", **more)
        return self.records.runs.finish(run.id, summary, cells)

    def multiply_benchmarks(self, count: int) -> None:
        """Many lines like the first, by the shortest way; every third one was never run."""
        with self.database.writing() as connection:
            row = dict(connection.execute(select(RUNNABLES)).first()._mapping)  # type: ignore[union-attr]
            source = row.pop("id")
            taken = connection.scalars(select(RUNNABLES.c.number)).all()
            first = max(taken) + 1
            many = []
            for n in range(count):
                one = row | {"number": first + n, "name": f"Net {n:05}"}
                one |= {"name_key": f"net {n:05}"}
                one |= {"created_at": BEGIN + timedelta(minutes=n), "state": "draft"}
                one |= {"typical_s": None, "last_run_at": None}
                if (first + n) % 100 == 0:
                    one["outline"] = row["outline"].replace("onnxruntime", "pytorch")
                if n % 3:
                    state = "done" if n % 5 else "failed"
                    one |= {"state": state, "typical_s": (n * 7919 % 1000) / 1000}
                many.append(one)
            connection.execute(insert(RUNNABLES), many)
            links = select(LINKS).where(LINKS.c.runnable_id == source)
            (link,) = connection.execute(links).mappings()
            ids = connection.scalars(select(RUNNABLES.c.id).where(RUNNABLES.c.number >= first))
            connection.execute(insert(LINKS), [{**link, "runnable_id": number} for number in ids])

    def kinds(self, since: int = 0) -> list[str]:
        """Of the events that there are."""
        return [event.kind for event in self.records.events.since(since).events]


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements that are sent meanwhile, without those around a transaction."""
    said: list[str] = []

    def listen(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA", "SELECT pg_advisory")):
            said.append(statement)

    engines = {database.engine, database.reading_engine}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", listen)
    try:
        yield said
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", listen)
