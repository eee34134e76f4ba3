"""Projects, over real HTTP."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from modeldyno.core.documents.benchmarks import BenchmarkDetailsDocument, BenchmarkSummary
from modeldyno.core.ids import BenchmarkId, RunId
from modeldyno.core.projects import Project
from modeldyno.core.runs import RunOf
from modeldyno.store.tables import CELLS
from tests import schemas, values
from tests.api.v1.shapes import Page, fits, problem


@pytest.fixture(scope="module")
def lab(served):
    """A project whose first benchmark ran twice, and whose second one failed."""
    project = served.project("=Lab <box>")
    good = served.benchmark(project, served.model(project, "good"), batch_sizes=[1, 2])
    served.ended(good["latest_run"]["job_id"])
    again = served.ended(served.post(f"benchmarks/{good['id']}/runs").json["id"])
    bad = served.benchmark(project, served.model(project, "bad"), dims={"nonsense": 3})
    served.ended(bad["latest_run"]["job_id"])
    return project, again["run_id"], bad["id"]


def reported(served, project, format, kind):
    answer = served.get(f"projects/{project}/report?format={format}")
    assert answer.headers["Content-Type"] == kind
    name = f"lab-box-project-{project}.{format}"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    return answer.text


def test_a_page_about_a_project_has_the_latest_of_everything(served, lab):
    project, run, bad = lab
    page = reported(served, project, "html", "text/html; charset=utf-8")
    assert "<h1>=Lab &lt;box&gt;</h1>" in page
    assert page.count("<article") == page.count(f'<article id="{run}">') == 1
    assert f"<li>benchmark {bad}: Run " in page
    assert served.get(f"projects/{project}/report").text == page


def test_a_project_is_reported_as_json_markdown_and_one_table(served, lab):
    project, run, bad = lab
    told = json.loads(reported(served, project, "json", "application/json"))
    assert told["title"] == "=Lab <box>"
    (result,) = told["results"]
    schemas.check("benchmark", result)
    assert [line.partition(":")[0] for line in told["missing"]] == [f"benchmark {bad}"]
    markdown = reported(served, project, "md", "text/markdown; charset=utf-8")
    assert markdown.startswith("## =Lab \\<box\\>\n\n### good\n")
    assert "### Without a result" in markdown
    table = reported(served, project, "csv", "text/csv; charset=utf-8")
    rows = [*csv.DictReader(io.StringIO(table))]
    assert [(row["run_id"], row["batch_size"]) for row in rows] == [(run, "1"), (run, "2")]


def test_a_project_without_results_has_an_empty_report_and_no_project_has_none(served, project):
    assert "Nothing has been measured yet." in served.get(f"projects/{project}/report").text
    problem(served.get("projects/999999/report"), 404, "NOT_FOUND")
    problem(served.get(f"projects/{project}/report?format=exe"), 422, "BAD_VALUE")


def test_a_project_is_made_found_renamed_and_deleted(served):
    made = served.post("projects", {"name": "Edge box"})
    assert made.status == 201
    number = made.json["id"]
    assert made.headers["Location"] == f"/api/v1/projects/{number}"
    assert served.get(f"projects/{number}").json["counts"]["benchmark"] == 0
    assert served.patch(f"projects/{number}", {"name": "Edge"}).json["name"] == "Edge"
    assert [item["name"] for item in served.get("projects?text=edge").json["items"]] == ["Edge"]
    assert served.delete(f"projects/{number}").status == 204
    gone = served.get(f"projects/{number}")
    assert (gone.status, gone.json["code"]) == (404, "NOT_FOUND")
    assert gone.headers["Content-Type"] == "application/problem+json"


# ---------------------------------------------------------------- baselines


def measured(served, project, floor_s, **more):
    """A benchmark with the numbers of a quiet machine, known to ±1 % over 8 sessions."""
    made = served.benchmark(project, start=False)
    runs = served.server.records.runs
    run = runs.add(RunOf("benchmark", made["id"]), {}, state="running")
    floor = values.figure(floor_s * 1e3, floor_s * 990, floor_s * 1010)
    cell = values.cell(typical=floor, floor=floor, sessions=8, noise="quiet")
    runs.finish(RunId(run.id), values.summary(floor_s), [replace(cell, **more)])
    return BenchmarkId(made["id"])


@pytest.fixture(scope="module")
def held(served):
    """A project whose baseline takes 3 ms, and a benchmark of it that takes 1 ms."""
    project = served.project("Held")
    slow, quick = measured(served, project, 0.003), measured(served, project, 0.001)
    edited = served.patch(f"projects/{project}", {"baseline_benchmark_id": slow})
    assert fits(edited, Project)["baseline_benchmark_id"] == slow
    return project, slow, quick


def test_benchmarks_are_held_against_the_baseline_of_their_project(served, held):
    project, slow, quick = held
    lines = fits(served.get(f"benchmarks?project_id={project}"), Page[BenchmarkSummary])
    told = {line["id"]: line["vs_baseline"] for line in lines["items"]}
    assert told[quick]["ratio"]["value"] == pytest.approx(1 / 3)
    assert told[quick]["ratio"]["low"] < 1 / 3 < told[quick]["ratio"]["high"]
    assert (told[quick]["verdict"], told[quick]["benchmark_id"]) == ("faster", slow)
    assert told[slow]["ratio"]["value"] == pytest.approx(1)
    details = fits(served.get(f"benchmarks/{quick}"), BenchmarkDetailsDocument)
    assert details["vs_baseline"] == told[quick]
    assert served.get(f"projects/{project}").json["baseline_benchmark_id"] == slow


def test_what_the_baseline_has_no_counterpart_of_has_no_ratio_and_says_why(served, held):
    project, _, _ = held
    other = measured(served, project, 0.001, batch_size=64)
    found = served.get(f"benchmarks/{other}").json["vs_baseline"]
    assert found["ratio"] is None
    assert "axes" in found["why"]


def test_a_baseline_of_another_precision_is_named_beside_the_ratio(served):
    project = served.project("Precise")
    slow, quick = measured(served, project, 0.003), measured(served, project, 0.001)
    served.patch(f"projects/{project}", {"baseline_benchmark_id": slow})
    records = served.server.records
    for benchmark, precision in ((slow, "fp32"), (quick, "int4 weights, int8 activations")):
        with records.database.writing() as connection:
            run = records.benchmarks.details(benchmark).latest.id
            row = update(CELLS).where(CELLS.c.run_id == run)
            connection.execute(row.values(precision=precision))
    found = served.get(f"benchmarks/{quick}").json["vs_baseline"]
    assert (found["verdict"], found["why"]) == ("faster", "")
    assert found["note"] == (
        "it computes with int4 weights, int8 activations, the baseline in fp32"
    )
    assert served.get(f"benchmarks/{slow}").json["vs_baseline"]["note"] == ""


def written(served, benchmark, **host):
    """The run's folder, with nothing but the machine in its result."""
    run = served.server.records.benchmarks.details(benchmark).latest
    folder = served.workspace / "runs" / run.id
    folder.mkdir(parents=True)
    host = {"cpu_model": "Xeon", "cpus": 2, "memory_bytes": 1} | host
    (folder / "result.json").write_text(json.dumps({"host": host}))


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        (("lab-1", "lab-2"), "measured on different machines: lab-1 against lab-2"),
        (("lab-1", "lab-1"), ""),
        ((None, "lab-2"), ""),  # measured before machines were known
    ],
)
def test_machines_that_look_alike_are_told_apart_where_they_are_known(served, machines, why):
    project = served.project("Alike")
    slow, quick = measured(served, project, 0.003), measured(served, project, 0.001)
    for benchmark, name in zip((slow, quick), machines, strict=True):
        written(served, benchmark, **{"machine": name} if name else {})
    served.patch(f"projects/{project}", {"baseline_benchmark_id": slow})
    found = served.get(f"benchmarks/{quick}").json["vs_baseline"]
    assert (found["why"] or "", found["verdict"]) == (why, None if why else "faster")


def test_what_another_machine_measured_is_not_held_against_the_baseline(served, held):
    project, slow, _ = held
    other = measured(served, project, 0.001)
    for benchmark, cpu in ((slow, "EPYC"), (other, "Xeon")):
        written(served, benchmark, cpu_model=cpu)
    found = served.get(f"benchmarks/{other}").json["vs_baseline"]
    assert (found["ratio"], found["verdict"]) == (None, None)
    assert found["why"] == "measured on different machines: EPYC against Xeon"
    lines = served.get(f"benchmarks?project_id={project}").json["items"]
    assert next(line for line in lines if line["id"] == other)["vs_baseline"] == found


def test_a_noisy_baseline_has_to_be_accepted(served, project):
    noisy = measured(served, project, 0.001, noise="noisy", noise_reasons=("It was loud.",))
    asked = {"baseline_benchmark_id": noisy}
    refused = problem(served.patch(f"projects/{project}", asked), 409, "BASELINE_NOISY")
    assert "It was loud." in refused["detail"]
    assert served.get(f"projects/{project}").json["baseline_benchmark_id"] is None
    accepted = served.patch(f"projects/{project}", asked | {"accept_noisy": True}).json
    assert accepted["baseline_benchmark_id"] == noisy
    cleared = served.patch(f"projects/{project}", {"baseline_benchmark_id": None}).json
    assert cleared["baseline_benchmark_id"] is None


def test_what_was_not_measured_or_is_elsewhere_is_no_baseline(served, project, held):
    draft = served.benchmark(project, start=False)["id"]
    path = f"projects/{project}"
    problem(served.patch(path, {"baseline_benchmark_id": draft}), 409, "WRONG_STATE")
    problem(served.patch(path, {"baseline_benchmark_id": held[1]}), 400, "BAD_VALUE")
    problem(served.patch(path, {"baseline_benchmark_id": 999_999}), 404, "NOT_FOUND")


def test_a_baseline_that_is_deleted_is_none_any_more(served, project):
    only = measured(served, project, 0.001)
    served.patch(f"projects/{project}", {"baseline_benchmark_id": only})
    assert served.delete(f"benchmarks/{only}").status == 204
    assert served.get(f"projects/{project}").json["baseline_benchmark_id"] is None


# ---------------------------------------------------------------- drafts


def test_a_draft_is_listed_once_it_is_named(served):
    made = fits(served.post("projects", {"name": "wip-7f", "is_draft": True}), Project, 201)
    assert made["is_draft"]
    assert served.get("projects?text=wip-7f").json["items"] == []
    named = fits(served.patch(f"projects/{made['id']}", {"name": "done-7f"}), Project)
    assert not named["is_draft"]
    assert [item["id"] for item in served.get("projects?text=done-7f").json["items"]] == [
        made["id"]
    ]


def test_a_draft_that_nobody_went_on_with_is_forgotten(served):
    left = served.post("projects", {"name": "left", "is_draft": True}).json
    served.model(left["id"])
    served.server.projects.forget_drafts()
    assert served.get(f"projects/{left['id']}").status == 200  # it is of today
    served.server.projects.forget_drafts(-timedelta(days=1).total_seconds())
    assert served.get(f"projects/{left['id']}").status == 404


def test_a_noisy_benchmark_of_another_project_is_refused_as_one_of_another_project(served, project):
    noisy = measured(served, served.project("Loud"), 0.001, noise="noisy")
    refused = served.patch(f"projects/{project}", {"baseline_benchmark_id": noisy})
    assert problem(refused, 400, "BAD_VALUE")["title"].endswith("belongs to another project")
    assert served.get(f"projects/{project}").json["baseline_benchmark_id"] is None
