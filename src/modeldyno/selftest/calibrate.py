"""T6: is an engine of known latency measured right?

The scripted engine spins until a deadline, so a call takes what its script says and never less.
It is measured through ``modeldyno.bench``, as any model is. Control: an engine that is 3 % slower
than its script must be caught.
"""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno import python_api
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import ScratchWorkspace, scratch_workspace

LATENCIES_US = (50, 200, 1000)
WITHIN = 0.02
SHORT_CALL_US, SHORT_CALL_K, SHORT_CALL_EXTRA_US = 10, 5, 0.6
CONTROL_US, CONTROL_REALLY_US = 200, 206
FULL_BUDGET_S, SHORT_BUDGET_S = 3.0, 1.5


@dataclass(frozen=True)
class ScriptedMeasurement:
    floor_us: float
    calls_per_sample: int


def run(short: bool = False, seed: int = 6) -> Outcome:
    budget_s = SHORT_BUDGET_S if short else FULL_BUDGET_S
    with scratch_workspace() as scratch:
        measurements = {us: _bench_scripted(scratch, us, budget_s, seed) for us in LATENCIES_US}
        short_call = _bench_scripted(scratch, SHORT_CALL_US, budget_s, seed)
        control = _bench_scripted(scratch, CONTROL_REALLY_US, budget_s, seed)
    bias = {us: measured.floor_us / us - 1 for us, measured in measurements.items()}
    extra_us = short_call.floor_us - SHORT_CALL_US
    control_bias = control.floor_us / CONTROL_US - 1
    passed = (
        all(0 <= value <= WITHIN for value in bias.values())
        and 0 <= extra_us <= SHORT_CALL_EXTRA_US
        and short_call.calls_per_sample == SHORT_CALL_K
        and control_bias > WITHIN
    )
    return Outcome(
        passed=passed,
        observed={
            "bias": {str(us): round(value, 5) for us, value in bias.items()},
            "extra_us_at_10": round(extra_us, 3),
            "calls_per_sample_at_10": short_call.calls_per_sample,
        },
        threshold={
            "bias": [0, WITHIN],
            "extra_us_at_10": [0, SHORT_CALL_EXTRA_US],
            "calls_per_sample_at_10": SHORT_CALL_K,
            "bias_of_slower_engine": f"above {WITHIN}",
        },
        control={"bias_of_slower_engine": round(control_bias, 5)},
        seed=seed,
    )


def _bench_scripted(
    scratch: ScratchWorkspace, latency_us: int, budget_s: float, seed: int
) -> ScriptedMeasurement:
    script = scratch.write_script(f"spin{latency_us}", latency_us=latency_us)
    result = python_api.bench(script, budget=budget_s, seed=seed, workspace=scratch.workspace)
    measurement = result.cells[0].measurement
    assert measurement is not None, result.cells[0].error
    return ScriptedMeasurement(1e6 * measurement.latency.floor.value, measurement.calls_per_sample)
