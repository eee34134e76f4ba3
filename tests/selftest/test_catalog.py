"""The self-tests by name, and what happens when one fails."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from modeldyno.core.errors import BadValue
from modeldyno.selftest import catalog
from modeldyno.selftest.outcome import Outcome

FAILED = Outcome(False, {"seen": 1}, {"seen": 2}, {}, seed=0, id="T0", name="made-up", seconds=1.5)
PASSED = replace(FAILED, passed=True, observed={"seen": 2})


class Scripted:
    """A self-test with outcomes written beforehand."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.arguments = []

    def __call__(self, **arguments):
        self.arguments.append(arguments)
        return self.outcomes.pop(0)


def run(test, is_timing, short=False):
    entry = catalog.SelfTest("T0", "made-up", "nothing", 1, is_timing, {"short": True})
    clock = itertools.count(0, 1.5).__next__
    return catalog.run(entry, short, load=lambda _: test, clock=clock)


def test_all_of_the_table_is_there_in_its_order():
    assert [(entry.id, entry.name) for entry in catalog.TESTS] == [
        ("T1", "aa"),
        ("T2", "power"),
        ("T3", "ten-seconds"),
        ("T4", "coverage"),
        ("T5", "tails"),
        ("T6", "calibrate"),
        ("T7", "linearity"),
        ("T8", "overhead"),
        ("T9", "sample-length"),
        ("T10", "load"),
        ("T11", "warmup"),
        ("T13", "stopping"),
        ("T14", "long-calls"),
        ("T15", "fairness"),
        ("T16", "instances"),
        ("T17", "reproducibility"),
        ("T18", "repeat"),
        ("T18b", "repeat-live"),
    ]


@pytest.mark.parametrize("name", ["T4", "t4", "coverage", "Coverage"])
def test_a_test_is_found_by_id_or_name(name):
    assert [entry.id for entry in catalog.find_tests([name])] == ["T4"]


def test_all_means_every_one_once():
    assert catalog.find_tests(["all", "aa", "T1"]) == list(catalog.TESTS)


def test_tests_run_in_the_order_they_were_asked_for_without_repeats():
    assert [entry.id for entry in catalog.find_tests(["tails", "T1", "t5"])] == ["T5", "T1"]


@pytest.mark.parametrize(("typed", "meant"), [("covrage", "coverage"), ("linear", "linearity")])
def test_a_typing_error_gets_a_suggestion(typed, meant):
    with pytest.raises(BadValue) as caught:
        catalog.find_tests([typed])
    assert meant in caught.value.fix


def test_a_name_like_no_other_is_told_where_names_are():
    with pytest.raises(BadValue) as caught:
        catalog.find_tests(["qqqq"])
    assert "modeldyno selftest" in caught.value.fix


@pytest.mark.parametrize("entry", catalog.TESTS, ids=lambda entry: entry.name)
def test_every_entry_has_a_test_behind_it_that_says_what_it_does(entry):
    document = sys.modules[catalog.load(entry).__module__].__doc__
    assert document is not None
    assert document.startswith(f"{entry.id}: ")


@pytest.mark.usefixtures("starts_processes")
def test_listing_the_tests_loads_none_of_them():
    code = (
        "import sys; import modeldyno.selftest.catalog; "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'onnx', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_test_that_passes_is_run_once():
    test = Scripted(PASSED)
    assert run(test, is_timing=True) == PASSED
    assert test.arguments == [{}]


def test_a_timing_test_that_fails_gets_a_second_try_and_says_so():
    outcome = run(Scripted(FAILED, PASSED), is_timing=True)
    assert (outcome.passed, outcome.retried, outcome.seconds) == (True, True, 3.0)
    assert json.loads(outcome.to_json())["retried"] is True
    assert FAILED.to_json() in outcome.notes[0]


def test_two_failures_are_a_failure():
    outcome = run(Scripted(FAILED, FAILED, PASSED), is_timing=True)
    assert (outcome.passed, outcome.retried) == (False, True)


def test_a_test_without_a_stopwatch_is_never_repeated():
    assert run(Scripted(FAILED, PASSED), is_timing=False) == FAILED


def test_the_short_form_has_arguments_of_its_own():
    test = Scripted(FAILED, PASSED)
    run(test, is_timing=True, short=True)
    assert test.arguments == [{"short": True}, {"short": True}]
