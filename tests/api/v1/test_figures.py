"""A figure that is declared once is seen everywhere."""

import csv
import io

import pytest

from modeldyno import Client
from modeldyno.core.results import BenchmarkResult


@pytest.fixture(scope="module")
def measured(served):
    """A benchmark, as it is shown after its run."""
    project = served.project("Figures")
    made = served.benchmark(project, iterations=5)
    served.ended(made["latest_run"]["job_id"])
    return served.get(f"benchmarks/{made['id']}").json


def test_page_faults_are_in_lists_details_and_documents(served, measured):
    (cell,) = measured["cells"]
    faults = cell["page_faults"]
    assert faults >= 0
    assert measured["summary"]["page_faults"] == faults
    path = f"benchmarks?project_id={measured['project_id']}&sort=page_faults"
    (line,) = served.get(path).json["items"]
    assert line["summary"]["page_faults"] == faults
    run = measured["latest_run"]["id"]
    document = served.get(f"runs/{run}/result").json
    assert document["cells"][0]["page_faults"] == faults


def test_page_faults_are_in_exports(served, measured):
    run, faults = measured["latest_run"]["id"], measured["cells"][0]["page_faults"]
    (row,) = csv.DictReader(io.StringIO(served.get(f"runs/{run}/export?format=csv").text))
    assert float(row["page_faults"]) == faults
    for format in ("md", "html"):
        assert "faults" in served.get(f"runs/{run}/export?format={format}").text


def test_page_faults_are_in_the_reference_api_and_in_the_client(served, measured):
    faults = measured["cells"][0]["page_faults"]
    shown = served.ask("POST", "/api/benchmark", {"id": measured["id"]}).json
    assert shown["result"]["statistics"]["page_faults"] == faults
    with Client(served.url, token=served.token) as client:
        benchmark = client.benchmarks.get(measured["id"])
        result = client.runs.result(measured["latest_run"]["id"])
    assert benchmark.cells[0].page_faults == benchmark.summary.page_faults == faults
    assert isinstance(result, BenchmarkResult)
    (cell,) = result.cells
    assert cell.measurement is not None
    assert cell.measurement.page_faults == faults
