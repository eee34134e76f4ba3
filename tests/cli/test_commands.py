"""The command that a spec is shown with is one that the terminal turns into that spec."""

import json
import shlex

import pytest

from modeldyno.core.kinds import spec_from
from modeldyno.core.models import Architecture, InputSpec
from modeldyno.core.requests.commands import bench_command, compare_command
from modeldyno.core.requests.measuring import BenchmarkRequest, PairingRequest, SideRequest
from modeldyno.core.specs import (
    THOROUGH,
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    ModelSpec,
    RunSpec,
    SideSpec,
)
from modeldyno.services.requests import (
    make_benchmark_spec,
    make_comparison_spec,
)
from tests.onnx_models import linear, saved
from tests.scripts import script


@pytest.fixture
def model(tmp_path):
    return script(tmp_path / "it's a net.json")


@pytest.fixture
def spec_of(typed, tmp_path):
    """Type a command; what was asked for, as its run keeps it?"""

    def ask(command: str) -> RunSpec:
        ended = typed(*shlex.split(command)[1:], "--workspace", tmp_path / "w", "--quiet")
        assert ended.code == 0, ended.err
        (file,) = (tmp_path / "w" / "runs").glob("*/spec.json")
        found: RunSpec = spec_from(json.loads(file.read_text()))
        return found

    return ask


@pytest.mark.slow
def test_a_benchmark_with_many_settings_is_the_same_again(spec_of, tmp_path):
    model = saved(linear(), tmp_path / "it's a net.onnx")
    request = BenchmarkRequest(
        engines=("onnxruntime",),
        batch_sizes=(1, 2),
        spinning=False,
        contract="hot",
        precisions=("fp32",),
        values={"x": 0.5},
        budget=1.5,
        iterations=2,
        warmup=1,
        per_call=True,
        timeout_s=30.5,
        seed=3,
    )
    spec = make_benchmark_spec(request, model)
    assert spec_of(bench_command(spec, str(model))) == spec


@pytest.mark.slow
def test_a_comparison_is_the_same_again(spec_of, model):
    pairing = PairingRequest(margin=0.05, budget="quick", adaptive=True, seed=4)
    other = f"{model}@batch=2,contract=api,engine=scripted"
    spec = make_comparison_spec(model, other, SideRequest(), pairing)
    again = spec_of(compare_command(spec, str(model), str(model)))
    assert isinstance(again, ComparisonSpec)
    assert (again.a, again.b.cell, again.margin) == (spec.a, spec.b.cell, spec.margin)
    assert (again.seconds, again.adaptive, again.seed) == (2.0, True, 4)


def test_what_is_usual_is_left_out():
    spec = BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(),), memory_limit_bytes=1)
    assert bench_command(spec, "m.onnx") == "modeldyno bench m.onnx"
    side = SideSpec("m", ModelSpec("m.onnx"), CellSpec())
    pair = ComparisonSpec(side, side, memory_limit_bytes=1)
    assert compare_command(pair, "a.onnx", "b.onnx") == "modeldyno compare a.onnx b.onnx"


def test_everything_else_is_told():
    cell = CellSpec(
        "pytorch", 8, 2, 4, "cuda", "fp16", True, "e2e", "required", {"compile": True, "mode": "x"}
    )
    model = ModelSpec(
        "m.pth",
        {"seq": 128},
        {"sr": 16000},
        inputs=(InputSpec("x", "float32", ("batch", 3)),),
        architecture=Architecture("nets:build", {"depth": 50, "kind": "lite"}),
        signature="encode",
    )
    spec = BenchmarkSpec(model, (cell,), THOROUGH, warmup_calls=5)
    assert bench_command(spec, "my net.pth") == (
        "modeldyno bench 'my net.pth' --engine pytorch --batch 8 --cores 2 --instances 4"
        " --device cuda --precision fp16 --signature encode"
        " --contract e2e --spin on --option compile=on"
        " --option mode=x --require-sandbox --dim seq=128 --value sr=16000"
        " --input 'x=float32[batch,3]' --architecture nets:build --arg depth=50 --arg kind=lite"
        " --thorough --warmup 5"
    )
    a, b = (SideSpec("m", ModelSpec("m", signature=name), CellSpec()) for name in ("", "encode"))
    assert (
        compare_command(ComparisonSpec(a, b), "m", "m") == "modeldyno compare m m@signature=encode"
    )
