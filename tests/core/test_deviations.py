"""Silent defaults: where a session is not what was asked for, it is said in plain words."""

from dataclasses import replace
from typing import Any

import pytest
from onnx import TensorProto, helper

import modeldyno
from modeldyno.core.deviations import (
    describe_effective_run,
    fallback_share,
    find_deviations,
    output_deviations,
)
from modeldyno.core.documents.benchmarks import BenchmarkDocument
from modeldyno.core.documents.comparisons import ComparisonDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.profiles import ProfileDocument
from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.core.sessions import SessionFacts, UnusualOutput
from modeldyno.core.specs import CellSpec
from modeldyno.present.advice import advise
from modeldyno.present.markdown import markdown_of
from tests import onnx_models, schemas
from tests.scripts import script

MODEL = ModelFacts(
    path="m.onnx",
    format="onnx",
    framework="onnx",
    sha256="0" * 64,
    size_bytes=1,
    parameters=15,
    inputs=(InputSpec("x", "float32", (1, 4)), InputSpec("ids", "unstated", None)),
    outputs=(),
    weights_by_dtype={"float32": 15},
)


def facts(**said):
    usual: dict[str, Any] = {
        "engine": "e",
        "engine_version": "1",
        "device": "cpu",
        "providers": ("CPU",),
        "threads": 1,
        "spinning": None,
        "input_dtypes": {"x": "float32", "ids": "int64"},
        "precision": "fp32",
        "nodes_by_provider": {"CPU": 85},
    }
    return SessionFacts(**(usual | said))


def texts(asked=None, model=MODEL, **said):
    return [one.text for one in find_deviations(asked or CellSpec(), model, facts(**said))]


def test_what_was_asked_for_surprises_nobody():
    assert texts() == []
    assert texts(CellSpec(precision="bf16"), precision="bf16+fp32") == []
    assert texts(CellSpec(device="cuda"), device="cuda:0") == []


@pytest.mark.parametrize(
    ("asked", "said", "text"),
    [
        ({"precision": "fp32"}, {"precision": "bf16"}, "asked for fp32, computed in bf16"),
        ({}, {"precision": "tf32"}, "the weights are fp32, computed in tf32"),
        ({}, {"precision": "fp32+bf16"}, "the weights are fp32, partly computed in bf16"),
        ({"precision": "fp32"}, {"precision": "int4 weights, int8 activations"},
         "asked for fp32, computed in int8"),
        ({"cores": 2}, {}, "the engine computes with 1 thread, 2 were asked for"),
        ({}, {"input_dtypes": {"x": "float16"}},
         "input x is float32 in the model, the engine takes float16"),
        ({"device": "cuda"}, {}, "asked for cuda, runs on cpu"),
        ({"options": {"channels_last": True}}, {"layout": "NCHW"},
         "asked for channels last, computes with channels first"),
        ({"spinning": False}, {"spinning": True},
         "asked that waiting threads sleep, but they spin"),
    ],
)  # fmt: skip
def test_each_silent_default_has_its_sentence(asked, said, text):
    assert texts(CellSpec(**asked), **said) == [text]


@pytest.mark.parametrize(
    ("precision", "operators", "text"),
    [
        ("int4 weights, fp32 activations", {"DequantizeLinear": 1}, None),
        ("int4 weights, int8 activations", {"com.microsoft.MatMulNBits": 1}, None),
        ("int4 weights, int8 activations", {"DequantizeLinear": 1, "MatMul": 1},
         "the weights are int4, the engine quantises activations to int8"),
        ("fp32", {"DequantizeLinear": 1}, "the weights are int4, computed in fp32"),
    ],
)  # fmt: skip
def test_low_bit_weights_are_told_apart_from_activations(precision, operators, text):
    """Nothing multiplies in 4 bits; rounding the other side is the engine's own doing, unless the
    model asks for it."""
    weights = {"int4": 4096, "float32": 128}
    model = replace(MODEL, weights_by_dtype=weights, nodes_by_op=operators)
    assert texts(model=model, precision=precision) == ([text] if text else [])


def test_nodes_that_ran_elsewhere_are_counted():
    placed = {
        "device": "cuda:0",
        "providers": ("CUDA", "CPU"),
        "nodes_by_provider": {"CPU": 12, "CUDA": 73},
    }
    asked = CellSpec(device="cuda")
    assert texts(asked, **placed) == ["12 of 85 nodes ran on CPU instead of CUDA"]
    assert fallback_share(facts(**placed)) == 12 / 85
    none = placed | {"nodes_by_provider": {"CPU": 85}}
    assert texts(asked, **none) == ["85 of 85 nodes ran on CPU instead of CUDA"]
    assert fallback_share(facts(nodes_by_provider={})) is None
    kernels = {"providers": ("oneDNN", "own"), "nodes_by_provider": {"oneDNN": 2, "own": 8}}
    assert texts(**kernels, at_home=("oneDNN", "own")) == []
    assert describe_effective_run(facts(**kernels, at_home=("oneDNN", "own"))).endswith(
        "on oneDNN and own"
    )
    assert describe_effective_run(facts(**placed)) == (
        "fp32 · float32 and int64 in · 1 thread · 73 of 85 nodes on CUDA"
    )


def test_unusual_outputs_are_named_with_their_worst_session():
    bad, worse = UnusualOutput("logits", 1000, 2), UnusualOutput("logits", 1000, 12, infinite=1)
    constant = UnusualOutput("y", 10, is_constant=True)
    about = [one.about for one in output_deviations([(bad,), (constant,)])]
    assert about == ["output", "output"]

    def sentences(*sessions):
        return [one.text for one in output_deviations(sessions)]

    assert sentences((bad,)) == ["output `logits`: 2 of 1000 values are NaN"]
    assert sentences((bad, constant), (worse, constant)) == [
        "output `logits`: 12 of 1000 values are NaN and 1 of 1000 values is infinite",
        "output `y` is the same value everywhere",
    ]
    assert sentences((), (bad,), ()) == [
        "output `logits`: 2 of 1000 values are NaN, in 1 of 3 sessions"
    ]
    assert sentences((), ()) == []


LIES = {
    "precision": "bf16",
    "threads": 3,
    "input_dtypes": {"x": "float16"},
    "nodes_by_provider": {"script": 9, "elsewhere": 1},
    "layout": "NHWC",
}
TOLD = [
    "1 of 10 nodes ran on elsewhere instead of script",
    "asked for fp32, computed in bf16",
    "input x is float32 in the model, the engine takes float16",
    "the engine computes with 3 threads, 1 was asked for",
]


@pytest.mark.usefixtures("starts_processes")
def test_an_engine_that_lies_is_found_out_wherever_its_number_is_shown(tmp_path):
    liar = script(tmp_path / "m.json", **LIES)
    said = {"precision": "fp32", "workspace": tmp_path / "workspace"}
    benched = modeldyno.bench(liar, iterations=5, **said)
    document = json_value(BenchmarkDocument.of(benched))
    schemas.check("benchmark", document)
    (cell,) = document["cells"]
    assert [one["text"] for one in cell["surprises"]] == TOLD
    assert (cell["effective"]["layout"], cell["effective"]["fallback_share"]) == ("NHWC", 0.1)
    compared = modeldyno.compare(
        f"{liar}@precision=fp32", liar, pairs=2, workspace=said["workspace"]
    )
    schemas.check("comparison", json_value(ComparisonDocument.of(compared)))
    profiled = modeldyno.profile(liar, repeats=1, **said)
    schemas.check("profile", json_value(ProfileDocument.of(profiled)))
    for result in (benched, compared, profiled):
        assert "asked for fp32, computed in bf16" in markdown_of(result)


@pytest.mark.usefixtures("starts_processes")
def test_outputs_without_numbers_are_reported_wherever_the_number_is_shown(tmp_path):
    """log(x − 100) is NaN, and 0 · x is constant."""
    made = onnx_models.model(
        [
            helper.make_node("Sub", ["x", "hundred"], ["below"]),
            helper.make_node("Log", ["below"], ["nan"]),
            helper.make_node("Mul", ["x", "zero"], ["still"]),
            helper.make_node("Neg", ["x"], ["fine"]),
        ],
        [onnx_models.value("x", TensorProto.FLOAT, [1, 8])],
        [onnx_models.value(name, TensorProto.FLOAT, [1, 8]) for name in ("nan", "still", "fine")],
        [
            helper.make_tensor("hundred", TensorProto.FLOAT, [1], [100.0]),
            helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]),
        ],
    )
    model = onnx_models.saved(made, tmp_path / "m.onnx")
    expected = [
        "output `nan`: 8 of 8 values are NaN",
        "output `still` is the same value everywhere",
    ]
    workspace = tmp_path / "workspace"
    # Five calls of two instances may miss each other, which is an error of its own.
    for instances, how in ((1, {"iterations": 5}), (2, {"budget": "quick"})):
        benched = modeldyno.bench(
            model, engine="onnxruntime", instances=instances, workspace=workspace, **how
        )
        (cell,) = json_value(BenchmarkDocument.of(benched))["cells"]
        assert (cell["status"], cell["error"]) == ("done", None)
        assert [(one["about"], one["text"]) for one in cell["surprises"]] == [
            ("output", text) for text in expected
        ]
        advised = [advice.text for advice in advise(benched)]
        assert [text for text in advised if text in expected] == expected
    compared = modeldyno.compare(model, model, pairs=2, workspace=workspace)
    assert [one.text for one in compared.b.surprises] == expected
    for result in (benched, compared):
        assert "8 of 8 values are NaN" in markdown_of(result)


def conv(path):
    """Large enough that engines rearrange it."""
    made = onnx_models.model(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], name="conv")],
        [onnx_models.value("x", TensorProto.FLOAT, [1, 16, 16, 16])],
        [onnx_models.value("y", TensorProto.FLOAT, [1, 32, 16, 16])],
        [onnx_models.weight("w", 32, 16, 3, 3)],
    )
    return onnx_models.saved(made, path)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_real_engines_say_as_what_they_ran(tmp_path, engine):
    pytest.importorskip(engine)
    result = modeldyno.bench(
        conv(tmp_path / "m.onnx"), engine=engine, iterations=3, workspace=tmp_path / "workspace"
    )
    (cell,) = result.cells
    assert cell.surprises == ()
    assert cell.facts is not None
    assert cell.facts.layout in ("NCHW", "NHWC", "NCHWc")
    assert fallback_share(cell.facts) == 0.0
    assert cell.facts.input_dtypes == {"x": "float32"}


@pytest.mark.usefixtures("starts_processes")
def test_pytorch_says_how_its_filters_lie(tmp_path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3)).eval()
    exported = torch.export.export(module, (torch.ones(1, 3, 8, 8),))
    torch.export.save(exported, tmp_path / "m.pt2")
    said = {"iterations": 3, "workspace": tmp_path / "workspace", "precision": "bf16"}
    for options, layout in (({}, "NCHW"), ({"channels_last": True}, "NHWC")):
        (cell,) = modeldyno.bench(tmp_path / "m.pt2", options=options, **said).cells
        assert cell.facts is not None
        assert (cell.facts.layout, cell.surprises) == (layout, ())
