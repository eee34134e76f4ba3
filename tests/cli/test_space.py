"""``modeldyno du`` and ``modeldyno prune``: what uses the space, and what may go."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

import modeldyno
from modeldyno.core.errors import NotFound
from modeldyno.core.ids import RunId, new_run_id
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.settings import Settings
from modeldyno.store.runs import RunFolders
from modeldyno.workbench import open_records
from tests import schemas
from tests.scripts import script


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """#1 is a year old, #2 is new; and a model of somebody's own."""
    folder = tmp_path_factory.mktemp("space")
    model, workspace = script(folder / "m.json"), folder / "workspace"
    ids = [modeldyno.bench(model, iterations=500, workspace=workspace).run_id for _ in range(2)]
    old = new_run_id(datetime.now(UTC) - timedelta(days=365))
    (workspace / "runs" / ids[0]).rename(workspace / "runs" / old)
    numbers = workspace / "runs.numbers"
    numbers.write_text(numbers.read_text().replace(ids[0], old))
    (workspace / "models/exported").mkdir(parents=True)
    (workspace / "models/exported/mine.onnx").write_bytes(b"m" * 5000)
    (workspace / "graphs").mkdir()
    (workspace / "graphs/abc.1.json").write_bytes(b"g" * 9000)
    return workspace


@pytest.fixture
def workspace(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "workspace")


def ids(workspace):
    return sorted(path.name for path in (workspace / "runs").iterdir())


def files(workspace):
    return {path: path.stat().st_size for path in workspace.rglob("*") if path.is_file()}


def parts(document):
    return {part["name"]: part for part in document["parts"]}


def test_every_file_is_in_one_part(typed, workspace):
    document = typed("du", "--json", "--workspace", workspace).document
    schemas.check("usage", document)
    assert sum(part["files"] for part in document["parts"]) == len(files(workspace))
    assert document["size_bytes"] == sum(part["size_bytes"] for part in document["parts"])
    found = parts(document)
    assert [*found] == ["samples", "caches", "runs", "own models"]
    assert found["samples"]["files"] == 2
    assert found["own models"]["size_bytes"] >= 5000


def test_a_file_with_two_names_counts_once(typed, workspace):
    before = typed("du", "--json", "--workspace", workspace).document
    (workspace / "objects").mkdir()
    os.link(workspace / "models/exported/mine.onnx", workspace / "objects/same")
    after = typed("du", "--json", "--workspace", workspace).document
    assert sum(part["files"] for part in after["parts"]) == len(files(workspace)) - 1
    assert parts(after)["own models"] == parts(before)["own models"]


def test_an_empty_workspace_uses_nothing(typed, tmp_path):
    ended = typed("du", "--workspace", tmp_path / "none")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("0 B in ")


def test_parts_are_listed_with_what_frees_them(typed, workspace):
    ended = typed("du", "--workspace", workspace)
    assert ended.code == 0
    assert "modeldyno prune --samples" in ended.out
    assert ended.out.splitlines()[-1].endswith("of its disk are free")


def test_a_dry_run_lists_and_removes_nothing(typed, workspace):
    before = files(workspace)
    words = ("prune", "--runs-older-than", "30d", "--samples", "--caches", "--dry-run")
    document = typed(*words, "--json", "--workspace", workspace).document
    schemas.check("prune", document)
    assert document["is_dry_run"]
    found, (old, new) = parts(document), ids(workspace)
    assert (found["runs"]["runs"], found["samples"]["runs"]) == ([old], [new])
    assert found["caches"]["count"] == 1
    assert all(part["size_bytes"] > 0 for part in document["parts"])
    ended = typed(*words, "--workspace", workspace)
    assert ended.err.endswith(" would be freed; nothing was removed\n")
    assert files(workspace) == before


def test_old_runs_go_and_their_numbers_are_not_given_again(typed, workspace):
    _, new = ids(workspace)
    ended = typed("prune", "--runs-older-than", "30d", "--yes", "--workspace", workspace)
    assert (ended.code, ids(workspace)) == (0, [new])
    assert ended.err.startswith("Freed ")
    listed = typed("ls", "--json", "--workspace", workspace).document["runs"]
    assert [(run["run_id"], run["number"]) for run in listed] == [(new, 2)]


def test_an_age_that_no_run_has_removes_nothing(typed, workspace):
    ended = typed("prune", "--runs-older-than", "400d", "--yes", "--workspace", workspace)
    assert (ended.code, ended.err) == (0, "There is nothing to remove\n")
    assert len(ids(workspace)) == 2


def test_samples_go_and_results_stay(typed, workspace):
    shown = typed("show", "2", "--json", "--workspace", workspace).document
    ended = typed("prune", "--samples", "--yes", "--json", "--workspace", workspace)
    schemas.check("prune", ended.document)
    assert (ended.document["is_dry_run"], parts(ended.document)["samples"]["count"]) == (False, 2)
    assert list(workspace.rglob("*.i64")) == []
    assert typed("show", "2", "--json", "--workspace", workspace).document == shown
    again = typed("prune", "--samples", "--yes", "--workspace", workspace)
    assert again.err == "There is nothing to remove\n"


def test_whoever_asks_for_removed_samples_hears_why_there_are_none(typed, workspace, tmp_path):
    typed("prune", "--samples", "--yes", "--workspace", workspace)
    runs = RunFolders(workspace / "runs")
    with pytest.raises(NotFound, match="were removed"):
        runs.export_raw(RunId(ids(workspace)[1]), tmp_path / "raw.csv")


def test_a_stopped_run_keeps_the_samples_that_it_goes_on_from(typed, workspace):
    run_id = RunId(ids(workspace)[1])
    state = workspace / "runs" / run_id / "state.json"
    state.write_text(state.read_text().replace("done", "cancelled"))
    document = typed("prune", "--samples", "--yes", "--json", "--workspace", workspace).document
    assert run_id not in parts(document)["samples"]["runs"]
    assert list((workspace / "runs" / run_id).rglob("*.i64")) != []


def test_a_run_that_is_being_measured_is_never_touched(typed, workspace):
    """Whatever its age: it belongs to this very process."""
    old = new_run_id(datetime.now(UTC) - timedelta(days=99))
    spec = BenchmarkSpec(ModelSpec("/m.onnx"), (CellSpec(),))
    folder = RunFolders(workspace / "runs").create(spec, old)
    (folder.samples / "cell-0.i64").write_bytes(b"12345678")
    before = {path for path in files(workspace) if old in str(path)}
    words = ("--runs-older-than", "30d", "--samples", "--caches", "--yes")
    document = typed("prune", *words, "--json", "--workspace", workspace).document
    assert all(old not in part["runs"] for part in document["parts"])
    assert {path for path in files(workspace) if old in str(path)} == before


def test_rows_of_old_runs_go_too_and_do_not_come_back(typed, workspace):
    _, new = ids(workspace)
    open_records(Settings(workspace)).close()
    assert typed("prune", "--runs-older-than", "30d", "--yes", "--workspace", workspace).code == 0
    records = open_records(Settings(workspace))
    try:
        assert [run.id for run in records.runs.page().items] == [new]
        assert records.projects.page().items != ()
    finally:
        records.close()


def test_caches_go_and_peoples_own_files_stay(typed, workspace):
    ended = typed("prune", "--caches", "--yes", "--workspace", workspace)
    assert ended.code == 0
    assert not list((workspace / "graphs").iterdir())
    assert (workspace / "models/exported/mine.onnx").exists()
    assert len(ids(workspace)) == 2


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "Nothing was named to remove"),
        (("--runs-older-than", "soon"), "must be an age such as 12h, 30d or 8w"),
        (("--runs-older-than", "-5d"), "must be an age such as 12h, 30d or 8w"),
    ],
)
def test_what_cannot_be_meant_says_what_could(typed, workspace, words, what):
    ended = typed("prune", *words, "--workspace", workspace)
    assert (ended.code, len(ids(workspace))) == (2, 2)
    assert what in ended.err
