"""What control groups allow, whichever generation and however deep."""

import pytest

from modeldyno.measure import system_files
from tests.machine import machine

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def test_the_tightest_limit_on_the_way_up_counts(tmp_path):
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user.slice/job\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/user.slice/job/cpu.max": "max 100000",
            "sys/fs/cgroup/user.slice/job/memory.max": "4000000000",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000",
            "sys/fs/cgroup/user.slice/memory.max": "2000000000",
            "sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 5\nthrottled_usec 700\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
        },
    )
    assert system_files.cpu_quota(root) == 1.5
    assert system_files.memory_limit_bytes(root) == 2_000_000_000
    assert system_files.throttled_us(root) == 700


def test_the_first_generation_is_read_too(tmp_path):
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n",
            "proc/self/mountinfo": (
                "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            ),
            "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "50000",
            "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu/box/cpu.stat": "nr_throttled 1\nthrottled_time 3000000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert system_files.cpu_quota(root) == 0.5
    assert system_files.memory_limit_bytes(root) == 1 << 30
    assert system_files.throttled_us(root) == 3000


@pytest.mark.parametrize("group", ["/docker/abc", "/../../outside"])
def test_a_container_sees_its_own_group_as_the_top(tmp_path, group):
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": f"0::{group}\n",
            "proc/self/mountinfo": V2_MOUNT.replace(" / /sys", " /docker/abc /sys"),
            "sys/fs/cgroup/cpu.max": "200000 100000",
        },
    )
    assert system_files.cpu_quota(root) == 2.0


def test_without_control_groups_nothing_is_limited(tmp_path):
    limits = system_files.cpu_quota(tmp_path), system_files.memory_limit_bytes(tmp_path)
    assert (*limits, system_files.throttled_us(tmp_path)) == (None, None, None)
