"""Remarks about a number that is less than perfect."""

import re
from dataclasses import replace

import pytest

import modeldyno
from modeldyno.core.results import BenchmarkResult
from modeldyno.core.specs import DEFAULT, QUICK, THOROUGH
from modeldyno.present.advice import advise
from tests.scripts import script


@pytest.fixture
def result(tmp_path, starts_processes):
    return modeldyno.bench(
        script(tmp_path / "m.json"), batch=[1, 2], iterations=5, workspace=tmp_path / "workspace"
    )


def as_if(result: BenchmarkResult, *sessions: int) -> BenchmarkResult:
    """The same, as if each cell had been noisy with so many sessions when its time was up."""
    cells = []
    for cell, count in zip(result.cells, sessions, strict=True):
        found = cell.measurement
        assert found is not None
        floor = replace(found.latency.floor, low=0.5, high=1.5, value=1.0)
        found = replace(
            found,
            sessions=count,
            noise="noisy",
            stop_reason="budget",
            steady=True,
            trend=False,
            latency=replace(found.latency, floor=floor),
        )
        cells.append(replace(cell, measurement=found))
    spec = replace(result.spec, iterations=None, budget=DEFAULT)
    return replace(result, cells=tuple(cells), spec=spec)


def budgets(result: BenchmarkResult) -> set[str]:
    return {
        found for advice in advise(result) for found in re.findall(r"--budget \S+", advice.help)
    }


def test_one_run_gets_one_budget(result):
    assert budgets(as_if(result, 1, 6)) == {"--budget 100"}
    assert budgets(as_if(result, 6, 6)) == {"--budget 40"}


def test_one_is_not_several(result):
    tips = [advice.help for advice in advise(as_if(result, 1, 6), each_cell=True)]
    assert "1 session was taken; measure longer with --budget 100" in tips
    assert "6 sessions were taken; measure longer with --budget 100" in tips


def test_cells_with_the_same_trouble_share_a_line(result):
    together = [advice for advice in advise(as_if(result, 6, 6)) if "noisy" in advice.text]
    assert [advice.cells for advice in together] == ["all 2 cells"]
    apart = [advice for advice in advise(as_if(result, 6, 6), each_cell=True)]
    assert [a.cells for a in apart if "noisy" in a.text] == [cell.name for cell in result.cells]


def test_advice_about_one_cell_names_it(result):
    few = [advice for advice in advise(as_if(result, 1, 6)) if "no interval" in advice.text]
    assert [advice.cells for advice in few] == [result.cells[0].name]


def test_an_interval_says_what_it_takes_and_no_other_advice_contradicts(result):
    """Where the time was too short for four sessions, the run knows how long they take."""
    noisy = as_if(result, 1, 6)
    few = noisy.cells[0]
    assert few.measurement is not None
    few = replace(few, measurement=replace(few.measurement, interval_budget_s=9.0))
    said = replace(noisy, cells=(few, noisy.cells[1]))
    assert budgets(said) == {"--budget 9"}
    (missing,) = [advice for advice in advise(said) if "no interval" in advice.text]
    assert missing.text == "no interval: 1 session, and an interval needs 4 sessions: about 9 s"
    assert missing.help == "use --budget 9"


@pytest.mark.parametrize("budget", [QUICK, DEFAULT, THOROUGH], ids=lambda budget: budget.name)
def test_advice_never_names_another_preset_than_the_request(result, budget):
    given = replace(as_if(result, 1, 6), spec=replace(result.spec, iterations=None, budget=budget))
    for advice in advise(given, each_cell=True):
        assert "--quick" not in advice.help
        assert "--thorough" not in advice.help
