"""``make test`` runs all parts, and tells of each."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

def test_beside_others(starts_processes):
    assert {together}

@pytest.mark.{mark}
def test_for_itself(request):
    assert {alone}
"""


QUICK = """
import subprocess, threading

def test_in_a_thread():
    thread = threading.Thread(target=subprocess.run, args=(["true"],))
    thread.start()
    thread.join()

def test_nothing():
    pass
"""


@pytest.fixture
def run(tmp_path, starts_processes):
    """The script on two tests of our own; its exit code, and what it printed."""
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    names = ("alone", "engine", "slow", "timing")
    (tmp_path / "pytest.ini").write_text("\n  ".join(("[pytest]\nmarkers =", *names)))

    def run_(*arguments, together=True, alone=True, mark="alone"):
        text = TESTS.format(together=together, alone=alone, mark=mark)
        (tmp_path / "test_it.py").write_text(text)
        # Plugins that others installed take seconds to load.
        few = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
        ended = subprocess.run(
            [sys.executable, ROOT / "scripts/run_tests.py", *few, *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    return run_


@pytest.mark.slow
def test_what_fails_beside_others_may_pass_by_itself_and_is_named(run, tmp_path):
    once = f"not __import__('pathlib').Path({str(tmp_path / 'been')!r}).exists()"
    there = f"__import__('pathlib').Path({str(tmp_path / 'been')!r}).touch()"
    code, out = run(together=f"not ({once}) or {there}")
    assert code == 0
    assert "Once more, by themselves:\n  test_it.py::test_beside_others\n" in out
    assert ", together FAILED in" in out
    assert ", once more passed in" in out
    assert "\nRun once more: passed 1\n  passed  test_it.py::test_beside_others\n" in out


@pytest.mark.slow
def test_a_failure_of_one_part_fails_the_whole_and_the_other_runs_all_the_same(run):
    code, out = run(together=False, mark="timing")
    assert code == 1
    assert out.count("1 failed") == 2  # beside others, and once more
    assert out.count("1 passed") == 1
    assert "\nRun once more: failed 1\n  failed  test_it.py::test_beside_others\n" in out
    assert ", together FAILED in" in out
    assert ", alone passed in" in out


@pytest.mark.slow
def test_a_failure_of_the_last_part_counts_as_well(run):
    code, out = run("-n0", alone=False)
    assert code == 1
    assert "together passed in" in out
    assert "alone FAILED in" in out


@pytest.mark.slow
def test_a_part_without_tests_is_fine_but_no_test_at_all_is_not(run):
    code, out = run("-n0", "-k", "beside")
    assert (code, "alone none found in" in out) == (0, True)
    assert run("-n0", "-k", "nothing")[0] == 5


@pytest.mark.slow
def test_who_asks_for_a_stop_at_the_first_failure_gets_it(run):
    code, out = run("-n0", "-x", together=False)
    assert (code, "alone" in out.splitlines()[-1]) == (1, False)


@pytest.mark.slow
def test_the_slowest_of_all_parts_are_listed_and_a_timing_test_says_that_it_tried_again(run):
    code, out = run(
        "-n0",
        together="__import__('time').sleep(0.2) is None",
        alone="request.node.user_properties.append(('retried', True)) is None",
        mark="timing",
    )
    assert code == 0
    slowest = out[out.index("Slowest 30:\n") :].splitlines()[1:3]
    assert [line.split(" s  ")[1] for line in slowest] == [
        "test_it.py::test_beside_others",
        "test_it.py::test_for_itself",
    ]
    assert "\nRun once more: passed 1\n  passed  test_it.py::test_for_itself\n" in out


@pytest.mark.slow
def test_quick_tests_run_first_and_may_start_no_process(run, tmp_path):
    (tmp_path / "test_quick.py").write_text(QUICK)
    code, out = run("--part", "quick", "-n0")
    assert code == 1
    assert out.count("ERROR test_quick.py") == 1
    assert "ERROR test_quick.py::test_in_a_thread - Failed: This quick test started" in out
    assert out.splitlines()[-1].startswith("Tests: quick FAILED in")
