"""The table of a benchmark: which interval its ± is, and what each column holds."""

import csv
import io
import re
from dataclasses import replace

import pytest

import modeldyno
from modeldyno.core.figures import estimate
from modeldyno.core.results import Estimate, Repeat, SideBySide
from modeldyno.present.markdown import benchmark_markdown
from modeldyno.present.reports.benchmarks import benchmark_section
from modeldyno.present.tables import WITHIN_RUN, benchmark_rows, interval_legend, rate_legend
from tests.scripts import script
from tests.terminal import modeldyno as terminal

FIGURE = Estimate(3.61e-3, 3.58e-3, 3.64e-3, 0.95, 14, "sessions")


def repeat(runs):
    return Repeat(3.39e-3, 3.83e-3, 0.95, runs)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "workspace"


@pytest.fixture(scope="module")
def result(workspace, starts_processes):
    model = script(workspace.with_name("m.json"), latency_us=200)
    return modeldyno.bench(model, budget=3, workspace=workspace)


def with_measured(result, **changes):
    (cell,) = result.cells
    return replace(result, cells=(replace(cell, measurement=replace(cell.measurement, **changes)),))


def with_typical(result, typical):
    latency = result.cells[0].measurement.latency
    return with_measured(result, latency=replace(latency, typical=typical))


def with_repeat(result, expected):
    return with_typical(result, replace(FIGURE, repeat=expected))


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
        (repeat(0), "a guess, because there is no earlier run"),
        (repeat(1), "judging by 1 earlier run of the same cell"),
        (repeat(5), "judging by 5 earlier runs of the same cell"),
    ],
)
def test_the_legend_says_what_the_interval_is_of(result, expected, words):
    changed = with_repeat(result, expected)
    assert words in interval_legend(changed)
    assert interval_legend(changed).split(".")[0] in benchmark_markdown(changed)


def test_every_text_of_a_result_says_what_its_interval_is_of(result):
    result = with_repeat(result, repeat(3))
    legend = interval_legend(result)
    assert "a repeat on this machine is expected" in legend
    assert legend in str(result)
    assert legend.rstrip(".") in result._repr_html_()
    assert legend in benchmark_section(result).method


def test_the_rate_of_several_instances_says_that_it_is_within_the_run(result):
    result = with_repeat(result, repeat(3))
    together = SideBySide(FIGURE, None, 1.0, 500.0, 1.0, False)
    assert interval_legend(result).endswith("over its own sessions.")
    assert interval_legend(with_measured(result, side_by_side=together)).endswith(
        "So is the ± of instances in all."
    )


def test_a_table_without_any_interval_has_no_legend(result):
    assert interval_legend(with_typical(result, replace(FIGURE, units="samples"))) == ""


def test_csv_says_what_each_interval_is_of(result):
    (row,) = csv.DictReader(io.StringIO(with_repeat(result, repeat(3)).to_csv()))
    assert (row["latency_ms_of"], row["repeat_runs"]) == ("sessions", "3")
    ends = [float(row[f"latency_ms_{name}"]) for name in ("repeat_low", "low", "high")]
    assert ends == sorted(ends)


def test_the_list_of_runs_says_what_its_interval_is_of(result, workspace):
    ended = terminal("ls", "--workspace", workspace)
    assert re.search(r"±|\d to \d", ended.out)  # the ends of one that is wide
    assert "a repeat on that machine" in ended.err


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
