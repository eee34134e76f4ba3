"""T11: is warm-up kept out of the number, and is a moving level reported as a trend?

The real loop on scripted engines in virtual time: 30 slow calls at first, a step up after 60 % of
the time, a periodic one, a constant one. Controls: no warm-up at all, an engine that never
settles, and the step's samples in shuffled order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modeldyno.core.sessions import SessionPlan
from modeldyno.measure.loop import TimedSession, measure_session
from modeldyno.measure.statistics import FloatArray, floor, seconds_per_call, typical
from modeldyno.measure.trend import has_level_moved
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.virtual_time import Latency, ScriptedCall, VirtualTime

CALL_S = 100e-6
SLOW_CALLS, SLOWDOWN = 30, 5.0
STEP, STEP_AT = 1.1, 0.6
PERIOD_S, PERIODIC = 0.02, 1.3
RUNS = (1, 4, 12)  # sessions: one of a large model, a quick run, a default run
COLD = SessionPlan(warmup_calls=0, iterations=50)
WITHIN, STEADY_CALLS = 0.02, 100


@dataclass(frozen=True)
class ScriptedRun:
    """A scripted engine's run: its sessions, and how long they took in virtual time."""

    sessions: list[TimedSession]
    seconds: float

    def samples(self) -> list[FloatArray]:
        sessions = [timed.samples for timed in self.sessions]
        return [seconds_per_call(taken.wall_ns, taken.calls_per_sample) for taken in sessions]


def run(seed: int = 11) -> Outcome:
    constant = {n: simulate_sessions(_constant_latency, n, seed) for n in RUNS}
    periodic = {n: simulate_sessions(_periodic_latency, n, seed) for n in RUNS}
    steps = {
        n: simulate_sessions(_make_step_latency(STEP_AT * constant[n].seconds), n, seed)
        for n in RUNS
    }
    warmup = constant[1].sessions[0].warmup
    bias = _relative_bias(simulate_sessions(_slow_first_latency, 1, seed))
    flagged = {
        "step": _seeds_flagged_as_trend(steps),
        "periodic": _seeds_flagged_as_trend(periodic),
        "constant": _seeds_flagged_as_trend(constant),
    }
    cold_bias = _relative_bias(simulate_sessions(_slow_first_latency, 1, seed, COLD))
    falling = simulate_sessions(_falling_latency, 1, seed).sessions[0].warmup
    shuffled = has_level_moved([np.random.default_rng(seed).permutation(steps[1].samples()[0])])
    passed = (
        bias <= WITHIN < cold_bias
        and warmup.steady
        and warmup.calls <= STEADY_CALLS
        and flagged == {"step": list(RUNS), "periodic": [], "constant": []}
        and not falling.steady
        and not shuffled
    )
    return Outcome(
        passed=passed,
        observed={
            "transient_bias": bias,
            "constant_is_steady": warmup.steady,
            "constant_warmup_calls": warmup.calls,
            "sessions_of_runs_with_trend": flagged,
        },
        threshold={
            "transient_bias": WITHIN,
            "constant_warmup_calls": STEADY_CALLS,
            "sessions_of_runs_with_trend": {"step": list(RUNS), "periodic": [], "constant": []},
        },
        control={
            "bias_without_warmup": cold_bias,
            "falling_is_steady": falling.steady,
            "shuffled_step_is_trend": shuffled,
        },
        seed=seed,
    )


def simulate_sessions(
    latency: Latency, sessions: int, seed: int, plan: SessionPlan | None = None
) -> ScriptedRun:
    """Measure fresh instances of one script, one after the other, with the loop that ships."""
    time, rng = VirtualTime(), np.random.default_rng(seed)
    timed = [
        measure_session(ScriptedCall(time, latency, rng), plan or SessionPlan(), time.clocks())
        for _ in range(sessions)
    ]
    return ScriptedRun(timed, time.now_ns / 1e9)


def _relative_bias(played: ScriptedRun) -> float:
    """How far floor or typical is from what the settled engine takes, whichever is worse."""
    samples = played.samples()[0]
    return max(abs(floor(samples) / CALL_S - 1), abs(typical(samples) / CALL_S - 1))


def _seeds_flagged_as_trend(runs: dict[int, ScriptedRun]) -> list[int]:
    return [sessions for sessions, played in runs.items() if has_level_moved(played.samples())]


# ---------------------------------------------------------------- engines


def _constant_latency(_calls: int, _now_s: float) -> float:
    return CALL_S


def _slow_first_latency(calls: int, _now_s: float) -> float:
    return CALL_S * (SLOWDOWN if calls < SLOW_CALLS else 1.0)


def _periodic_latency(_calls: int, now_s: float) -> float:
    return CALL_S * (PERIODIC if now_s % PERIOD_S > PERIOD_S / 2 else 1.0)


def _make_step_latency(moment_s: float) -> Latency:
    return lambda _calls, now_s: CALL_S * (STEP if now_s >= moment_s else 1.0)


def _falling_latency(calls: int, _now_s: float) -> float:
    """4 % faster with every five calls, and still so when the warm-up's time is over."""
    return 0.03 * 0.992**calls
