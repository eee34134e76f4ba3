"""Which devices an engine can use here, found out without loading it."""

import sys

import pytest

from modeldyno.core.documents.hosts import EngineDocument
from modeldyno.engines import availability
from modeldyno.engines.availability import availability_of
from modeldyno.engines.catalog import EngineEntry

DEVICES = ("cpu", "cuda", "mps", "tpu")


def document(package: str | None = None) -> EngineDocument:
    """Of an engine that has many devices."""
    entry = EngineEntry(
        "abacus", "abacus:Abacus", package, "pip install abacus", DEVICES, ("beads",)
    )
    return availability_of(entry, color=0)


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A machine with the node of a GPU; no driver is loaded."""
    node = tmp_path / "nvidia0"
    node.touch()
    monkeypatch.setattr(availability, "_GPU_NODES", (str(node),))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("gpu")
def test_a_device_that_only_a_worker_can_be_sure_of_says_so():
    engine = document()
    assert engine.devices == ("cpu", "cuda", "tpu")
    assert engine.device_notes.keys() == {"cuda", "tpu"}
    note = "seems available; certain only once a worker has loaded a model on it"
    assert engine.device_notes["cuda"] == note
    assert engine.unavailable_devices.keys() == {"mps"}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("numbers", ["", "-1"])
def test_gpus_that_the_environment_hides_are_not_there(monkeypatch, numbers):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", numbers)
    assert document().unavailable_devices["cuda"] == "CUDA_VISIBLE_DEVICES hides every GPU"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert "cuda" in document().devices


def test_a_machine_without_a_gpu_has_no_cuda(monkeypatch):
    monkeypatch.setattr(availability, "_GPU_NODES", ())
    assert "no NVIDIA GPU was found" in document().unavailable_devices["cuda"]


def test_an_engine_that_is_not_installed_has_no_device_here():
    engine = document("no-such-library")
    assert (engine.usable, engine.devices, engine.device_notes) == (False, (), {})
    assert engine.unavailable_devices == dict.fromkeys(DEVICES, engine.why_not)
