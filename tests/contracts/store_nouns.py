"""What is put in comes out again, and what cannot be kept is refused in words."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import timedelta

import pytest

from modeldyno.core.benchmarks import Benchmark, NewBenchmark, NewComparison
from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import LevelDocument
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.errors import BadValue, EditedMeanwhile, NotFound, WrongState
from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId, RunId
from modeldyno.core.models import InputSpec, Model, ModelFacts, NewModel, TensorSpec
from modeldyno.core.notes import Note, Subject, subject_kinds
from modeldyno.core.optimizations import Pin, Trial
from modeldyno.core.profiles import OpTypeRow, ProfileRow, ProfileRowsQuery
from modeldyno.core.projects import Project
from modeldyno.core.requests.axes import axis_fields
from modeldyno.core.runs import Page, RunOf
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from tests import values
from tests.contracts.store_examples import COMPARISON, SPEC, counted

FACTS = ModelFacts(
    "m.onnx",
    "onnx",
    "onnx",
    "a" * 64,
    2**40,
    12,
    (InputSpec("x", "float32", ("batch", 4, None)),),
    (TensorSpec("y", "float32", None),),
)


class Nouns:
    # ------------------------------------------------------------ projects

    def test_a_project_is_kept_and_can_be_renamed(self, desk):
        project = desk.project("  Réseau — ☃  ")
        assert project == Project(id=ProjectId(1), name="Réseau — ☃", created_at=desk.clock.now)
        renamed = desk.records.projects.rename(project.id, "net")
        assert renamed == replace(project, name="net", modified_at=desk.clock.now)
        assert desk.records.projects.get(project.id) == renamed
        assert desk.kinds() == ["project.created", "project.changed"]

    def test_a_project_can_be_marked_as_modified(self, desk):
        project = desk.project()
        touched = desk.records.projects.mark_as_used(project.id)
        assert touched == replace(project, modified_at=desk.clock.now)
        assert desk.kinds() == ["project.created", "project.changed"]

    def test_two_projects_may_have_one_name(self, desk):
        assert desk.project("a").id != desk.project("a").id

    @pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\0b", "a\nb", "\ud800"])
    def test_a_name_that_cannot_be_shown_is_refused(self, desk, name):
        with pytest.raises(BadValue):
            desk.project(name)
        assert desk.kinds() == []

    @pytest.mark.parametrize("number", [0, -1, 7, 2**31, 2**63, 2**200])
    def test_what_is_not_there_is_told(self, desk, number):
        with pytest.raises(NotFound, match="There is no project"):
            desk.records.projects.get(ProjectId(number))

    def test_the_number_of_what_was_deleted_is_not_given_again(self, desk):
        first = desk.project()
        desk.records.projects.delete(first.id)
        assert desk.project().id == first.id + 1

    def test_a_project_counts_what_it_has(self, desk):
        model = desk.model()
        desk.benchmark(model)
        desk.benchmark(model)
        desk.benchmark()  # of another project
        assert desk.records.projects.counts(model.project_id) == {
            "model": 1,
            "dataset": 0,
            "benchmark": 2,
            "comparison": 0,
            "optimization": 0,
            "profile": 0,
        }

    # ------------------------------------------------------------ models

    def test_a_model_is_kept_with_its_origin(self, desk):
        new = NewModel(
            project_id=desk.project().id,
            name="m",
            path="objects/aa",
            sha256="a" * 64,
            size_bytes=2**40,
            format="onnx",
            origin="upload",
            source="m.onnx",
            facts=FACTS,
        )
        model = desk.records.models.add(new)
        assert model == Model(id=ModelId(1), created_at=desk.clock.now, **vars(new))
        assert desk.records.models.get(model.id) == model

    def test_what_a_worker_finds_in_a_file_is_added_later(self, desk):
        model = desk.model()
        inspected = desk.records.models.set_facts(model.id, FACTS)
        assert inspected.facts == FACTS
        assert (inspected.format, inspected.sha256, inspected.size_bytes) == (
            "onnx",
            "a" * 64,
            2**40,
        )

    def test_trust_is_in_a_content_wherever_it_is(self, desk):
        content = "b" * 64
        one = desk.model(sha256=content)
        two = desk.model(sha256=content)
        other = desk.model(sha256="c" * 64)
        assert desk.records.models.trust(content, "mine") == 2
        for model in (one, two):
            trusted = desk.records.models.get(model.id)
            assert (trusted.trusted_at, trusted.trust_reason) != (None, "")
        assert desk.records.models.get(other.id) == other
        assert desk.records.models.distrust(content) == 2
        assert desk.records.models.get(one.id) == one

    def test_a_model_is_found_by_its_content(self, desk):
        model = desk.model(sha256="d" * 64)
        assert desk.records.models.find_by_content(model.project_id, "d" * 64) == model
        assert desk.records.models.find_by_content(model.project_id, "e" * 64) is None

    def test_a_project_began_with_its_first_model_that_nothing_made(self, desk):
        project = desk.project()
        assert desk.records.models.find_first_input(project.id) is None
        desk.model(project, origin="optimization")
        first = desk.model(project)
        desk.model(project)
        assert desk.records.models.find_first_input(project.id) == first

    def test_a_model_is_found_by_its_path_and_by_where_it_came_from(self, desk):
        models = desk.records.models
        said = {"source": "/data/models/net.onnx", "facts": FACTS}
        first = desk.model(**said)
        newest = desk.model(**said)
        desk.model(**said | {"facts": None})  # nobody has looked into it
        assert (
            models.find_newest_copied_from("/data/models/net.onnx")
            == models.find_newest_at_path(first.path)
            == newest
        )
        uploaded = desk.model(**said | {"origin": "upload"})
        assert models.find_newest_copied_from("/data/models/net.onnx") == newest
        assert models.find_newest_at_path(first.path) == uploaded
        assert (
            models.find_newest_at_path("/data/models/net.onnx")
            is models.find_newest_copied_from(first.path)
            is None
        )

    # ------------------------------------------------------------ datasets

    def test_a_dataset_is_kept_whole(self, desk):
        new = NewDataset(
            project_id=desk.project().id,
            name="dummy",
            kind="dummy_v2",
            parameters={"input_shape": [[1, 3]], "label": "\0\ud800"},
            transforms=({"name": "Cast", "params": {}},),
            metric={"name": "topk", "param": 1},
        )
        dataset = desk.records.datasets.add(new)
        assert dataset == Dataset(id=dataset.id, created_at=desk.clock.now, **vars(new))
        assert desk.records.datasets.page() == Page((dataset,))

    # ------------------------------------------------------------ benchmarks

    def test_a_benchmark_is_a_draft_that_knows_its_settings(self, desk):
        model = desk.model()
        cells = (CellSpec(engine="onnxruntime", cores=2), CellSpec(engine="pytorch", cores=2))
        spec = BenchmarkSpec(ModelSpec("m.onnx", {"seq": 8}), cells)
        new = NewBenchmark(project_id=model.project_id, model_id=model.id, name="sweep", spec=spec)
        benchmark = desk.records.benchmarks.add(new)
        shared = SummaryDocument(
            device="cpu", batch_size=1, cores=2, instances=1, streams=1, dims={"seq": 8}
        )
        assert benchmark == Benchmark(
            id=BenchmarkId(1),
            created_at=desk.clock.now,
            summary_json=json_text(shared, indent=None),
            **vars(new),
        )
        assert desk.records.benchmarks.get(benchmark.id) == benchmark

    def test_a_benchmark_takes_nothing_from_another_project(self, desk):
        mine, theirs = desk.model(), desk.model()
        new = NewBenchmark(project_id=mine.project_id, model_id=theirs.id, name="b", spec=SPEC)
        with pytest.raises(BadValue, match="another project"):
            desk.records.benchmarks.add(new)
        pair = NewComparison(
            project_id=mine.project_id,
            a_model_id=mine.id,
            b_model_id=theirs.id,
            name="c",
            spec=COMPARISON,
        )
        with pytest.raises(BadValue, match="another project"):
            desk.records.comparisons.add(pair)

    def test_editing_keeps_what_was_not_said(self, desk):
        benchmark = desk.benchmark()
        cells = (CellSpec(engine="pytorch"),)
        spec = replace(SPEC, cells=cells)
        edited = desk.records.benchmarks.edit(benchmark.id, spec=spec)
        summary = json_text(replace(benchmark.summary, engine="pytorch"), indent=None)
        expected = replace(benchmark, spec=spec, summary_json=summary, modified_at=desk.clock.now)
        assert edited == expected

    def test_what_has_run_keeps_its_settings_but_not_its_name(self, desk):
        benchmark = desk.benchmark()
        desk.run(benchmark)
        with pytest.raises(WrongState, match="has been run"):
            desk.records.benchmarks.edit(benchmark.id, mode="accuracy")
        assert desk.records.benchmarks.edit(benchmark.id, name="new").name == "new"

    def test_running_again_makes_a_benchmark_that_knows_the_first(self, desk):
        first = desk.benchmark(mode="accuracy")
        again = desk.records.benchmarks.rerun(first.id)
        assert again == replace(
            first, id=BenchmarkId(2), rerun_of=first.id, created_at=desk.clock.now
        )
        desk.records.benchmarks.delete(first.id)
        assert desk.records.benchmarks.get(again.id).rerun_of is None

    def test_a_comparison_is_edited_and_repeated_like_a_benchmark(self, desk):
        model = desk.model()
        first = desk.comparison(model, model)
        spec = replace(first.spec, margin=0.1)
        edited = desk.records.comparisons.edit(first.id, name="new", spec=spec)
        assert edited == replace(first, name="new", spec=spec, summary_json=edited.summary_json)
        again = desk.records.comparisons.rerun(first.id)
        assert again == replace(edited, id=again.id, rerun_of=first.id, created_at=desk.clock.now)
        with pytest.raises(BadValue, match="another project"):
            desk.records.comparisons.edit(first.id, b_model_id=desk.model().id)
        desk.run(RunOf("comparison", first.id))
        with pytest.raises(WrongState, match="has been run"):
            desk.records.comparisons.edit(first.id, spec=spec)
        assert desk.records.comparisons.edit(first.id, name="newer").name == "newer"

    def test_details_show_the_latest_run_and_the_latest_outcomes(self, desk):
        benchmark = desk.benchmark()
        details = desk.records.benchmarks.details(benchmark.id)
        assert (details.benchmark, details.latest) == (benchmark, None)
        (planned,) = details.cells.documents
        assert json.loads(planned)["status"] is None
        first = desk.run(benchmark)
        desk.records.runs.move(first.id, "running")
        cell = values.cell(engine="onnxruntime")
        desk.records.runs.finish(first.id, SummaryDocument(), [cell])
        second = desk.run(benchmark)
        job = desk.records.jobs.add(second.id)
        details = desk.records.benchmarks.details(benchmark.id)
        assert details.latest is not None
        assert (details.latest.id, details.latest.job_id) == (second.id, job.id)
        assert details.cells.documents == (json_text(cell, indent=None),)
        model = desk.records.models.get(benchmark.model_id)
        assert details.model_name == model.name
        pair = desk.records.comparisons.details(desk.comparison(model, model).id)
        assert (pair.model_names[0], pair.latest) == (model.name, None)
        with pytest.raises(NotFound):
            desk.records.benchmarks.details(BenchmarkId(99))

    def test_a_benchmark_shows_its_latest_run_and_the_latest_that_came_to_a_number(self, desk):
        model = desk.model()
        benchmark, draft = desk.benchmark(model), desk.benchmark(model)
        cell = values.cell(
            engine="onnxruntime",
            precision="fp32",
            typical=values.figure(2.0),
            throughput_per_s=values.figure(500.0),
        )
        measured = desk.run(benchmark)
        desk.records.runs.move(measured.id, "running")
        desk.records.runs.finish(measured.id, SummaryDocument(), [cell])
        failed = desk.run(benchmark)
        job = desk.records.jobs.add(failed.id)
        desk.records.runs.move(failed.id, "running")
        nothing = replace(cell, status="failed", latency_ms=None, throughput_per_s=None)
        desk.records.runs.finish(failed.id, SummaryDocument(), [nothing], "failed")
        desk.benchmark()  # of another project
        with counted(desk.database) as queries:
            outcomes = desk.records.benchmarks.outcomes(benchmark.project_id)
        assert len(queries) == 2
        assert [outcome.benchmark.id for outcome in outcomes] == [benchmark.id, draft.id]
        first, second = outcomes
        assert first.latest is not None
        assert (first.latest.id, first.latest.state, first.latest.job_id) == (
            failed.id,
            "failed",
            job.id,
        )
        assert first.measured is not None
        assert (first.measured.id, first.measured.job_id) == (measured.id, None)
        (figures,) = first.cells
        assert (figures.run_id, figures.number) == (measured.id, 0)
        assert figures.axes == axis_fields(cell)
        assert (figures.typical_s, figures.throughput_per_s) == (0.002, 500.0)
        assert (figures.decisive, figures.throughput) == (None, None)
        assert (second.latest, second.measured, second.cells) == (None, None, ())
        assert desk.records.benchmarks.outcome(benchmark.id) == first
        with pytest.raises(NotFound):
            desk.records.benchmarks.outcome(BenchmarkId(99))

    def test_a_project_is_found_by_its_whole_name(self, desk):
        first, _ = desk.records.projects.add("Ab"), desk.records.projects.add("Ab")
        assert desk.records.projects.named("Ab") == first
        assert desk.records.projects.named("ab") is None

    # ------------------------------------------------------------ runs and their outcomes

    def test_a_benchmark_keeps_every_run_and_shows_the_latest(self, desk):
        benchmark = desk.benchmark()
        first = desk.measured(benchmark, 0.002)
        second = desk.measured(benchmark, 0.001)
        shown = desk.records.benchmarks.get(benchmark.id)
        assert (shown.state, shown.last_run_at) == ("done", second.created_at)
        assert shown.summary == second.summary
        runs = desk.records.runs.page(of=RunOf("benchmark", benchmark.id)).items
        assert runs == (second, first)
        desk.records.runs.delete(second.id)
        assert desk.records.benchmarks.get(benchmark.id).summary == first.summary
        desk.records.runs.delete(first.id)
        draft = desk.records.benchmarks.get(benchmark.id)
        assert draft == benchmark

    def test_the_newest_run_is_the_latest_though_the_clock_was_set_back(self, desk):
        benchmark = desk.benchmark()
        desk.measured(benchmark, 0.002)
        desk.clock.now -= timedelta(days=365)
        newest = desk.measured(benchmark, 0.001)
        assert desk.records.benchmarks.get(benchmark.id).summary == newest.summary
        assert desk.records.runs.page(of=newest.of).items[0] == newest

    def test_cells_of_a_run_come_back(self, desk):
        run = desk.run()
        cell = values.cell(
            engine="onnxruntime",
            precision="fp32",
            typical=values.figure(1e-6),
            floor=values.figure((0.1 + 0.2) * 1e3),
            noise="quiet",
        )
        error = FailureDocument(code="OUT_OF_MEMORY", title="No memory", detail="", fix="")
        failed = replace(cell, number=1, status="failed", error=error, latency_ms=None)
        desk.records.runs.move(run.id, "running")
        desk.records.runs.finish(run.id, values.summary(1e-9), (cell, failed))
        texts = tuple(json_text(document, indent=None) for document in (cell, failed))
        assert desk.records.runs.cells(run.id) == texts

    @pytest.mark.parametrize("name", ["../../etc", "x", "20261115-095116-", "a\0"])
    def test_a_run_is_named_like_a_folder_of_ours_and_nothing_else(self, desk, name):
        benchmark = desk.benchmark()
        with pytest.raises(BadValue):
            desk.records.runs.add(RunOf("benchmark", benchmark.id), {}, RunId(name))
        with pytest.raises(NotFound):
            desk.records.runs.get(RunId(name))

    # ------------------------------------------------------------ optimizations, profiles

    def test_trials_come_back_and_one_of_them_is_the_best(self, desk):
        model = desk.model()
        optimization = desk.optimization(model, settings={"batch_size": 100, "strategy": "basic"})
        run = desk.run(RunOf("optimization", optimization.id))
        made = desk.model(desk.records.projects.get(model.project_id), "int8")
        one = Trial(
            run_id=run.id,
            number=0,
            status="done",
            created_at=desk.clock(),
            accuracy=0.5,
            is_best=True,
        )
        two = replace(one, number=1, accuracy=0.75, model_id=made.id, size_bytes=2**33)
        desk.records.optimizations.add_trial(one)
        desk.records.optimizations.add_trial(two)
        assert desk.records.optimizations.trials(run.id) == (replace(one, is_best=False), two)
        assert desk.records.optimizations.read_best_trials([optimization.id]) == {
            optimization.id: two
        }
        with pytest.raises(BadValue, match="has no trials"):
            desk.records.optimizations.add_trial(replace(one, run_id=desk.run().id))

    def test_editing_one_setting_keeps_the_others(self, desk):
        optimization = desk.optimization(desk.model(), settings={"batch_size": 100, "seed": 1})
        edited = desk.records.optimizations.edit(optimization.id, settings={"seed": 2})
        assert edited.settings == {"batch_size": 100, "seed": 2}
        profile = desk.profile(desk.model(), settings={"threads": 1, "engine": "ort"})
        changed = desk.records.profiles.edit(profile.id, settings={"threads": 4})
        assert changed.settings == {"threads": 4, "engine": "ort"}

    def test_rows_of_a_profile_come_by_node_and_by_operator(self, desk):
        run = desk.run(RunOf("profile", desk.profile(desk.model()).id))
        rows = [
            ProfileRow(run_id=run.id, number=n, node=f"n{n}", op_type=op, total_s=time, cpu_s=time)
            for n, (op, time) in enumerate([("Conv", 0.5), ("Relu", 0.25), ("Conv", 0.25)])
        ]
        desk.records.profiles.add_rows(run.id, rows)
        assert desk.records.profiles.rows(run.id) == tuple(rows)
        conv, relu = desk.records.profiles.sum_rows_by_op_type(run.id)
        assert conv == OpTypeRow(
            op_type="Conv",
            nodes=2,
            total_s=0.75,
            cpu_s=0.75,
            accelerator_s=None,
            calls=2,
            defined=2,
        )
        assert relu.op_type == "Relu"
        with pytest.raises(BadValue):
            desk.records.profiles.add_rows(desk.run().id, rows)

    def test_rows_of_a_profile_are_sorted_and_cut_in_the_database(self, desk):
        profile = desk.profile(desk.model())
        assert desk.records.profiles.agreement(profile.id) is None
        run = desk.run(RunOf("profile", profile.id))
        operators = [("b", "Relu", 0.25), ("a", "Conv", 0.5), ("c", "Add", 0.125)]
        rows = [
            ProfileRow(run_id=run.id, number=n, node=node, op_type=op, total_s=time)
            for n, (node, op, time) in enumerate(operators)
        ]
        desk.records.profiles.add_rows(run.id, rows[:1])
        desk.records.profiles.add_rows(run.id, rows)  # of the whole, once it has gone on

        def nodes(**options):
            selected = desk.records.profiles.read_page_of_rows(
                run.id, ProfileRowsQuery(by="node", **options)
            )
            return [row.node for row in selected]

        assert nodes() == ["a", "b", "c"]
        assert nodes(sort="graph") == ["b", "a", "c"]
        assert nodes(start=1, limit=1) == ["b"]
        by_op = desk.records.profiles.read_page_of_rows(
            run.id, ProfileRowsQuery(by="op", sort="name")
        )
        assert [row.op_type for row in by_op] == ["Add", "Conv", "Relu"]
        agreement = desk.records.profiles.agreement(profile.id)
        assert (agreement.run_id, agreement.nodes, agreement.sum_s) == (run.id, 3, 0.875)
        assert (agreement.latency_s, agreement.coverage, agreement.agrees) == (None, None, None)
        with pytest.raises(NotFound):
            desk.records.profiles.agreement(999)

    # ------------------------------------------------------------ pins and notes

    def test_a_pin_is_a_benchmark_of_the_optimized_model(self, desk):
        model = desk.model()
        project = desk.records.projects.get(model.project_id)
        optimization = desk.optimization(model)
        made = desk.model(project, "int8")
        run = desk.run(RunOf("optimization", optimization.id))
        desk.records.optimizations.add_trial(
            Trial(
                run_id=run.id,
                number=0,
                status="done",
                created_at=desk.clock(),
                model_id=made.id,
            )
        )
        of_input, fast = desk.benchmark(model), desk.benchmark(made)
        pin = desk.records.pins.put(Pin(optimization.id, "performance", fast.id))
        assert desk.records.pins.read_of_optimizations([optimization.id]) == (pin,)
        faster = desk.benchmark(made)
        again = desk.records.pins.put(Pin(optimization.id, "performance", faster.id))
        assert desk.records.pins.read_of_optimizations([optimization.id]) == (again,)
        with pytest.raises(BadValue, match="did not make"):
            desk.records.pins.put(Pin(optimization.id, "performance", of_input.id))
        with pytest.raises(BadValue, match="it measures performance") as mistaken:
            desk.records.pins.put(Pin(optimization.id, "accuracy", fast.id))
        assert mistaken.value.fix.startswith("Pin it for its performance, or ")
        assert desk.records.pins.remove(optimization.id, "performance")
        assert not desk.records.pins.remove(optimization.id, "performance")

    def test_a_note_is_not_overwritten_unread(self, desk):
        subject = Subject("benchmark", desk.benchmark().id)
        assert desk.records.notes.get(subject) == Note(subject=subject)
        first = desk.records.notes.write(subject, "# one\n", version=0)
        assert first == Note(subject=subject, text="# one\n", version=1, modified_at=desk.clock.now)
        with pytest.raises(EditedMeanwhile, match="there is 1 now"):
            desk.records.notes.write(subject, "two", version=0)
        assert desk.records.notes.get(subject) == first
        assert desk.records.notes.write(subject, "three").version == 2

    @pytest.mark.parametrize("kind", subject_kinds())
    def test_everything_can_have_a_note_and_takes_it_along(self, desk, kind):
        model = desk.model()
        new = NewDataset(project_id=model.project_id, name="d", kind="dummy")
        things = {
            "project": lambda: desk.project().id,
            "model": lambda: model.id,
            "dataset": lambda: desk.records.datasets.add(new).id,
            "benchmark": lambda: desk.benchmark(model).id,
            "comparison": lambda: desk.comparison(model, model).id,
            "optimization": lambda: desk.optimization(model).id,
            "profile": lambda: desk.profile(model).id,
        }
        subject = Subject(kind, things[kind]())
        desk.records.notes.write(subject, "words")
        assert desk.records.notes.get(subject).text == "words"
        getattr(desk.records, f"{kind}s").delete(subject.id)
        with pytest.raises(NotFound):
            desk.records.notes.get(subject)

    def test_a_text_that_no_database_can_keep_is_refused(self, desk):
        subject = Subject("project", desk.project().id)
        with pytest.raises(BadValue):
            desk.records.notes.write(subject, "a\0b")

    def test_a_summary_has_a_column_for_each_of_its_figures(self, desk):
        level = values.figure(0.2, 0.1, 0.3)
        full = SummaryDocument(
            engine="e",
            device="d",
            precision="p",
            batch_size=1,
            cores=2,
            instances=3,
            streams=4,
            dims={"seq": 8},
            items=4,
            latency_ms=LevelDocument(typical=level, floor=level),
            throughput_per_s=values.figure(1e6, 9e5, 2e6),
            interval_note="none",
            noise="quiet",
            accuracy=0.9,
            verdict="faster",
            ratio=values.figure(0.5, 0.4, 0.6),
            sessions=12,
            samples=3_000,
            noise_reasons=("One.", "Two."),
            peak_memory_bytes=2**40,
            page_faults=0.5,
        )
        assert None not in [getattr(full, field.name) for field in fields(full)]
        run = desk.run()
        desk.records.runs.move(run.id, "running")
        assert desk.records.runs.finish(run.id, full).summary == full
