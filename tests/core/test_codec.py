"""Values survive the trip through JSON, and nothing else gets in."""

import dataclasses
import json
from typing import Any, Literal

import pytest

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.datasets import DatasetSpec
from modeldyno.core.kinds import spec_from
from modeldyno.core.models import ExternalFile, IndexRange, InputSpec, ModelFacts, TensorSpec
from modeldyno.core.sessions import (
    Calibration,
    Memory,
    Pair,
    PairPlan,
    Parity,
    Samples,
    Session,
    SessionFacts,
    SessionPlan,
    Target,
    WarmUp,
)
from modeldyno.core.specs import (
    QUICK,
    BenchmarkSpec,
    Budget,
    CellSpec,
    ComparisonSpec,
    InspectionSpec,
    ModelSpec,
    SideSpec,
)
from modeldyno.inputs.plans import InputPlan, TensorPlan

SPECS: Any = BenchmarkSpec | ComparisonSpec
MODEL = ModelSpec("net.onnx", {"seq": 128}, {"sr": 16000.0}, "inputs.npz")
CELL = CellSpec("onnxruntime", 8, 4, 2, options={"a": 1, "b": 0.5, "c": "text", "d": True})
SIDE = SideSpec("A", MODEL, CELL)
FACTS = SessionFacts(
    engine="onnxruntime",
    engine_version="1.31.1",
    device="cpu",
    providers=("CPUExecutionProvider",),
    threads=None,
    spinning=False,
    input_dtypes={"x": "float"},
    nodes_by_provider={"CPUExecutionProvider": 9},
)
SESSION = Session(
    load_s=0.5,
    first_call_s=0.25,
    calibration=Calibration(1e-6, 100, 1e-8),
    warmup=WarmUp(10, 0.1, steady=True),
    samples=Samples((1, 2, 3), (), 100, 6, 5, 7, 0),
    facts=FACTS,
    memory=Memory(1, 2, 3),
    parity=Parity(0.0, 0.0, agrees=True),
)
MODEL_FACTS = ModelFacts(
    path="net.onnx",
    format="onnx",
    framework="onnx",
    sha256="00",
    size_bytes=10,
    parameters=5,
    inputs=(
        InputSpec("ids", "int64", ("batch", None, 3), IndexRange(0, 9, "because")),
        InputSpec("x", "float32", None),
    ),
    outputs=(TensorSpec("y", "float32", ()),),
    external=(ExternalFile("net.data", 5, "11"),),
    opsets={"": 17},
    ir_version=8,
    nodes_by_op={"Gather": 1},
    weights_by_dtype={"float32": 5},
    notes=("a note",),
)
VALUES: list[Any] = [
    QUICK,
    MODEL,
    CELL,
    SIDE,
    BenchmarkSpec(MODEL, (CELL, CellSpec("scripted")), QUICK, iterations=5, per_call=True),
    ComparisonSpec(SIDE, SIDE, pairs=32),
    InspectionSpec(MODEL, memory_limit_bytes=1 << 30),
    Target("onnxruntime", "net.onnx", cpus=(0, 2), spinning=None, options={"flag": False}),
    SessionPlan(iterations=5),
    PairPlan(seed=3),
    SESSION,
    Pair(SESSION, SESSION),
    MODEL_FACTS,
    InputPlan(
        (
            TensorPlan("x", "float32", (1, 3), batch_axis=0, yields=(1,)),
            TensorPlan("b", "bool", (), "constant", value=True, is_said=True, yields=None),
        ),
        batch_size=1,
        notes=("a note",),
    ),
]


@pytest.mark.parametrize("data", [{"kind": "rumour"}, {}, [], None])
def test_a_spec_of_an_unknown_kind_is_refused(data):
    with pytest.raises(Mismatch, match="unknown kind"):
        spec_from(data)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_every_value_survives_json(value):
    wire = json.loads(json.dumps(encode(value)))
    assert decode(type(value), wire) == value


@pytest.mark.parametrize("value", [v for v in VALUES if hasattr(v, "kind")])
def test_specs_are_told_apart_by_their_kind(value):
    assert spec_from(encode(value)) == value


def test_tuples_stay_tuples_and_booleans_stay_booleans():
    back = decode(Target, encode(Target("e", "m", cpus=(1, 2), options={"on": True, "n": 1})))
    assert back.cpus == (1, 2)
    assert back.options["on"] is True
    assert type(back.options["n"]) is int


def test_whole_numbers_may_stand_for_seconds():
    assert decode(Budget, encode(QUICK) | {"seconds": 2}) == QUICK


def test_fields_with_defaults_may_be_missing():
    assert decode(ModelSpec, {"path": "net.onnx"}) == ModelSpec("net.onnx")


REFUSED = {
    "a field nobody knows": (ModelSpec, {"path": "a", "color": "red"}, "no field 'color'"),
    "a missing field": (ModelSpec, {}, "path"),
    "a number for text": (ModelSpec, {"path": 5}, "expected str, got int"),
    "text for a number": (WarmUp, {"calls": "5", "seconds": 1.0, "steady": True}, "int"),
    "a boolean for a number": (WarmUp, {"calls": True, "seconds": 1.0, "steady": True}, "integer"),
    "a number for a boolean": (WarmUp, {"calls": 1, "seconds": 1.0, "steady": 1}, "bool"),
    "a broken number": (WarmUp, {"calls": 1.5, "seconds": 1.0, "steady": True}, "int"),
    "a list for a value": (ModelSpec, [], "expected dict, got list"),
    "a value for a list": (tuple[int, ...], 5, "expected list, got int"),
    "text in a list of numbers": (tuple[int, ...], [1, "2"], "expected int, got str"),
    "too few items": (tuple[int, str], [1], "expected 2 items, got 1"),
    "a word that is not allowed": (Literal["hot", "api"], "cold", "expected one of"),
    "a kind that does not exist": (
        SPECS,
        {"kind": "rumour"},
        "unknown kind 'rumour'",
    ),
    "no kind at all": (SPECS, {}, "fits none of"),
    "nothing where something must be": (str, None, "expected str, got NoneType"),
    "a wrong value in a dictionary": (ModelSpec, {"path": "a", "dims": {"n": "x"}}, "int"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_refused(case):
    annotation, data, words = case
    with pytest.raises(Mismatch, match=words):
        decode(annotation, data)


def test_nothing_in_a_value_is_left_out():
    for value in VALUES:
        names = {field.name for field in dataclasses.fields(value)}
        assert set(encode(value)) == names


def test_a_benchmark_of_an_earlier_version_knows_its_dataset_by_number():
    spec = BenchmarkSpec(ModelSpec("net.onnx"), (CellSpec(),))
    old = spec_from(encode(spec) | {"dataset": "3"})
    assert old == dataclasses.replace(spec, dataset=DatasetSpec(name="3", kind=""))
    settings = {"budget": encode(spec.budget), "dataset": "3"}
    assert old.identity() == [{"path": "net.onnx"}, [{}], settings]
    assert spec_from(json.loads(json.dumps(encode(old)))) == old
