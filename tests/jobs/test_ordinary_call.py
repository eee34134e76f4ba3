"""Outputs that no hot call can hold: the ordinary call is measured instead, and that is said."""

from dataclasses import replace

import pytest

from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    PairingRequest,
    ProfileRequest,
    SideRequest,
)
from modeldyno.core.specs import InferenceSpec, ModelSpec
from modeldyno.services.requests import (
    make_benchmark_spec,
    make_comparison_spec,
    make_profile_spec,
)
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests import onnx_models

pytestmark = pytest.mark.usefixtures("starts_processes")

HOT = BenchmarkRequest(engines=("onnxruntime",), contract="hot")
NOTE = "measured with the api call: a hot call is not possible"


@pytest.fixture
def runs(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace")).service


@pytest.fixture
def model(tmp_path):
    return onnx_models.saved(onnx_models.misdeclared_rank(), tmp_path / "m.onnx")


@pytest.mark.parametrize("made", [onnx_models.misdeclared_rank, onnx_models.sequence_output])
def test_profile_falls_back_to_the_ordinary_call(runs, made, tmp_path):
    model = onnx_models.saved(made(), tmp_path / "m.onnx")
    result = runs.run(
        replace(
            make_profile_spec(ProfileRequest(engine="onnxruntime", repeats=1), model), repeat_s=0.01
        )
    )
    assert (result.contract, result.facts.contract) == ("api", "api")
    assert NOTE in result.notes
    assert result.rows


def test_benchmark_falls_back_to_the_ordinary_call(runs, model):
    (cell,) = runs.run(make_benchmark_spec(replace(HOT, iterations=5), model)).cells
    assert cell.error is None
    assert cell.measurement is not None
    assert (cell.facts.contract, NOTE in cell.notes) == ("api", True)


def test_comparison_falls_back_to_the_ordinary_call_and_says_that_calls_differ(
    runs, model, tmp_path
):
    ordinary = onnx_models.saved(onnx_models.linear(), tmp_path / "linear.onnx")
    side = SideRequest(engine="onnxruntime", contract="hot")
    spec = make_comparison_spec(model, ordinary, side, PairingRequest(pairs=2))
    result = runs.run(replace(spec, processes=1, pair_s=0.01))
    assert (result.a.contract, result.b.contract) == ("api", "hot")
    assert f"A: {NOTE}" in result.notes
    assert any(note.startswith("the calls differ") for note in result.notes)


def test_trying_a_model_once_falls_back_to_the_ordinary_call(runs, model):
    (cell,) = make_benchmark_spec(HOT, model).cells
    result = runs.run(InferenceSpec(ModelSpec(str(model)), cell))
    assert [output.name for output in result.outputs] == ["y"]
