"""How a machine's facts affect the numbers."""

from dataclasses import replace

import pytest

from modeldyno.core.documents.hosts import (
    Checkup,
    ClockReading,
    Finding,
    NoiseReading,
    verdict_sentence,
)
from modeldyno.core.documents.hosts import fitness as fitness_of
from modeldyno.measure import doctor, host
from modeldyno.measure.loop import Clocks
from tests.machine import QUIET, SYS_CPU, machine

GOOD_CLOCK = ClockReading(1e-9, 50e-9, went_back=False, oversleep_s=60e-6)
GOVERNOR = f"{SYS_CPU}/cpu0/cpufreq/scaling_governor"
CPUINFO = "model name : Example CPU\nflags : avx2 hypervisor\n"


def findings(root, later=None):
    """Judges a machine whose files change to ``later`` during the check."""
    facts = replace(host.facts(root), cpus=2, cpus_allowed=(0, 1), memory_bytes=16_000_000 * 1024)
    before = host.read_load(root)
    after = host.read_load(machine(root, later or {}))
    judged = doctor.judge_machine(facts, host.weather(before, after))
    return {finding.name: finding for finding in judged}


def test_a_quiet_machine_is_fit(tmp_path):
    later = {"proc/stat": "cpu  101 0 100 10100 0 0 0 0 0 0\n"}
    by_name = findings(machine(tmp_path, QUIET), later)
    assert {finding.state for finding in by_name.values()} == {"ok"}
    assert fitness_of(tuple(by_name.values())) == "fit"


@pytest.mark.parametrize(
    ("name", "state", "files"),
    [
        ("governor", "warning", {GOVERNOR: "powersave"}),
        ("turbo", "warning", {f"{SYS_CPU}/cpufreq/boost": "1"}),
        ("SMT", "warning", {f"{SYS_CPU}/smt/active": "1"}),
        ("load", "warning", {"proc/loadavg": "1.00 1.00 1.00 1/1 1"}),
        ("load", "problem", {"proc/loadavg": "2.00 1.00 1.00 1/1 1"}),
        ("huge pages", "warning", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] never"}),
        ("memory nodes", "warning", {"sys/devices/system/node/node1/cpulist": "2"}),
        ("virtual machine", "warning", {"proc/cpuinfo": CPUINFO}),
        ("memory", "warning", {"proc/meminfo": "MemAvailable: 3000000 kB\n"}),
        ("memory", "problem", {"proc/meminfo": "MemAvailable: 1000000 kB\n"}),
        ("swap", "warning", {"proc/meminfo": "SwapTotal: 9 kB\nSwapFree: 8 kB\n"}),
    ],
)
def test_disturbances_are_found_with_a_fix(tmp_path, name, state, files):
    finding = findings(machine(tmp_path, QUIET | files))[name]
    assert finding.state == state
    assert "none" not in (finding.effect, finding.fix)


@pytest.mark.parametrize(
    ("name", "state", "later"),
    [
        ("steal", "warning", {"proc/stat": "cpu  150 0 100 10048 0 0 0 2 0 0\n"}),
        ("steal", "problem", {"proc/stat": "cpu  150 0 100 10040 0 0 0 10 0 0\n"}),
        ("swap", "problem", {"proc/vmstat": "pswpin 7\n"}),
    ],
)
def test_changes_during_the_check_count(tmp_path, name, state, later):
    assert findings(machine(tmp_path, QUIET), later)[name].state == state


@pytest.mark.parametrize(
    ("quota", "throttled", "state"),
    [
        ("400000", 0, "ok"),
        ("100000", 0, "warning"),
        ("50000", 0, "problem"),
        ("400000", 9, "problem"),
    ],
)
def test_a_quota_below_our_cpus_is_reported(tmp_path, quota, throttled, state):
    files = {
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "sys/fs/cgroup/cpu.max": f"{quota} 100000\n",
        "sys/fs/cgroup/cpu.stat": "throttled_usec 0\n",
    }
    later = {"sys/fs/cgroup/cpu.stat": f"throttled_usec {throttled}\n"}
    assert findings(machine(tmp_path, QUIET | files), later)["CPU quota"].state == state


def test_a_machine_that_says_nothing_is_unknown_and_not_blamed(tmp_path):
    by_name = findings(tmp_path)
    assert by_name.pop("pressure").state == "warning"
    assert {finding.state for finding in by_name.values()} == {"ok", "unknown"}


@pytest.mark.parametrize(
    ("reading", "source", "clock", "timer"),
    [
        (GOOD_CLOCK, "tsc", "ok", "ok"),
        (replace(GOOD_CLOCK, cost_s=300e-9), "tsc", "warning", "ok"),
        (replace(GOOD_CLOCK, cost_s=2e-6), "hpet", "problem", "ok"),
        (GOOD_CLOCK, "acpi_pm", "warning", "ok"),
        (replace(GOOD_CLOCK, went_back=True), "tsc", "problem", "ok"),
        (replace(GOOD_CLOCK, oversleep_s=1e-3), "tsc", "ok", "warning"),
    ],
)
def test_the_clock_is_judged(tmp_path, reading, source, clock, timer):
    facts = replace(host.facts(tmp_path), clocksource=source)
    assert [f.state for f in doctor.judge_clock(facts, reading)] == [clock, timer]


def test_a_tsc_that_is_slow_is_not_cured_by_choosing_the_tsc(tmp_path):
    facts = replace(host.facts(tmp_path), clocksource="tsc")
    finding, _ = doctor.judge_clock(facts, replace(GOOD_CLOCK, cost_s=300e-9))
    assert finding.fix == "none"


@pytest.mark.parametrize(
    ("typical", "contention", "state"),
    [(1.01, 1.01, "ok"), (1.05, 1.0, "warning"), (1.0, 1.1, "warning"), (1.0, 2.0, "problem")],
)
def test_noise_has_the_thresholds_of_the_noise_verdict(typical, contention, state):
    reading = NoiseReading(50e-6, typical * 50e-6, contention, 1000)
    assert doctor.judge_noise(reading).state == state


def test_noise_is_unknown_when_no_core_was_free():
    assert doctor.judge_noise(None).state == "unknown"


@pytest.mark.parametrize(("works", "state"), [(True, "ok"), (False, "problem"), (None, "unknown")])
def test_pinning_is_judged(works, state):
    assert doctor.judge_pinning(works).state == state


class Ticking:
    """A clock that advances with every reading and every sleep."""

    def __init__(self, step=10):
        self.now, self.step = 0, step

    def __call__(self):
        self.now += self.step
        return self.now

    def sleep(self, seconds):
        self.now += round(seconds * 1e9) + 40_000


def test_the_clock_is_read_for_step_cost_and_sleep():
    clock = Ticking(step=25)
    reading = doctor.read_clock(clock, clock.sleep)
    assert reading.resolution_s == pytest.approx(25e-9)
    assert reading.cost_s == pytest.approx(25e-9)
    assert reading.oversleep_s == pytest.approx(40e-6, rel=0.01)
    assert not reading.went_back


def test_a_clock_that_runs_backwards_is_detected():
    assert doctor.read_clock(Ticking(step=-1), lambda seconds: None).went_back


def test_the_noise_probe_reads_floor_and_contention():
    wall, cpu = Ticking(step=1_000_000), Ticking(step=500_000)
    reading = doctor.probe_noise(0.5, Clocks(wall, cpu, cpu, lambda: 0))
    assert reading.floor_s == reading.typical_s == pytest.approx(1e-3)
    assert reading.contention > 1.5


def checkup(tmp_path, *states):
    checks = tuple(Finding(f"check {n}", state, "") for n, state in enumerate(states))
    facts = host.facts(tmp_path)
    return Checkup("now", "0", checks, GOOD_CLOCK, None, None, facts, host.UNKNOWN_WEATHER)


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (("ok", "unknown"), "fit"),
        (("ok", "warning"), "fit with care: check 1"),
        (("problem", "warning", "warning"), "unfit: check 0 (and 2 warnings)"),
        (("problem", "warning"), "unfit: check 0 (and 1 warning)"),
        (("problem",), "unfit: check 0"),
    ],
)
def test_the_verdict_names_what_it_rests_on(tmp_path, states, sentence):
    assert verdict_sentence(checkup(tmp_path, *states).findings) == sentence
