"""What one tool claims about one model, from a process of its own that is pinned to one CPU.

    python benchmarks/peer_claims.py TOOL MODEL INPUTS.npz SECONDS CPU

Prints one line of JSON. peers.py starts it; by itself it is good for looking at one tool. Every
tool gets the same file, the same inputs, one thread and as many seconds. The floors are no tools:
they are the loops one would write by hand around the same call, and what claims are held against.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

Call = Callable[[], object]
Sampler = Callable[[], float]
Found = dict[str, Any]

SAMPLE_NS = 50_000  # short calls are timed several at a time: the clock itself costs 0.1 µs
LONG_CALL_NS = 1_000_000  # from here on CPU time is read too: others run in between
FEWEST_SAMPLES = 10
TURN_S = 0.002
WARM_UPS, WARM_UP_S = 50, 0.3
OPENVINO = {
    "PERFORMANCE_HINT": "LATENCY",
    "INFERENCE_NUM_THREADS": 1,
    "INFERENCE_PRECISION_HINT": "f32",
}


def main(tool: str, model: str, inputs: str, seconds: str, cpu: str) -> None:
    os.sched_setaffinity(0, {int(cpu)})  # before any engine looks at how many there are
    found = TOOLS[tool](Path(model), Path(inputs), float(seconds))
    print(json.dumps(found))


# ---------------------------------------------------------------- tools


def modeldyno(
    model: Path, inputs: Path, seconds: float, engine: str | None = None, contract: str = "api"
) -> Found:
    """The whole way: sandboxed workers, sessions, verdict. The budget includes starting them."""
    from modeldyno import bench

    with tempfile.TemporaryDirectory() as workspace:
        (cell,) = bench(
            model,
            engine=engine,
            contract=contract,
            data=inputs,
            budget=seconds,
            workspace=workspace,
        ).cells
    if cell.measurement is None or cell.status == "failed":
        raise RuntimeError(f"modeldyno measured nothing: {cell.error}")
    found = cell.measurement
    return {
        "claims": {"typical": found.latency.typical.value, "floor": found.latency.floor.value},
        "warned": found.noise in ("contended", "unusable"),
        "said": f"{found.noise}, {found.sessions} sessions, {found.stop_reason}",
    }


def modeldyno_openvino(model: Path, inputs: Path, seconds: float) -> Found:
    """Ours in the engine of benchmark_app: the hot call, which copies nothing either."""
    return modeldyno(model, inputs, seconds, engine="openvino", contract="hot")


def torch_timer(model: Path, inputs: Path, seconds: float) -> Found:
    """Its headline is the median over blocks of calls; it warns when their quartiles are apart."""
    from torch.utils.benchmark import Timer

    session, feed = onnxruntime_session(model, inputs)
    timer = Timer("run(None, feed)", globals={"run": session.run, "feed": feed})
    found = timer.blocked_autorange(min_run_time=seconds)
    return {
        "claims": {"median": found.median},
        "warned": found.has_warnings,
        "said": f"{len(found.times)} blocks of {found.number_per_run} calls",
    }


def mean_loop(model: Path, inputs: Path, seconds: float) -> Found:
    """A few calls to warm up, then calls until the time is over, and their mean."""
    session, feed = onnxruntime_session(model, inputs)
    run = session.run
    warm_up(lambda: run(None, feed))
    calls, start = 0, perf_counter()
    while (spent := perf_counter() - start) < seconds:
        run(None, feed)
        calls += 1
    return {"claims": {"mean": spent / calls}, "warned": False, "said": f"{calls} calls"}


def benchmark_app(model: Path, inputs: Path, seconds: float) -> Found:
    """The command that comes with OpenVINO. Next to a hint it takes threads from a file only."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "threads.json")
        settings.write_text(json.dumps({"CPU": {"INFERENCE_NUM_THREADS": 1}}))
        hint = ["-hint", "latency", "-load_config", str(settings)]
        printed = benchmark_app_printed(model, inputs, seconds, *hint)
    latency, per_s = benchmark_app_figures(printed)
    return {
        "claims": {"median": latency},
        "warned": "[ WARNING ]" in printed,
        "said": f"{per_s:.5g} calls per second",
    }


def benchmark_app_floor(model: Path, inputs: Path, seconds: float) -> Found:
    """Its 10th percentile, for it knows no other floor than the quickest call of all."""
    said = "-hint none -nstreams 1 -nthreads 1 -latency_percentile 10"
    printed = benchmark_app_printed(model, inputs, seconds, *said.split())
    latency, per_s = benchmark_app_figures(printed, "10 percentile")
    return {
        "claims": {"floor": latency},
        "warned": "[ WARNING ]" in printed,
        "said": f"{per_s:.5g} calls per second",
    }


def benchmark_app_printed(model: Path, inputs: Path, seconds: float, *more: str) -> str:
    """Without ``-ip f32`` it would turn an image's input into bytes and measure another model."""
    with tempfile.TemporaryDirectory() as folder:
        (value,) = load(inputs).values()
        np.save(file := Path(folder, "input.npy"), value)
        shape = json.dumps(value.shape, separators=(",", ":"))
        options = f"-d CPU -api sync -infer_precision f32 -ip f32 -t {seconds:.0f}"
        command: list[str | Path] = [
            Path(sys.executable).with_name("benchmark_app"),
            "-m",
            model,
            *options.split(),
            *more,
        ]
        command += ["-shape", shape, "-i", file]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"benchmark_app failed: {done.stdout[-600:]}{done.stderr[-600:]}")
    return done.stdout


def benchmark_app_figures(printed: str, figure: str = "Median") -> tuple[float, float]:
    """A latency in seconds and throughput per second; its unit follows the size."""
    median = re.search(rf"{figure}: +([\d.]+) (us|ms|s)\b", printed)
    throughput = re.search(r"Throughput: +([\d.]+) FPS", printed)
    if not median or not throughput:
        raise ValueError(
            f"no {figure.lower()} and throughput in what benchmark_app printed: {printed[-300:]}"
        )
    return float(median[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[median[2]], float(throughput[1])


# ---------------------------------------------------------------- floors


def onnxruntime_floors(model: Path, inputs: Path, seconds: float) -> Found:
    """``run`` is the ordinary call, ``bound`` the one with inputs and outputs bound beforehand."""
    import onnxruntime

    session, feed = onnxruntime_session(model, inputs)
    binding = session.io_binding()
    for name, value in feed.items():
        binding.bind_cpu_input(name, value)
    for output, value in zip(session.get_outputs(), session.run(None, feed), strict=True):
        binding.bind_ortvalue_output(output.name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    return in_turns(
        {
            "run": timed(lambda: session.run(None, feed)),
            "bound": timed(lambda: session.run_with_iobinding(binding)),
        },
        seconds,
    )


def openvino_floors(model: Path, inputs: Path, seconds: float) -> Found:
    """``infer`` is the call as its caller sees it, ``latency`` what the engine says it took."""
    import openvino

    feed = load(inputs)
    core = openvino.Core()
    graph = core.read_model(model)
    graph.reshape({name: list(value.shape) for name, value in feed.items()})
    request = core.compile_model(graph, "CPU", OPENVINO).create_infer_request()
    for name, value in feed.items():
        request.set_tensor(name, openvino.Tensor(value))
    return in_turns({"infer": timed(request.infer), "latency": told(request)}, seconds)


def in_turns(samplers: dict[str, Sampler], seconds: float) -> dict[str, list[float]]:
    """Short turns: the machine changes its speed, and should change it under all of them."""
    found: dict[str, list[float]] = {name: [] for name in samplers}
    end = perf_counter() + seconds
    while perf_counter() < end or min(map(len, found.values())) < FEWEST_SAMPLES:
        for name, sampler in samplers.items():
            turn_end = perf_counter() + TURN_S
            while perf_counter() < turn_end:
                found[name].append(sampler())
    return found


def timed(call: Call) -> Sampler:
    """Seconds per call in wall time; from 1 ms on in CPU time, if that is less."""
    call_ns = warm_up(call)
    calls = max(1, SAMPLE_NS // call_ns)
    if call_ns >= LONG_CALL_NS:
        return undisturbed(lambda: time_ns(call, 1) / 1e9)
    return lambda: time_ns(call, calls) / calls / 1e9


def told(request: Any) -> Sampler:
    """The same by the clock inside OpenVINO, which is the one that benchmark_app reads."""

    def sample() -> float:
        request.infer()
        return float(request.latency) / 1e3

    return undisturbed(sample) if warm_up(sample) >= LONG_CALL_NS else sample


def undisturbed(sample: Sampler) -> Sampler:
    """A long call is interrupted by others sooner or later; what it costs is its CPU time then."""

    def shorter() -> float:
        start = process_time_ns()
        wall_s = sample()
        return min(wall_s, (process_time_ns() - start) / 1e9)

    return shorter


def time_ns(call: Call, calls: int) -> int:
    start = perf_counter_ns()
    for _ in repeat(None, calls):
        call()
    return perf_counter_ns() - start


def warm_up(call: Call) -> int:
    """A few calls, fewer when they are long; the quickest of them in nanoseconds."""
    end = perf_counter() + WARM_UP_S
    found = [time_ns(call, 1), time_ns(call, 1)]
    while len(found) < WARM_UPS and perf_counter() < end:
        found.append(time_ns(call, 1))
    return min(found)


# ---------------------------------------------------------------- what they share


def onnxruntime_session(model: Path, inputs: Path) -> tuple[Any, dict[str, Any]]:
    """One thread, all else as it comes; and a feed for ``session.run``."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(str(model), options, providers=providers), load(inputs)


def load(inputs: Path) -> dict[str, Any]:
    with np.load(inputs) as file:
        return {name: file[name] for name in file.files}


TOOLS: dict[str, Callable[[Path, Path, float], Found]] = {
    "modeldyno": modeldyno,
    "torch": torch_timer,
    "mean": mean_loop,
    "modeldyno openvino": modeldyno_openvino,
    "benchmark_app": benchmark_app,
    "benchmark_app floor": benchmark_app_floor,
    "onnxruntime floors": onnxruntime_floors,
    "openvino floors": openvino_floors,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
