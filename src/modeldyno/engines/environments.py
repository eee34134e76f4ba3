"""Engines installed in another Python: where they are listed, and what is installed there.

Each has a folder below ``engines/`` of the user's workspace: ``engine.json`` describes it, and
``venv/`` is its Python if we created it. They belong to the user and the machine, as installed
packages do, so every workspace sees the same ones (docs/decisions/0020-engines-elsewhere.md).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.settings import Settings

OLDEST_PYTHON = (3, 11)  # our own minimum: a worker runs our code
FOLDER_VARIABLE = "MODELDYNO_ENGINES"
_FILE = "engine.json"


@dataclass(frozen=True)
class Environment:
    """Another Python, and the engine in it."""

    name: str  # for users: --engine NAME
    engine: str  # the adapter that drives it
    python: str  # its interpreter
    python_version: str
    paths: tuple[str, ...]  # where its packages are installed
    requirements: tuple[str, ...] = ()  # as given to pip; empty: an environment we did not create
    added_at: str = ""  # ISO 8601, UTC
    licence_accepted: bool = False  # by the user, if the engine asks for it

    @property
    def origin(self) -> str:
        if self.requirements:
            return f"pip install {' '.join(self.requirements)}"
        return self.python


@dataclass(frozen=True)
class DamagedEnvironment:
    """An environment whose ``engine.json`` cannot be read."""

    name: str
    why: str


def installed_version(
    packages: Iterable[str | None], environment: Environment | None = None
) -> str | None:
    """The version of the first of these distributions that is installed, here or in that
    environment; read from its metadata, so nothing is imported or started."""
    path = sys.path if environment is None else list(environment.paths)
    for package in filter(None, packages):
        for distribution in importlib.metadata.Distribution.discover(name=package, path=path):
            return str(distribution.version)
    return None


def engines_folder() -> Path:
    settings = Settings.read()
    return settings.engines or settings.workspace / "engines"


def added_environments() -> tuple[Environment | DamagedEnvironment, ...]:
    """Sorted by name; read anew each time, so that one just added is included."""
    try:
        files = sorted(engines_folder().glob(f"*/{_FILE}"))
    except OSError:
        return ()
    return tuple(_read_environment(file) for file in files)


def _read_environment(file: Path) -> Environment | DamagedEnvironment:
    name = file.parent.name
    try:
        environment: Environment = decode(Environment, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, Mismatch, RecursionError) as error:
        return DamagedEnvironment(name, f"{type(error).__name__}: {error}"[:200])
    if environment.name != name:
        return DamagedEnvironment(name, f"it says that it is {environment.name!r}")
    return environment


def folder_of(name: str) -> Path:
    return engines_folder() / name


def save(environment: Environment) -> None:
    """Written atomically: a reader sees the whole entry or none."""
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
            "Cannot save the new engine",
            why=f"{error.strerror}: {folder}",
            fix=f"Choose another folder with {FOLDER_VARIABLE} or MODELDYNO_WORKSPACE",
        ) from error


def remove(name: str) -> None:
    """Atomically: the engine is no longer listed, even if other files remain in its folder."""
    with contextlib.suppress(FileNotFoundError):
        (folder_of(name) / _FILE).unlink()
