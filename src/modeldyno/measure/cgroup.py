"""What our control groups allow us, and how often they stopped us.

Groups are nested and every one of them binds, so the tightest limit on the way up counts. Both
generations may be mounted at once, each with some of the controllers; we look at whatever is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from modeldyno.measure.system_files import ROOT, fields, number, text

Controller = Literal["cpu", "memory"]


def cpu_quota(root: Path = ROOT) -> float | None:
    """Cores' worth of CPU time that we may use; None when unlimited or unknown."""
    found = (_quota(folder) for folder in _folders("cpu", root))
    return min((quota for quota in found if quota is not None), default=None)


def memory_limit_bytes(root: Path = ROOT) -> int | None:
    """None when unlimited or unknown."""
    names = ("memory.max", "memory.limit_in_bytes")
    found = [number(folder / name) for folder in _folders("memory", root) for name in names]
    # The first generation writes "no limit" as the largest multiple of a page.
    return min((limit for limit in found if limit is not None and limit < 1 << 62), default=None)


def throttled_us(root: Path = ROOT) -> int | None:
    """How long quotas have kept us off the CPU so far, all levels together."""
    found = [_throttled(folder) for folder in _folders("cpu", root)]
    known = [value for value in found if value is not None]
    return sum(known) if known else None


def own_folder(root: Path = ROOT) -> Path | None:
    """Our group's folder in version 2; None where that is not mounted, or we are outside of it."""
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        mount = _mount(None, root) if line.startswith("0::") else None
        if mount is not None:
            within, at = mount
            group = PurePosixPath(line.removeprefix("0::"))
            if group.is_relative_to(within) and ".." not in group.parts:
                return at / group.relative_to(within)
    return None


def _quota(folder: Path) -> float | None:
    quota, _, period = (text(folder / "cpu.max") or "").partition(" ")
    if not quota:
        quota = text(folder / "cpu.cfs_quota_us") or ""
        period = text(folder / "cpu.cfs_period_us") or ""
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None


def _throttled(folder: Path) -> int | None:
    stat = fields(folder / "cpu.stat")
    if "throttled_usec" in stat:
        return int(stat["throttled_usec"])
    return int(stat["throttled_time"]) // 1000 if "throttled_time" in stat else None


def _folders(controller: Controller, root: Path) -> Iterator[Path]:
    """Our group's folder and those above it, in each hierarchy that has the controller."""
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        mount = _mount(controller if controllers else None, root)
        if mount is not None:
            yield from _upwards(*mount, PurePosixPath(group), root)


def _upwards(within: PurePosixPath, at: Path, group: PurePosixPath, root: Path) -> Iterator[Path]:
    """From ``group`` to the top of what is mounted; a group outside of it shows only the top."""
    inside = group.relative_to(within) if group.is_relative_to(within) else PurePosixPath()
    if ".." in inside.parts:  # we are in a group above our namespace's root
        inside = PurePosixPath()
    for part in (inside, *inside.parents):
        yield at / part
        if part == PurePosixPath():
            return


def _mount(controller: str | None, root: Path) -> tuple[PurePosixPath, Path] | None:
    """Which group is mounted where: the controller's hierarchy, or the unified one for None."""
    for line in (text(root / "proc/self/mountinfo") or "").splitlines():
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
