"""Readers of samples, one file each."""

from __future__ import annotations

READERS: dict[str, str] = {}  # by name: ``module:Class``
