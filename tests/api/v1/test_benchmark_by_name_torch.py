"""PyTorch's files by name, and the documented clients of the older endpoint against ours."""

# PyTorch's types are skipped (pyproject.toml), so they are unknown here.
# mypy: disable-error-code="misc, name-defined"

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest
import torch

from modeldyno.core.trust import Code
from modeldyno.engines.pytorch import _make_synchronizer
from modeldyno.store.models import hash_file
from modeldyno.store.trust import Trust
from tests import onnx_models as made
from tests.api.v1.by_name import DOCUMENTED, ask, folders, found, measured, refused
from tests.api.v1.server import serving
from tests.terminal import modeldyno

ROOT = Path(__file__).parents[3]
SEED = ROOT.parent / "shared" / "seeds" / "003_benchmark_endpoint_changes.md"
THEIRS = "http://localhost:8000"
pytestmark = [
    pytest.mark.engine("pytorch"),
    pytest.mark.timeout(300),
    # TorchScript is on its way out, and its files are still everywhere.
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]
needs_seed = pytest.mark.skipif(
    not SEED.exists(), reason="the seed document is not beside this clone; see test_docs"
)

INPUTS = '[[inputs]]\nname = "{}"\ndtype = "float32"\nshape = ["batch", 4]\n'
LINEAR = 'architecture = "torch.nn:Linear"\n[arguments]\nin_features = 4\nout_features = 3\n'


BUILT = Code("torch.nn:Linear", {"in_features": 4, "out_features": 3})


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 7)

    def forward(self, x):
        return self.inner(x)


def say(path: Path, text: str) -> None:
    Path(f"{path}.modeldyno.toml").write_text(text)


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("served")
    exported = folders(workspace)
    trained = workspace / "models" / "trained"
    made.saved(made.linear(), exported / "tenn_eeg.onnx")
    torch.jit.script(Net()).save(exported / "model.pt")
    say(exported / "model.pt", INPUTS.format("x"))
    program = torch.export.export(Net(), (torch.ones(1, 4),))
    torch.export.save(program, exported / "program.pt2")
    weights = torch.nn.Linear(4, 3).state_dict()
    torch.save(weights, trained / "best_model.pt")
    say(trained / "best_model.pt", LINEAR + INPUTS.format("input"))
    # An architecture that the older endpoint would have guessed from the name.
    torch.save(weights, trained / "eeg_classifier.pt")
    trust = Trust(workspace / "trust.json")
    trust.grant(hash_file(exported / "program.pt2"), "program.pt2")
    trust.grant(hash_file(trained / "best_model.pt"), "best_model.pt", code=BUILT)
    with serving(workspace) as found:
        yield found


@pytest.fixture(scope="module")
def trusted(served):
    """``model.pt`` as somebody vouches for it whom the server told how."""
    told = refused(ask(served, "model.pt"), 403, "UNSAFE_FORMAT")
    command = re.search(r"`modeldyno (trust \S+)`", told["fix"])
    assert command
    ended = modeldyno(*command[1].split(), "--workspace", served.workspace, cwd=served.workspace)
    assert ended.code == 0, ended.err
    return "model.pt"


# ---------------------------------------------------------------- the files


def test_endpoint_defect_04_torchscript_runs_as_it_is_once_somebody_vouched_for_it(served, trusted):
    """Theirs timed a random net of its own in its place."""
    found = measured(served, trusted, batch_size=2)
    assert {key: type(found[key]) for key in DOCUMENTED} == DOCUMENTED
    assert (found["framework"], found["parameters"]) == ("PyTorch", 4 * 7 + 7)
    assert (found["input_shape"], found["providers"]) == ([2, 4], ["TorchScript"])


@pytest.mark.slow
def test_an_export_runs(served):
    found = measured(served, "program.pt2")
    assert (found["framework"], found["parameters"]) == ("PyTorch", 35)
    assert found["providers"] == ["export"]


@pytest.mark.slow
def test_a_checkpoint_runs_with_the_architecture_that_is_written_beside_it(served):
    found = measured(served, "best_model", batch_size=4)
    assert (found["model_name"], found["parameters"]) == ("best_model.pt", 15)
    assert (found["input_shape"], found["providers"]) == ([4, 4], ["eager"])
    assert found["model_path"] == "models/trained/best_model.pt"


def test_endpoint_defect_05_an_architecture_is_never_guessed(served):
    """Theirs guessed it from the file's name."""
    found = refused(ask(served, "eeg_classifier.pt"), 400, "MODEL_INPUT")
    assert "holds weights" in found["message"]
    assert "models/trained/eeg_classifier.pt.modeldyno.toml" in found["fix"]


def test_what_is_written_beside_a_model_is_read_anew(served):
    folder = served.workspace / "models" / "quantized"
    shutil.copy(served.workspace / "models" / "trained" / "best_model.pt", folder / "again.pt")
    refused(ask(served, "again.pt"), 400, "MODEL_INPUT")
    say(folder / "again.pt", LINEAR)  # inputs are missing still
    refused(ask(served, "again.pt"), 400, "MODEL_INPUT")
    say(folder / "again.pt", "architecture = 3")
    refused(ask(served, "again.pt"), 400, "MODEL_UNREADABLE")
    say(folder / "again.pt", LINEAR + INPUTS.format("input"))
    refused(ask(served, "again.pt", device="mps"), 400, "ENGINE_UNAVAILABLE")  # not by the file


def test_a_packed_upload_brings_what_is_written_beside_a_checkpoint(served, tmp_path):
    """So that a checkpoint of a project has its architecture, too."""
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in (served.workspace / "models" / "trained").glob("best_model.pt*"):
            archive.write(path, path.name)
    made = served.post(
        f"projects/{served.project()}/models?name=best_model.pt&packed=true",
        packed.read_bytes(),
        content_type="application/octet-stream",
    )
    assert made.status == 201, made.text
    facts = made.json["facts"]
    assert facts["architecture"]["factory"] == "torch.nn:Linear"
    assert [one["name"] for one in facts["inputs"]] == ["input"]
    assert made.json["state"] == "ready"  # the same content is vouched for
    # Named like the file in the folder, and of its content: no two models.
    told = found(served, "best_model.pt")
    assert told["model_path"] == "models/trained/best_model.pt"
    assert found(served, f"models/{made.json['id']}")["model_name"] == "best_model.pt"


def test_trust_that_is_taken_back_counts_at_once(served):
    file = served.workspace / "models" / "trained" / "best_model.pt"
    trust = Trust(served.workspace / "trust.json")
    trust.revoke(hash_file(file))
    refused(ask(served, "best_model.pt"), 403, "UNSAFE_FORMAT")
    trust.grant(hash_file(file), file.name)  # of its weights alone, as older versions did
    refused(ask(served, "best_model.pt"), 403, "UNSAFE_FORMAT")
    trust.grant(hash_file(file), file.name, code=BUILT)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_pytorch_lacks_is_told_with_the_reason(served, trusted, device):
    found = refused(ask(served, trusted, device=device), 400, "ENGINE_UNAVAILABLE")
    assert found["unavailable_devices"][device] in found["message"]
    assert found["available_devices"] == ["cpu"]


def test_endpoint_defect_14_every_device_that_works_on_while_we_go_on_is_waited_for():
    """Theirs never waited for MPS, and timed how fast calls are put in its queue."""
    waiting = _make_synchronizer(torch.device("mps"))
    assert isinstance(waiting, partial)
    assert waiting.func is torch.mps.synchronize
    on_cuda = _make_synchronizer(torch.device("cuda:0"))
    assert isinstance(on_cuda, partial)
    assert on_cuda.func is torch.cuda.synchronize


# ---------------------------------------------------------------- the seed document


def seed_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", SEED.read_text("utf-8"), re.M | re.S)


def with_token(served, text):
    """For curl: the address and the token, and nothing else, are ours."""
    header = f'-H "Authorization: Bearer {served.token}"'
    return re.sub(r"\bcurl\b", f"curl {header}", text.replace(THEIRS, served.url))


def shell(text, *options):
    done = subprocess.run(
        ["bash", *options, "-c", text], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@needs_seed
def test_the_documented_curl_lines_run_as_written(served, trusted):
    lines = [
        line
        for block in seed_blocks("bash")
        if "#!/bin/bash" not in block
        for line in block.splitlines()
        if line.startswith("curl ")
    ]
    assert len(lines) == 4
    found = [json.loads(shell(with_token(served, line))) for line in lines]
    told = [(one["status"], one.get("framework"), one.get("code")) for one in found]
    no_gpu = ("error", None, "ENGINE_UNAVAILABLE")
    if not torch.cuda.is_available():
        assert told[1] == no_gpu
    assert [told[0], told[2], told[3]] == [
        ("success", "PyTorch", None),
        no_gpu,
        ("success", "ONNX Runtime", None),
    ]
    assert found[3]["iterations"] == 100
    assert all(one["available_devices"] for one in found if one["status"] == "error")


@pytest.mark.slow
@needs_seed
@pytest.mark.skipif(shutil.which("jq") is None, reason="the documented script needs jq")
def test_the_documented_comparison_of_devices_runs_unchanged(served):
    (text,) = [block for block in seed_blocks("bash") if "#!/bin/bash" in block]
    said = shell(with_token(served, text), "-o", "pipefail")
    cpu, cuda, mps = re.split(r"^\[\w+\]$", said, flags=re.M)[1:]
    assert re.search(r"[\d.]+ms \([\d.]+/s\)", cpu)
    assert "available" in cuda or "ms (" in cuda
    assert "coreml" in mps  # ONNX Runtime has no MPS


@pytest.mark.slow
@needs_seed
def test_the_documented_python_client_runs_unchanged(served):
    (text,) = [block for block in seed_blocks("python") if "import requests" in block]
    header = f"params=params, headers={{'Authorization': 'Bearer {served.token}'}}"
    text = text.replace(THEIRS, served.url).replace("params=params", header)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"ONNX: [\d.]+ms\nPyTorch: [\d.]+ms\n", done.stdout)


@needs_seed
def test_the_documented_fields_are_those_that_our_tests_look_for():
    text = SEED.read_text("utf-8")
    after = text.partition("### After")[2].partition("```json")[2].partition("```")[0]
    named = set(re.findall(r'"(\w+)":', after)) | set(re.findall(r"^- `(\w+)`", text, re.M))
    assert named <= DOCUMENTED.keys()
    assert len(named) >= 9
