"""Deleting says what depends on a thing, or takes it along when asked."""

from __future__ import annotations

import pytest

from modeldyno.core.datasets import NewDataset
from modeldyno.core.errors import NotFound, StillUsed, WrongState
from modeldyno.core.optimizations import Pin, Trial
from modeldyno.core.runs import RunOf


class Deleting:
    def test_what_is_used_stays_and_says_by_whom(self, desk):
        model = desk.model(name="resnet")
        benchmark = desk.benchmark(model, "fast")
        comparison = desk.comparison(model, model)
        with pytest.raises(StillUsed) as refusal:
            desk.records.models.delete(model.id)
        assert refusal.value.users == (
            ("benchmark", benchmark.id, "fast"),
            ("comparison", comparison.id, "c"),
        )
        assert "used by benchmark 1 (fast), comparison 1 (c)" in refusal.value.why
        assert desk.records.models.get(model.id) == model

    def test_many_users_are_counted(self, desk):
        model = desk.model()
        for _ in range(7):
            desk.benchmark(model)
        with pytest.raises(StillUsed, match="and 2 more"):
            desk.records.models.delete(model.id)

    def test_a_project_goes_with_everything_when_asked(self, desk):
        kept = desk.benchmark(name="of another project")
        model = desk.model()
        project = desk.records.projects.get(model.project_id)
        data = desk.records.datasets.add(NewDataset(project_id=project.id, name="d", kind="dummy"))
        benchmark = desk.benchmark(model, dataset_id=data.id)
        run = desk.measured(benchmark, 0.1)
        desk.measured(desk.records.benchmarks.rerun(benchmark.id), 0.2)
        desk.comparison(model, model)
        optimization = desk.optimization(model, dataset_id=data.id)
        tuned = desk.run(RunOf("optimization", optimization.id))
        desk.records.runs.move(tuned.id, "cancelled")
        desk.records.optimizations.add_trial(
            Trial(
                run_id=tuned.id,
                number=0,
                status="done",
                created_at=desk.clock(),
                model_id=model.id,
            )
        )
        desk.records.pins.put(Pin(optimization.id, "performance", benchmark.id))
        desk.profile(model)
        seen = desk.records.events.last_number()
        with pytest.raises(StillUsed):
            desk.records.projects.delete(project.id)
        desk.records.projects.delete(project.id, cascade=True)
        for table in ("projects", "models", "benchmarks"):
            assert len(getattr(desk.records, table).page().items) == 1, table
        for table in ("datasets", "comparisons", "optimizations", "profiles", "runs"):
            assert getattr(desk.records, table).page().items == (), table
        assert desk.records.benchmarks.get(kept.id) == kept
        assert run.id in desk.records.runs.tombstones()
        kinds = desk.kinds(seen)
        assert kinds[-1] == "project.deleted"
        assert sorted(set(kinds)) == [
            "dataset.deleted",
            "model.deleted",
            "project.deleted",
            "runnable.deleted",
        ]
        events = desk.records.events.since(seen).events
        runnables = [event for event in events if event.kind == "runnable.deleted"]
        kinds = {event.payload["kind"] for event in runnables}
        assert kinds == {"benchmark", "comparison", "optimization", "profile"}

    def test_events_of_what_goes_along_come_in_the_order_of_numbers(self, desk):
        model = desk.model()
        benchmarks = [desk.benchmark(model) for _ in range(5)]
        for benchmark in (*benchmarks[3:], *benchmarks[:3]):  # a row that is written anew may move
            desk.records.benchmarks.edit(benchmark.id, name="renamed")
        last = desk.records.events.last_number()
        desk.records.projects.delete(model.project_id, cascade=True)
        events = desk.records.events.since(last).events
        assert [(event.kind, event.payload["id"]) for event in events] == [
            *(("runnable.deleted", benchmark.id) for benchmark in benchmarks),
            ("model.deleted", model.id),
            ("project.deleted", model.project_id),
        ]

    def test_a_pinned_benchmark_is_used_by_the_optimization(self, desk):
        model = desk.model()
        optimization = desk.optimization(model)
        run = desk.run(RunOf("optimization", optimization.id))
        trial = Trial(
            run_id=run.id, number=0, status="done", created_at=desk.clock(), model_id=model.id
        )
        desk.records.optimizations.add_trial(trial)
        benchmark = desk.benchmark(model)
        desk.records.pins.put(Pin(optimization.id, "performance", benchmark.id))
        with pytest.raises(StillUsed) as refusal:
            desk.records.benchmarks.delete(benchmark.id)
        assert refusal.value.users == (("optimization", optimization.id, "int8"),)
        desk.records.benchmarks.delete(benchmark.id, cascade=True)
        assert desk.records.pins.read_of_optimizations([optimization.id]) == ()
        assert desk.records.optimizations.get(optimization.id).name == "int8"

    def test_a_trial_outlives_its_model_and_a_model_its_optimization(self, desk):
        model = desk.model()
        made = desk.model(desk.records.projects.get(model.project_id), "int8")
        optimization = desk.optimization(model)
        run = desk.run(RunOf("optimization", optimization.id))
        trial = Trial(
            run_id=run.id, number=0, status="done", created_at=desk.clock(), model_id=made.id
        )
        desk.records.optimizations.add_trial(trial)
        desk.records.models.delete(made.id)
        assert desk.records.optimizations.trials(run.id)[0].model_id is None
        desk.records.runs.move(run.id, "cancelled")
        desk.records.optimizations.delete(optimization.id)
        assert desk.records.models.get(model.id) == model
        assert desk.records.optimizations.trials(run.id) == ()

    @pytest.mark.parametrize("state", ["queued", "running"])
    def test_what_is_at_work_is_not_deleted_even_when_asked(self, desk, state):
        benchmark = desk.benchmark()
        run = desk.run(benchmark)
        if state == "running":
            desk.records.runs.move(run.id, "running")
        for delete, number in (
            (desk.records.benchmarks.delete, benchmark.id),
            (desk.records.projects.delete, benchmark.project_id),
        ):
            with pytest.raises(WrongState, match="has not ended"):
                delete(number, cascade=True)
        with pytest.raises(WrongState, match="has not ended"):
            desk.records.runs.delete(run.id)
        assert desk.records.runs.get(run.id).state == state

    def test_deleting_what_is_not_there_is_told(self, desk):
        for name in ("projects", "models", "datasets", "benchmarks", "comparisons"):
            with pytest.raises(NotFound):
                getattr(desk.records, name).delete(99)
            with pytest.raises(NotFound):
                getattr(desk.records, name).delete(2**70)

    def test_a_project_of_more_things_than_fit_in_a_statement_can_be_deleted(self, desk):
        model = desk.model()
        for _ in range(3):
            desk.measured(desk.benchmark(model), 0.1)
        desk.multiply_benchmarks(1_200)
        desk.records.projects.delete(model.project_id, cascade=True)
        assert desk.records.benchmarks.page().items == ()
        assert len(desk.records.runs.tombstones()) == 3
