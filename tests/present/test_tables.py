"""The table of a benchmark: which interval its ± is, and what each column holds."""

from dataclasses import replace

import pytest

import modeldyno
from modeldyno.core.figures import estimate
from modeldyno.core.results import Estimate, Repeat
from modeldyno.present.markdown import benchmark_markdown
from modeldyno.present.tables import WITHIN_RUN, benchmark_rows, interval_legend, rate_legend
from tests.scripts import script

FIGURE = Estimate(3.61e-3, 3.58e-3, 3.64e-3, 0.95, 14, "sessions")


def repeat(runs):
    return Repeat(3.39e-3, 3.83e-3, 0.95, runs)


@pytest.fixture(scope="module")
def result(tmp_path_factory, starts_processes):
    folder = tmp_path_factory.mktemp("tables")
    model = script(folder / "m.json", latency_us=200)
    return modeldyno.bench(model, budget=1, workspace=folder / "workspace")


def with_repeat(result, expected):
    (cell,) = result.cells
    latency = cell.measurement.latency
    typical = replace(latency.typical, repeat=expected)
    measurement = replace(cell.measurement, latency=replace(latency, typical=typical))
    return replace(result, cells=(replace(cell, measurement=measurement),))


def test_a_figure_shows_where_a_repeat_is_expected():
    assert estimate(FIGURE, 1e-3) == "3.610 ±0.030"
    assert estimate(replace(FIGURE, repeat=repeat(3)), 1e-3) == "3.61 ±0.22"


def test_the_interval_within_the_run_has_a_column_beside_that_of_a_repeat(result):
    head, _ = benchmark_rows(with_repeat(result, None))
    assert WITHIN_RUN not in head
    head, (row,) = benchmark_rows(with_repeat(result, repeat(3)))
    assert row[head.index(WITHIN_RUN)].startswith("±")
    assert row[head.index(WITHIN_RUN)].endswith("%")
    assert len(head) == len(row)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (None, "over the sessions of this run"),
        (repeat(0), "a guess, for there is no earlier run"),
        (repeat(1), "judging by 1 earlier run of the same cell"),
        (repeat(5), "judging by 5 earlier runs of the same cell"),
    ],
)
def test_the_legend_says_what_the_interval_is_of(result, expected, words):
    changed = with_repeat(result, expected)
    assert words in interval_legend(changed)
    assert interval_legend(changed).split(".")[0] in benchmark_markdown(changed)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, ""),
        (0.95, ""),
        (
            0.17,
            "items/s is over all calls, slow ones included: 2 249, where calls without "
            "disturbance would give 13 228.",
        ),
    ],
)
def test_fewer_items_per_second_than_the_latency_suggests_are_explained(result, share, words):
    (cell,) = result.cells
    floor = Estimate(75.6e-6, 75e-6, 76e-6, 0.95, 14, "sessions")
    measurement = replace(
        cell.measurement,
        latency=replace(cell.measurement.latency, floor=floor),
        throughput_per_s=share / 75.6e-6,
    )
    changed = replace(result, cells=(replace(cell, measurement=measurement),))
    assert rate_legend(changed).replace("\u202f", " ") == words
