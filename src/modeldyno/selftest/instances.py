"""T16: are instances counted only while all of them work?

Two real workers share one CPU, and the second starts half a second late: until then the first has
the CPU for itself. Control: the sum of each instance's own rate, which counts that time as well.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from modeldyno.core.sessions import Samples, SessionPlan, Target
from modeldyno.core.specs import CellSpec
from modeldyno.engines import catalog
from modeldyno.inputs.plans import InputPlan
from modeldyno.jobs.instances import InstanceGroup
from modeldyno.jobs.leases import Leases
from modeldyno.measure.instances import join_instances
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import scratch_workspace
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import Examine, Examined, SessionSpec

SKEW_S, WINDOW_S = 0.5, 1.0
TOLERANCE, CONTROL = 0.03, 0.05
EDGE = 0.05


def run(repetitions: int = 6, seed: int = 0) -> Outcome:
    off, naive_off = [], []
    for windows, total in _measure_windows(repetitions, seed):
        counted = _completions_per_s(windows)
        off.append(abs(total / counted - 1))
        naive_off.append(sum(map(_calls_per_s, windows)) / counted - 1)
    passed = max(off) <= TOLERANCE and median(naive_off) > CONTROL
    return Outcome(
        passed=passed,
        observed={"largest_deviation": max(off), "repetitions": repetitions},
        threshold={"largest_deviation": TOLERANCE, "sum_of_own_rates_off_by": CONTROL},
        control={"sum_of_own_rates_off_by": median(naive_off)},
        seed=seed,
    )


def _measure_windows(repetitions: int, seed: int) -> list[tuple[list[Samples], float]]:
    """Each repetition's samples by instance, and the calls per second that we publish."""
    repeated = []
    with scratch_workspace() as scratch, ExitStack() as stack:
        stop = Stop()
        stack.callback(stop.close)
        model = scratch.write_script("work", work=2000)  # arithmetic, so it needs CPU time
        reference = scratch.folder / "scratch" / "reference.npz"
        lease = stack.enter_context(Leases().take(1, stop, lambda _why: None))
        setup = WorkerSetup(scratch.folder / "scratch", scratch.folder / "log", readable=(model,))
        workers = [stack.enter_context(launched(setup)) for _ in range(2)]
        side = _session_spec(model)
        deadline_s = time.monotonic() + 120
        examine = Examine(side.target, (side.inputs,), "api", str(reference))
        workers[0].request(examine, Examined, deadline_s, stop)
        for repetition in range(repetitions):
            group = InstanceGroup(
                workers, side, lease.cpus, str(reference), SessionPlan(), seed + repetition,
                deadline_s, stop,
            )  # fmt: skip
            group.open()
            windows = group.measure(WINDOW_S, SKEW_S)
            session = join_instances(group.close(), windows, None, len(lease.cpus))
            assert session.together is not None
            repeated.append((windows, sum(session.together.calls) / session.together.window_s))
    return repeated


def _session_spec(model: Path) -> SessionSpec:
    entry = catalog.find("scripted")
    cell = CellSpec()
    target = Target(entry.name, str(model), threads=cell.cores, format="scripted")
    return SessionSpec(target, InputPlan((), batch_size=1), cell.contract)


def _completions_per_s(windows: list[Samples]) -> float:
    """Calls per second by counting every completion in the common window, one by one."""
    first = max(samples.ends_ns[0] for samples in windows)
    last = min(samples.ends_ns[-1] for samples in windows)
    edge = EDGE * (last - first)
    count = sum(
        samples.calls_per_sample
        for samples in windows
        for end in samples.ends_ns
        if first + edge < end <= last - edge
    )
    return count / ((last - first - 2 * edge) / 1e9)


def _calls_per_s(samples: Samples) -> float:
    seconds = (samples.ends_ns[-1] - samples.ends_ns[0]) / 1e9
    return (len(samples.ends_ns) - 1) * samples.calls_per_sample / seconds
