"""Energy from the machine's meters, or the reason why there is none."""

import pytest

from modeldyno.core.sessions import (
    Calibration,
    Energy,
    Parity,
    Samples,
    Session,
    SessionFacts,
    WarmUp,
)
from modeldyno.measure.energy import (
    EnergyGauge,
    Meter,
    NoMeter,
    NvmlError,
    find_meter,
    per_item,
)
from tests.machine import machine

RAPL = "sys/class/powercap/intel-rapl:0"
PACKAGE = {
    f"{RAPL}/name": "package-0\n",
    f"{RAPL}/energy_uj": "1000000\n",
    f"{RAPL}/max_energy_range_uj": "9999999\n",
    # What lies inside the package, or is the same by another road, must not be added to it.
    f"{RAPL}:0/name": "core\n",
    f"{RAPL}:0/energy_uj": "500000\n",
    "sys/class/powercap/intel-rapl-mmio:0/name": "package-0\n",
    "sys/class/powercap/intel-rapl-mmio:0/energy_uj": "1000000\n",
}


def session(samples=10, k=2, energy=None):
    return Session(
        load_s=0.1,
        first_call_s=0.1,
        calibration=Calibration(1e-3, k, 0.0, calls=15),
        warmup=WarmUp(25, 0.1, steady=True),
        samples=Samples((1,) * samples, (), k, 1, 1, 1, 0),
        facts=SessionFacts("scripted", "1", "cpu", (), 1, None, {}),
        parity=Parity(0.0, 0.0, agrees=True),
        energy=energy,
    )


def test_the_cpu_package_is_metered(tmp_path):
    meter = find_meter("cpu", machine(tmp_path, PACKAGE))
    before = meter.read()
    machine(tmp_path, {f"{RAPL}/energy_uj": "3500000\n"})
    assert meter.spent_j(before, meter.read()) == pytest.approx(2.5)
    assert meter.source.startswith("rapl package")


def test_all_packages_are_added(tmp_path):
    second = {name.replace(":0", ":1"): text for name, text in PACKAGE.items()}
    assert find_meter("cpu", machine(tmp_path, PACKAGE | second)).read() == (1_000_000, 1_000_000)


def test_a_counter_that_starts_again_at_zero_loses_nothing(tmp_path):
    meter = find_meter("cpu", machine(tmp_path, PACKAGE))
    assert meter.spent_j((9_000_000,), (500_000,)) == pytest.approx(1.5)


def test_a_machine_without_counters_says_so(tmp_path):
    with pytest.raises(NoMeter, match="no RAPL"):
        find_meter("cpu", tmp_path)


def test_counters_only_root_may_read_are_named(tmp_path):
    root = machine(tmp_path, PACKAGE)
    (root / RAPL / "energy_uj").unlink()
    (root / RAPL / "energy_uj").mkdir()  # unreadable for root, too: tests may run as root
    with pytest.raises(NoMeter, match="needs root"):
        find_meter("cpu", root)
    assert (
        "needs root"
        in EnergyGauge("cpu", lambda device: find_meter(device, root)).stop((), 1).source
    )


class FakeNvml:
    def __init__(self, millijoules=(5000, 7500), broken=""):
        self.opened = []
        self._left = [0, *millijoules]
        self._broken = broken

    def by_index(self, index):
        self.opened.append(index)
        return index

    def by_uuid(self, uuid):
        self.opened.append(uuid)
        return uuid

    def energy_mj(self, device):
        if self._broken:
            raise NvmlError(self._broken)
        return self._left.pop(0)


def test_a_gpu_is_metered():
    nvml = FakeNvml()
    gauge = EnergyGauge(
        "cuda:1", lambda device: find_meter(device, nvml=lambda: nvml, environment={})
    )
    spent = gauge.stop(gauge.start(), 10)
    assert spent == Energy(2.5, "nvml: all of the GPU, other programs included", 10)
    assert nvml.opened == [1]


@pytest.mark.parametrize(
    ("visible", "device"), [("3", 3), ("0, 2", 0), ("GPU-abc,1", "GPU-abc"), ("", 0)]
)
def test_cuda_may_count_fewer_devices_than_the_driver(visible, device):
    nvml = FakeNvml()
    find_meter("cuda", nvml=lambda: nvml, environment={"CUDA_VISIBLE_DEVICES": visible})
    assert nvml.opened == [device]


def test_a_gpu_without_a_meter_says_why():
    with pytest.raises(NoMeter, match="Not Supported"):
        find_meter("cuda", nvml=lambda: FakeNvml(broken="Not Supported"), environment={})


def test_a_gpu_that_fails_while_measuring_costs_the_figure_and_not_the_run():
    nvml = FakeNvml()
    gauge = EnergyGauge(
        "cuda", lambda device: find_meter(device, nvml=lambda: nvml, environment={})
    )
    before = gauge.start()
    nvml._broken = "GPU is lost"
    assert gauge.stop(before, 10) == Energy(None, "NVML: GPU is lost")


def test_other_devices_have_no_meter():
    with pytest.raises(NoMeter, match="mps"):
        find_meter("mps")


def test_energy_is_shared_by_the_calls_that_were_made_meanwhile():
    first, second = Energy(60.0, "rapl package", calls=20), Energy(40.0, "rapl package", calls=5)
    metered = [session(energy=first), session(energy=Energy(None, "later")), session(energy=second)]
    joules, source = per_item(metered, batch_size=4)
    assert joules == pytest.approx(100 / (25 * 4))
    assert source == "rapl package"


def test_without_a_meter_there_is_no_figure_and_a_reason():
    assert per_item([session(energy=Energy(None, "no counter"))], 1) == (None, "no counter")
    assert per_item([session()], 1) == (None, "energy was not read")


def test_a_meter_may_have_several_counters():
    assert Meter("m", lambda: (1, 2), 1.0, (10, 10)).spent_j((1, 9), (2, 1)) == 3.0
