"""Instances in real workers: pinned, started together, counted together, failed together."""

import time
from dataclasses import replace
from typing import Any

import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.sessions import (
    Calibration,
    Energy,
    Samples,
    Session,
    SessionFacts,
    SessionPlan,
    Together,
    WarmUp,
    duration_s,
)
from modeldyno.core.specs import QUICK
from modeldyno.jobs.instances import InstanceGroup
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import Examined, SessionSpec
from tests.scripts import INPUTS, examine, fault, script, target

ALL = len(allowed_cpus())


@pytest.fixture
def room(tmp_path):
    return open_workbench(Settings(tmp_path / "workspace"))


def bench(room, model, instances, **said):
    request = BenchmarkRequest(instances=instances, **({"budget": "quick"} | said))
    return room.service.run(make_benchmark_spec(request, model))


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.skipif(ALL < 2, reason="needs two CPUs")
def test_instances_are_counted_together(room, tmp_path):
    result = bench(room, script(tmp_path / "m.json", latency_us=200), (2,))
    (cell,) = result.cells
    found, units = cell.measurement, list(room.runs.units(result.run_id))
    assert (cell.status, cell.spec.instances) == ("done", 2)
    assert len(units) >= 4
    for unit in units:
        assert len(unit.measured.together.calls) == 2
        assert unit.measured.samples.ends_ns == ()  # stamps are used up, not kept
    beside = found.side_by_side
    assert found.throughput_per_s == beside.total_per_s.value
    assert 0 < beside.total_per_s.value <= 2 / 200e-6 * 1.001
    assert 0 < beside.fairness <= 1
    assert not beside.oversubscribed
    assert beside.scaling.low <= beside.scaling.value <= beside.scaling.high
    assert found.parity.agrees


@pytest.mark.usefixtures("starts_processes")
def test_more_instances_than_cpus_are_oversubscribed(room, tmp_path):
    (cell,) = bench(room, script(tmp_path / "m.json", work=2000), (ALL + 1,)).cells
    assert cell.measurement.side_by_side.oversubscribed
    assert cell.measurement.side_by_side.expected_contention == pytest.approx((ALL + 1) / ALL)


@pytest.mark.usefixtures("starts_processes")
def test_exact_iterations_are_exact_for_each_instance(room, tmp_path):
    model = script(tmp_path / "m.json", latency_us=300)
    result = bench(room, model, (2,), iterations=400, warmup=3)
    (unit,) = room.runs.units(result.run_id)
    assert unit.measured.warmup.calls == 6
    assert unit.measured.samples.calls_per_sample == 1
    assert sum(unit.measured.together.calls) <= 800
    assert result.cells[0].measurement.side_by_side.scaling is None


@pytest.mark.usefixtures("starts_processes")
def test_an_instance_that_crashes_fails_its_cell_and_no_other(room, tmp_path):
    model = script(tmp_path / "m.json", faults=[fault("segfault", call=3, batch=2)])
    spec = make_benchmark_spec(BenchmarkRequest(instances=(1, 2), batch_sizes=(1, 2)), model)
    result = room.service.run(replace(spec, budget=replace(QUICK, seconds=1.0)))
    by_batch = {(c.spec.instances, c.spec.batch_size): c for c in result.cells}
    assert {key: cell.status for key, cell in by_batch.items()} == {
        (1, 1): "done", (2, 1): "done", (1, 2): "failed", (2, 2): "failed"
    }  # fmt: skip
    assert by_batch[2, 2].error.code == "ENGINE_CRASHED"


@pytest.mark.usefixtures("starts_processes")
def test_repetitions_come_before_the_budget(room, tmp_path):
    """A rate is one figure of each repetition: an interval needs several, whatever they take."""
    (cell,) = bench(room, script(tmp_path / "m.json"), (2,), budget=5.0).cells
    assert cell.measurement.sessions == 6


@pytest.mark.parametrize(
    ("cpus", "instances", "cores", "shares"),
    [
        ((0, 1, 2, 3), 2, 2, [(0, 1), (2, 3)]),
        ((0, 1), 3, 1, [(0,), (1,), (0,)]),
        ((0, 1), 2, 2, [(0, 1), (0, 1)]),
        ((4, 7, 9), 2, 2, [(4, 7), (4, 9)]),
    ],
)
def test_each_instance_has_cpus_of_its_own_while_there_are_enough(
    tmp_path, cpus, instances, cores, shares
):
    side = SessionSpec(target(tmp_path, threads=cores), INPUTS, "api")
    group = InstanceGroup([None] * instances, side, cpus, "", None, 0, 0.0, None)  # type: ignore[list-item, arg-type]
    assert group.cpus_by_instance == shares


class Clockwork:
    """A meter that counts nanoseconds: a joule is a second."""

    has_meter = True

    def start(self):
        return (time.perf_counter_ns(),)

    def stop(self, before, calls):
        return Energy((time.perf_counter_ns() - before[0]) / 1e9, "clock", calls)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("latency_us", [200, 150_000])
def test_energy_is_of_calls_and_of_nothing_else(tmp_path, latency_us):
    """Even where a window holds few calls: what leads to it costs energy as well."""
    model = script(tmp_path / "m.json", latency_us=latency_us)
    reference = tmp_path / "scratch" / "reference.npz"
    stop = Stop()
    setup = WorkerSetup(tmp_path / "scratch", tmp_path / "log", readable=(model,))
    deadline_s = time.monotonic() + 60
    side = SessionSpec(target(model, format="scripted"), INPUTS, "api")
    with launched(setup) as worker:
        worker.request(examine(model, reference), Examined, deadline_s, stop)
        plan = SessionPlan(max_time_s=1.0)
        group = InstanceGroup(
            [worker], side, (allowed_cpus()[0],), str(reference), plan, 0, deadline_s, stop
        )
        group.open()
        meter: Any = Clockwork()
        (samples,), energy = group.measure_metered(1.0, meter)
    stop.close()
    per_sample_s = sum(samples.wall_ns) / len(samples.wall_ns) / 1e9
    assert (energy.joules or 0.0) / energy.calls == pytest.approx(
        per_sample_s / samples.calls_per_sample, rel=0.1
    )


def test_one_call_of_several_instances_is_too_few(tmp_path):
    with pytest.raises(BadValue, match="at least 2"):
        make_benchmark_spec(
            BenchmarkRequest(instances=(2,), iterations=1), script(tmp_path / "m.json")
        )


def test_what_instances_measured_counts_once_when_a_run_is_resumed():
    """Their windows were side by side, not one after the other."""
    second = 1_000_000_000
    samples = Samples((1,), (), 1, 64 * second, second, second, 0)
    facts = SessionFacts("scripted", "1", "cpu", (), 1, None, {})
    one = Session(0.1, 0.1, Calibration(0.1, 1, 0.0), WarmUp(1, 0.0, steady=True), samples, facts)
    both = replace(one, together=Together(1.0, (1.0,) * 64, 0.0, 0.1, 2))
    assert duration_s(both) == pytest.approx(1.2)
