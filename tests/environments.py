"""Other Pythons for tests: bare ones, made on the spot, and those that `make ready` installed."""

import sys
import venv
from pathlib import Path

import pytest

from modeldyno.engines import environments

SHELF = Path(__file__).parents[1] / ".cache" / "engines"
VERSION = "1.27.0"  # of the ONNX Runtime that scripts/make_second_onnxruntime.py installs


def second_onnxruntime() -> Path:
    return _python("second-onnxruntime", "run `make ready`")


def deepsparse() -> Path:
    """Skips where nobody has installed it: its licence must be accepted by who does."""
    return _python("deepsparse", "nobody has added it (CONTRIBUTING.md)")


def _python(name: str, why_not: str) -> Path:
    python = SHELF / name / "venv" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not here: {why_not}")
    return python


def bare(folder: Path) -> Path:
    """An environment of our own Python with nothing in it."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


def site_of(python: Path) -> Path:
    version = ".".join(map(str, sys.version_info[:2]))
    return python.parents[1] / "lib" / f"python{version}" / "site-packages"


def package(python: Path, name: str, version: str, code: str = "") -> None:
    """Put a module and its metadata there, as an installer would."""
    site = site_of(python)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (site / f"{name}.py").write_text(code)


def shelf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where engines are added from now on."""
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(folder))
    return folder
