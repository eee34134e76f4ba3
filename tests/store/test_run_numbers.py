"""Numbers of runs: in order of time, the same for everybody, and never given twice."""

import fcntl
import os
import subprocess
import sys

import pytest

from modeldyno.core.errors import RunNotFound, StorageFailed
from modeldyno.core.ids import number_in
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.store.history import History
from modeldyno.store.runs import RunFolders

SPEC = BenchmarkSpec(ModelSpec("/m.onnx"), (CellSpec(),))
OLD = ("20250101-120000-abc123", "20250102-120000-000001", "20250103-120000-ffffff")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def history(root):
    return History(root)


def number(history, run_id):
    return history.numbers_of([run_id])[run_id]


def made(root):
    return RunFolders(root).create(SPEC).id


def left_by_an_older_version(root, *names):
    for name in names:
        (root / name).mkdir(parents=True)


def test_runs_are_counted_from_one(root, history):
    assert [number(history, made(root)) for _ in range(3)] == [1, 2, 3]


def test_a_run_has_its_number_before_it_starts(root):
    run_id = made(root)
    assert root.with_name("runs.numbers").read_text() == f"{run_id}\n"


def test_the_number_of_a_removed_run_is_not_given_again(root, history):
    first, last = made(root), made(root)
    RunFolders(root).remove(last)
    assert number(history, made(root)) == 3
    RunFolders(root).remove(first)
    assert number(history, made(root)) == 4


def test_old_runs_are_numbered_once_in_order_of_time(root, history):
    left_by_an_older_version(root, *reversed(OLD))
    assert [number(History(root), run_id) for run_id in (OLD[2], OLD[0], OLD[1])] == [3, 1, 2]
    left_by_an_older_version(root, "20240101-120000-abc123")  # copied here later
    assert number(history, "20240101-120000-abc123") == 4
    assert [number(history, run_id) for run_id in OLD] == [1, 2, 3]


def test_a_new_run_comes_after_old_ones_that_nobody_listed(root, history):
    left_by_an_older_version(root, *OLD)
    assert number(history, made(root)) == 4
    assert number(history, OLD[0]) == 1


@pytest.mark.usefixtures("starts_processes")
def test_no_two_processes_give_the_same_number(root):
    code = (
        "import sys; from pathlib import Path; from modeldyno.store.run_numbers import RunNumbers\n"
        "numbers = RunNumbers(Path(sys.argv[1]))\n"
        "ids = [f'20260101-{sys.argv[2]}0000-{n:06x}' for n in range(40)]\n"
        "for run_id in ids: numbers.add(run_id)\n"
        "print(*(numbers.of(ids)[run_id] for run_id in ids))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, root, f"{hour:02}"], stdout=subprocess.PIPE, text=True
        )
        for hour in range(4)
    ]
    given = [list(map(int, process.communicate()[0].split())) for process in processes]
    assert sorted(number for numbers in given for number in numbers) == list(range(1, 161))
    assert all(numbers == sorted(numbers) for numbers in given)


def test_a_line_that_a_killed_process_wrote_in_part_is_no_number(root, history):
    first = made(root)
    with root.with_name("runs.numbers").open("a") as file:
        file.write("20260101-12")
    assert number(history, first) == 1
    second = made(root)
    assert number(history, second) == 2
    assert root.with_name("runs.numbers").read_text() == f"{first}\n{second}\n"


def test_a_run_without_a_durable_number_does_not_start(root, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed):
        made(root)
    assert root.with_name("runs.numbers").read_bytes() == b""


def test_runs_of_a_workspace_that_cannot_be_written_have_numbers_too(root, history, monkeypatch):
    left_by_an_older_version(root, *OLD)

    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert [number(history, run_id) for run_id in OLD] == [1, 2, 3]
    assert root.with_name("runs.numbers").read_bytes() == b""


@pytest.mark.parametrize("word", ["2", "#2"])
def test_a_run_is_found_by_its_number(root, history, word):
    left_by_an_older_version(root, *OLD)
    assert history.id_of(word) == OLD[1]


def test_a_number_that_was_never_given_names_the_nearest(root, history):
    left_by_an_older_version(root, *OLD)
    with pytest.raises(RunNotFound) as caught:
        history.id_of("99")
    assert (caught.value.title, caught.value.why) == (
        "There is no run #99 in this workspace",
        "",
    )
    assert caught.value.fix == "The nearest are #1, #2, #3; `modeldyno ls` lists all"


def test_the_number_of_a_removed_run_finds_no_other(root, history):
    ids = [made(root) for _ in range(3)]
    RunFolders(root).remove(ids[1])
    with pytest.raises(RunNotFound) as caught:
        history.id_of("2")  # which the other ids contain, too
    assert caught.value.why == "it was removed, or measured nothing"
    assert caught.value.fix == "The nearest are #1, #3; `modeldyno ls` lists all"


@pytest.mark.parametrize(
    ("word", "is_number"),
    [("12", 12), ("#12", 12), ("99999", 99999), ("#123456", 123456), ("123456", None),
     ("20260101", None), ("3fa9c1", None), ("#", None), ("#x", None), ("1.5", None), ("", None)],
)  # fmt: skip
def test_digits_are_a_number_unless_they_may_be_part_of_an_id(word, is_number):
    assert number_in(word) == is_number


def test_a_folder_with_a_strange_name_is_no_run(root, history):
    left_by_an_older_version(root, OLD[0], f"{OLD[0]} (copy)")
    assert history.list_ids() == [OLD[0]]
