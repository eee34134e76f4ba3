"""Engines that live in another Python: where they are listed, and what is installed there.

A folder for each below ``engines/`` of the user's workspace: ``engine.json`` says what it is, and
``venv/`` is the Python, where we made it. They belong to the user and the machine, as installed
packages do; so every workspace sees the same (docs/decisions/0020-engines-elsewhere.md).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.settings import Settings

OLDEST_PYTHON = (3, 11)  # our own: what runs in a worker is written for it
FOLDER = "MODELDYNO_ENGINES"
_FILE = "engine.json"


@dataclass(frozen=True)
class Environment:
    """Another Python, and the engine in it."""

    name: str  # what people call it: --engine NAME
    engine: str  # which of our adapters drives it
    python: str  # its interpreter
    python_version: str
    paths: tuple[str, ...]  # where its packages lie
    requirements: tuple[str, ...] = ()  # as given to pip; empty: somebody else's environment
    added_at: str = ""  # ISO 8601, UTC
    licence_accepted: bool = False  # by its user, where the engine wants that

    @property
    def origin(self) -> str:
        if self.requirements:
            return f"pip install {' '.join(self.requirements)}"
        return self.python

    def version(self, package: str) -> str | None:
        """Of a distribution, as its metadata says now; nothing is started for it."""
        found = importlib.metadata.Distribution.discover(name=package, path=list(self.paths))
        return next((str(one.version) for one in found), None)


@dataclass(frozen=True)
class Damaged:
    """An entry that cannot be read."""

    name: str
    why: str


def shelf() -> Path:
    """Where they are kept."""
    settings = Settings.read()
    return settings.engines or settings.workspace / "engines"


def added() -> tuple[Environment | Damaged, ...]:
    """By name; looked up each time, so that what was just added is there."""
    try:
        files = sorted(shelf().glob(f"*/{_FILE}"))
    except OSError:
        return ()
    return tuple(_read(file) for file in files)


def _read(file: Path) -> Environment | Damaged:
    name = file.parent.name
    try:
        told: Environment = decode(Environment, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, Mismatch, RecursionError) as error:
        return Damaged(name, f"{type(error).__name__}: {error}"[:200])
    return told if told.name == name else Damaged(name, f"it says that it is {told.name!r}")


def folder_of(name: str) -> Path:
    return shelf() / name


def keep(environment: Environment) -> None:
    """In one step: from here on it is there."""
    folder = folder_of(environment.name)
    temporary = folder / f"{_FILE}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(encode(environment), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / _FILE)
    except OSError as error:
        raise WorkspaceUnusable(
            "Cannot write down the new engine",
            why=f"{error.strerror}: {folder}",
            fix=f"Choose another folder with {FOLDER} or MODELDYNO_WORKSPACE",
        ) from error


def forget(name: str) -> None:
    """In one step: from here on it is gone, whatever is left of its files."""
    with contextlib.suppress(FileNotFoundError):
        (folder_of(name) / _FILE).unlink()
