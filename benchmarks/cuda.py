"""On a machine with an NVIDIA GPU: our device times against Triton's do_bench, on ResNet-50.

    python3 benchmarks/cuda.py

Runs from source with torch, torchvision, triton and numpy alone; nothing needs to be installed.
Both flush the GPU's cache before each call and take the median; ours is taken before and after.
"""

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

FACTORY = "torchvision.models:resnet50"
CALLS = 100


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
    import triton.testing

    from modeldyno.core.models import Architecture
    from modeldyno.core.sessions import Target
    from modeldyno.engines.pytorch import PyTorch

    engine = PyTorch()
    print("batch  asked  precision  events ms (before, after)  do_bench ms  ratio")
    for batch in (1, 32):
        inputs = {"x": np.random.default_rng(0).random((batch, 3, 224, 224), dtype=np.float32)}
        for precision in (None, "fp32", "fp16", "bf16"):
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
                before = _median_ms(session.device_times_s(inputs, CALLS))
                call = session.enqueued(inputs)
                theirs = triton.testing.do_bench(call, warmup=100, rep=500, return_mode="median")
                after = _median_ms(session.device_times_s(inputs, CALLS))
            ratio = (before + after) / 2 / theirs
            print(
                f"{batch:5}  {precision!s:5}  {facts.precision!s:9}  {before:.4f} {after:.4f}  "
                f"{theirs:.4f}  {ratio:.4f}",
                flush=True,
            )


def _median_ms(times_s: tuple[float, ...]) -> float:
    return 1e3 * statistics.median(times_s)


def whole_path(weights: Path, workspace: Path) -> None:
    """Through workers, as `modeldyno bench` does it."""
    from modeldyno.services import requests
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    spec = requests.benchmark_spec(
        weights,
        requests.CellOptions(batch=(1, 32), device="cuda", precision="fp16"),
        requests.InputOptions(inputs=["x=float32[batch,3,224,224]"], architecture=FACTORY),
    )
    result = open_workbench(Settings.read(workspace)).service.run(spec)
    for cell in getattr(result, "cells", ()):
        print(cell.status, cell.error, cell.facts)
        if cell.measurement is not None:
            typical, device = cell.measurement.latency.typical, cell.measurement.device_s
            print(f"batch {cell.batch_size}: wall {typical.value * 1e3:.4f} ms, {device=} s")


if __name__ == "__main__":
    main()
