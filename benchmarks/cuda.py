"""On a machine with an NVIDIA GPU: our device times against Triton's do_bench, on ResNet-50.

    python3 benchmarks/cuda.py

Runs from source with torch, torchvision, triton and numpy alone; nothing needs to be installed.
Both flush the GPU's cache before each call and take the median. They take turns, in random order,
and the ratio is of turns that stand side by side: at batch 1 the CPU cannot put kernels into the
queue as fast as the GPU runs them, so its own drift is in both.
"""

import gc
import os
import random
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

FACTORY = "torchvision.models:resnet50"
TURNS, CALLS = 250, 5  # short turns: the CPU's speed changes within seconds


def main() -> None:
    import torch
    import torchvision

    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}")
    with TemporaryDirectory() as folder:
        weights = Path(folder, "resnet50.pth")
        torch.save(torchvision.models.resnet50().state_dict(), weights)
        events_against_do_bench(weights)
        whole_path(weights, Path(folder, "workspace"))


def events_against_do_bench(weights: Path) -> None:
    import numpy as np

    from modeldyno.core.models import Architecture
    from modeldyno.core.sessions import Target
    from modeldyno.engines.pytorch import PyTorch
    from modeldyno.measure.statistics import log_t

    engine = PyTorch()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # as workers are
    gc.disable()
    print("batch  asked  precision  events ms  do_bench ms  ratio of medians  paired (95 %)")
    for batch in (1, 32):
        inputs = {"x": np.random.default_rng(0).random((batch, 3, 224, 224), dtype=np.float32)}
        for precision in ("fp32", "fp16"):
            target = Target(
                "pytorch",
                str(weights),
                device="cuda",
                precision=precision,
                format="torch-checkpoint",
                architecture=Architecture(FACTORY),
            )
            facts, _ = engine.examine(target, inputs)
            with engine.open(target) as session:
                turns = [_turn(session, inputs, number) for number in range(TURNS)]
            ours, theirs = (statistics.median(side) for side in zip(*turns, strict=True))
            ratio = log_t([a / b for a, b in turns], 0.95, "pairs")
            print(
                f"{batch:5}  {precision!s:5}  {facts.precision!s:9}  {ours:9.4f}  {theirs:11.4f}  "
                f"{ours / theirs:17.4f}  {ratio.value:.4f} ({ratio.low:.4f} to {ratio.high:.4f})",
                flush=True,
            )


def _turn(session, inputs, number: int) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """One median of each in milliseconds, over about as many calls."""
    import triton.testing

    found = {}
    sides = ["ours", "theirs"]
    random.Random(number).shuffle(sides)  # noqa: S311 - an order of measurement
    call = session.device_call(inputs)
    for side in sides:
        if side == "ours":
            found[side] = 1e3 * statistics.median(session.device_times_s(inputs, CALLS))
        else:
            found[side] = triton.testing.do_bench(call, warmup=5, rep=20, return_mode="median")
    return found["ours"], found["theirs"]


def whole_path(weights: Path, workspace: Path) -> None:
    """Through sandboxed workers, as `modeldyno bench` does it."""
    from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
    from modeldyno.services import requests
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    service = open_workbench(Settings.read(workspace)).service
    print("batch  precision  wall ms  device ms  J per item  metered")
    for precision in ("fp32", "fp16"):
        request = BenchmarkRequest(
            batch_sizes=(1, 32),
            devices=("cuda",),
            precisions=(precision,),
            inputs=("x=float32[batch,3,224,224]",),
        )
        spec = requests.make_benchmark_spec(request, ModelFile(weights, architecture=FACTORY))
        for cell in getattr(service.run(spec), "cells", ()):
            found = cell.measurement
            if found is None:
                print(cell.status, cell.error)
                continue
            typical, device = found.latency.typical, found.device_s or 0.0
            joules = found.energy_j_per_item
            print(
                f"{cell.batch_size:5}  {cell.facts.precision:9}  {typical.value * 1e3:.4f} ± "
                f"{typical.half_width * 1e3:.4f}  {device * 1e3:.4f}  {joules}  "
                f"{found.energy_note}  {cell.facts.device}  sandbox {cell.sandbox}  {found.noise}",
                flush=True,
            )


if __name__ == "__main__":
    main()
