"""``modeldyno rm``: runs go, with their rows; those at work stay."""

import os
import pty
import shutil
import subprocess

import pytest

import modeldyno
from modeldyno.core.errors import NotFound
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.settings import Settings
from modeldyno.store.runs import RunFolders
from modeldyno.workbench import open_records
from tests import schemas
from tests.scripts import script
from tests.terminal import command


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """Two runs, in a workspace that no server has seen."""
    folder = tmp_path_factory.mktemp("measured")
    model = script(folder / "m.json")
    for _ in range(2):
        modeldyno.bench(model, iterations=5, workspace=folder / "workspace")
    return folder / "workspace"


@pytest.fixture
def workspace(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "workspace")


def ids(workspace):
    return sorted(path.name for path in (workspace / "runs").iterdir())


def test_a_run_is_removed_by_a_part_of_its_id_and_makes_no_database(typed, workspace):
    first, second = ids(workspace)
    ended = typed("rm", first[-6:], "--json", "--workspace", workspace)
    assert (ended.code, ended.document["removed"]) == (0, [first])
    schemas.check("removed", ended.document)
    assert ids(workspace) == [second]
    assert not (workspace / "modeldyno.sqlite3").exists()


def test_several_go_at_once_or_none_of_them(typed, workspace):
    there = ids(workspace)
    assert typed("rm", there[0], "nowhere", "--workspace", workspace).code == 4
    assert ids(workspace) == there
    ended = typed("rm", *there, "latest", "--workspace", workspace)
    assert (ended.code, ended.err) == (0, "Removed 2 runs\n")
    assert ids(workspace) == []


def test_its_row_goes_too_and_does_not_come_back(typed, workspace):
    first, second = ids(workspace)
    records = open_records(Settings(workspace))
    assert records.runs.get(first).state == "done"
    assert typed("rm", first, "--workspace", workspace).code == 0
    with pytest.raises(NotFound):
        records.runs.get(first)
    assert records.runs.tombstones() == ()
    records.close()
    again = open_records(Settings(workspace))
    assert [run.id for run in again.runs.page().items] == [second]
    again.close()


def test_one_that_cannot_be_read_can_be_removed(typed, workspace):
    first, second = ids(workspace)
    (workspace / "runs" / first / "spec.json").write_text("{")
    (workspace / "runs" / first / "state.json").write_text("{")
    assert typed("rm", first, "--workspace", workspace).code == 0
    assert ids(workspace) == [second]


def test_one_that_is_being_measured_stays(typed, workspace):
    spec = BenchmarkSpec(ModelSpec("m.json"), (CellSpec(),))
    running = RunFolders(workspace / "runs").create(spec).id  # by this process, which is alive
    ended = typed("rm", "--json", running, "--workspace", workspace)
    assert (ended.code, ended.error_code) == (2, "WRONG_STATE")
    assert running in ids(workspace)


@pytest.mark.parametrize(("answer", "left", "code"), [("\n", 2, 1), ("y\n", 1, 0)])
def test_at_a_terminal_it_asks_first(workspace, answer, left, code):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("rm", "latest", "--workspace", workspace),
        stdin=theirs,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(ours, answer.encode())
    _, told = process.communicate(timeout=60)
    os.close(theirs)
    os.close(ours)
    assert process.returncode == code
    assert "for good? [y/N]" in told
    assert len(ids(workspace)) == left
