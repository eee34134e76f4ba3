"""Packages that one reader needs and not everybody has."""

from __future__ import annotations

import importlib
from typing import Any

from modeldyno.core.errors import PackageMissing


def require_package(module: str, purpose: str) -> Any:
    """The imported module; raises PackageMissing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PackageMissing(
            f"{purpose} needs a package that is not installed",
            why=f"there is no Python package {module.partition('.')[0]!r}",
            fix="Run `pip install 'modeldyno[data]'`",
        ) from error
