"""Which Modeldyno this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def tool_version() -> str:
    """The installed version; "source" where the package runs without being installed."""
    try:
        return version("modeldyno")
    except PackageNotFoundError:
        return "source"
