"""T9: are samples short enough to slip between preemptions, and long enough for the stopwatch?

The real calibration on scripted calls in virtual time. Control: samples of 10 ms, as other tools
take them, and single calls whatever they cost.
"""

from __future__ import annotations

from math import ceil

from modeldyno.core.sessions import Calibration
from modeldyno.measure.loop import calibrate
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.virtual_time import ScriptedCall, VirtualTime

CALLS_S = (5e-6, 10e-6, 50e-6, 500e-6, 20e-3)
LONGEST_S = 0.2e-3  # unless it is a single call
OVERHEAD, OVERHEAD_FROM_S = 0.01, 10e-6
LONG_SAMPLE_S = 10e-3
SHORTEST = 0


def run(seed: int = 0) -> Outcome:
    ours = {call_s: _calibrate(call_s) for call_s in CALLS_S}
    long = {call_s: _calibrate(call_s, ceil(LONG_SAMPLE_S / call_s)) for call_s in CALLS_S}
    single = _calibrate(CALLS_S[SHORTEST], 1)
    overhead = max(_stopwatch_share(c) for call_s, c in ours.items() if call_s >= OVERHEAD_FROM_S)
    too_long = [_to_microseconds(s) for s, c in ours.items() if not _is_short_enough(s, c)]
    control_too_long = [_to_microseconds(s) for s, c in long.items() if not _is_short_enough(s, c)]
    control = {
        "too_long_us_at_10_ms": control_too_long,
        "overhead_of_single_5_us_calls": _stopwatch_share(single),
    }
    passed = (
        not too_long
        and overhead <= OVERHEAD
        and control_too_long == [_to_microseconds(s) for s in CALLS_S[:4]]
        and _stopwatch_share(single) > OVERHEAD
    )
    return Outcome(
        passed=passed,
        observed={
            "calls_per_sample": {
                str(_to_microseconds(s)): c.calls_per_sample for s, c in ours.items()
            },
            "too_long_us": too_long,
            "overhead": overhead,
        },
        threshold={"sample_s": LONGEST_S, "overhead": OVERHEAD, "overhead_from_s": OVERHEAD_FROM_S},
        control=control,
        seed=seed,
    )


def _calibrate(call_s: float, calls_per_sample: int | None = None) -> Calibration:
    time = VirtualTime()
    call = ScriptedCall(time, lambda _calls, _now: call_s)
    return calibrate(call, time.read, calls_per_sample)


def _is_short_enough(call_s: float, calibration: Calibration) -> bool:
    k = calibration.calls_per_sample
    return k == 1 or k * call_s <= LONGEST_S


def _stopwatch_share(calibration: Calibration) -> float:
    return calibration.overhead_s / calibration.call_s


def _to_microseconds(seconds: float) -> int:
    return round(seconds * 1e6)
