"""Devices of ONNX Runtime: their providers, and what happens where those are missing."""

import pytest

from modeldyno.core.errors import BadValue, EngineUnavailable
from modeldyno.engines.onnx_providers import CPU, OnnxDevice, find_device, require_provider

CUDA, TENSORRT, COREML = (f"{name}ExecutionProvider" for name in ("CUDA", "Tensorrt", "CoreML"))
EVERYTHING = (TENSORRT, CUDA, COREML, CPU)


@pytest.mark.parametrize(
    ("name", "chain", "full_name"),
    [
        ("cpu", [CPU], "cpu"),
        ("cuda", [(CUDA, {"device_id": 0}), CPU], "cuda:0"),
        ("cuda:1", [(CUDA, {"device_id": 1}), CPU], "cuda:1"),
        ("tensorrt", [(TENSORRT, {"device_id": 0}), (CUDA, {"device_id": 0}), CPU], "tensorrt:0"),
        ("coreml", [COREML, CPU], "coreml"),
    ],
)
def test_a_device_is_a_chain_of_providers(name, chain, full_name):
    device = find_device(name, EVERYTHING)
    assert (device.provider_chain(), device.name) == (chain, full_name)


@pytest.mark.parametrize("device", ["mps", "cuda:x", "cpu:1", "coreml:0", "", "cuda:"])
def test_devices_we_do_not_know_are_refused(device):
    with pytest.raises(BadValue, match="no device"):
        find_device(device, EVERYTHING)


@pytest.mark.parametrize("device", ["cuda", "tensorrt", "coreml"])
def test_a_build_without_the_provider_says_so_and_how_to_get_it(device):
    with pytest.raises(EngineUnavailable) as caught:
        find_device(device, (CPU, "AzureExecutionProvider"))
    assert "AzureExecutionProvider, CPUExecutionProvider" in caught.value.why
    assert "--device cpu" in caught.value.fix


def test_falling_back_on_the_cpu_is_not_measured_as_the_gpu():
    with pytest.raises(EngineUnavailable, match="could not start CUDA"):
        require_provider(OnnxDevice("cuda", 0), [CPU])
    require_provider(OnnxDevice("cuda", 0), [CUDA, CPU])
    require_provider(OnnxDevice("cpu", 0), [CPU])


@pytest.mark.parametrize(
    ("device", "memory"), [("cpu", "cpu"), ("cuda", "cuda"), ("coreml", "cpu")]
)
def test_bound_tensors_lie_where_the_provider_computes(device, memory):
    assert find_device(device, EVERYTHING).memory == memory
