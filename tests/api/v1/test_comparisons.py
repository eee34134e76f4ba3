"""Comparisons, over real HTTP and through real workers."""

import csv
import io

import pytest

from modeldyno.core.benchmarks import NewComparison
from modeldyno.core.codec import decode
from modeldyno.core.documents.comparisons import ComparisonDetailsDocument, ComparisonSummary
from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.results import ComparisonResult
from modeldyno.core.specs import CellSpec, ComparisonSpec, ModelSpec, SideSpec
from tests import schemas
from tests.api.v1.shapes import Page, fits, problem


@pytest.fixture
def sides(served, project):
    old = served.model(project, "old.json", latency_us=60)
    new = served.model(project, "+new.json", latency_us=120)
    return {"project_id": project, "a": {"model_id": old}, "b": {"model_id": new}}


def test_a_side_has_as_many_streams_as_it_was_asked_for(served, sides):
    many = sides | {"b": sides["b"] | {"streams": 2}, "start": False}
    told = fits(served.post("comparisons", many), ComparisonDetailsDocument, 201)
    assert [told["pairing"][side]["streams"] for side in "ab"] == [1, 2]
    assert told["command"].endswith("compare old.json +new.json@streams=2")


def test_two_models_are_compared_and_the_answer_can_be_pasted(served, sides):
    made = served.post("comparisons", sides | {"pairs": 4, "budget": "quick"})
    told = fits(made, ComparisonDetailsDocument, 201)
    assert made.headers["Location"] == f"/api/v1/comparisons/{told['id']}"
    assert told["name"] == "old.json against +new.json"
    assert told["command"] == "modeldyno compare old.json +new.json --quick"
    job = served.ended(told["latest_run"]["job_id"])
    assert (job["state"], job["kind"]) == ("done", "comparison")

    shown = fits(served.get(f"comparisons/{told['id']}"), ComparisonDetailsDocument)
    assert shown["summary"]["verdict"] == "slower"
    run = f"runs/{job['run_id']}"
    details = fits(served.get(run), RunDetailsDocument)
    assert (details["settings"], details["units_kept"]) == (None, [4])
    assert details["pairing"] == told["pairing"]

    document = served.get(f"{run}/result").json
    schemas.check("comparison", document)
    assert [document[side]["model"]["path"] for side in "ab"] == ["old.json", "+new.json"]
    assert document["ratio"]["value"] == shown["summary"]["ratio"]["value"]
    result = decode(ComparisonResult, served.get(f"{run}/record").json)
    assert result.b.model.path == "+new.json"
    text = served.get(f"{run}/export?format=md").text
    assert text.startswith("### old.json against +new.json\n\n**slower**: B is ")
    _, row = csv.reader(io.StringIO(served.get(f"{run}/export?format=csv").text))
    assert row[:3] == ["old.json", "'+new.json", "slower"]
    _, *samples = served.get(f"{run}/samples").text.splitlines()
    assert {line[0] for line in samples} == {"a", "b"}

    again = fits(served.post(f"comparisons/{told['id']}/rerun"), ComparisonDetailsDocument, 201)
    assert (again["pairing"], again["rerun_of"]) == (told["pairing"], told["id"])
    served.post(f"jobs/{again['latest_run']['job_id']}/cancel")
    more = served.post(f"comparisons/{told['id']}/runs")
    assert more.status == 202
    served.post(f"jobs/{more.json['id']}/cancel")
    served.ended(more.json["id"])
    runs = fits(served.get(f"comparisons/{told['id']}/runs"), Page[RunSummary])["items"]
    assert [one["id"] for one in runs] == [more.json["run_id"], job["run_id"]]


def test_one_model_with_two_settings(served, sides):
    sides["b"] = sides["a"] | {"batch_size": 8, "cores": 1, "engine": "scripted"}
    told = fits(
        served.post("comparisons", sides | {"start": False}), ComparisonDetailsDocument, 201
    )
    assert told["command"] == "modeldyno compare old.json old.json@engine=scripted,batch=8"
    assert (told["state"], told["pairing"]["b"]["batch_size"]) == ("draft", 8)


def test_settings_change_before_the_first_run_and_what_is_not_sent_stays(served, sides):
    made = served.post("comparisons", sides | {"start": False, "budget": "quick", "pairs": 8}).json
    path = f"comparisons/{made['id']}"
    new = {"margin": 0.1, "pairs": None, "b": sides["a"] | {"batch_size": 2}}
    told = fits(served.patch(path, new), ComparisonDetailsDocument)
    changed = {"margin": 0.1, "pairs": None, "b": told["pairing"]["b"]}
    assert told["pairing"] == made["pairing"] | changed
    assert (told["pairing"]["b"]["batch_size"], told["b_model_name"]) == (2, "old.json")
    assert told["name"] == made["name"]
    job = served.post(f"{path}/runs").json["id"]
    served.post(f"jobs/{job}/cancel")
    problem(served.patch(path, {"margin": 0.2}), 409, "WRONG_STATE")
    assert served.patch(path, {"name": "Still", "a": None}).json["name"] == "Still"
    served.ended(job)


def test_a_comparison_is_renamed_listed_and_deleted(served, sides):
    made = served.post("comparisons", sides | {"start": False, "name": "first"}).json
    path = f"comparisons/{made['id']}"
    assert (
        fits(served.patch(path, {"name": "second"}), ComparisonDetailsDocument)["name"] == "second"
    )
    listed = served.get(f"comparisons?project_id={sides['project_id']}")
    rows = fits(listed, Page[ComparisonSummary])["items"]
    assert [row["name"] for row in rows] == ["second"]
    with served.counting() as asked:
        served.get(path)
    assert len([one for one in asked if one.startswith("SELECT")]) == 1
    assert served.delete(path).status == 204
    problem(served.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"margin": 0}, 422),
        ({"margin": 1}, 422),
        ({"pairs": 1}, 422),
        ({"a": {"model_id": 1, "sandbox": "off"}}, 422),
        ({"a": {}}, 422),
        ({"a": {"model_id": 10**6}}, 404),
        ({"contract": "hot"}, 422),
    ],
)
def test_what_cannot_be_compared_is_refused(served, sides, said, status):
    assert served.post("comparisons", sides | said).status == status
    assert served.get(f"projects/{sides['project_id']}").json["counts"]["comparison"] == 0


def test_sides_with_different_contracts_are_refused(served, sides):
    sides["a"] = sides["a"] | {"contract": "hot"}
    problem(served.post("comparisons", sides), 400, "BAD_VALUE")


def test_what_the_terminal_compared_without_a_sandbox_runs_only_inside_one(served, project):
    model = served.server.records.models.get(ModelId(served.model(project)))
    side = SideSpec("m", ModelSpec(model.path), CellSpec(sandbox="off"))
    new = NewComparison(
        project_id=ProjectId(project),
        a_model_id=model.id,
        b_model_id=model.id,
        name="x",
        spec=ComparisonSpec(side, side),
    )
    open_one = served.server.records.comparisons.add(new)
    problem(served.post(f"comparisons/{open_one.id}/runs"), 409, "WRONG_STATE")
    again = served.post(f"comparisons/{open_one.id}/rerun")
    assert again.json["pairing"]["a"]["sandbox"] == "on"
    served.post(f"jobs/{again.json['latest_run']['job_id']}/cancel")
