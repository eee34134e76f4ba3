"""Conversions: real converters, real engines, and what becomes of a result that is wrong."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import modeldyno
from modeldyno.core.errors import (
    BadValue,
    EngineFailed,
    StorageFailed,
    TimedOut,
    WorkerGarbled,
    WrongOutput,
)
from modeldyno.core.models import Making
from modeldyno.engines import conversions
from modeldyno.jobs import conversion
from tests import onnx_models, schemas
from tests.terminal import modeldyno as terminal

INPUT = "x=float32[batch,4]"


@pytest.fixture
def linear(tmp_path):
    return onnx_models.saved(onnx_models.linear(), tmp_path / "net.onnx")


def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: str, first: str = "") -> str:
    """A checkpoint of four weights, and the code that makes a model of it."""
    import torch

    torch.save({"weight": torch.tensor([1.0, -2.0, 3.0, 0.5])}, tmp_path / "net.pth")
    code = f"""
    import os
    import torch
    {first}
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x):
            {forward}
    """
    (tmp_path / "netcode.py").write_text(textwrap.dedent(code))
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "net.pth")


@pytest.fixture(scope="module")
def keras_model(tmp_path_factory, starts_processes):
    """Made in a process of its own: TensorFlow in this one would meet the other tests."""
    code = """
    import keras
    image = keras.Input((6, 6, 3), name="image")
    scale = keras.Input((1,), name="scale")
    seen = keras.layers.Flatten()(keras.layers.Conv2D(4, 3, activation="relu")(image))
    made = keras.layers.Dense(5)(keras.layers.Dropout(0.5)(seen)) * scale
    model = keras.Model([scale, image], made)
    model.save("net.keras")
    model.export("net", verbose=False)
    """
    folder = tmp_path_factory.mktemp("keras")
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=folder, check=True)
    return folder


def converted(model: str, **more: object) -> object:
    return modeldyno.convert(
        model,
        "onnx",
        architecture="netcode:Net",
        inputs=[INPUT],
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.usefixtures("starts_processes")
def test_openvino_gets_every_weight_of_an_onnx_model_as_it_was(linear, tmp_path):
    ended = terminal("convert", linear, "--to", "openvino", "--json")
    schemas.check("conversion", ended.document)
    document = ended.document
    assert [check["batch_size"] for check in document["checks"]] == [1, 1, 3]
    assert max(check["max_rel_error"] for check in document["checks"]) < 1e-5
    assert document["model"]["weights_by_dtype"] == {"float32": 15}
    looked = modeldyno.inspect(tmp_path / "net.xml")
    assert looked.made is not None
    assert (looked.made.source, looked.made.tool) == ("net.onnx", "openvino.convert_model")
    assert looked.made.source_sha256 == modeldyno.inspect(linear).sha256
    assert (
        "converted   from net.onnx (ONNX) by openvino"
        in terminal("inspect", tmp_path / "net.xml").out
    )


@pytest.mark.parametrize("taken", ["net.bin", "net.xml.modeldyno.toml"])
def test_nothing_is_ever_written_over(taken, linear, tmp_path):
    (tmp_path / taken).write_bytes(b"mine")
    with pytest.raises(BadValue, match="already exists"):
        modeldyno.convert(linear, "openvino")
    assert (tmp_path / taken).read_bytes() == b"mine"
    assert not (tmp_path / "net.xml").exists()


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("taken", ["net.onnx", "net.onnx.modeldyno.toml"])
def test_files_that_appear_during_a_conversion_stay_and_none_of_ours_is_left(
    taken, linear, tmp_path
):
    facts = modeldyno.inspect(linear)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / taken).write_bytes(b"mine")
    making = Making(
        source="net.pth",
        source_sha256=facts.sha256,
        source_format="torch-state-dict",
        tool="torch",
        versions={},
        at="2026-01-01T00:00:00+00:00",
        checks=2,
        max_rel_error=0.0,
    )
    with pytest.raises(StorageFailed):
        conversion._write_files(facts, linear, folder / "net.onnx", making)
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [(taken, b"mine")]


def test_an_unsupported_conversion_names_the_supported_ones():
    told = {one.to: one for one in conversions.possibilities("torch-export")}
    assert told["onnx"].why_not == ""
    assert told["openvino"].fix == "Convert it to ONNX first, then convert the new model"
    told = {one.to: one for one in conversions.possibilities("onnx")}
    assert told["onnx"].why_not == "it is ONNX already"
    made_of = "LiteRT can be made from SavedModel, Keras, TensorFlow graph; this model is ONNX"
    assert told["litert"].why_not == made_of


def test_a_missing_package_is_named_with_how_to_get_it(linear, monkeypatch):
    monkeypatch.setattr(conversions, "_installed_version", lambda package: None)
    (told,) = (one for one in conversions.possibilities("onnx") if one.to == "openvino")
    assert "'openvino' is not installed" in told.why_not
    assert told.fix == "Run `pip install 'modeldyno[openvino]'`"


@pytest.mark.engine("pytorch")
def test_a_checkpoint_becomes_onnx_with_its_batch_open_and_its_weights_inside(
    tmp_path, monkeypatch
):
    model = nets(tmp_path, monkeypatch, "return torch.relu(x * self.weight)")
    result = converted(model)
    assert result.model.inputs[0].shape == ("batch", 4)  # type: ignore[attr-defined]
    assert sorted(path.name for path in tmp_path.glob("net.onnx*")) == [
        "net.onnx",
        "net.onnx.modeldyno.toml",
    ]
    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    (outputs,) = session.run(None, {"x": np.ones((5, 4), np.float32)})
    np.testing.assert_allclose(outputs, np.tile([1, 0, 3, 0.5], (5, 1)))


@pytest.mark.engine("pytorch")
@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return x * self.weight * (2 if torch.compiler.is_exporting() else 1)", "something else"),
        ("return x * self.weight + torch.rand_like(x)", "different outputs each time"),
    ],
)
def test_a_conversion_with_different_outputs_is_refused_and_not_kept(
    tmp_path, monkeypatch, forward, words
):
    model = nets(tmp_path, monkeypatch, forward)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(WrongOutput, match=words):
        converted(model)
    assert sorted(tmp_path.glob("net*")) == [p for p in before if p.name.startswith("net")]


@pytest.mark.engine("pytorch")
def test_a_link_left_by_a_models_code_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("mine")
    link = f"torch.onnx.export = lambda *a, **k: os.symlink({str(tmp_path / 'secret')!r}, a[2])"
    model = nets(tmp_path, monkeypatch, "return x * self.weight", link)
    with pytest.raises(WorkerGarbled, match="not a file"):
        converted(model)
    assert not (tmp_path / "net.onnx").exists()


@pytest.mark.engine("pytorch")
def test_a_conversion_that_hangs_is_stopped_and_one_that_fails_says_why(tmp_path, monkeypatch):
    hang = "torch.onnx.export = lambda *a, **k: __import__('time').sleep(3600)"
    model = nets(tmp_path, monkeypatch, "return x * self.weight", hang)
    with pytest.raises(TimedOut):
        converted(model, timeout=10)
    model = nets(tmp_path, monkeypatch, "return x if x.sum() > 0 else -x")
    with pytest.raises(EngineFailed, match="cannot export") as caught:
        converted(model)
    assert "data-dependent" in caught.value.why


@pytest.mark.engine("tensorflow")
@pytest.mark.timeout(300)
def test_keras_becomes_onnx_and_a_saved_model_litert(keras_model):
    made = modeldyno.convert(keras_model / "net.keras", "onnx")
    assert {one.name: one.shape[1:] for one in made.model.inputs if one.shape} == {
        "image": (6, 6, 3),
        "scale": (1,),
    }
    made = modeldyno.convert(keras_model / "net", "litert")
    assert made.model.path == str(keras_model / "net.tflite")
    assert made.model.made is not None
    assert (made.model.made.source, made.engine.split()[0]) == ("net", "litert")
    assert [check.batch_size for check in made.checks] == [1, 1, 3]
    assert max(check.max_rel_error for check in made.checks) < 1e-4
