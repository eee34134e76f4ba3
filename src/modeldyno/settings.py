"""Environment → Settings, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.hosts import machine_name

DATABASE_FILE = "modeldyno.sqlite3"  # in the workspace


@dataclass(frozen=True)
class Settings:
    workspace: Path  # MODELDYNO_WORKSPACE or --workspace
    require_trust: bool = False  # MODELDYNO_REQUIRE_TRUST
    allow_downloads: bool = False  # MODELDYNO_ALLOW_DOWNLOADS or --allow-downloads
    # MODELDYNO_DATABASE_URL; None: a file in the workspace. May hold a password, so not in a repr.
    database_url: str | None = field(default=None, repr=False)
    models_roots: tuple[Path, ...] = ()  # --models-root: folders that clients may import from
    inc_gui: Path | None = None  # --inc-gui: the web client of INC Bench, to serve at /
    # MODELDYNO_ENGINES: where engines are kept that live in another Python; None: in the workspace
    engines: Path | None = None
    resume: bool = False  # MODELDYNO_RESUME or --resume: go on with what an earlier server left
    machine: str | None = None  # MODELDYNO_MACHINE: its name; None: known by what identifies it

    @property
    def has_server_data(self) -> bool:
        """Whether a server was here: the terminal alone makes none."""
        return bool(self.database_url) or (self.workspace / DATABASE_FILE).exists()

    @classmethod
    def read(
        cls, workspace: str | Path | None = None, environment: Mapping[str, str] = os.environ
    ) -> Settings:
        machine = environment.get("MODELDYNO_MACHINE")
        chosen = workspace or environment.get("MODELDYNO_WORKSPACE") or Path.home() / ".modeldyno"
        return cls(
            Path(chosen).expanduser().absolute(),
            require_trust=bool(environment.get("MODELDYNO_REQUIRE_TRUST")),
            allow_downloads=bool(environment.get("MODELDYNO_ALLOW_DOWNLOADS")),
            database_url=environment.get("MODELDYNO_DATABASE_URL") or None,
            engines=_to_folder(environment.get("MODELDYNO_ENGINES")),
            resume=bool(environment.get("MODELDYNO_RESUME")),
            machine=machine_name(machine) if machine else None,
        )


def _to_folder(said: str | None) -> Path | None:
    return Path(said).expanduser().absolute() if said else None
