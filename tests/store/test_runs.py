"""Runs on disk: what was kept comes back whole, and nothing is ever half there."""

import json
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from modeldyno.core.errors import StorageFailed, WorkspaceUnusable
from modeldyno.core.jobs import Unit
from modeldyno.core.results import Failure
from modeldyno.core.sessions import (
    Calibration,
    Pair,
    Samples,
    Session,
    SessionFacts,
    WarmUp,
)
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.store.runs import RunFolders

SPEC = BenchmarkSpec(
    ModelSpec("/m.onnx", {"seq": 8}, {"sr": 16000}), (CellSpec(), CellSpec(cores=2))
)
SIDE = SideSpec("m", ModelSpec("/m.onnx"), CellSpec())
COMPARISON = ComparisonSpec(SIDE, replace(SIDE, cell=CellSpec(batch_size=2)))


def session(*wall_ns: int, cpu_ns: tuple[int, ...] = ()) -> Session:
    return Session(
        load_s=0.1,
        first_call_s=0.01,
        calibration=Calibration(1e-5, 5, 1e-7),
        warmup=WarmUp(25, 0.1, steady=True),
        samples=Samples(wall_ns, cpu_ns, 5, sum(wall_ns), sum(wall_ns), sum(wall_ns), 0),
        facts=SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {}),
    )


@pytest.fixture
def runs(tmp_path):
    return RunFolders(tmp_path / "runs")


@pytest.fixture
def folder(runs):
    return runs.create(SPEC)


def test_a_new_run_says_what_was_asked_and_that_it_runs(folder):
    assert (folder.spec(), folder.state()) == (SPEC, "running")
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "log.txt",
        "model",
        "samples",
        "scratch",
        "spec.json",
        "state.json",
    ]


def test_a_comparison_is_kept_as_one(runs):
    assert runs.create(COMPARISON).spec() == COMPARISON


def test_a_run_without_units_has_none(runs, folder):
    assert list(runs.units(folder.id)) == []


def test_units_come_back_with_their_samples_in_the_order_they_came(runs, folder):
    units = [
        Unit(0, 0, session(1, 2, 3)),
        Unit(1, 0, session(4, 5, cpu_ns=(3, 4))),
        Unit(0, 1, session(2**62)),
        Unit(0, 1, session()),
    ]
    for unit in units:
        runs.append(folder.id, unit)
    assert list(runs.units(folder.id)) == units


def test_pairs_come_back_too(runs):
    folder = runs.create(COMPARISON)
    units = [Unit(0, n, Pair(session(1, 2), session(3, 4, cpu_ns=(1, 1)))) for n in range(2)]
    for unit in units:
        runs.append(folder.id, unit)
    assert list(runs.units(folder.id)) == units


def test_samples_are_plain_little_endian_numbers_anyone_can_read(runs, folder):
    runs.append(folder.id, Unit(0, 0, session(1, 258)))
    assert (folder.samples / "cell-0.i64").read_bytes() == bytes(
        [1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]
    )


def test_a_line_that_was_torn_by_a_crash_is_no_unit(runs, folder):
    runs.append(folder.id, Unit(0, 0, session(1, 2)))
    units = folder.path / "units.jsonl"
    whole = units.read_bytes()
    units.write_bytes(whole + whole[: len(whole) // 2])
    assert list(runs.units(folder.id)) == [Unit(0, 0, session(1, 2))]


def test_what_a_killed_process_wrote_half_of_spoils_nothing_that_comes_later(runs, folder):
    """A line and a number may be torn; the next ones begin where lines and numbers begin."""
    first, second = (Unit(0, 0, session(n, n + 1, cpu_ns=(n,))) for n in (10, 20))
    runs.append(folder.id, first)
    for name, torn in (("units.jsonl", b'{"cell": 0, "pro'), ("samples/cell-0.i64", b"\1\2\3")):
        with (folder.path / name).open("ab") as file:
            file.write(torn)
    runs.fail(folder.id, None, "interrupted")
    runs.reopen(folder.id)
    runs.append(folder.id, second)
    assert list(runs.units(folder.id)) == [first, second]


def test_a_folder_that_was_made_in_part_is_made_whole(runs, folder):
    (folder.path / "spec.json").unlink()  # the last thing that a folder gets
    assert not folder.exists()
    again = runs.create(SPEC, folder.id)
    assert (again.exists(), again.spec(), again.state()) == (True, SPEC, "running")


def test_every_sample_can_be_exported_with_its_place(runs, folder, tmp_path):
    runs.append(folder.id, Unit(0, 0, session(10, 20)))
    runs.append(folder.id, Unit(1, 2, session(30, cpu_ns=(29,))))
    runs.export_raw(folder.id, tmp_path / "raw.csv")
    assert (tmp_path / "raw.csv").read_text().splitlines() == [
        "cell,process,session,sample,calls,wall_ns,cpu_ns",
        "0,0,0,0,5,10,",
        "0,0,0,1,5,20,",
        "1,2,1,0,5,30,29",
    ]


def test_both_sides_of_a_pair_are_exported(runs, tmp_path):
    folder = runs.create(COMPARISON)
    runs.append(folder.id, Unit(0, 0, Pair(session(10), session(20))))
    runs.export_raw(folder.id, tmp_path / "raw.csv")
    assert (tmp_path / "raw.csv").read_text().splitlines()[1:] == ["a,0,0,0,5,10,", "b,0,0,0,5,20,"]


def test_an_export_that_cannot_be_written_says_where(runs, folder, tmp_path):
    with pytest.raises(StorageFailed, match="no-such-folder"):
        runs.export_raw(folder.id, tmp_path / "no-such-folder" / "raw.csv")


# ---------------------------------------------------------------- states


def test_a_failed_run_says_why(runs, folder):
    runs.fail(folder.id, Failure("TIMED_OUT", "The time limit passed"), "failed")
    assert folder.state() == "failed"
    assert json.loads((folder.path / "state.json").read_text())["failure"] == {
        "code": "TIMED_OUT",
        "title": "The time limit passed",
        "why": "",
        "fix": "",
    }


def test_a_run_that_is_over_cannot_end_again(runs, folder):
    runs.fail(folder.id, Failure("CANCELLED", "Stopped"), "cancelled")
    with pytest.raises(ValueError, match="a run cannot go from cancelled to failed"):
        runs.fail(folder.id, Failure("TIMED_OUT", "Too late"), "failed")


def test_scratch_files_go_and_results_stay(runs, folder):
    (folder.scratch / "core").write_text("x")
    (folder.model / "m.onnx").write_text("x")
    (folder.model / "m.onnx").chmod(0o444)
    runs.append(folder.id, Unit(0, 0, session(1)))
    runs.clear_scratch(folder.id)
    assert not folder.scratch.exists()
    assert not folder.model.exists()
    assert len(list(runs.units(folder.id))) == 1


# ---------------------------------------------------------------- disks


def test_a_workspace_that_cannot_be_one_is_told_so(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(WorkspaceUnusable) as caught:
        RunFolders(tmp_path / "runs").create(SPEC)
    assert (caught.value.why, caught.value.fix) == (
        f"Not a directory: {tmp_path}/runs",
        "Choose another folder with --workspace or MODELDYNO_WORKSPACE",
    )


FILLED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from modeldyno.core.errors import StorageFailed
from modeldyno.core.jobs import Unit
from modeldyno.store.runs import RunFolders
from tests.store.test_runs import SPEC, session
runs = RunFolders(Path({runs!r}))
folder = runs.create(SPEC)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    for number in range(1000):
        runs.append(folder.id, Unit(0, number, session(*range({count}))))
except StorageFailed as error:
    print(number, error.why)
"""


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    ("limit", "count"),
    [
        (30_000, 1000),  # the samples do not fit
        (30_000, 1),  # the line that names them does not fit
        (30_001, 999),
    ],
)
def test_a_unit_that_does_not_fit_leaves_no_trace(limit, count, runs, tmp_path):
    """A part of a line, or samples at an odd place, would spoil everything behind them."""
    root = Path(__file__).parents[2]
    code = FILLED.format(root=str(root), runs=str(tmp_path / "runs"), limit=limit, count=count)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, _, why = done.stdout.strip().partition(" ")
    (path,) = (tmp_path / "runs").iterdir()
    folder = runs.folder(path.name)
    assert why == "File too large"
    assert list(runs.units(folder.id)) == [
        Unit(0, number, session(*range(count))) for number in range(int(kept))
    ]
    for file in (folder.path / "units.jsonl", folder.samples / "cell-0.i64"):
        assert file.stat().st_size <= limit
    assert (folder.samples / "cell-0.i64").stat().st_size % 8 == 0
    assert (folder.path / "units.jsonl").read_bytes().endswith(b"\n")


def test_a_state_that_cannot_be_written_leaves_the_old_one(runs, folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failure = Failure("ENGINE_FAILED", "x" * 1000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(StorageFailed):
            runs.fail(folder.id, failure, "failed")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.state() == "running"
    assert not list(folder.path.glob("*.new"))


def test_two_runs_at_the_same_moment_do_not_meet(runs):
    assert len({runs.create(replace(SPEC, seed=n)).id for n in range(20)}) == 20
