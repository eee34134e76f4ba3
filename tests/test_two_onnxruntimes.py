"""Two versions of ONNX Runtime in one command, each in a Python of its own."""

import json
from typing import get_args

import pytest
from onnx import helper

import modeldyno
from modeldyno.core.errors import EngineFailed
from modeldyno.core.results import Verdict
from modeldyno.demo import model_path
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.services.environments import add_engine
from tests import onnx_models, schemas, terminal
from tests.api.v1 import server
from tests.environments import VERSION, second_onnxruntime, shelf

pytestmark = [pytest.mark.slow, pytest.mark.engine("onnxruntime")]

MODEL = model_path()
OURS = OnnxRuntime().version()


@pytest.fixture(autouse=True)
def second(tmp_path, monkeypatch):
    """ONNX Runtime is there twice: ``onnxruntime`` and ``older``."""
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))
    shelf(tmp_path / "engines", monkeypatch)
    return add_engine("older", python=str(second_onnxruntime()))


def versions(told) -> list[tuple[str, str]]:
    return [(part["engine"], part["effective"]["engine_version"]) for part in told]


def test_one_command_compares_them_and_gives_a_verdict():
    ended = terminal.modeldyno(
        "compare", f"{MODEL}@engine=onnxruntime", f"{MODEL}@engine=older", "--quick", "--json"
    )
    told = ended.document
    schemas.check("comparison", told)
    assert ended.code == 0
    assert told["verdict"] in get_args(Verdict)
    assert versions((told["a"], told["b"])) == [("onnxruntime", OURS), ("older", VERSION)]
    assert told["a"]["effective"]["other_python"] is None
    assert told["b"]["effective"]["other_python"]["engine"] == "onnxruntime"
    assert told["parity"]["agrees"]
    assert told["a"]["sandbox"] == told["b"]["sandbox"]
    assert any("two workers took turns" in note for note in told["notes"])


def test_a_benchmark_has_a_cell_of_each_and_people_see_which_is_which():
    ended = terminal.modeldyno("bench", MODEL, "--engine", "ort,older", "--iterations", "20")
    assert ended.code == 0
    assert f"onnxruntime {OURS} ·" in ended.err
    assert f"older (onnxruntime {VERSION}) · Python 3." in ended.err
    ended = terminal.modeldyno(
        "bench", MODEL, "--engine", "ort,older", "--iterations", "20", "--json"
    )
    schemas.check("benchmark", ended.document)
    ours, theirs = ended.document["cells"]
    assert versions((ours, theirs)) == [("onnxruntime", OURS), ("older", VERSION)]
    assert theirs["parity"]["agrees"]
    assert theirs["sandbox"] == ours["sandbox"]
    assert theirs["precision"] == "fp32"


def test_its_profiler_works_and_instances_do(tmp_path):
    profiled = modeldyno.profile(MODEL, engine="older", repeats=1)
    assert (profiled.facts.engine, profiled.facts.engine_version) == ("older", VERSION)
    assert any(row.op_type == "Conv" for row in profiled.rows)
    document = json.loads(profiled.to_json())
    schemas.check("profile", document)
    measured = modeldyno.bench(MODEL, engine="older", instances=2, iterations=2000)
    assert measured.cells[0].error is None


def test_a_model_that_it_cannot_load_fails_its_own_cell_alone(tmp_path):
    broken = onnx_models.model(
        [helper.make_node("NoSuchOperator", ["x"], ["y"], domain="test")],
        [onnx_models.value("x", shape=[1, 4])],
        [onnx_models.value("y", shape=[1, 4])],
        opset_imports=[
            helper.make_opsetid("", 17),
            helper.make_opsetid("test", 1),
        ],
    )
    model = onnx_models.saved(broken, tmp_path / "m.onnx")
    with pytest.raises(EngineFailed, match="could not load"):
        modeldyno.profile(model, engine="older")


def test_a_server_lists_it_without_its_folder_and_runs_it(tmp_path):
    with server.serving(tmp_path / "served") as served:
        found = served.get("engines").json["engines"][-1]
        assert (found["name"], found["version"]) == ("older", VERSION)
        assert (found["title"], found["adapter"]) == ("ONNX Runtime (older)", "onnxruntime")
        assert found["origin"] == "python"
        project = served.project()
        path = f"projects/{project}/models?name=digits.onnx"
        sent = served.post(path, MODEL.read_bytes(), content_type="application/octet-stream")
        model = sent.json["id"]
        tried = served.post(f"models/{model}/try", {"engine": "older"}).json["inference"]
        assert (tried["engine"], tried["engine_version"]) == ("older", VERSION)
        both = {"engines": ["onnxruntime", "older"], "iterations": 5}
        made = served.benchmark(project, model, **both)
        served.ended(made["latest_run"]["job_id"])
        cells = served.get(f"runs/{made['latest_run']['id']}/result").json["cells"]
        assert versions(cells) == [("onnxruntime", OURS), ("older", VERSION)]
        assert [cell["status"] for cell in cells] == ["done", "done"]
