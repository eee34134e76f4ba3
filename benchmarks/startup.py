"""What `modeldyno bench` costs before its first worker starts, against importing ONNX Runtime.

Both are whole processes, started in alternation, compared by their lower quartiles within one run:

    .venv/bin/python benchmarks/startup.py [--rounds 20]

Exits 1 when the command costs more than twice the import.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from modeldyno.demo import model_path

LIMIT = 2.0

# The first process that the command starts is its first worker: end there.
UP_TO_FIRST_WORKER = """
import os, subprocess, sys
subprocess.Popen = lambda *args, **kwargs: os._exit(0)
from modeldyno.cli.main import run
run()
"""
IMPORT_ENGINE = "import onnxruntime"


# Installed packages come compiled; a checkout is compiled by its first run, if it may write that.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def seconds(*arguments: str) -> float:
    command = [sys.executable, "-c", *arguments]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - start


def lower_quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4]


def measure(rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as workspace:
        bench = (UP_TO_FIRST_WORKER, "bench", str(model_path()), "--workspace", workspace)
        pairs = [(seconds(*bench), seconds(IMPORT_ENGINE)) for _ in range(rounds + 1)][1:]
    to_worker, engine = (lower_quartile([pair[side] for pair in pairs]) for side in (0, 1))
    return {
        "to_first_worker_s": round(to_worker, 4),
        "import_onnxruntime_s": round(engine, 4),
        "ratio": round(to_worker / engine, 3),
        "limit": LIMIT,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=20)
    found = measure(parser.parse_args().rounds)
    print(json.dumps(found))
    sys.exit(found["ratio"] > LIMIT)


if __name__ == "__main__":
    main()
