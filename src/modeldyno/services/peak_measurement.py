"""The machine's peaks as ONNX Runtime reaches them: two tiny models, measured like any other.

Nobody reaches a CPU's theoretical peak; what the engine's own kernels reach on one large matrix
product, and on one sum of large vectors, is what a model on that engine can be held against.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from modeldyno.core.documents.hosts import Peak, Peaks
from modeldyno.core.errors import Cancelled, RunFailed
from modeldyno.core.figures import size
from modeldyno.core.hosts import HostFacts
from modeldyno.core.jobs import Result
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import BenchmarkResult, Measurement, Noise
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.services import requests

ENGINE = "onnxruntime"
SECONDS = 6.0  # for each model and number of cores, starting and loading included
OPSET = 17
_FLOAT = 4  # bytes

Run = Callable[[BenchmarkSpec], Result]


def measure_peaks(folder: Path, host: HostFacts, run: Run) -> Peaks:
    """On one core and on all we may use; the best of all samples counts."""
    cores = sorted({1, len(host.cpus_allowed)})
    side = matrix_side(cores[-1])
    length = vector_length(host)
    engine, products = _measure_model(
        run, _save_model(folder / "product.onnx", make_product_model(side)), cores
    )
    _, sums = _measure_model(run, _save_model(folder / "sum.onnx", make_sum_model(length)), cores)
    return Peaks(
        fingerprint=host.fingerprint,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=engine,
        work=f"fp32 MatMul, {side} × {side} × {side}",
        traffic=f"c = a + b in fp32, {size(_FLOAT * length)} each; two read, one written",
        peaks=tuple(
            Peak(
                cores=count,
                flops_per_s=2 * side**3 / product_cell.latency.min_s,
                bytes_per_s=3 * _FLOAT * length / sum_cell.latency.min_s,
                noise=max(product_cell.noise, sum_cell.noise, key=get_args(Noise).index),
            )
            for count, product_cell, sum_cell in zip(cores, products, sums, strict=True)
        ),
    )


def matrix_side(cores: int) -> int:
    """Large enough to keep all cores busy; no larger, since long calls absorb preemptions."""
    return next(side for most, side in ((4, 512), (16, 1024), (1 << 20, 2048)) if cores <= most)


def vector_length(host: HostFacts) -> int:
    """Far beyond the last cache, and within a small part of the memory."""
    last_cache = max(host.cache_bytes.values(), default=0)
    wanted = max(64 << 20, 2 * last_cache)
    return min(wanted, 256 << 20, host.memory_bytes // 32) // _FLOAT


def _measure_model(run: Run, model: Path, cores: list[int]) -> tuple[str, list[Measurement]]:
    """The engine as it calls itself, and what each number of cores gave."""
    request = BenchmarkRequest(
        engines=(ENGINE,), cores=tuple(cores), contract="hot", budget=SECONDS
    )
    result: BenchmarkResult = run(requests.make_benchmark_spec(request, model))
    if result.interrupted:
        raise Cancelled("Stopped before the peaks were known")
    for cell in result.cells:
        if cell.error is not None:
            why = f"{cell.error.title}. {cell.error.why}"
            raise RunFailed("The peaks could not be measured", why=why, fix=cell.error.fix)
    facts = result.cells[0].facts
    assert facts is not None
    measured = [cell.measurement for cell in result.cells if cell.measurement is not None]
    return f"{facts.engine} {facts.engine_version}", measured


# ---------------------------------------------------------------- the models


def make_product_model(side: int) -> Any:
    """a · w, the second matrix known beforehand, as weights are."""
    import numpy as np
    from onnx import helper, numpy_helper

    weights = np.random.default_rng(0).standard_normal((side, side), dtype=np.float32)
    node = helper.make_node("MatMul", ["a", "w"], ["c"])
    shape = [side, side]
    return _make_model(node, {"a": shape}, {"c": shape}, [numpy_helper.from_array(weights, "w")])


def make_sum_model(length: int) -> Any:
    from onnx import helper

    node = helper.make_node("Add", ["a", "b"], ["c"])
    return _make_model(node, {"a": [length], "b": [length]}, {"c": [length]}, [])


def _make_model(
    node: Any, inputs: dict[str, list[int]], outputs: dict[str, list[int]], weights: list[Any]
) -> Any:
    from onnx import TensorProto, helper

    def tensors(shapes: dict[str, list[int]]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in shapes.items()
        ]

    graph = helper.make_graph([node], "peak", tensors(inputs), tensors(outputs), weights)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _save_model(path: Path, model: Any) -> Path:
    path.write_bytes(model.SerializeToString())
    return path
