"""The machine: what it is, and what it was doing."""

from dataclasses import replace

from modeldyno.core.hosts import HostReading, HostWeather
from modeldyno.measure import host
from modeldyno.measure.cpus import core_siblings, format_cpu_ranges, rank_cpus
from modeldyno.measure.system_files import parse_cpu_list
from tests.machine import QUIET, SYS_CPU, machine


def test_facts_are_read_from_the_machine(tmp_path):
    facts = host.facts(machine(tmp_path, QUIET | {f"{SYS_CPU}/isolated": "2-3\n"}))
    assert (facts.cpu_model, facts.governor, facts.boost) == ("Example CPU", "performance", False)
    assert (facts.smt, facts.clocksource, facts.huge_pages) == (False, "tsc", "madvise")
    assert (facts.isolated_cpus, facts.nohz_full, facts.swap_bytes) == ((2, 3), (), 0)
    assert (facts.hypervisor, facts.has_pressure, facts.container) == (False, True, None)


def test_governors_that_differ_are_all_named(tmp_path):
    mixed = {f"{SYS_CPU}/cpu1/cpufreq/scaling_governor": "powersave\n"}
    assert host.facts(machine(tmp_path, QUIET | mixed)).governor == "performance+powersave"


def test_a_container_is_recognised(tmp_path):
    assert host.facts(machine(tmp_path, QUIET | {".dockerenv": ""})).container == "docker"
    group = {"proc/self/cgroup": "0::/kubepods/pod1\n"}
    assert host.facts(machine(tmp_path / "k", QUIET | group)).container == "kubernetes"


def test_load_changes_no_fingerprint_and_a_governor_does(tmp_path):
    before = host.facts(machine(tmp_path, QUIET)).fingerprint
    machine(tmp_path, {"proc/loadavg": "9.00 9.00 9.00 9/100 1\n"})
    assert host.facts(tmp_path).fingerprint == before
    machine(tmp_path, {f"{SYS_CPU}/cpu0/cpufreq/scaling_governor": "powersave\n"})
    assert host.facts(tmp_path).fingerprint != before


SYSTEM_ID, BOARD_ID = "b" * 31 + "c", "4C4C4544-0043-3510-8052-B4C04F4A3132"
IDS = {"etc/machine-id": f"{SYSTEM_ID}\n", "sys/class/dmi/id/product_uuid": f"{BOARD_ID}\n"}


def test_a_machine_is_known_by_hashes_of_what_can_be_read(tmp_path):
    both = host.facts(machine(tmp_path / "root", QUIET | IDS)).machine or ""
    system, board = both.split()
    assert (system[:3], len(system), board[:6], len(board)) == ("os-", 19, "board-", 22)
    for secret in (SYSTEM_ID, BOARD_ID, BOARD_ID.lower().replace("-", "")):
        assert secret not in both
    alone = {name: {name: IDS[name]} for name in IDS}
    for number, (name, word) in enumerate(zip(IDS, (system, board), strict=True)):
        assert host.facts(machine(tmp_path / str(number), QUIET | alone[name])).machine == word
    assert host.facts(machine(tmp_path / "neither", QUIET)).machine is None


def test_ids_that_many_machines_share_are_none(tmp_path):
    for number, word in enumerate(
        ("0" * 8 + "-0000" * 3 + "-" + "0" * 12, "03000200-0400-0500-0006-000700080009", "Default")
    ):
        files = {"etc/machine-id": "uninitialized\n", "sys/class/dmi/id/product_uuid": word}
        assert host.facts(machine(tmp_path / str(number), QUIET | files)).machine is None


def test_which_machine_it_is_changes_no_fingerprint(tmp_path):
    without = host.facts(machine(tmp_path, QUIET))
    known = host.facts(machine(tmp_path, IDS))
    named = host.facts(tmp_path, "lab-2")
    assert named.machine == "lab-2"
    assert without.fingerprint == known.fingerprint == named.fingerprint


def test_a_machine_that_says_nothing_still_has_facts(tmp_path):
    facts = host.facts(tmp_path)
    assert (facts.governor, facts.boost, facts.smt, facts.clocksource) == (None,) * 4
    assert facts.has_pressure is False


def test_weather_is_what_happened_between_two_readings(tmp_path):
    before = replace(host.read_load(machine(tmp_path, QUIET)), monotonic_s=10.0)
    machine(
        tmp_path,
        {
            "proc/loadavg": "1.50 0.10 0.10 1/100 1234\n",
            "proc/stat": "cpu  140 0 100 10050 0 0 0 10 0 0\n",
            "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n",
            "proc/vmstat": "pswpin 2\n",
        },
    )
    after = replace(host.read_load(tmp_path), monotonic_s=11.0)
    assert host.weather(before, after) == HostWeather(
        load_1m=1.5,
        pressure=0.5,
        steal=0.1,
        throttled_s=None,
        busy=0.5,
        memory_available_bytes=15_000_000 * 1024,
        swap_used_bytes=0,
        swapped_in_bytes=2 * 4096,
    )


def test_a_machine_that_says_nothing_has_unknown_weather(tmp_path):
    reading = host.read_load(tmp_path)
    assert reading == HostReading(None, None, None, None, None, reading.monotonic_s)
    assert host.weather(reading, reading) == host.UNKNOWN_WEATHER


def test_one_cpu_of_every_core_comes_before_a_second_of_any():
    idle = {0: 5, 1: 1, 4: 5, 5: 5}
    order = [cpu for cpu, _ in rank_cpus([(0, 4), (1, 5)], idle)]
    assert order == [0, 5, 4, 1]


def test_cpu_lists_are_read_and_written(tmp_path):
    assert parse_cpu_list("0-2,5") == (0, 1, 2, 5)
    assert parse_cpu_list("") == parse_cpu_list(None) == ()
    assert format_cpu_ranges((5, 2, 0, 1)) == "0-2,5"
    siblings = {f"{SYS_CPU}/cpu1/topology/thread_siblings_list": "1,3\n"}
    assert core_siblings(1, machine(tmp_path, siblings)) == (1, 3)
    assert core_siblings(7, tmp_path) == (7,)
