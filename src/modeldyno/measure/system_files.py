"""What the kernel's small text files (/proc, /sys) say; None or empty if a file is missing.

Callers take the root folder as a parameter, so that tests can bring their own machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

ROOT = Path("/")


def read_text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def read_int(path: Path) -> int | None:
    digits = read_text(path)
    return int(digits) if digits and digits.lstrip("-").isdigit() else None


def read_fields(path: Path, separator: str | None = None) -> dict[str, str]:
    """``key value`` lines, or ``key: value`` with a separator; the first of equal keys counts."""
    fields: dict[str, str] = {}
    for line in (read_text(path) or "").splitlines():
        parts = line.split(separator, 1)
        if len(parts) == 2:
            fields.setdefault(parts[0].strip(), parts[1].strip())
    return fields


def parse_cpu_list(ranges: str | None) -> tuple[int, ...]:
    """``0-2,5`` → (0, 1, 2, 5)."""
    cpus: list[int] = []
    for part in (ranges or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def selected_option(options: str | None) -> str | None:
    """``always [madvise] never`` → ``madvise``."""
    if not options or "[" not in options:
        return options
    return options.partition("[")[2].partition("]")[0]


# ---------------------------------------------------------------- control groups
#
# Groups are nested and all of them apply, so the tightest limit on the way up counts. Version 1 and
# version 2 may be mounted at once, each with some of the controllers; we read whatever is there.


Controller = Literal["cpu", "memory"]


def cpu_quota(root: Path = ROOT) -> float | None:
    """CPU time we may use, in cores; None if unlimited or unknown."""
    quotas = (_read_quota(folder) for folder in _group_folders("cpu", root))
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit_bytes(root: Path = ROOT) -> int | None:
    """None if unlimited or unknown."""
    names = ("memory.max", "memory.limit_in_bytes")
    limits = [
        read_int(folder / name) for folder in _group_folders("memory", root) for name in names
    ]
    # Version 1 writes "no limit" as the largest multiple of a page.
    return min((limit for limit in limits if limit is not None and limit < 1 << 62), default=None)


def throttled_us(root: Path = ROOT) -> int | None:
    """How long quotas have kept us off the CPU so far, over all levels."""
    readings = [_read_throttled_us(folder) for folder in _group_folders("cpu", root)]
    known = [reading for reading in readings if reading is not None]
    return sum(known) if known else None


def own_folder(root: Path = ROOT) -> Path | None:
    """Our group's folder in version 2; None if that is not mounted or we are outside of it."""
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        mount = _find_mount(None, root) if line.startswith("0::") else None
        if mount is not None:
            within, at = mount
            group = PurePosixPath(line.removeprefix("0::"))
            if group.is_relative_to(within) and ".." not in group.parts:
                return at / group.relative_to(within)
    return None


def _read_quota(folder: Path) -> float | None:
    quota, _, period = (read_text(folder / "cpu.max") or "").partition(" ")
    if not quota:
        quota = read_text(folder / "cpu.cfs_quota_us") or ""
        period = read_text(folder / "cpu.cfs_period_us") or ""
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None


def _read_throttled_us(folder: Path) -> int | None:
    stat = read_fields(folder / "cpu.stat")
    if "throttled_usec" in stat:
        return int(stat["throttled_usec"])
    return int(stat["throttled_time"]) // 1000 if "throttled_time" in stat else None


def _group_folders(controller: Controller, root: Path) -> Iterator[Path]:
    """Our group's folder and those above it, in each hierarchy that has the controller."""
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        mount = _find_mount(controller if controllers else None, root)
        if mount is not None:
            yield from _ancestor_folders(*mount, PurePosixPath(group))


def _ancestor_folders(within: PurePosixPath, at: Path, group: PurePosixPath) -> Iterator[Path]:
    """From ``group`` up to the top of the mount; only the top if the group is outside of it."""
    inside = group.relative_to(within) if group.is_relative_to(within) else PurePosixPath()
    if ".." in inside.parts:  # our group is above our namespace's root
        inside = PurePosixPath()
    for part in (inside, *inside.parents):
        yield at / part
        if part == PurePosixPath():
            return


def _find_mount(controller: str | None, root: Path) -> tuple[PurePosixPath, Path] | None:
    """The mounted group and its mount point, for a controller or, if None, for version 2."""
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        is_ours = (
            kind == "cgroup2"
            if controller is None
            else kind == "cgroup" and controller in options.split()[-1].split(",")
        )
        words = before.split()
        if is_ours and len(words) > 4:
            return PurePosixPath(words[3]), root / words[4].lstrip("/")
    return None
