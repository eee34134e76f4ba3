"""Packages that somebody installed beside ours, made on the spot."""

import os
from pathlib import Path


def install(site: Path, name: str, code: str, entry_points: str) -> Path:
    """Put a module and its metadata below ``site``, announced under ``modeldyno.engines``."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[modeldyno.engines]\n{entry_points}\n")
    return site


def python_path(site: Path) -> str:
    """``PYTHONPATH`` with the site in front."""
    return os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
