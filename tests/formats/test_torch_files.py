"""PyTorch's files, told apart by content and read without PyTorch."""

import json
import sys

import pytest

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import Architecture, InputSpec, TensorSpec
from modeldyno.formats import catalog
from modeldyno.formats.recognise import recognise
from modeldyno.inputs.model_overrides import UNSTATED
from tests import torch_archives as made

STATE = made.tensor_pickle(("w", "FloatStorage", (2, 3)), ("n", "LongStorage", (1,)))


def test_formats_are_recognised_by_content_not_by_name(tmp_path):
    assert recognise(made.checkpoint(tmp_path / "a.onnx", STATE)) == "torch-checkpoint"
    assert recognise(made.old_checkpoint(tmp_path / "b.txt", STATE)) == "torch-checkpoint"
    assert recognise(made.torchscript(tmp_path / "c.pth", "x: Tensor")) == "torchscript"
    assert recognise(made.export(tmp_path / "d.pt")) == "torch-export"


def test_the_most_dangerous_reading_of_a_mixed_archive_wins(tmp_path):
    mixed = made.export(tmp_path / "m", constants_dot_pkl=b"", data_dot_pkl=b"")
    assert recognise(mixed) == "torch-export"
    code = made.archive_of(tmp_path / "n", {"data.pkl": STATE, "code/x.py": ""})
    assert recognise(code) == "torchscript"


def test_a_bare_pickle_is_refused_and_tells_its_imports(tmp_path):
    (tmp_path / "model.pt").write_bytes(made.payload(tmp_path / "marker"))
    with pytest.raises(UnsafeFormat, match="mkdir"):
        recognise(tmp_path / "model.pt")
    assert not (tmp_path / "marker").exists()


def test_a_checkpoint_tells_its_tensors_and_names(tmp_path):
    for path in (
        made.checkpoint(tmp_path / "new.pth", STATE),
        made.old_checkpoint(tmp_path / "old.pth", STATE),
    ):
        facts = catalog.read(path)
        assert (facts.parameters, facts.weights_by_dtype) == (6, {"float32": 6})
        assert facts.inputs == ()
        assert "torch._utils._rebuild_tensor_v2" in facts.imports


def test_a_checkpoint_of_more_than_tensors_says_so(tmp_path):
    facts = catalog.read(made.checkpoint(tmp_path / "w.pt", made.payload(tmp_path / "marker")))
    assert any("mkdir" in note for note in facts.notes)


def test_torchscript_tells_the_inputs_of_forward(tmp_path):
    path = made.torchscript(
        tmp_path / "n.pt", "x: Tensor,\n    sr: int, mask: Optional[Tensor]=None"
    )
    facts = catalog.read(path)
    assert facts.inputs == (InputSpec("x", UNSTATED, None), InputSpec("sr", "int64", ()))
    assert any("mask" in note for note in facts.notes)


def test_a_traced_file_tells_the_shapes_too(tmp_path):
    traced = made.tensor_pickle(("forward", "FloatStorage", (1, 3, 8, 8)))
    path = made.torchscript(tmp_path / "n.pt", "x: Tensor", traced_inputs_pkl=traced)
    assert catalog.read(path).inputs == (InputSpec("x", "float32", (1, 3, 8, 8)),)


def test_an_export_tells_inputs_outputs_operators_and_parameters(tmp_path):
    facts = catalog.read(made.export(tmp_path / "n.pt2"))
    assert facts.inputs == (InputSpec("x", "float32", ("s0", 3)),)
    assert facts.outputs == (TensorSpec("y", "float32", ("s0", 3)),)
    assert (facts.parameters, facts.nodes_by_op) == (15, {"aten.relu": 1})
    assert facts.producer == "torch 2.13.0"


@pytest.mark.parametrize(
    "graph", [b"", b"[", b"[]", b"{}", b'{"graph_module": 1}', b"[" * 200_000], ids=range(6)
)
def test_a_damaged_graph_is_unreadable_and_no_crash(graph, tmp_path):
    with pytest.raises(ModelUnreadable):
        catalog.read(made.export(tmp_path / "n.pt2", models__model_dot_json=graph))


def test_a_compiled_package_without_a_graph_is_refused(tmp_path):
    members: dict[str, bytes | str] = {
        "archive_format": "pt2",
        "data/aotinductor/model/x.so": b"\x7fELF",
    }
    with pytest.raises(ModelUnreadable, match="without a graph"):
        catalog.read(made.archive_of(tmp_path / "n.pt2", members))


def test_the_sidecar_declares_what_the_file_cannot(tmp_path):
    path = made.checkpoint(tmp_path / "w.pth", STATE)
    (tmp_path / "w.pth.modeldyno.toml").write_text(
        'architecture = "nets:build"\n[arguments]\ndepth = 50\n'
        '[[inputs]]\nname = "x"\ndtype = "float32"\nshape = ["batch", 3]\n'
    )
    facts = catalog.read(path)
    assert facts.architecture == Architecture("nets:build", {"depth": 50})
    assert facts.inputs == (InputSpec("x", "float32", ("batch", 3)),)


@pytest.mark.parametrize(
    "text",
    ["x = ", "colour = 1", "architecture = 3", "[arguments]\na = 1", "inputs = [1]",
     'architecture = "a:b"\n[arguments]\nday = 2020-01-01'],
)  # fmt: skip
def test_a_wrong_sidecar_is_named(text, tmp_path):
    path = made.checkpoint(tmp_path / "w.pth", STATE)
    (tmp_path / "w.pth.modeldyno.toml").write_text(text)
    with pytest.raises(ModelUnreadable, match=r"w\.pth\.modeldyno\.toml"):
        catalog.read(path)


@pytest.mark.usefixtures("starts_processes")
def test_reading_needs_no_torch(tmp_path):
    path = made.export(tmp_path / "n.pt2")
    code = (
        "import sys, json; sys.modules['torch'] = sys.modules['onnx'] = None\n"
        "from pathlib import Path; from modeldyno.formats import catalog\n"
        f"print(json.dumps(catalog.read(Path({str(path)!r})).parameters))"
    )
    import subprocess

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout) == 15
