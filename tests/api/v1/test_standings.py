"""Where a project stands, over real HTTP."""

import pytest
from sqlalchemy import update

from modeldyno.core.documents.projects import OverviewDocument
from modeldyno.core.ids import ComparisonId, RunId
from modeldyno.core.runs import RunOf
from modeldyno.store.tables import CELLS
from tests.api.v1.shapes import fits, problem
from tests.api.v1.test_projects import measured
from tests.values import figure, summary


def standing(served, project):
    return fits(served.get(f"projects/{project}/standing"), OverviewDocument)


def leader(told):
    best = told["best"][0]
    return best["leader"] and best["leader"]["benchmark_id"], best["is_clear"]


def actions(told):
    return [step["action"] for step in told["next_steps"]]


def test_an_empty_project_wants_a_model_and_then_a_benchmark(served, project):
    told = standing(served, project)
    assert (leader(told), actions(told)) == ((None, False), ["add-model"])
    model = served.model(project, "net.json")
    told = standing(served, project)
    assert actions(told) == ["add-benchmark"]
    assert told["next_steps"][0]["model_id"] == model
    assert [one["sentence"] for one in told["activity"]] == ["net.json added"]
    assert (told["counts"]["models"], told["counts"]["benchmarks"]) == (1, 0)


def test_the_clearly_quickest_is_the_best(served, project):
    measured(served, project, 0.003)
    quick = measured(served, project, 0.001)
    told = standing(served, project)
    assert leader(told) == (quick, True)
    assert told["best"][0]["leader"]["cell"]["latency_ms"]["floor"]["value"] == pytest.approx(1)
    assert "set-baseline" in actions(told)
    assert told["activity"][0]["subject"] in ("benchmark", "model")
    assert any("is done" in one["sentence"] for one in told["activity"])
    assert len(actions(told)) <= 3


def test_what_overlaps_is_a_tie_and_not_the_best(served, project):
    measured(served, project, 0.00100)
    measured(served, project, 0.00101)
    told = standing(served, project)
    assert not told["best"][0]["is_clear"]
    assert len(told["best"][0]["tied"]) == 1
    assert "no clear difference" in told["best"][0]["note"]
    assert actions(told)[0] == "compare"


def test_the_best_says_that_others_compute_in_another_precision(served, project):
    quick, slow = measured(served, project, 0.001), measured(served, project, 0.003)
    records = served.server.records
    for benchmark, precision in ((quick, "int8"), (slow, "fp32")):
        with records.database.writing() as connection:
            run = records.benchmarks.details(benchmark).latest.id
            row = update(CELLS).where(CELLS.c.run_id == run)
            connection.execute(row.values(precision=precision))
    told = standing(served, project)
    assert leader(told) == (quick, True)
    assert told["best"][0]["note"] == "it computes in int8, others in fp32"


def test_an_unusable_number_is_never_the_best_and_a_contended_one_says_so(served, project):
    measured(served, project, 0.001, noise="unusable")
    slower = measured(served, project, 0.003, noise="contended")
    told = standing(served, project)
    assert leader(told) == (slower, True)
    assert "other programs" in told["best"][0]["note"]
    assert told["best"][0]["note"].endswith("; 1 number is unusable and left out")
    assert "rerun-benchmark" in actions(told)


def test_numbers_of_two_machines_are_not_ranked_against_each_other(served, project):
    quick, slow = measured(served, project, 0.001), measured(served, project, 0.003)
    assert leader(standing(served, project)) == (quick, True)
    records = served.server.records
    with records.database.writing() as connection:
        for benchmark, name in ((quick, "lab-1"), (slow, "lab-2")):
            run = records.benchmarks.details(benchmark).latest.id
            row = update(CELLS).where(CELLS.c.run_id == run)
            connection.execute(row.values(machine=name))
    told = standing(served, project)
    assert leader(told) == (slow, True)
    assert told["best"][0]["note"] == "1 number was measured on another machine"


def test_who_lost_an_alternation_is_not_the_best(served, project):
    records = served.server.records
    quick, other = measured(served, project, 0.001), measured(served, project, 0.002)
    models = [records.benchmarks.get(number).model_id for number in (quick, other)]
    asked = {"a": {"model_id": models[0]}, "b": {"model_id": models[1]}, "start": False}
    made = served.post("comparisons", asked | {"project_id": project}).json
    run = records.runs.add(RunOf("comparison", ComparisonId(made["id"])), {}, state="running")
    records.runs.finish(RunId(run.id), summary(verdict="faster", ratio=figure(0.9)))  # B is
    assert leader(standing(served, project)) == (other, True)


def test_no_project_has_no_standing(served):
    problem(served.get("projects/999999/standing"), 404, "NOT_FOUND")
