"""What a terminal measured appears in the database, and looking twice changes nothing."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from modeldyno.core.codec import encode
from modeldyno.core.documents.runs import ReindexDocument
from modeldyno.core.errors import NotFound
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ListQuery, RunOf
from modeldyno.store.history import History
from modeldyno.store.indexing import Indexed, RunIndex, delete_folders_of_deleted_runs
from modeldyno.store.owners import current_process
from modeldyno.store.runs import RunFolder
from modeldyno.store.tables import CELLS, RUNS
from tests import values

GONE = {"host": "", "pid": 0, "started": 1}


class Reading(History):
    """Counts how often each run is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read_runs: Counter[RunId] = Counter()

    def read(self, run_id):
        self.read_runs[run_id] += 1
        return super().read(run_id)


class Indexing:
    @pytest.fixture
    def folders(self, terminal_runs, tmp_path) -> Path:
        """Runs that ``bench`` (the same twice, then another) and ``compare`` left."""
        return Path(shutil.copytree(terminal_runs, tmp_path / "runs"))

    @pytest.fixture
    def history(self, folders) -> Reading:
        return Reading(folders)

    @pytest.fixture
    def index(self, desk, history) -> RunIndex:
        return RunIndex(desk.database, history, desk.clock)

    def test_runs_of_the_terminal_appear_with_their_figures(self, desk, index, history):
        indexed = index.index_changed_runs()
        assert indexed == Indexed(added=tuple(reversed(history.list_ids())))
        (project,) = desk.records.projects.page().items
        (model,) = desk.records.models.page().items
        assert (project.name, model.name, model.origin) == ("Terminal", "digits.onnx", "terminal")
        assert model.facts is not None
        assert (model.sha256, model.format) == (model.facts.sha256, "onnx")
        other, twice = desk.records.benchmarks.page(ListQuery(project_id=project.id)).items
        assert [b.state for b in (other, twice)] == ["done", "done"]
        assert other.summary.batch_size == 2
        runs = desk.records.runs.page(of=RunOf("benchmark", twice.id)).items
        assert len(runs) == 2
        kept = history.read(runs[0].id)
        (cell,) = kept.result.cells
        assert values.typical_ms(runs[0].summary) == cell.measurement.latency.typical.value * 1e3
        assert twice.summary == runs[0].summary
        assert twice.created_at == runs[1].created_at
        (document,) = map(json.loads, desk.records.runs.cells(runs[0].id))
        assert (document["engine"], document["latency_ms"]["floor"]["value"]) == (
            "onnxruntime",
            cell.measurement.latency.floor.value * 1e3,
        )
        (comparison,) = desk.records.comparisons.page().items
        assert comparison.summary.verdict is not None
        ratio = comparison.summary.ratio
        assert ratio.low <= ratio.value

    def test_looking_again_reads_and_changes_nothing(self, desk, index, history):
        index.index_changed_runs()
        before = desk.records.events.last_number()
        history.read_runs.clear()
        assert index.index_changed_runs() == Indexed()
        assert desk.records.events.last_number() == before
        assert not history.read_runs

    def test_a_run_that_was_killed_is_interrupted_and_may_go_on_to_its_end(
        self, desk, index, folders
    ):
        run_id = RunId(max(path.name for path in folders.iterdir()))
        state = folders / run_id / "state.json"
        done = state.read_text()
        state.write_text(json.dumps({"state": "running", "failure": None, "owner": GONE}))
        assert RunFolder(folders / run_id).state() == "running"  # of another machine, as we see it
        index.index_changed_runs()
        assert desk.records.runs.get(run_id).state == "running"
        state.write_text(json.dumps({"state": "running", "failure": None}))  # its owner is gone
        assert index.index_changed_runs().changed == (run_id,)
        assert desk.records.runs.get(run_id).state == "interrupted"
        seen = desk.records.events.last_number()
        state.write_text(done)  # resumed and finished since we looked
        assert index.index_changed_runs().changed == (run_id,)
        assert desk.records.runs.get(run_id).state == "done"
        # one change for all its steps; what it measures was known when it began
        assert desk.kinds(seen) == ["run.changed"]

    def test_a_model_that_was_met_while_it_was_measured_is_known_at_the_end(
        self, desk, index, folders, tmp_path
    ):
        ended = Path(shutil.copytree(folders, tmp_path / "ended"))
        for folder in folders.iterdir():
            state = {"state": "running", "failure": None, "owner": GONE}
            (folder / "state.json").write_text(json.dumps(state))
            for name in ("result.json", "model.json"):
                (folder / name).unlink(missing_ok=True)
        index.index_changed_runs()
        (model,) = desk.records.models.page().items
        assert (model.sha256, model.facts) == (None, None)
        seen = desk.records.events.last_number()
        shutil.copytree(ended, folders, dirs_exist_ok=True)
        assert len(index.index_changed_runs().changed) == 4
        (model,) = desk.records.models.page().items
        assert model.facts is not None
        assert (model.sha256, model.size_bytes) == (model.facts.sha256, model.facts.size_bytes)
        assert (model.format, model.framework) == ("onnx", model.facts.framework)
        assert desk.kinds(seen).count("model.changed") == 1

    def test_a_model_that_was_known_before_is_listed_once(self, desk, index, folders, history):
        """A comparison is met before anybody knows what it compares."""
        index.index_changed_runs()
        (comparison,) = desk.records.comparisons.page().items
        (model,) = desk.records.models.page().items
        (before,) = desk.records.runs.page(of=RunOf("comparison", comparison.id)).items
        ended = folders / before.id
        again = RunId(max(history.list_ids())[:-6] + "ffffff")
        shutil.copytree(ended, folders / again)
        result, state = (folders / again / name for name in ("result.json", "state.json"))
        contents = [
            (result, result.read_text().replace(before.id, again)),
            (state, state.read_text()),
        ]
        (folders / again / "model.json").unlink(missing_ok=True)
        result.unlink()
        state.write_text(json.dumps({"state": "running", "failure": None, "owner": GONE}))
        index.index_changed_runs()
        assert len(desk.records.models.page().items) == 2
        for path, text in contents:
            path.write_text(text)
        assert index.index_changed_runs().changed == (again,)
        assert [row.id for row in desk.records.models.page().items] == [model.id]
        for row in desk.records.comparisons.page().items:
            assert (row.a_model_id, row.b_model_id) == (model.id, model.id)

    def test_a_comparison_with_another_gate_is_the_same_one(self, desk, index, folders, history):
        index.index_changed_runs()
        (comparison,) = desk.records.comparisons.page().items
        (before,) = desk.records.runs.page(of=RunOf("comparison", comparison.id)).items
        again = RunId(max(history.list_ids())[:-6] + "ffffff")
        shutil.copytree(folders / before.id, folders / again)
        for name in ("spec.json", "result.json"):
            path = folders / again / name
            document = json.loads(path.read_text().replace(before.id, again))
            (document["spec"] if name == "result.json" else document)["fail_if_slower"] = 0.05
            path.write_text(json.dumps(document))
        index.index_changed_runs()
        assert [row.id for row in desk.records.comparisons.page().items] == [comparison.id]
        assert len(desk.records.runs.page(of=RunOf("comparison", comparison.id)).items) == 2

    def test_a_run_that_its_terminal_forgot_has_failed(self, desk, index, folders, history):
        index.index_changed_runs()
        run_id = max(history.list_ids())
        state = folders / run_id / "state.json"
        owner = encode(current_process())
        state.write_text(json.dumps({"state": "running", "failure": None, "owner": owner}))
        again = RunId(run_id[:-6] + "ffffff")
        (folders / run_id).rename(folders / again)
        index.index_changed_runs()
        assert desk.records.runs.get(again).state == "running"
        shutil.rmtree(folders / again)
        assert index.index_changed_runs().changed == (again,)
        run = desk.records.runs.get(again)
        assert run.state == "failed"
        assert run.failure is not None
        assert run.failure["code"] == "RUN_FAILED"
        assert run.finished_at is not None
        assert index.index_changed_runs().changed == ()

    def test_a_folder_that_cannot_be_read_hides_no_other(self, index, folders, history):
        broken, torn, *rest = history.list_ids()
        (folders / broken / "spec.json").write_text("{")
        (folders / torn / "state.json").write_text("[]")
        (folders / "20261115-000000-zzzzzz").mkdir()
        (folders / "notes.txt").write_text("mine")
        indexed = index.index_changed_runs()
        assert set(indexed.unreadable) == {broken, torn}
        assert set(indexed.added) == set(rest)

    def test_a_run_that_no_row_can_hold_hides_no_other(self, desk, index, folders, history):
        first, odd, *rest = history.list_ids()
        spec = folders / odd / "spec.json"
        surrogate = re.sub(r'"engine": "\w*"', r'"engine": "\\ud800"', spec.read_text())
        spec.write_text(surrogate)
        indexed = index.index_changed_runs()
        assert (set(indexed.added), indexed.unreadable) == ({first, *rest}, (odd,))
        assert {run.id for run in desk.records.runs.page().items} == {first, *rest}
        assert index.index_changed_runs() == Indexed(unreadable=(odd,))

    def test_rows_that_differ_from_their_folders_are_rebuilt(self, desk, index, history):
        index.index_changed_runs()
        ids = tuple(reversed(history.list_ids()))
        figures, cells, gone, _ = ids
        before = desk.records.runs.page().items
        with desk.database.writing() as connection:
            is_it = RUNS.c.id == figures
            connection.execute(update(RUNS).where(is_it).values(document="{}", typical_s=None))
            connection.execute(delete(CELLS).where(CELLS.c.run_id == cells))
            connection.execute(delete(RUNS).where(RUNS.c.id == gone))
        expected = ReindexDocument(
            is_check=True, checked=4, missing=(gone,), different=(figures, cells)
        )
        progress: list[tuple[int, int]] = []
        differences = index.rebuild_from_folders(
            check=True, on_progress=lambda *done: progress.append(done)
        )
        assert differences == expected
        assert progress[-1] == (4, 4)
        assert index.rebuild_from_folders(check=True) == expected  # nothing was changed
        assert index.rebuild_from_folders() == replace(expected, is_check=False)
        assert index.rebuild_from_folders(check=True) == ReindexDocument(is_check=True, checked=4)
        assert desk.records.runs.page().items == before
        assert len(desk.records.runs.cells(cells)) == 1

    def test_rows_say_which_machine_measured_and_that_is_rebuilt(self, desk, index, folders):
        """Of a run that an earlier version kept, nobody knows."""
        ids = sorted(path.name for path in folders.iterdir())
        names: dict[str, str | None] = {**dict.fromkeys(ids, "lab-2"), ids[0]: None}
        for run_id, name in names.items():
            path = folders / run_id / "result.json"
            result = json.loads(path.read_text())
            del result["host"]["machine"]
            result["host"] |= {"machine": name} if name else {}
            path.write_text(json.dumps(result))
        index.index_changed_runs()
        assert _machines(desk) == names
        assert index.rebuild_from_folders(check=True).different == ()
        with desk.database.writing() as connection:
            connection.execute(update(RUNS).values(machine=None))
            connection.execute(update(CELLS).values(machine="lab-3"))
        assert set(index.rebuild_from_folders().different) == {*ids[1:], *ids[:1]}
        assert _machines(desk) == names

    def test_rebuilding_leaves_alone_what_only_the_database_has(self, desk, index, folders):
        index.index_changed_runs()
        run_id, broken = (run.id for run in desk.records.runs.page().items[:2])
        shutil.rmtree(folders / run_id)
        (folders / broken / "spec.json").write_text("{")
        assert index.rebuild_from_folders() == ReindexDocument(
            is_check=False, checked=3, without_folder=(run_id,), unreadable=(broken,)
        )
        assert desk.records.runs.get(run_id).state == "done"

    def test_a_deleted_run_stays_deleted_and_its_folder_follows(self, desk, index, folders):
        index.index_changed_runs()
        run_id = desk.records.runs.page().items[0].id
        desk.records.runs.delete(run_id)
        assert index.index_changed_runs() == Indexed()
        with pytest.raises(NotFound):
            desk.records.runs.get(run_id)
        assert (folders / run_id).exists()
        assert delete_folders_of_deleted_runs(desk.records.runs, folders) == (run_id,)
        assert not (folders / run_id).exists()
        assert delete_folders_of_deleted_runs(desk.records.runs, folders) == ()
        assert desk.records.runs.tombstones() == ()

    def test_the_folder_of_a_deleted_run_that_is_being_measured_waits(self, desk, index, folders):
        index.index_changed_runs()
        run_id = desk.records.runs.page().items[0].id
        desk.records.runs.delete(run_id)
        state = folders / run_id / "state.json"
        done = state.read_text()
        running = {"state": "running", "failure": None, "owner": encode(current_process())}
        state.write_text(json.dumps(running))
        assert delete_folders_of_deleted_runs(desk.records.runs, folders) == ()
        assert state.exists()
        state.write_text(done)
        assert delete_folders_of_deleted_runs(desk.records.runs, folders) == (run_id,)

    def test_two_who_look_at_once_keep_each_run_once(self, desk, folders):
        def look(_: int) -> int:
            index = RunIndex(desk.database, History(folders), desk.clock)
            return len(index.index_changed_runs().added)

        with ThreadPoolExecutor(3) as pool:
            added = list(pool.map(look, range(3)))
        assert sum(added) == len(desk.records.runs.page().items) == 4
        assert len(desk.records.projects.page().items) == 1

    def test_a_run_of_the_server_is_its_own_business(self, desk, index, folders, history):
        benchmark = desk.benchmark()
        run_id = history.list_ids()[0]
        desk.records.runs.add(RunOf("benchmark", benchmark.id), {}, run_id)
        assert run_id not in index.index_changed_runs().added
        assert desk.records.runs.get(run_id).state == "queued"

    def test_no_runs_are_no_trouble(self, desk, tmp_path):
        index = RunIndex(desk.database, History(tmp_path / "nowhere"), desk.clock)
        assert index.index_changed_runs() == Indexed()
        assert desk.records.projects.page().items == ()


def _machines(desk) -> dict[str, str | None]:
    """As runs say it, and their cells, if they have any."""
    with desk.database.reading() as connection:
        cells = connection.execute(select(CELLS.c.run_id, CELLS.c.machine)).all()
    names = {run.id: run.machine for run in desk.records.runs.page().items}
    assert all(names[run_id] == name for run_id, name in cells)
    assert cells
    return names
