"""Lists are filtered, sorted and cut into pages by the database, in one query each."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from modeldyno.core.benchmarks import BenchmarkRow
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import ProjectId
from modeldyno.core.runs import ListQuery, Page, RunOf
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.store.statements import fetch_rows
from modeldyno.store.tables import EVENTS, MODELS, PROJECTS, RUNNABLES, RUNS
from tests import values
from tests.contracts.store_examples import BEGIN, Desk, counted

SORTS = ("created", "name", "state", "last_run", "latency", "throughput")


class Lists:
    def all_of(self, desk: Desk, wanted: ListQuery) -> list[int]:
        """Page after page, to the end."""
        found: list[int] = []
        page: Page[BenchmarkRow] = desk.records.benchmarks.page(wanted)
        while True:
            found += [row.id for row in page.items]
            if page.next is None:
                return found
            assert len(page.items) == wanted.limit
            page = desk.records.benchmarks.page(wanted_next(wanted, page.next))

    def test_the_driver_itself_gives_the_same_rows_as_sqlalchemy(self, desk):
        desk.measured(desk.benchmark(desk.model()), 0.1)
        with desk.database.reading() as connection:
            for table in (PROJECTS, MODELS, RUNNABLES, RUNS, EVENTS):
                expected = [row._asdict() for row in connection.execute(select(table))]
                assert expected
                assert [row._asdict() for row in fetch_rows(connection, select(table))] == expected

    @pytest.mark.parametrize("descending", [True, False])
    @pytest.mark.parametrize("sort", [*SORTS, "samples"])
    def test_pages_hold_every_line_once_in_order_whatever_the_order(self, desk, sort, descending):
        model = desk.model()
        times = [0.3, None, 0.1, 0.3, None, 0.2, 0.3]
        for n, time in enumerate(times):
            benchmark = desk.benchmark(model, f"b{n % 3}")
            if n != 4:  # a draft has neither state nor time
                rate = time and values.figure(time)
                desk.measured(
                    benchmark, time, throughput_per_s=rate, samples=time and int(time * 9)
                )
        wanted = ListQuery(sort=sort, descending=descending, limit=2)
        whole = desk.records.benchmarks.page(ListQuery(sort=sort, descending=descending, limit=100))
        in_pages = self.all_of(desk, wanted)
        assert in_pages == [row.id for row in whole.items]
        assert sorted(in_pages) == [1, 2, 3, 4, 5, 6, 7]
        assert in_pages == self.expected(whole.items, sort, descending)

    def expected(self, rows, sort: str, descending: bool) -> list[int]:
        """The same order by plain Python: without a value last, the number decides."""
        key = {
            "created": lambda row: row.created_at,
            "name": lambda row: row.name,
            "state": lambda row: row.state,
            "last_run": lambda row: row.last_run_at,
            "latency": lambda row: values.typical_ms(row.summary),
            "throughput": lambda row: values.throughput(row.summary),
            "samples": lambda row: row.summary.samples,
        }[sort]
        with_value = [row for row in rows if key(row) is not None]
        without_value = [row for row in rows if key(row) is None]
        with_value.sort(key=lambda row: (key(row), row.id), reverse=descending)
        without_value.sort(key=lambda row: row.id, reverse=descending)
        return [row.id for row in with_value + without_value]

    def test_lines_that_come_and_go_meanwhile_disturb_no_page(self, desk):
        model = desk.model()
        ids = [desk.benchmark(model).id for _ in range(6)]
        wanted = ListQuery(limit=3)
        first = desk.records.benchmarks.page(wanted)
        desk.benchmark(model)  # newer than all: before the first page
        desk.records.benchmarks.delete(ids[5])  # the very line the first page began with
        desk.records.benchmarks.delete(ids[3])  # the one it ended with
        rest = desk.records.benchmarks.page(wanted_next(wanted, first.next))
        assert [row.id for row in rest.items] == [ids[2], ids[1], ids[0]]

    def test_filters_are_joined(self, desk):
        model = desk.model()
        other = desk.model()
        torch = BenchmarkSpec(ModelSpec("m"), (CellSpec(engine="pytorch"), CellSpec(engine="x")))
        a = desk.benchmark(model, "Größe 50%_x")
        b = desk.benchmark(model, "plain", spec=torch)
        c = desk.benchmark(other, "other", spec=torch)
        desk.measured(a, 0.1)

        def found(**filters) -> list[int]:
            return [row.id for row in desk.records.benchmarks.page(ListQuery(**filters)).items]

        assert found() == [c.id, b.id, a.id]
        assert found(project_id=model.project_id) == [b.id, a.id]
        assert found(state="done") == [a.id]
        assert found(state="draft") == [c.id, b.id]
        assert found(engine="pytorch") == [c.id, b.id]
        assert found(engine="x", project_id=model.project_id) == [b.id]
        assert found(engine="onnxruntime") == [a.id]
        assert found(text="GRÖSSE") == [a.id]  # however it is written
        assert found(text="%_") == [a.id]  # no wildcards
        assert found(text="_") == [a.id]
        assert found(text="zzz") == []
        assert found(since=b.created_at) == [c.id, b.id]
        assert found(until=b.created_at) == [a.id]
        assert found(since=b.created_at, until=b.created_at + timedelta(seconds=1)) == [b.id]
        assert found(project_id=ProjectId(99)) == []

    def test_cells_are_found_by_all_their_values_together(self, desk):
        model = desk.model()
        a, b = desk.benchmark(model), desk.benchmark(model)
        desk.measured(a, 0.1, [values.cell(0, cores=1, batch_size=8), values.cell(1, cores=2)])
        desk.measured(b, 0.1, [values.cell(0, cores=2, precision="fp32")])

        def found(**cell) -> list[int]:
            return [row.id for row in desk.records.benchmarks.page(ListQuery(cell=cell)).items]

        assert found(cores=2) == [b.id, a.id]
        assert found(cores=2, batch_size=8) == []  # no cell has both
        assert found(cores=1, batch_size=8) == [a.id]
        assert found(precision="fp32") == [b.id]
        with pytest.raises(BadValue):
            found(device="c\0pu")

    def test_a_line_has_the_name_of_the_model_and_the_figures(self, desk):
        benchmark = desk.benchmark(desk.model(name="resnet"))
        run = desk.measured(benchmark, 0.5, batch_size=8, noise="quiet")
        (row,) = desk.records.benchmarks.page().items
        assert (row.model_name, row.state, row.last_run_at) == ("resnet", "done", run.created_at)
        assert SummaryDocument.read(row.summary_json) == values.summary(
            0.5, engine="onnxruntime", batch_size=8, noise="quiet"
        )

    @pytest.mark.parametrize("limit", [0, -1, 501])
    def test_a_page_has_a_sensible_size(self, desk, limit):
        with pytest.raises(BadValue, match="A page has"):
            desk.records.benchmarks.page(ListQuery(limit=limit))

    def test_an_order_or_filter_that_a_list_has_not_is_told(self, desk):
        with pytest.raises(BadValue, match="Choose one of: accuracy, batch_size, cores, created"):
            desk.records.benchmarks.page(ListQuery(sort="colour"))
        with pytest.raises(BadValue, match="cannot be filtered by state"):
            desk.records.projects.page(ListQuery(state="done"))
        with pytest.raises(NotFound):
            desk.records.benchmarks.page(ListQuery(project_id=ProjectId(2**65)))
        with pytest.raises(BadValue):
            desk.records.benchmarks.page(ListQuery(text="\0"))
        with pytest.raises(BadValue, match="needs its zone"):
            desk.records.benchmarks.page(ListQuery(since=BEGIN.replace(tzinfo=None)))

    @pytest.mark.parametrize(
        "told",
        [
            "",
            "nonsense!",
            "bnVsbA",
            '["created", true, null, 1]',
            '["created", true, {"at": "2026-11-15T09:00:00"}, 1]',
            '["created", true, {"at": "2026-11-15T09:00:00+00:00"}, "1"]',
            '["created", true, {"at": "2026-11-15T09:00:00+00:00"}, 1e300]',
            '["created", true, "now", 1]',
            '["name", true, "a", 1]',
            '["created", false, {"at": "2026-11-15T09:00:00+00:00"}, 1]',
            "[" * 5000,
        ],
    )
    def test_a_cursor_that_is_not_ours_is_refused(self, desk, told):
        import base64

        cursor = base64.urlsafe_b64encode(told.encode()).decode() if told[:1] == "[" else told
        with pytest.raises(BadValue, match="cursor"):
            desk.records.benchmarks.page(ListQuery(cursor=cursor))

    def test_every_list_is_one_query(self, desk):
        model = desk.model()
        benchmark = desk.benchmark(model)
        run = desk.run(benchmark)
        desk.records.jobs.add(run.id)
        desk.comparison(model, model)
        desk.optimization(model)
        desk.profile(model)
        for name in ("models", "datasets", "comparisons", "optimizations"):
            self.is_one(
                desk, getattr(desk.records, name).page, ListQuery(project_id=model.project_id)
            )
        for name in ("projects", "profiles", "runs", "jobs"):
            self.is_one(desk, getattr(desk.records, name).page, ListQuery(text="x"))
        self.is_one(desk, desk.records.runs.page, None, RunOf("benchmark", benchmark.id))
        self.is_one(desk, desk.records.jobs.waiting)
        self.is_one(desk, desk.records.projects.counts, model.project_id)
        self.is_one(desk, desk.records.benchmarks.get, benchmark.id)
        self.is_one(desk, desk.records.pins.read_of_optimizations, [1, 2, 3])
        self.is_one(desk, desk.records.optimizations.read_best_trials, [1, 2, 3])

    def test_a_list_of_benchmarks_with_their_cells_is_two_queries(self, desk):
        model = desk.model()
        for _ in range(3):
            desk.measured(desk.benchmark(model), 0.1, cells=[values.cell()])
        wanted = ListQuery(project_id=model.project_id)
        with counted(desk.database) as said:
            rows = desk.records.benchmarks.page(wanted, with_cells=True).items
        assert len(said) == 2, said
        assert all(row.cells.documents for row in rows)
        self.is_one(desk, desk.records.benchmarks.page, wanted)

    def is_one(self, desk: Desk, ask, *arguments) -> None:
        with counted(desk.database) as said:
            ask(*arguments)
        assert len(said) == 1, said

    def test_runs_and_jobs_are_filtered_too(self, desk):
        benchmark = desk.benchmark()
        done, waits = desk.measured(benchmark, 0.1), desk.run(benchmark)
        job = desk.records.jobs.add(waits.id)
        assert desk.records.runs.page(ListQuery(state="done")).items == (done,)
        assert desk.records.runs.page(ListQuery(text=waits.id)).items == (waits,)
        assert desk.records.runs.page(ListQuery(engine="pytorch")).items == ()
        assert desk.records.runs.page(ListQuery(limit=1)).items == (waits,)
        assert desk.records.jobs.page(ListQuery(state="queued")).items == (job,)
        assert desk.records.jobs.page(ListQuery(engine="onnxruntime", text=waits.id)).items == (
            job,
        )
        assert desk.records.jobs.page(ListQuery(project_id=ProjectId(99))).items == ()

    def test_ten_thousand_benchmarks_are_paged_filtered_and_sorted_in_one_query_each(self, desk):
        desk.benchmark(desk.model())
        desk.multiply_benchmarks(10_000)
        project = ProjectId(1)
        for wanted, expected in (
            (ListQuery(project_id=project), 20),
            (ListQuery(project_id=project, state="failed"), 20),
            (ListQuery(project_id=project, engine="pytorch"), 20),
            (ListQuery(project_id=project, text="net 0999"), 10),
            (ListQuery(project_id=project, sort="latency", descending=False), 20),
            (ListQuery(project_id=project, sort="name"), 20),
            (ListQuery(project_id=project, since=BEGIN + timedelta(minutes=9_990)), 10),
        ):
            with counted(desk.database) as said:
                page = desk.records.benchmarks.page(wanted)
            assert (len(page.items), len(said)) == (expected, 1), wanted
        latencies = ListQuery(project_id=project, sort="latency", descending=False, limit=500)
        assert len(set(self.all_of(desk, latencies))) == 10_001


def wanted_next(wanted: ListQuery, cursor: str | None) -> ListQuery:
    assert cursor is not None
    return ListQuery(**vars(wanted) | {"cursor": cursor})
