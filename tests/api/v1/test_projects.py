"""Projects, over real HTTP."""

import csv
import io
import json

import pytest

from tests import schemas
from tests.api.v1.shapes import problem


@pytest.fixture(scope="module")
def measured(served):
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


def test_a_page_about_a_project_has_the_latest_of_everything(served, measured):
    project, run, bad = measured
    page = reported(served, project, "html", "text/html; charset=utf-8")
    assert "<h1>=Lab &lt;box&gt;</h1>" in page
    assert page.count("<article") == page.count(f'<article id="{run}">') == 1
    assert f"<li>benchmark {bad}: Run " in page
    assert served.get(f"projects/{project}/report").text == page


def test_a_project_is_reported_as_json_markdown_and_one_table(served, measured):
    project, run, bad = measured
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
