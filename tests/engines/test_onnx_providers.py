"""Devices of ONNX Runtime: which providers they mean, and what happens where they are not."""

import pytest

from modeldyno.core.errors import BadValue, EngineUnavailable
from modeldyno.engines.onnx_providers import CPU, Placement, check_taken, placement

CUDA, TENSORRT, COREML = (f"{name}ExecutionProvider" for name in ("CUDA", "Tensorrt", "CoreML"))
EVERYTHING = (TENSORRT, CUDA, COREML, CPU)


@pytest.mark.parametrize(
    ("device", "wanted", "told"),
    [
        ("cpu", [CPU], "cpu"),
        ("cuda", [(CUDA, {"device_id": 0}), CPU], "cuda:0"),
        ("cuda:1", [(CUDA, {"device_id": 1}), CPU], "cuda:1"),
        ("tensorrt", [(TENSORRT, {"device_id": 0}), (CUDA, {"device_id": 0}), CPU], "tensorrt:0"),
        ("coreml", [COREML, CPU], "coreml"),
    ],
)
def test_a_device_is_a_chain_of_providers(device, wanted, told):
    placed = placement(device, EVERYTHING)
    assert (placed.wanted(), placed.device) == (wanted, told)


@pytest.mark.parametrize("device", ["mps", "cuda:x", "cpu:1", "coreml:0", "", "cuda:"])
def test_devices_we_do_not_know_are_refused(device):
    with pytest.raises(BadValue, match="no device"):
        placement(device, EVERYTHING)


@pytest.mark.parametrize("device", ["cuda", "tensorrt", "coreml"])
def test_a_build_without_the_provider_says_so_and_how_to_get_it(device):
    with pytest.raises(EngineUnavailable) as caught:
        placement(device, (CPU, "AzureExecutionProvider"))
    assert "AzureExecutionProvider, CPUExecutionProvider" in caught.value.why
    assert "--device cpu" in caught.value.fix


def test_falling_back_on_the_cpu_is_not_measured_as_the_gpu():
    with pytest.raises(EngineUnavailable, match="could not start CUDA"):
        check_taken(Placement("cuda", 0), [CPU])
    check_taken(Placement("cuda", 0), [CUDA, CPU])
    check_taken(Placement("cpu", 0), [CPU])


@pytest.mark.parametrize(
    ("device", "memory"), [("cpu", "cpu"), ("cuda", "cuda"), ("coreml", "cpu")]
)
def test_bound_tensors_lie_where_the_provider_computes(device, memory):
    assert placement(device, EVERYTHING).memory == memory
