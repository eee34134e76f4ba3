"""Models that other people made: each gives a number, with no option beyond what a message asks."""

from pathlib import Path

import onnx
import pytest

from tests import schemas
from tests.terminal import modeldyno

pytestmark = pytest.mark.slow

LIGHT = sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/light_*.onnx"))
CACHE = Path(__file__).parents[1] / ".cache" / "models"
FETCHED = sorted(CACHE.rglob("*.onnx"))


def test_all_the_models_are_here():
    """``make test`` fetches them; without them the tests below would pass by being none."""
    assert len(LIGHT) == 9
    assert {path.parent.name for path in FETCHED} == {"magika", "rapidocr", "silero-vad"}, (
        "run `make test-models`"
    )


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
    assert 0 < latency["floor"] <= latency["median"]
    assert latency["ci95"][0] <= latency["median"] <= latency["ci95"][1]
    assert cell["precision"] == "fp32"
    assert cell["peak_memory_bytes"] > 0
    assert model.read_bytes() == before
