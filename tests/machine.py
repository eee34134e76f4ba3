"""A machine made of files: what /proc and /sys would say."""

from __future__ import annotations

from pathlib import Path


def machine(root: Path, files: dict[str, str]) -> Path:
    """Write the files below ``root``, which then stands for ``/``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


SYS_CPU = "sys/devices/system/cpu"
QUIET = {
    "proc/cpuinfo": "model name : Example CPU\nflags : sse4_2 avx2\n\nmodel name : Other\n",
    "proc/loadavg": "0.05 0.10 0.10 1/100 1234\n",
    "proc/stat": "cpu  100 0 100 10000 0 0 0 0 0 0\ncpu0 50 0 50 5000 0 0 0 0 0 0\n",
    "proc/meminfo": (
        "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
    ),
    "proc/vmstat": "pswpin 0\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n",
    "proc/self/cgroup": "0::/\n",
    f"{SYS_CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{SYS_CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
    f"{SYS_CPU}/cpufreq/boost": "0\n",
    f"{SYS_CPU}/smt/active": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/node/node0/cpulist": "0-1\n",
}
