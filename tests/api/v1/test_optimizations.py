"""Optimizations, over real HTTP."""

import pytest

from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.documents.runs import JobDocument
from modeldyno.core.optimizations import OptimizationDocument
from tests.api.v1.shapes import Page, fits, problem

USUAL = {
    "batch_size": 100,
    "sampling_size": 100,
    "strategy": "basic",
    "criterion": "relative",
    "threshold": 0.1,
    "objective": "performance",
    "timeout_s": 0,
    "max_trials": 25,
    "seed": 9527,
}


@pytest.fixture
def asked(served, project):
    return {"project_id": project, "model_id": served.model(project), "name": "Smaller"}


def test_an_optimization_is_made_listed_changed_and_deleted(served, project, asked):
    made = served.post("optimizations", asked | {"settings": {"strategy": "mse"}})
    told = fits(made, OptimizationDocument, 201)
    assert (told["type"], told["precision"], told["state"]) == ("quantization", "int8", "draft")
    assert told["settings"] == USUAL | {"strategy": "mse"}
    assert told["pins"] == {"accuracy": None, "performance": None}
    rows = fits(
        served.get(f"optimizations?project_id={project}&sort=name"), Page[OptimizationDocument]
    )
    assert rows["items"] == [told]
    address = made.headers["Location"]
    changed = served.patch(address, {"precision": "bf16", "settings": {"batch_size": 8}})
    after = fits(changed, OptimizationDocument)
    assert after["settings"] == USUAL | {"strategy": "mse", "batch_size": 8}
    assert after["type"] == "mixed-precision"
    assert served.delete(address).status == 204
    assert served.get(address).status == 404


def test_without_a_model_it_is_the_projects_first(served, project, asked):
    first = asked.pop("model_id")
    served.model(project)
    assert served.post("optimizations", asked).json["model_id"] == first
    empty = served.post("optimizations", asked | {"project_id": served.project()})
    assert problem(empty, 400, "BAD_VALUE")["title"] == "This project has no model"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"precision": "fp32"}, (400, "BAD_VALUE")),
        ({"settings": {"threshold": 5}}, (422, "BAD_VALUE")),
        ({"settings": {"strategy": "luck"}}, (422, "BAD_VALUE")),
        ({"type": "magic"}, (422, "BAD_VALUE")),
        ({"dataset_id": 2_000_000}, (404, "NOT_FOUND")),
        ({"project_id": 2_000_000}, (404, "NOT_FOUND")),
    ],
)
def test_what_cannot_be_is_refused(served, asked, said, answer):
    problem(served.post("optimizations", asked | said), *answer)


def test_a_run_says_that_it_cannot_be_carried_out_yet(served, asked):
    number = served.post("optimizations", asked).json["id"]
    started = served.post(f"optimizations/{number}/runs")
    job = served.ended(fits(started, JobDocument, 202)["id"])
    assert (job["state"], job["kind"]) == ("failed", "optimization")
    told = served.get(f"optimizations/{number}").json
    assert told["latest_run"]["failure"]["code"] == "NOT_YET"
    assert told["optimized_model_id"] is None
    runs = fits(served.get(f"optimizations/{number}/runs"), Page[RunSummary])["items"]
    fits(served.get(f"runs/{runs[0]['id']}"), RunDetailsDocument)
    assert "later version" in served.get(f"runs/{runs[0]['id']}/log").text
    refused = served.patch(f"optimizations/{number}", {"settings": {"seed": 1}})
    problem(refused, 409, "WRONG_STATE")
    assert served.patch(f"optimizations/{number}", {"name": "Tiny"}).json["name"] == "Tiny"


def test_only_benchmarks_of_what_it_made_are_pinned(served, project, asked):
    number = served.post("optimizations", asked).json["id"]
    other = served.benchmark(project, asked["model_id"], start=False)["id"]
    pin = f"optimizations/{number}/pins/performance"
    problem(served.put(pin, {"benchmark_id": other}), 400, "BAD_VALUE")
    problem(served.put(pin, {"benchmark_id": 2_000_000}), 404, "NOT_FOUND")
    assert served.delete(pin).status == 204
    problem(served.delete("optimizations/2000000/pins/accuracy"), 404, "NOT_FOUND")
