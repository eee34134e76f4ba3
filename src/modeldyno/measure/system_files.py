"""The small text files in which the kernel speaks of itself; None where it does not.

Everything that reads them takes the root folder as a parameter, so that tests bring a machine of
their own.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/")


def text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    found = text(path)
    return int(found) if found and found.lstrip("-").isdigit() else None


def fields(path: Path, separator: str | None = None) -> dict[str, str]:
    """``key value`` lines, or ``key: value`` with a separator; the first of equal keys counts."""
    found: dict[str, str] = {}
    for line in (text(path) or "").splitlines():
        parts = line.split(separator, 1)
        if len(parts) == 2:
            found.setdefault(parts[0].strip(), parts[1].strip())
    return found


def cpu_list(listed: str | None) -> tuple[int, ...]:
    """``0-2,5`` → (0, 1, 2, 5)."""
    found: list[int] = []
    for part in (listed or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            found += range(int(first), int(last or first) + 1)
    return tuple(found)


def chosen(options: str | None) -> str | None:
    """``always [madvise] never`` → ``madvise``."""
    if not options or "[" not in options:
        return options
    return options.partition("[")[2].partition("]")[0]
