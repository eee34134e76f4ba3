"""T8: what does the product's loop add to a call?

In a process of its own, the loop that ships and a minimal one time the same sessions of models of
about 5, 10 and 100 µs, in short alternating turns. Control: the way of long calls (one call for
each sample, a CPU clock around it) costs a 5 µs call dearly.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from modeldyno.core.sessions import SessionPlan, Target
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.measure import loop
from modeldyno.measure.statistics import FloatArray, floor, seconds_per_call
from modeldyno.selftest.outcome import Outcome
from modeldyno.worker.main import padded_heap

MOST = {"5": 1.02, "10": 1.015, "100": 1.01}  # of a minimal loop's floor, by the call's µs
LEAST = 0.985
CONTROL = 1.02
SESSIONS, SHORT_SESSIONS = 20, 10
SESSION_S, SHORT_SESSION_S = 0.4, 0.25
TURN_S = 0.001  # short, for the machine changes its speed; longer than what surrounds a turn
STRETCH = 40  # samples of the minimal loop: a few turns
TIMEOUT_S = 120

Turn = Callable[[], None]


def run(short: bool = False, seed: int = 8) -> Outcome:
    from modeldyno.selftest import synthetic_models
    from modeldyno.selftest.scratch_workspace import scratch_workspace

    with scratch_workspace() as scratch:
        make_short = (synthetic_models.write_shortest, synthetic_models.write_short)
        models = [*(make(scratch.folder) for make in make_short), *scratch.make_stack_models(100)]
        sizes = (SHORT_SESSIONS, SHORT_SESSION_S) if short else (SESSIONS, SESSION_S)
        figures = _measure_in_own_process(models, sizes, seed)
    means = {name: float(np.mean(figures[name]["product"])) for name in MOST}
    control = float(np.mean(figures["5"]["as_long_call"]))
    passed = all(LEAST <= mean <= MOST[name] for name, mean in means.items()) and control >= CONTROL
    return Outcome(
        passed=passed,
        observed={
            "mean_ratio": {name: round(mean, 5) for name, mean in means.items()},
            "sd": {n: round(float(np.std(figures[n]["product"], ddof=1)), 5) for n in MOST},
            "minimal_us": {n: round(float(np.median(figures[n]["minimal_us"])), 2) for n in MOST},
            "sessions": len(figures["5"]["product"]),
        },
        threshold={"at_most": MOST, "at_least": LEAST, "as_long_call_at_5": CONTROL},
        control={
            "as_long_call_at_5": round(control, 5),
            "single_calls_at_5": round(float(np.mean(figures["5"]["single_calls"])), 5),
        },
        seed=seed,
    )


def _measure_in_own_process(
    models: list[Path], sizes: tuple[int, float], seed: int
) -> dict[str, dict[str, list[float]]]:
    command = [sys.executable, "-m", __name__, *map(str, (*sizes, seed, *models))]
    quiet = os.environ | {"ORT_DISABLE_TELEMETRY": "1"}  # as a worker has it
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_S, env=quiet)
    figures: dict[str, dict[str, list[float]]] = json.loads(done.stdout)
    return figures


# ---------------------------------------------------------------- in that process


def main(arguments: list[str]) -> None:
    sessions, seconds, seed = int(arguments[0]), float(arguments[1]), int(arguments[2])
    models = dict(zip(MOST, arguments[3:], strict=True))
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in models}
    for number in range(sessions):
        for name, model in models.items():
            with padded_heap(seed + number):
                for key, figure in _measure(model, seconds, seed + number).items():
                    figures[name].setdefault(key, []).append(figure)
    sys.stdout.write(json.dumps(figures))


def _measure(model: str, seconds: float, seed: int) -> dict[str, float]:
    """Floors of one fresh session, over that of the minimal loop."""
    with OnnxRuntime().open(Target("onnxruntime", model)) as session:
        shape = session.raw.get_inputs()[0].shape
        feed = {"x": np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)}
        call = session.bind(feed, "api")
        calibration = loop.calibrate(call, perf_counter_ns)
        loop.warm_up(call, calibration, SessionPlan(), perf_counter_ns)
        k = calibration.calls_per_sample
        single = replace(calibration, calls_per_sample=1)
        as_long = replace(single, call_s=loop.LONG_CALL_NS / 1e9)
        blocks = [loop.Block(call, c, loop.Clocks()) for c in (calibration, single, as_long)]
        minimal: list[int] = []
        run = session.raw.run
        count = max(1, round(TURN_S / (k * calibration.call_s)))
        turns: list[Turn] = [
            lambda: blocks[0].read(count),
            lambda: minimal.extend(_take_minimal_samples(run, feed, k, count)),
            lambda: blocks[1].read(k * count),
            lambda: blocks[2].read(k * count),
        ]
        _take_turns(turns if k > 1 else turns[:2], call, seconds, seed)
    reference = seconds_per_call(minimal, k)
    names = ("product", "single_calls", "as_long_call")
    ratios = {
        name: _overhead_share(seconds_per_call(block.wall, size), reference)
        for name, block, size in zip(names, blocks, (k, 1, 1), strict=True)
        if len(block)
    }
    return ratios | {"minimal_us": 1e6 * floor(reference)}


def _overhead_share(samples: FloatArray, reference: FloatArray) -> float:
    """The median of floor over floor in short stretches, each taken at one speed of the machine."""
    stretches = max(1, reference.size // STRETCH)
    both = (np.array_split(timings, stretches) for timings in (samples, reference))
    return float(np.median([floor(block) / floor(base) for block, base in zip(*both, strict=True)]))


def _take_minimal_samples(run: Any, feed: dict[str, Any], k: int, count: int) -> list[int]:
    """The loop that one would write by hand."""
    timings = []
    for _ in range(count):
        start = perf_counter_ns()
        for _ in range(k):
            run(None, feed)
        timings.append(perf_counter_ns() - start)
    return timings


def _take_turns(turns: list[Turn], call: loop.Call, seconds: float, seed: int) -> None:
    order = list(turns)
    randomness = random.Random(seed)  # noqa: S311 - an order of measurement, not a secret
    end = perf_counter() + seconds
    with loop.paused_garbage_collection():
        while perf_counter() < end:
            randomness.shuffle(order)
            for turn in (*order, *reversed(order)):
                call()
                turn()


if __name__ == "__main__":
    main(sys.argv[1:])
