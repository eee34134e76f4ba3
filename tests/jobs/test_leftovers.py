"""Whatever a worker leaves behind, its job ends truthfully and the next one runs."""

import os
import shutil

import pytest

from modeldyno.core.results import BenchmarkResult
from modeldyno.core.runs import RunOf
from modeldyno.settings import Settings
from modeldyno.store.database import FILE
from modeldyno.store.runs import RunFolder
from modeldyno.workbench import open_workbench
from modeldyno.worker.untrusted_folders import remove_tree
from tests.processes import until
from tests.queue_room import QueueRoom
from tests.scripts import fault

DEEP = [fault("nest-folders", call=-1)]  # 1500 folders inside one another


@pytest.fixture
def room(tmp_path, empty_sqlite, starts_processes):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    shutil.copy(empty_sqlite, workspace / FILE)
    yield QueueRoom(tmp_path, Settings(workspace))
    remove_tree(workspace)  # pytest could not, if the test has failed


def nest(folder, levels=1500):
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def deepen(folder: RunFolder) -> None:
    folder.scratch.mkdir(exist_ok=True)
    nest(folder.scratch)


def test_a_job_that_leaves_deep_folders_is_done_and_the_next_one_runs(room):
    with room.opened():
        job = room.start(room.short(faults=DEEP))
        after = room.start(room.short())
        room.until_state(job.id, "done")
        room.until_state(after.id, "done")
        assert room.is_tidy(job)


def test_a_job_that_leaves_deep_folders_can_be_cancelled_and_deleted(room):
    with room.opened() as server:
        spec = room.endless(faults=DEEP)
        of = room.add(spec)
        job = server.jobs.start(of, spec)
        room.until_units(job)
        server.jobs.cancel(job.id)
        room.until_state(job.id, "cancelled")
        assert room.is_tidy(job)
        deepen(room.run_folder(job))  # as an older version left it
        folder = room.run_folder(job).path
        with server.archive.translated_deletion():
            server.records.benchmarks.delete(RunOf("benchmark", of.id).id)
        until(lambda: not folder.exists(), "the run's folder to go")


def test_a_run_with_deep_folders_is_deleted_in_the_terminal(room):
    with room.opened():
        job = room.start(room.short())
        room.until_state(job.id, "done")
    folder = room.run_folder(job)
    deepen(folder)
    open_workbench(room.settings).runs.remove(job.run_id)
    assert not any(path.name.endswith(job.run_id) for path in folder.path.parent.iterdir())


def test_deep_folders_of_a_killed_server_keep_no_job_running(room):
    with room.opened() as server:
        done, killed = (room.start(room.short()) for _ in range(2))
        room.until_state(killed.id, "done")
        server.records.runs.move(done.run_id, "running")  # the folder was written, the row not
        server.records.runs.move(killed.run_id, "running")
    (room.run_folder(killed).path / "state.json").write_text('{"state": "running", "owner": null}')
    for job in (done, killed):
        deepen(room.run_folder(job))
    with room.opened():
        assert (room.job(done.id).state, room.job(killed.id).state) == ("done", "interrupted")
        assert room.is_tidy(done)
        assert room.is_tidy(killed)


@pytest.mark.parametrize("error", [RecursionError("too deep"), PermissionError("no")])
def test_a_removal_that_fails_eats_no_ending_and_is_made_good_by_the_next_server(
    room, monkeypatch, caplog, error
):
    scandir = os.scandir

    def fail(path="."):
        if isinstance(path, int):  # as a removal reads folders
            raise error
        return scandir(path)

    with room.opened():
        monkeypatch.setattr(os, "scandir", fail)
        job, after = room.start(room.short()), room.start(room.short())
        room.until_state(job.id, "done")
        room.until_state(after.id, "done")
        assert list((room.settings.workspace / "runs").glob(".removed-*-scratch-*"))
        monkeypatch.undo()
    assert "left for the next sweep" in caplog.text
    with room.opened():
        assert room.is_tidy(job)
        assert room.is_tidy(after)
        assert not list((room.settings.workspace / "runs").glob(".removed-*"))


def test_a_run_in_the_terminal_hands_back_its_result_whatever_it_leaves(room):
    workbench = open_workbench(room.settings)
    result = workbench.service.run(room.short(faults=DEEP))
    assert isinstance(result, BenchmarkResult)
    assert [cell.status for cell in result.cells] == ["done"]
    (run,) = (room.settings.workspace / "runs").iterdir()
    assert RunFolder(run).state() == "done"
    assert not RunFolder(run).scratch.exists()
