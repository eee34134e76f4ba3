"""DeepSparse, if it has been added; the code around it is tested everywhere."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

import modeldyno
from modeldyno.core.deviations import fallback_share, find_deviations
from modeldyno.core.models import ModelFacts
from modeldyno.core.specs import CellSpec
from modeldyno.demo import model_path
from modeldyno.engines import catalog
from modeldyno.engines.deepsparse import DeepSparseSession
from modeldyno.services.environments import add_engine
from tests.environments import deepsparse, shelf
from tests.onnx_models import FLOAT, model, saved, value


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))
    shelf(tmp_path / "engines", monkeypatch)


@pytest.fixture
def added():
    add_engine("deepsparse", python=str(deepsparse()), accept_licence=True)


def net(path, opset=21, ir=10):
    """Two matrix products, of sizes that are dynamic except the last."""
    weights = np.random.default_rng(0).standard_normal((16, 16), dtype=np.float32)
    products = model(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MatMul", ["b", "w"], ["y"]),
        ],
        [value("x", FLOAT, ["batch", "length", 16])],
        [value("y", FLOAT, ["batch", "length", 16])],
        [numpy_helper.from_array(weights, "w")],
        opset_imports=[helper.make_opsetid("", opset)],
    )
    products.ir_version = ir
    return saved(products, path)


def agrees(parity):
    return parity is not None and parity.agrees


@pytest.mark.parametrize(
    ("fraction", "share", "text"),
    [
        (0.0, 1.0, "10 of 10 nodes ran on ONNX Runtime inside DeepSparse instead of DeepSparse"),
        (0.7, 0.3, "3 of 10 nodes ran on ONNX Runtime inside DeepSparse instead of DeepSparse"),
        (1.0, 0.0, None),
    ],
)
def test_running_on_another_engine_is_a_surprise(monkeypatch, fraction, share, text):
    """Also if that is everything."""
    monkeypatch.setitem(sys.modules, "deepsparse", SimpleNamespace(__version__="1.8.0"))
    compiled = SimpleNamespace(fraction_of_supported_ops=fraction)
    facts = DeepSparseSession(compiled, threads=1).examined(nodes=10)
    assert fallback_share(facts) == share
    model = ModelFacts("m.onnx", "onnx", "onnx", "0" * 64, 1, 0, (), ())
    texts = [surprise.text for surprise in find_deviations(CellSpec(), model, facts)]
    assert texts == ([text] if text else [])


@pytest.mark.usefixtures("starts_processes")
def test_an_engine_that_reads_older_models_only_gets_a_copy_and_says_so(tmp_path, monkeypatch):
    """ONNX Runtime stands in for such an engine."""
    path = net(tmp_path / "new.onnx")
    before = path.read_bytes()
    (cell,) = modeldyno.bench(path, iterations=3).cells
    assert not any("converted" in note for note in cell.notes)
    old = replace(catalog.find("onnxruntime"), newest_opset=19, newest_ir=9)
    monkeypatch.setattr(catalog, "BUILT_IN", (old,))
    (cell,) = modeldyno.bench(path, iterations=3).cells
    converted = "ONNX Runtime got a copy converted from opset 21, IR 10 to opset 19, IR 9"
    assert (cell.status, cell.notes.count(converted)) == ("done", 1)
    comparison = modeldyno.compare(path, path, pairs=2)  # the copy is no change of the model
    assert converted in comparison.notes
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("added")
class TestDeepSparse:
    def test_it_runs_beside_onnx_runtime_and_computes_the_same(self):
        ours, theirs = modeldyno.bench(
            model_path(), engine=["onnxruntime", "deepsparse"], iterations=10
        ).cells
        assert (ours.status, theirs.status) == ("done", "done")
        assert theirs.facts
        assert (theirs.facts.engine, theirs.facts.engine_version) == ("deepsparse", "1.8.0")
        assert agrees(theirs.parity)
        assert theirs.notes == ("DeepSparse runs 100% of the operators itself",)
        assert theirs.facts.nodes_by_provider.keys() == {"DeepSparse"}
        assert theirs.sandbox == ours.sandbox

    def test_a_newer_model_is_converted_in_a_copy_and_open_sizes_are_set(self, tmp_path):
        path = net(tmp_path / "new.onnx")
        before = path.read_bytes()
        ours, theirs = modeldyno.bench(
            path, engine=["ort", "deepsparse"], batch=3, dims={"length": 5}, iterations=3
        ).cells
        assert theirs.status == "done"
        assert agrees(theirs.parity)
        assert any("converted from opset 21, IR 10 to opset 19, IR 9" in n for n in theirs.notes)
        assert not any("converted" in note for note in ours.notes)
        assert path.read_bytes() == before

    def test_operators_run_by_the_engine_inside_it_are_reported(self, tmp_path):
        int8 = tmp_path / "int8.onnx"
        quantize_static(model_path(), int8, _Images(), per_channel=True)
        (cell,) = modeldyno.bench(int8, engine="deepsparse", iterations=3).cells
        (note,) = [note for note in cell.notes if "of the operators itself" in note]
        assert "DeepSparse runs 0%" in note
        assert "ONNX Runtime inside it" in note
        assert cell.facts
        assert cell.facts.nodes_by_provider.keys() == {"ONNX Runtime inside DeepSparse"}

    def test_one_command_compares_it(self):
        comparison = modeldyno.compare(
            f"{model_path()}@engine=ort", f"{model_path()}@engine=deepsparse", pairs=2
        )
        assert agrees(comparison.parity)
        assert comparison.b.facts.other_python
        assert comparison.b.facts.other_python.engine == "deepsparse"


class _Images(CalibrationDataReader):  # type: ignore[misc]  # it ships no types
    def __init__(self) -> None:
        self._images = [np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)] * 2

    def get_next(self):
        return {"image": self._images.pop()} if self._images else None
