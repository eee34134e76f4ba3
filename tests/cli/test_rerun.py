"""``modeldyno rerun``: the same settings, a new run."""

import json

import pytest

import modeldyno
from tests import schemas
from tests.scripts import script

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def workspace(tmp_path):
    return tmp_path / "workspace"


def specs(workspace):
    return [json.loads(path.read_text()) for path in sorted(workspace.glob("runs/*/spec.json"))]


def test_a_benchmark_is_measured_again_with_its_settings(typed, workspace, tmp_path):
    model = script(tmp_path / "m.json")
    modeldyno.bench(model, batch=[1, 2], iterations=7, seed=3, workspace=workspace)
    ended = typed("rerun", "latest", "--json", "--workspace", workspace)
    assert ended.code == 0, ended.err
    schemas.check("benchmark", ended.document)
    first, second = specs(workspace)
    assert first == second
    assert [cell["samples"] for cell in ended.document["cells"]] == [7, 7]


def test_a_comparison_is_made_again(typed, workspace, tmp_path):
    a, b = script(tmp_path / "a.json", latency_us=100), script(tmp_path / "b.json", latency_us=300)
    modeldyno.compare(a, b, pairs=2, workspace=workspace)
    ended = typed("rerun", "latest", "--workspace", workspace)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[1].startswith("A  a.json")
    first, second = specs(workspace)
    assert first == second


def test_a_model_that_is_gone_is_an_error(typed, workspace, tmp_path):
    model = script(tmp_path / "m.json")
    modeldyno.bench(model, iterations=5, workspace=workspace)
    model.unlink()
    ended = typed("rerun", "latest", "--json", "--workspace", workspace)
    assert (ended.code, ended.error_code) == (4, "MODEL_NOT_FOUND")
    assert len(specs(workspace)) == 1


def test_without_a_run_it_says_so(typed, workspace):
    ended = typed("rerun", "latest", "--json", "--workspace", workspace)
    assert (ended.code, ended.error_code) == (4, "RUN_NOT_FOUND")
