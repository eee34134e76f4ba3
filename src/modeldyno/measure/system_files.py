"""Reads the kernel's small text files (/proc, /sys); None or empty if a file is missing.

Callers take the root folder as a parameter, so that tests can bring their own machine.
"""

from __future__ import annotations

from pathlib import Path

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
