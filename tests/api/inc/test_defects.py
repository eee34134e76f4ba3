"""Defects of the reference systems that belong to no noun of theirs, each shown to be beaten."""

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from modeldyno.engines.catalog import entries
from tests import onnx_models
from tests.api.inc.events import listening
from tests.api.inc.test_benchmarks import QUICK, add, execute
from tests.api.inc.test_profilings import real_model
from tests.api.v1.server import serving
from tests.onnx_models import saved


@pytest.fixture
def elsewhere(monkeypatch):
    """A zone that is not UTC, for everything in this process."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.slow
def test_defect_18_a_run_leaves_nothing_where_the_server_or_the_model_lies(tmp_path, monkeypatch):
    here, models = tmp_path / "here", tmp_path / "models"
    here.mkdir()
    models.mkdir()
    saved(onnx_models.linear(), models / "net.onnx")
    monkeypatch.chdir(here)
    with (
        serving(tmp_path / "workspace", models_roots=(models,)) as served,
        listening(served) as ears,
    ):
        said = {"name": "p", "model": {"path": str(models / "net.onnx")}}
        made = served.post("/api/project/create", said).json
        wanted = {**QUICK, "number_of_instance": 2, "iterations": 50_000}  # long enough to meet
        number = add(served, made["project_id"], made["model_id"], **wanted)
        execute(served, number, "r")
        status, data = ears.until("benchmark_finish", request_id="r")
    assert status == "success", data
    assert data["number_of_instance"] == 2
    assert [*here.iterdir()] == []
    assert [path.name for path in models.iterdir()] == ["net.onnx"]


@pytest.mark.usefixtures("elsewhere")
def test_s_05_moments_are_in_utc_wherever_the_server_is(tmp_path):
    with serving(tmp_path) as served:
        made = served.post("projects", {"name": "p"}).json
        (told,) = served.get("/api/project/list").json["projects"]
    assert datetime.now().astimezone().utcoffset() == timedelta(hours=9)  # the control
    now = datetime.now(UTC)
    assert made["created_at"].endswith("Z")
    assert abs(datetime.fromisoformat(made["created_at"]) - now) < timedelta(hours=1)
    at = datetime.strptime(told["created_at"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    assert abs(at - now) < timedelta(hours=1)


def test_s_08_an_engine_that_is_not_there_says_why_or_is_not_known(served):
    told = served.get("engines").json["engines"]
    assert "onnxruntime" in [one["name"] for one in told if one["usable"]]
    assert all(one["why_not"] and one["install"] for one in told if not one["usable"])
    project = served.project()
    asked = {"project_id": project, "model_id": served.model(project), "start": False}
    refused = served.post("benchmarks", asked | {"engines": ["nonsense"]})
    assert (refused.status, refused.json["code"]) == (400, "ENGINE_UNKNOWN")
    assert served.post("benchmarks", asked | {"engines": ["scripted"]}).status == 201  # the control


def test_s_09_no_device_is_listed_that_cannot_be_used_here(served):
    """Theirs offered a GPU that always failed."""
    told = {engine["name"]: engine for engine in served.get("engines").json["engines"]}
    for entry in entries():
        engine = told[entry.name]
        absent = engine["unavailable_devices"]
        assert [*engine["devices"], *absent] == sorted(entry.devices, key=lambda d: d in absent)
        assert all(absent.values())
        # Of any other only a worker can be sure, which is told.
        assert {*engine["device_notes"]} == {*engine["devices"]} - {"cpu"}
    ours = told["onnxruntime"]
    assert ours["devices"][0] == "cpu"
    if sys.platform == "linux":
        assert ours["unavailable_devices"]["coreml"] == "this is not a Mac"
    if not Path("/dev/nvidiactl").exists():
        assert ours["unavailable_devices"].keys() >= {"cuda", "tensorrt"}


@pytest.mark.slow
@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_s_09_a_device_that_is_not_there_fails_with_its_reason_and_nothing_is_timed(
    served, tmp_path
):
    project = served.project()
    model = real_model(served, project, tmp_path)

    def ended(device):
        asked = {"project_id": project, "model_id": model, "devices": [device], "iterations": 20}
        made = served.post("benchmarks", asked).json
        served.until(made["latest_run"]["job_id"], lambda job: job["finished_at"] is not None)
        return served.get(f"benchmarks/{made['id']}").json

    absent, here = ended("cuda"), ended("cpu")
    assert absent["state"] == "failed"
    assert absent["latest_run"]["failure"]["code"] == "ENGINE_UNAVAILABLE"
    assert "cuda" in absent["latest_run"]["failure"]["title"]
    assert absent["summary"]["latency_ms"] is None
    assert (here["state"], here["summary"]["latency_ms"]["typical"]["value"] > 0) == (
        "done",
        True,
    )  # the control
