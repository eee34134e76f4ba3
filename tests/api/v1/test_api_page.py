"""docs/api.md: what it shows runs, and what there is stands in it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from modeldyno.core.errors import error_classes
from modeldyno.demo import model_path
from tests import schemas
from tests.api.v1.server import serving

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
THINGS = "projects|models|datasets|benchmarks|comparisons|optimizations|profiles"


@pytest.mark.slow
def test_the_lines_of_the_page_run(tmp_path):
    """Each, on a server that is as new as the reader's."""
    if not shutil.which("curl"):
        pytest.skip("there is no curl")
    shutil.copy(model_path(), tmp_path / "digits.onnx")
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)).splitlines()
    shown = [_quickened(line) for line in lines if not line.startswith(("URL=", "TOKEN="))]
    with serving(tmp_path / "workspace") as served:
        given = [f"URL={served.url}/api/v1", f"TOKEN={served.token}", "set -eo pipefail"]
        script = "\n".join([*given, *shown]).replace("curl -s", "curl -sS --fail-with-body")
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        served.post("jobs/2/cancel")
    assert "| batch | " in done.stdout
    assert "modeldyno bench digits.onnx --batch 1,8 --iterations 20" in done.stdout


def _quickened(line):
    is_comparison = "comparisons" in line
    return line if is_comparison else line.replace('"budget": "quick"', '"iterations": 20')


def test_every_operation_stands_in_the_table(served):
    found = served.get("openapi.json").json["paths"]
    operations = {
        (re.sub(rf"^/(?:{THINGS})/{{\w+}}/note$", "/{things}/{id}/note", path), method.upper())
        for path, methods in ((path.removeprefix("/api/v1"), found[path]) for path in found)
        for method in methods
        if method in ("get", "post", "put", "patch", "delete")
    }
    rows = re.findall(r"^\| `(/[^`]*)` \| ([A-Z, ]+) \|", PAGE, re.M)
    told = {(path, method) for path, methods in rows for method in methods.split(", ")}
    assert sorted(operations - told) == []


def test_the_problem_that_the_page_shows_is_one_of_ours():
    (shown,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    assert json.loads(shown)["code"] in error_classes()


def test_documents_are_described_by_the_schemas_of_the_package(served):
    """Put together from its components, a document's schema accepts what the original does."""
    openapi = served.get("openapi.json").json
    name = "BenchmarkDocument"
    assert f"#/components/schemas/{name}" in json.dumps(openapi["paths"])
    project = served.project()
    made = served.benchmark(project)
    run = served.ended(made["latest_run"]["job_id"])["run_id"]
    document = served.get(f"runs/{run}/result").json
    schemas.check("benchmark", document)
    whole = {"$ref": f"#/components/schemas/{name}", "components": openapi["components"]}
    described = Draft202012Validator(whole)
    described.validate(document)
    del document["cells"][0]["engine"]
    assert not described.is_valid(document)
